import Foundation
import JSONRPC

func parse(_ bytes: [UInt8], maxDepth: Int = 512) throws(JSONSyntaxError) -> JSON {
    let result = bytes.withUnsafeBytes { bytes in
        Result { () throws(JSONSyntaxError) in try JSON(parsing: bytes, maxDepth: maxDepth) }
    }
    return try result.get()
}

func parse(_ text: String) throws(JSONSyntaxError) -> JSON {
    try parse(Array(text.utf8))
}

func written(_ json: JSON) -> [UInt8] {
    var buffer: [UInt8] = []
    json.write(to: &buffer)
    return buffer
}

/// Runs `body` on a thread whose stack has 512 KiB.
func onSmallStack<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
    await withCheckedContinuation { continuation in
        let thread = Thread { continuation.resume(returning: body()) }
        thread.stackSize = 512 << 10
        thread.start()
    }
}

/// SplitMix64: the same seed gives the same test.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
