import Testing
import Platform
import Storage
import Synchronization

/// An engine that does nothing by itself: a test sees each step and gives its answer.
package final class ScriptedBackend: Backend {
    package let properties: EngineProperties
    private let files: ScriptedFiles
    /// What `inspect` says of every file.
    package var inspection: Result<FileIdentity, StorageError> {
        get { files.inspection.withLock { $0 } }
        set { files.inspection.withLock { $0 = newValue } }
    }
    /// What it knows about objects: nothing, where the test does not say.
    package typealias Describe = @Sendable (Reference, Caller) async throws(StorageError) -> ObjectMetadata
    private let describe: Describe
    /// What it answers to `data` and `list`, and does when it is to delete.
    package typealias Read = @Sendable (Reference, _ maxSize: Int64, Caller) async throws(StorageError) -> [UInt8]
    package typealias Page = @Sendable (Reference, Int, String?, Caller) async throws(StorageError) -> Listing
    package typealias Remove = @Sendable (Reference, Preconditions) async throws(StorageError) -> Void
    private let read: Read
    private let page: Page
    private let remove: Remove
    /// The one directory of this machine, whatever its path.
    package var tree: InMemoryTree { files.tree }
    private let begun = Mail<ScriptedSession>()
    private let downloads = Mail<ScriptedDownload>()

    package init(
        kind: EngineKind = .embedded, uploadsAtOnce: Int = 2, oneRequestLimit: Int64 = 1,
        chunkSizes: ChunkSizes = ChunkSizes(first: 2, largest: 8), takesAnyPiece: Bool = true,
        inspection: Result<FileIdentity, StorageError> = .success(.ofSize(20)), changes: ChangeFeed? = nil,
        describe: @escaping Describe = { reference, _ throws(StorageError) in throw .objectNotFound(reference) },
        read: @escaping Read = { reference, _, _ throws(StorageError) in throw .objectNotFound(reference) },
        page: @escaping Page = { _, _, _, _ in Listing() },
        remove: @escaping Remove = { reference, _ throws(StorageError) in throw .objectNotFound(reference) }
    ) {
        files = ScriptedFiles(inspection)
        var properties = EngineProperties(
            kind, uploadsAtOnce: uploadsAtOnce, smallUploadsAtOnce: 256, downloadsAtOnce: uploadsAtOnce,
            oneRequestLimit: oneRequestLimit, chunkSizes: chunkSizes, files: files)
        properties.tokenKind = kind == .gcs ? .accessToken : .idToken
        (properties.takesAnyPiece, properties.earlyReadLimit, properties.changes) = (takesAnyPiece, .max, changes)
        self.properties = properties
        self.describe = describe
        self.read = read
        self.page = page
        self.remove = remove
    }

    /// The uploads whose session has not been taken yet.
    package var uploadsBegun: [Upload] { begun.waiting.map(\.upload) }

    /// The downloads whose session has not been taken yet.
    package var downloadsBegun: [Download] { downloads.waiting.map(\.download) }

    /// The number of uploads whose session has not been taken yet, and has a step in flight.
    package var uploadsInFlight: Int { begun.waiting.count { $0.isInFlight } }

    /// The session of the next upload that was begun.
    package func nextSession(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> ScriptedSession {
        try await begun.next(isolation: isolation, file: file, location)
    }

    package func beginUpload(_ upload: Upload) -> any UploadSession {
        let session = ScriptedSession(upload)
        begun.deliver(session)
        return session
    }

    package func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        try await describe(reference, caller)
    }

    package func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata {
        throw .objectNotFound(reference)
    }

    /// The session of the next download that was begun.
    package func nextDownload(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> ScriptedDownload {
        try await downloads.next(isolation: isolation, file: file, location)
    }

    package func beginDownload(_ download: Download) -> any DownloadSession {
        let session = ScriptedDownload(download)
        downloads.deliver(session)
        return session
    }

    package func data(
        of reference: Reference, part: BytePart?, known: ObjectMetadata?, maxSize: Int64, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        try await read(reference, maxSize, caller)
    }

    package func piece(
        _ range: Range<Int64>, of object: ObjectMetadata, task: String, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        let bytes = try await read(object.reference, .max, caller)
        return Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    package func buckets(of project: String?, most: Int, for caller: Caller) async throws(StorageError) -> [String] {
        []
    }

    package func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing {
        try await page(query.reference, query.maxResults, query.pageToken, caller)
    }

    package func delete(
        _ reference: Reference, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) {
        try await remove(reference, conditions)
    }

    package func downloadURL(
        of reference: Reference, expiresIn seconds: Int64?, for caller: Caller
    ) async throws(StorageError) -> String {
        "https://example.com/\(try await describe(reference, caller).reference.fullPath)?token=first"
    }

    package func revokeDownloadURL(of reference: Reference, for caller: Caller) async throws(StorageError) -> String {
        "https://example.com/\(try await describe(reference, caller).reference.fullPath)?token=second"
    }
}

/// The local files of a scripted engine: all are alike.
private final class ScriptedFiles: LocalFileAccess {
    let inspection: Mutex<Result<FileIdentity, StorageError>>
    let tree = InMemoryTree()

    init(_ inspection: Result<FileIdentity, StorageError>) { self.inspection = Mutex(inspection) }

    func inspect(_ path: String, below tree: (any LocalTree)?) async throws(StorageError) -> FileIdentity {
        try inspection.withLock { $0 }.get()
    }

    func read(_ path: String, upTo most: Int64) async throws(StorageError) -> (FileIdentity, [UInt8]?) {
        let identity = try inspection.withLock { $0 }.get()
        return (identity, [UInt8](repeating: 1, count: Int(identity.size)))
    }

    func tree(_ directory: String, isWritten: Bool) -> any LocalTree { tree.at(directory) }

    func confined(to confinement: LocalConfinement) -> any LocalFileAccess { self }

    func confinement(reading: [String]?, writing: [String]?) async throws(StorageError) -> LocalConfinement {
        func places(_ paths: [String]) -> [LocalConfinement.Directory] { paths.map { .init(path: $0, location: $0) } }
        return LocalConfinement(reading: reading.map(places), writing: writing.map(places))
    }
}

/// One upload into a scripted engine.
package final class ScriptedSession: TransferSession {
    package typealias Strategy = UploadStrategy

    private struct State {
        var waiter: CheckedContinuation<UploadMachine.Answer, Never>?
        var parks = 0
        var aborts = 0
        var discards = 0
    }

    package let upload: Upload
    private let steps = Mail<UploadMachine.Step>()
    private let state = Mutex(State())
    private let context = Mutex(StepContext())

    init(_ upload: Upload) { self.upload = upload }

    /// What was said with the last step.
    package var replacesNewer: Bool { context.withLock { $0.replacesNewer } }
    /// What the client of the upload has sent with the last step.
    package var bytes: IncomingBytes? { context.withLock { $0.bytes } }

    /// The next step that was asked for; it is in flight until it is answered.
    package func nextStep(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> UploadMachine.Step {
        try await steps.next(isolation: isolation, file: file, location)
    }

    /// The step in flight ends so. False where none is.
    @discardableResult
    package func answer(_ answer: UploadMachine.Answer) -> Bool {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: answer)
        return waiter != nil
    }

    package var isInFlight: Bool { state.withLock { $0.waiter != nil } }
    package var parks: Int { state.withLock { $0.parks } }
    package var aborts: Int { state.withLock { $0.aborts } }
    package var discards: Int { state.withLock { $0.discards } }

    package func perform(_ step: UploadMachine.Step, _ context: StepContext) async -> UploadMachine.Answer {
        self.context.withLock { $0 = context }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                state.withLock { state in
                    precondition(state.waiter == nil, "two steps in flight")
                    state.waiter = waiter
                }
                steps.deliver(step)
            }
        } onCancel: {
            state.withLock { $0.aborts += 1 }
        }
    }

    package func park() { state.withLock { $0.parks += 1 } }
    package func discard() { state.withLock { $0.discards += 1 } }

    /// What the next process gets.
    package var mark: String? {
        get { marked.withLock { $0 } }
        set { marked.withLock { $0 = newValue } }
    }
    private let marked = Mutex<String?>(nil)
    package func bookmark() async -> Bookmark? { mark.map(Bookmark.init) }
}

/// One download out of a scripted engine.
package final class ScriptedDownload: TransferSession {
    package typealias Strategy = DownloadStrategy
    package typealias Report = @Sendable (Progress) -> Void

    private struct State {
        var waiter: CheckedContinuation<DownloadAnswer, Never>?
        var aborts = 0
        var discards = 0
    }

    package let download: Download
    private let tries = Mail<Report>()
    private let state = Mutex(State())

    init(_ download: Download) { self.download = download }

    /// The next try: what it may report with. It is under way until it is answered.
    package func nextTry(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> Report {
        try await tries.next(isolation: isolation, file: file, location)
    }

    /// The try under way ends so.
    package func answer(_ answer: DownloadAnswer) {
        let waiter = state.withLock { state in
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: answer)
    }

    package var isUnderWay: Bool { state.withLock { $0.waiter != nil } }
    package var aborts: Int { state.withLock { $0.aborts } }
    package var discards: Int { state.withLock { $0.discards } }

    /// What was said with the last try.
    package var replacesNewer: Bool { mayReplaceNewer.withLock { $0 } }
    private let mayReplaceNewer = Mutex(true)

    package func perform(_ step: DownloadMachine.Step, _ context: StepContext) async -> DownloadAnswer {
        mayReplaceNewer.withLock { $0 = context.replacesNewer }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                state.withLock { state in
                    precondition(state.waiter == nil, "two tries at once")
                    state.waiter = waiter
                }
                tries.deliver(context.report)
            }
        } onCancel: {
            state.withLock { $0.aborts += 1 }
        }
    }

    package func discard() { state.withLock { $0.discards += 1 } }

    /// What the next process gets.
    package var mark: String? {
        get { marked.withLock { $0 } }
        set { marked.withLock { $0 = newValue } }
    }
    private let marked = Mutex<String?>(nil)
    package func bookmark() async -> Bookmark? { mark.map(Bookmark.init) }
}

extension FileIdentity {
    package static func ofSize(_ size: Int64) -> FileIdentity {
        FileIdentity(size: size, modifiedSeconds: 1, modifiedNanoseconds: 0, inode: 1, ends: 1)
    }
}

extension ObjectMetadata {
    /// What an engine could say about an object that it has just stored.
    package static func stored(_ reference: Reference, size: Int64) -> ObjectMetadata {
        ObjectMetadata(
            reference: reference, generation: 7, metageneration: 1, size: size, timeCreated: .init(microseconds: 0),
            updated: .init(microseconds: 0), checksums: Checksums(md5: Array(repeating: 0, count: 16), crc32c: 0),
            settable: .init())
    }
}
