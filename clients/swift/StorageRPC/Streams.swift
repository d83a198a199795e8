import Foundation

/// The snapshots of a task. Of successive progress that was not awaited only the newest is kept.
public struct StorageSnapshots: AsyncSequence, Sendable {
    let task: StorageObservableTask

    /// Begins with the next event.
    public func makeAsyncIterator() -> Iterator { Iterator(feed: SnapshotFeed(task)) }

    /// Yields snapshots up to that of the success; throws the error of the task.
    public struct Iterator: AsyncIteratorProtocol {
        let feed: SnapshotFeed

        /// The next snapshot. Nil after the success. Cancelling the Swift task ends the wait with `CancellationError`.
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
    /// Resumed with the next report.
    private var signal: Once<Void>?
    private var isOver = false

    init(_ task: StorageObservableTask) {
        self.task = task
        task.listen { [weak self] report in self?.hear(report) ?? false }
    }

    /// True while the loop lives.
    private func hear(_ report: Report) -> Bool {
        let signal = lock.withLock {
            defer { self.signal = nil }
            if report.status == .progress && waiting.last?.status == .progress { waiting.removeLast() }
            waiting.append(report)
            return self.signal
        }
        signal?.resume(.success(()))
        return true
    }

    func next() async throws -> StorageTaskSnapshot? {
        try await waitOnce { (signal: Once<Void>) in
            let isNow = lock.withLock {
                guard waiting.isEmpty && !isOver else { return true }
                self.signal = signal
                return false
            }
            if isNow { signal.resume(.success(())) }
        }
        let report: Report? = lock.withLock {
            guard !isOver else { return nil }
            let report = waiting.removeFirst()
            isOver = report.status.isEnd
            return report
        }
        if let error = report?.error { throw error }
        return report.map { StorageTaskSnapshot(task: task, report: $0) }
    }
}

/// What streams hold of the task that the first of them has begun: it is cancelled when the last of them, or a loop, is
/// dropped before the end. Sound: `isOver` is guarded by `lock`.
final class Lease: @unchecked Sendable {
    private let lock = NSLock()
    private let task: StorageObservableTask
    private var isOver = false

    init(_ task: StorageObservableTask) { self.task = task }

    /// The task has ended.
    func end() { lock.withLock { isOver = true } }

    func cancel() {
        let isFirst = lock.withLock {
            defer { isOver = true }
            return !isOver
        }
        if isFirst { task.cancel() }
    }

    deinit { cancel() }
}

/// An upload whose bytes come piece by piece. Nothing is stored before `finish()`: a stream that is dropped before it
/// cancels the upload that it has begun.
///
/// When the service ends, its calls throw. The upload is paused then, and `StorageUploadTask.stream()` continues it.
///
/// Sound: `taken` and `failure` are guarded by `lock`.
public final class StorageUploadStream: @unchecked Sendable {
    /// The upload, to observe, pause and cancel.
    public let task: StorageUploadTask
    private let lock = NSLock()
    private var taken: StorageWire.Appended
    /// Why a write has failed. What follows would leave a gap.
    private var failure: (any Error)?
    /// Nil if another process, or another object of the task, has begun the upload.
    private let lease: Lease?

    fileprivate init(_ task: StorageUploadTask, _ taken: StorageWire.Appended, _ lease: Lease?) {
        (self.task, self.taken, self.lease) = (task, taken, lease)
    }

    /// How many bytes the service has taken, as far as it has answered.
    public var offset: Int64 { lock.withLock { taken.offset } }
    /// How many of them survive an end of the service.
    public var durable: Int64 { lock.withLock { taken.durable } }

    /// Brings the next bytes, and returns when the service has taken them. After an error, which may have left out some of
    /// them, this stream takes no more, and `task.stream()` continues after those that the service has.
    ///
    /// - Returns: the number of bytes that it has taken in all.
    @discardableResult public func write(_ data: Data) async throws -> Int64 {
        if let failure = lock.withLock({ failure }) { throw failure }
        do {
            return try await append(data)
        } catch {
            lock.withLock { failure = failure ?? error }
            throw error
        }
    }

    private func append(_ data: Data) async throws -> Int64 {
        var (rest, offset) = (data, Int64(0))
        repeat {
            let piece = rest.prefix(8 << 20)
            rest = rest.dropFirst(piece.count)
            let taken = try await task.askCarrier { id in
                StorageCalls.UploadTaskAppend(task: id, data: piece.base64EncodedString())
            }
            lock.withLock { self.taken = taken }
            offset = taken.offset
        } while !rest.isEmpty
        return offset
    }

    /// Stores the object, and returns its metadata.
    @discardableResult public func finish() async throws -> StorageMetadata {
        if let failure = lock.withLock({ failure }) { throw failure }
        let end = try await task.askCarrier { id in StorageCalls.UploadTaskFinish(task: id) }
        lease?.end()
        guard let metadata = end.metadata else {
            throw StorageError.internalError(message: "The service has told no metadata of the stored object.")
        }
        return StorageMetadata(metadata)
    }
}

extension StorageUploadTask {
    /// Continues an upload that `putStream` has begun, also at an earlier service or of an earlier process: what is written
    /// follows the first `offset` bytes, which the service has. A paused upload is resumed.
    ///
    /// While the stream of `putStream` is held, the upload is cancelled when the last of both is dropped. Otherwise the upload
    /// continues when this stream is dropped, and can be continued again.
    ///
    /// - Throws: the error of an upload that has failed, and `StorageError.invalidArgument` for one that is no stream, is
    ///   stored, or remains paused.
    public func stream() async throws -> StorageUploadStream {
        let (id, session) = (try await taskID(), self.session)
        var snapshot = try await session.ask(StorageCalls.UploadTaskSnapshot(task: id), isOfTask: true)
        if snapshot.offset != nil { revive(in: session, as: Report(snapshot)) }
        if snapshot.offset != nil && snapshot.state == .paused {
            _ = try await session.ask(StorageCalls.UploadTaskResume(task: id), isOfTask: true)
            snapshot = try await session.ask(StorageCalls.UploadTaskSnapshot(task: id), isOfTask: true)
        }
        guard let offset = snapshot.offset, snapshot.state != .paused else {
            if let error = snapshot.error { throw StorageError(error) }
            throw StorageError.invalidArgument(message: "The upload \(id) is stored or paused, or is not a stream.")
        }
        // Without bytes, but with its position: those without one follow it, whatever came of earlier ones.
        let call = StorageCalls.UploadTaskAppend(task: id, data: "", offset: offset)
        return StorageUploadStream(self, try await session.ask(call, isOfTask: true), lock.withLock { lease })
    }
}

/// The bytes of an object, piece by piece. A stream that is dropped without a loop over it, and a loop that is left before
/// the end, cancel the download.
public struct StorageDownloadStream: AsyncSequence, Sendable {
    /// The download, to observe, pause and cancel.
    public let task: StorageDownloadTask
    private let lease: Lease

    fileprivate init(_ task: StorageDownloadTask) { (self.task, lease) = (task, Lease(task)) }

    /// Begins with the next piece that no other loop has read.
    public func makeAsyncIterator() -> Iterator { Iterator(loop: Loop(task, lease)) }

    /// The number of bytes of the object.
    public var size: Int64 {
        get async throws { try await self.piece(at: 0, length: 0).size }
    }

    /// Returns `length` bytes from an offset on, or fewer if the object ends before. They are not verified.
    ///
    /// Reads are possible in any order, beside a loop and after it, as long as the stream is held and its download is not
    /// cancelled. They are of the generation that the loop reads, or fail if the object was replaced.
    public func read(at offset: Int64, length: Int) async throws -> Data {
        guard offset >= 0, length >= 0 else {
            let message = "offset and length must be at least 0, not \(offset) and \(length)."
            throw StorageError.invalidArgument(message: message)
        }
        var data = Data()
        while data.count < length {
            let (place, isBeyond) = offset.addingReportingOverflow(Int64(data.count))
            if isBeyond { break }
            let piece = try await self.piece(at: place, length: Int64(Swift.min(length - data.count, 8 << 20)))
            data += piece.data
            if piece.isEnd { break }
        }
        return data
    }

    private func piece(at offset: Int64, length: Int64) async throws -> (data: Data, isEnd: Bool, size: Int64) {
        let piece = try await task.askCarrier { id in
            StorageCalls.DownloadTaskRead(task: id, length: length, offset: offset)
        }
        guard let data = Data(base64Encoded: piece.data), let size = piece.size,
            !data.isEmpty || piece.isEnd || length == 0
        else { throw StorageError.internalError(message: "The service has told no bytes at \(offset).") }
        return (data, piece.isEnd, size)
    }

    /// Yields pieces of at most 1 MiB. Throws if the bytes do not match the checksum of the object.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let loop: Loop

        /// The next piece. Nil after the last one. Cancelling the Swift task ends the wait with `CancellationError`.
        public mutating func next() async throws -> Data? { try await loop.next() }
    }

    /// Sound: one iteration uses it, and `isOver` with it.
    fileprivate final class Loop: @unchecked Sendable {
        private let task: StorageDownloadTask
        private let lease: Lease
        private var isOver = false

        init(_ task: StorageDownloadTask, _ lease: Lease) { (self.task, self.lease) = (task, lease) }

        func next() async throws -> Data? {
            guard !isOver else { return nil }
            do {
                let piece = try await task.askCarrier { id in StorageCalls.DownloadTaskRead(task: id) }
                guard let data = Data(base64Encoded: piece.data) else {
                    throw StorageError.internalError(message: "The service has told bytes that are no base64.")
                }
                isOver = piece.isEnd
                if isOver { lease.end() }
                return data.isEmpty ? nil : data
            } catch {
                isOver = true
                lease.cancel()
                throw Task.isCancelled ? CancellationError() : error
            }
        }

        deinit { lease.cancel() }
    }
}

extension StorageReference {
    /// Starts an upload whose bytes come piece by piece. `size` is their number, if it is known; then another number of
    /// bytes is refused.
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
        let lease = Lease(task)
        task.lock.withLock { task.lease = lease }
        return StorageUploadStream(task, .init(offset: 0, durable: 0), lease)
    }

    /// Starts a download whose bytes are read piece by piece, from an offset on.
    public func getStream(offset: Int64 = 0) -> StorageDownloadStream {
        let path = path
        let task = StorageDownloadTask(reference: self).starting { all in
            StorageCalls.ReferenceGetStream(reference: path.wire, offset: offset, observe: all)
        }
        task.enqueue()
        return StorageDownloadStream(task)
    }

    /// The changes of objects at and below this reference, by any client, from now on. Embedded engine.
    ///
    /// Cancelling the Swift task ends the wait for this call, and a loop over the changes, with `CancellationError`.
    public func changes() async throws -> AsyncThrowingStream<StorageChange, any Error> {
        let (stream, continuation) = AsyncThrowingStream<StorageChange, any Error>.makeStream(
            bufferingPolicy: .bufferingOldest(ChangeFeed.limit))
        let feed = ChangeFeed(storage: storage, continuation)
        try await waitOnce { (begun: Once<Void>) in
            let call = StorageCalls.StorageObserve(reference: path.wire)
            storage.session.send(making: { () throws(StorageError) in call }) { session, answer in
                if case .success(let answer) = answer {  // On the reader thread: before the first change.
                    session.follow(feed, handle: answer.handle)
                    continuation.onTermination = { end in
                        if case .cancelled = end { continuation.finish(throwing: CancellationError()) }
                        session.unfollow(handle: answer.handle)
                    }
                }
                if !begun.resume(answer.map { _ in }.mapError { $0 }) { continuation.finish() }
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
        /// Changes were lost: list again.
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
            finish(.unknown(message: "More than \(Self.limit) changes wait to be read: list again.", serverError: [:]))
        }
    }

    func finish(_ error: StorageError) { continuation.finish(throwing: error) }
}
