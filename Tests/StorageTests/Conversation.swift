import Storage
import TestSupport
import Testing

/// What was said to a machine, and what it had to do about it.
typealias Conversation = [(said: UploadMachine.Event, heard: [UploadMachine.Effect])]

extension UploadMachine {
    /// 20 bytes in chunks of 2, 4, 8 and the rest.
    static func growing(patience: Duration = .seconds(600)) -> UploadMachine {
        UploadMachine(size: 20, chunks: ChunkSizes(first: 2, largest: 8), patience: patience)
    }

    static func whole(_ size: Int64 = 20) -> UploadMachine {
        UploadMachine(size: size, oneRequest: true, chunks: ChunkSizes(first: 2, largest: 8))
    }

    mutating func converse(_ conversation: Conversation, _ location: SourceLocation = #_sourceLocation) {
        for (number, line) in conversation.enumerated() {
            let effects = handle(line.said)
            #expect(effects == line.heard, "line \(number + 1): \(line.said)", sourceLocation: location)
        }
    }
}

/// The opening of every conversation about chunks: started, admitted, opened.
let opening: Conversation = [
    (.asked(.start), [.acquire]),
    (.admitted, [.publish(.resume), .perform(.open)]),
    (.answered(.opened()), [.perform(.send(0..<2))]),
]

extension StorageError {
    static let gaveUp: StorageError = {
        var error = busy
        error.code = .retryLimitExceeded
        error.message = "Max retry time for operation exceeded, please try again. The last failure: \(busy.message)"
        return error
    }()
}

func stored(_ size: Int64 = 20) throws -> ObjectMetadata {
    .stored(try Reference(bucket: "b", path: "a"), size: size)
}

extension UploadMachine.State {
    static func failed(_ error: StorageError) -> Self { .ended(.failed(error)) }
}
