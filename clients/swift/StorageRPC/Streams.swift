import Foundation

/// The snapshots of a task. Of successive progress that was not awaited only the newest is kept.
public struct StorageSnapshots: AsyncSequence, Sendable {
    let task: StorageObservableTask

    /// Begins with the next event.
    public func makeAsyncIterator() -> Iterator { Iterator(feed: SnapshotFeed(task)) }

    /// Yields snapshots up to that of the success; throws the error of the task.
    public struct Iterator: AsyncIteratorProtocol {
        let feed: SnapshotFeed

        /// The next snapshot. Nil after the success.
        public mutating func next() async throws -> StorageTaskSnapshot? { try await feed.next() }
    }
}

extension StorageObservableTask {
    /// The events of the task from now on: `for try await snapshot in task.snapshots`. Needs no callback queue.
    public var snapshots: StorageSnapshots { StorageSnapshots(task: self) }
}

/// Sound: all that changes is guarded by `lock`.
final class SnapshotFeed: @unchecked Sendable {
    private let task: StorageObservableTask
    private let lock = NSLock()
    private var waiting: [Report] = []
    private var continuation: CheckedContinuation<Report?, Never>?
    private var isOver = false

    init(_ task: StorageObservableTask) {
        self.task = task
        task.listen { [weak self] report in self?.hear(report) ?? false }
    }

    /// False once nobody listens any more.
    private func hear(_ report: Report) -> Bool {
        let continuation = lock.withLock {
            defer { self.continuation = nil }
            if self.continuation == nil {
                if report.status == .progress && waiting.last?.status == .progress { waiting.removeLast() }
                waiting.append(report)
            }
            return self.continuation
        }
        continuation?.resume(returning: report)
        return true
    }

    func next() async throws -> StorageTaskSnapshot? {
        let abandonment = Abandonment()
        let report = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (now, isNow) = lock.withLock { () -> (Report?, Bool) in
                    guard waiting.isEmpty && !isOver else { return (isOver ? nil : waiting.removeFirst(), true) }
                    self.continuation = continuation
                    return (nil, false)
                }
                if isNow { continuation.resume(returning: now) }
                abandonment.arm { [weak self] in self?.stop() }
            }
        } onCancel: {
            abandonment.abandon()
        }
        guard let report else { return nil }
        if report.status.isEnd { lock.withLock { isOver = true } }
        if let error = report.error { throw error }
        return StorageTaskSnapshot(task: task, report: report)
    }

    private func stop() {
        let continuation = lock.withLock {
            defer { self.continuation = nil }
            isOver = true
            return self.continuation
        }
        continuation?.resume(returning: nil)
    }
}

/// An upload whose bytes come piece by piece. Nothing is stored before `finish()`.
public final class StorageUploadStream: Sendable {
    /// The upload, to observe, pause and cancel.
    public let task: StorageUploadTask

    init(_ task: StorageUploadTask) { self.task = task }

    /// Brings the next bytes, and returns when the service has taken them.
    ///
    /// - Returns: the number of bytes that it has taken in all.
    @discardableResult public func write(_ data: Data) async throws -> Int64 {
        let id = try await task.taskID()
        var offset: Int64 = 0
        var rest = data
        repeat {
            let piece = rest.prefix(8 << 20)
            rest = rest.dropFirst(piece.count)
            let call = StorageCalls.UploadTaskAppend(task: id, data: piece.base64EncodedString())
            offset = try await task.session.ask(call, isOfTask: true).offset
        } while !rest.isEmpty
        return offset
    }

    /// Stores the object, and returns its metadata.
    @discardableResult public func finish() async throws -> StorageMetadata {
        let call = StorageCalls.UploadTaskFinish(task: try await task.taskID())
        guard let metadata = try await task.session.ask(call, isOfTask: true).metadata else {
            throw StorageError.internalError(message: "The service has told no metadata of the stored object.")
        }
        return StorageMetadata(metadata)
    }
}

/// The bytes of an object, piece by piece.
public struct StorageDownloadStream: AsyncSequence, Sendable {
    /// The download, to observe, pause and cancel.
    public let task: StorageDownloadTask

    /// Begins with the next piece that nobody has read.
    public func makeAsyncIterator() -> Iterator { Iterator(task: task) }

    /// Yields pieces of at most 1 MiB. Throws if the bytes do not match the checksum of the object.
    public struct Iterator: AsyncIteratorProtocol {
        let task: StorageDownloadTask
        private var isOver = false

        init(task: StorageDownloadTask) { self.task = task }

        /// The next piece. Nil after the last one.
        public mutating func next() async throws -> Data? {
            guard !isOver else { return nil }
            let call = StorageCalls.DownloadTaskRead(task: try await task.taskID())
            let piece = try await task.session.ask(call, isOfTask: true)
            isOver = piece.isEnd
            let data = Data(base64Encoded: piece.data) ?? Data()
            return data.isEmpty ? nil : data
        }
    }
}

extension StorageReference {
    /// Starts an upload whose bytes come piece by piece.
    ///
    /// - Parameter size: the size in bytes, if it is known; then another one is refused.
    public func putStream(
        metadata: StorageMetadata? = nil, size: Int64? = nil, ifGenerationMatch: Int64? = nil
    ) -> StorageUploadStream {
        let (path, metadata) = (path, metadata?.upload)
        let task = StorageUploadTask(reference: self).starting { all in
            StorageCalls.ReferencePutStream(
                reference: path.wire, metadata: metadata, size: size, ifGenerationMatch: ifGenerationMatch, observe: all
            )
        }
        task.enqueue()
        return StorageUploadStream(task)
    }

    /// Starts a download whose bytes are read piece by piece, from an offset on.
    public func getStream(offset: Int64 = 0) -> StorageDownloadStream {
        let path = path
        let task = StorageDownloadTask(reference: self).starting { all in
            StorageCalls.ReferenceGetStream(reference: path.wire, offset: offset, observe: all)
        }
        task.enqueue()
        return StorageDownloadStream(task: task)
    }

    /// The changes of objects at this reference and below it, whoever makes them, from now on. Embedded engine.
    public func changes() async throws -> AsyncThrowingStream<StorageChange, any Error> {
        let (stream, continuation) = AsyncThrowingStream<StorageChange, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(ChangeFeed.limit))
        let feed = ChangeFeed(storage: storage, continuation)
        try await withCheckedThrowingContinuation { (begun: CheckedContinuation<Void, any Error>) in
            let call = StorageCalls.StorageObserve(reference: path.wire)
            storage.session.send(making: { () throws(StorageError) in call }) { session, answer in
                if case .success(let answer) = answer {  // On the reader thread: before the first change.
                    session.follow(feed, handle: answer.handle)
                    continuation.onTermination = { _ in session.unfollow(handle: answer.handle) }
                }
                begun.resume(with: answer.map { _ in }.mapError { $0 })
            }
        }
        return stream
    }
}

/// What has happened to an object.
public struct StorageChange: Sendable {
    /// What it was.
    public enum Kind: String, Decodable, Sendable {
        /// There is a new object.
        case created
        /// The object has new bytes.
        case replaced
        /// The object has other metadata.
        case updated
        /// The object is gone.
        case deleted
        /// Changes could not be told: list anew.
        case missed
    }

    /// What it was.
    public let kind: Kind
    /// The object.
    public let reference: StorageReference
    /// Its generation, or that of the deleted object.
    public let generation: Int64?
    /// The same of its metadata.
    public let metageneration: Int64?
}

/// The changes that one loop waits for.
final class ChangeFeed: Sendable {
    /// The most changes that wait to be read.
    static let limit = 10_000
    private let storage: Storage
    private let continuation: AsyncThrowingStream<StorageChange, any Error>.Continuation

    init(storage: Storage, _ continuation: AsyncThrowingStream<StorageChange, any Error>.Continuation) {
        (self.storage, self.continuation) = (storage, continuation)
    }

    func hear(_ change: Changed.Params) {
        let told = continuation.yield(
            StorageChange(
                kind: change.change, reference: storage.reference(StoragePath(change.reference)),
                generation: change.generation.flatMap(Int64.init),
                metageneration: change.metageneration.flatMap(Int64.init)))
        if case .dropped = told {
            finish(.unknown(message: "More than \(Self.limit) changes wait to be read: list anew.", serverError: [:]))
        }
    }

    func finish(_ error: StorageError) { continuation.finish(throwing: error) }
}
