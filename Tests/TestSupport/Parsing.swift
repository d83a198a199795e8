import Foundation
import JSONText

package func parse(_ bytes: [UInt8], maxDepth: Int = 512) throws(JSONSyntaxError) -> JSON {
    let result = bytes.withUnsafeBytes { bytes in
        Result { () throws(JSONSyntaxError) in try JSON(parsing: bytes, maxDepth: maxDepth) }
    }
    return try result.get()
}

package func parse(_ text: String) throws(JSONSyntaxError) -> JSON {
    try parse(Array(text.utf8))
}

package func written(_ json: JSON) -> [UInt8] {
    var buffer: [UInt8] = []
    json.write(to: &buffer)
    return buffer
}

/// Runs `body` on a thread whose stack has 512 KiB.
package func onSmallStack<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: body()) }
        thread.stackSize = 512 << 10
        thread.start()
    }
}
