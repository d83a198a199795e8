import Storage
import TestSupport
import Testing

/// Helpers for tests that feed a machine with events and compare its effects.
typealias Conversation = [(said: UploadMachine.Event, heard: [UploadMachine.Effect])]

extension UploadMachine {
    /// 20 bytes in chunks of 2, 4, 8 and the rest.
    static func growing(retryTime: Duration = .seconds(600)) -> UploadMachine {
        UploadMachine(size: 20, chunks: ChunkSizes(first: 2, largest: 8), retryTime: retryTime)
    }

    static func whole(_ size: Int64 = 20) -> UploadMachine {
        UploadMachine(size: size, oneRequest: true, chunks: ChunkSizes(first: 2, largest: 8))
    }

    /// Events: started, admitted and opened.
    static func sending(
        _ size: Int64 = 20, _ chunks: ChunkSizes = ChunkSizes(first: 2, largest: 8), granularity: Int64 = 1,
        retryTime: Duration = .seconds(600)
    ) -> UploadMachine {
        var machine = UploadMachine(size: size, chunks: chunks, retryTime: retryTime)
        _ = machine.handle(.requested(.start))
        _ = machine.handle(.admitted)
        _ = machine.handle(.answered(.opened(granularity: granularity)))
        return machine
    }
}

extension TaskMachine {
    mutating func converse(
        _ conversation: [(said: Event, heard: [Effect])], _ location: SourceLocation = #_sourceLocation
    ) {
        for (number, line) in conversation.enumerated() {
            let effects = handle(line.said)
            #expect(effects == line.heard, "line \(number + 1): \(line.said)", sourceLocation: location)
        }
    }
}

/// The opening of every conversation about chunks: started, admitted, opened.
let opening: Conversation = [
    (.requested(.start), [.acquire]),
    (.admitted, [.publish(.resume), .perform(.open)]),
    (.answered(.opened()), [.perform(.send(0..<2))]),
]

/// The delays of a machine with the seed 0 before consecutive retries with these numbers.
func rests(_ retries: Int...) -> [Duration] {
    var backoff = Backoff(seed: 0)
    return retries.map { backoff.delay(beforeRetry: $0) }
}

/// The first delay, before the retry with the number 0.
let rested: [UploadMachine.Effect] = [.publish(.progress), .wake(attempt: 1, after: rests(0)[0])]

extension StorageError {
    /// The error of a lost session.
    static let gone = StorageError(.unknown, "The engine knows no such upload.")
}

func stored(_ size: Int64 = 20) throws -> ObjectMetadata {
    .stored(try Reference(bucket: "b", path: "a"), size: size)
}

extension TaskMachine.State {
    static func failed(_ error: StorageError) -> Self { .ended(.failed(error)) }

    var error: StorageError? {
        if case .ended(.failed(let error)) = self { error } else { nil }
    }
}
