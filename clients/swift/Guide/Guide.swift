import FirebaseStorage
import Foundation

/// Runs the Swift code of the SDK's guide against the service that the environment names, and checks what the guide says.
///
/// `clients/test-swift` builds it, and runs it in a directory with the file `path/to/image` of 400,000 bytes.
@main struct Guide {
    static func main() async throws {
        try await references()
        try await uploads(Storage.storage())
        try await downloads(Storage.storage())
        try await metadata(Storage.storage().reference())
        try await deletions(Storage.storage().reference())
        try await lists(Storage.storage())
        try await errors(Storage.storage())
        if ProcessInfo.processInfo.environment["GUIDE_HARNESS"] != nil { try await harness(Storage.storage()) }
        await Storage.storage().close()
        print("\(checks) checks")
    }
}

nonisolated(unsafe) private var checks = 0  // Only `main` counts, one check after the other.

/// Ends the program unless the sentence is true.
func check(_ isTrue: Bool, _ sentence: String, line: UInt = #line, file: String = #fileID) {
    guard isTrue else {
        print("\(file):\(line): it is not true that \(sentence)")
        exit(1)
    }
    checks += 1
}

/// The error of a call that must fail.
func failure(_ body: () async throws -> Void, line: UInt = #line, file: String = #fileID) async -> NSError {
    do {
        try await body()
    } catch {
        return error as NSError
    }
    check(false, "the call fails", line: line, file: file)
    exit(1)
}

/// Waits for a callback.
func called<Value: Sendable>(_ body: (@escaping (Value) -> Void) -> Void) async -> Value {
    await withCheckedContinuation { continuation in body { continuation.resume(returning: $0) } }
}

/// What handlers have received. They run on the main queue.
@MainActor final class Heard {
    var statuses: [StorageTaskStatus] = []
    nonisolated init() {}
}
