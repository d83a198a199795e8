import Storage
import Synchronization

/// An engine that does nothing by itself: a test sees each step and gives its answer.
public final class ScriptedBackend: Backend {
    public let uploadsAtOnce: Int
    public let smallUploadsAtOnce = 256
    public let oneRequestLimit: Int64
    public let chunkSizes: ChunkSizes
    /// What `inspect` says of every file.
    public let inspection: Result<FileIdentity, StorageError>
    /// What it knows about objects: nothing, where the test does not say.
    public typealias Describe = @Sendable (Reference, Caller) async throws(StorageError) -> ObjectMetadata
    private let describe: Describe
    private let begun = Mail<ScriptedSession>()

    public init(
        uploadsAtOnce: Int = 2, oneRequestLimit: Int64 = 1, chunkSizes: ChunkSizes = ChunkSizes(first: 2, largest: 8),
        inspection: Result<FileIdentity, StorageError> = .success(.ofSize(20)),
        describe: @escaping Describe = { reference, _ throws(StorageError) in throw .objectNotFound(reference) }
    ) {
        self.describe = describe
        self.uploadsAtOnce = uploadsAtOnce
        self.oneRequestLimit = oneRequestLimit
        self.chunkSizes = chunkSizes
        self.inspection = inspection
    }

    /// The session of the next upload that was begun.
    public func nextSession() async -> ScriptedSession { await begun.next() }

    public func inspect(file path: String) async throws(StorageError) -> FileIdentity { try inspection.get() }

    public func beginUpload(_ upload: Upload) -> any UploadSession {
        let session = ScriptedSession(upload)
        begun.deliver(session)
        return session
    }

    public func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        try await describe(reference, caller)
    }

    public func updateMetadata(
        of reference: Reference, _ change: MetadataChange, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata {
        throw .objectNotFound(reference)
    }

    public func settle() async {}
}

/// One upload into a scripted engine.
public final class ScriptedSession: UploadSession {
    private struct State {
        var waiter: CheckedContinuation<UploadMachine.Answer, Never>?
        var mostAtOnce = 0
        var aborts = 0
        var abortsInVain = 0
        var discards = 0
    }

    public let upload: Upload
    private let steps = Mail<UploadMachine.Step>()
    private let state = Mutex(State())

    init(_ upload: Upload) { self.upload = upload }

    /// The next step that was asked for; it is in flight until it is answered.
    public func nextStep() async -> UploadMachine.Step { await steps.next() }

    /// The step in flight ends so. False where none is.
    @discardableResult
    public func answer(_ answer: UploadMachine.Answer) -> Bool {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: answer)
        return waiter != nil
    }

    public var isInFlight: Bool { state.withLock { $0.waiter != nil } }
    public var aborts: Int { state.withLock { $0.aborts } }
    /// Those that came while nothing was in flight.
    public var abortsInVain: Int { state.withLock { $0.abortsInVain } }
    public var discards: Int { state.withLock { $0.discards } }

    public func perform(_ step: UploadMachine.Step) async -> UploadMachine.Answer {
        await withCheckedContinuation { waiter in
            state.withLock { state in
                precondition(state.waiter == nil, "two steps in flight")
                state.waiter = waiter
            }
            steps.deliver(step)
        }
    }

    public func abort() {
        state.withLock { state in
            state.aborts += 1
            if state.waiter == nil { state.abortsInVain += 1 }
        }
    }
    public func discard() { state.withLock { $0.discards += 1 } }
}

extension FileIdentity {
    public static func ofSize(_ size: Int64) -> FileIdentity {
        FileIdentity(size: size, modifiedSeconds: 1, modifiedNanoseconds: 0, inode: 1, device: 1)
    }
}

extension ObjectMetadata {
    /// What an engine could say about an object that it has just stored.
    public static func stored(_ reference: Reference, size: Int64) -> ObjectMetadata {
        ObjectMetadata(
            reference: reference, generation: 7, metageneration: 1, size: size, timeCreated: .init(microseconds: 0),
            updated: .init(microseconds: 0), md5: Array(repeating: 0, count: 16), crc32c: 0, settable: .init())
    }
}
