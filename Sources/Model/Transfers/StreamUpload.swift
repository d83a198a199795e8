import Platform
import Storage

/// The bytes of an upload that its client appends piece by piece, from their arrival until the engine has them.
///
///     append ──▶ held bytes ──▶ IncomingUpload ──▶ the engine
///                 start…end                         durable
///
/// Appends get their positions in the order in which they arrive. An append is answered when the engine has its bytes,
/// except the last few that the stream may hold: this is the back pressure. An engine that takes any piece receives the
/// held bytes, up to one chunk, whenever its task waits for bytes. Other engines receive whole chunks, so that small
/// appends share requests. Chunks follow the speed of the engine, so that each of them shows progress.
///
/// After an append that was answered with an error, later appends and the end fail until an append names its offset.
/// The bytes of a cancelled append are dropped, unless the engine has or is getting them.
@Loop public final class StreamUpload: TaskStream {
    /// The state of the stream after an append: all bytes before `offset` are accepted, and all bytes before `durable`
    /// survive the process.
    public struct Position: Equatable, Sendable {
        public var offset: Int64
        public var durable: Int64
    }

    /// The bytes of one append, or of several small ones.
    private struct Held {
        var bytes: [UInt8]
        let start: Int64
        var end: Int64 { start + Int64(bytes.count) }
    }

    /// A request that waits for its answer: an append, or the request that ends the object.
    private final class Waiting {
        /// The range of the new bytes of an append; nil for the request that ends the object.
        let added: Range<Int64>?
        /// The append waits until the engine has all bytes before this offset.
        let end: Int64
        var outcome: Result<Position, StorageError>?

        init(adding added: Range<Int64>?, until end: Int64) { (self.added, self.end) = (added, end) }
    }

    /// Small appends are joined up to this number of bytes.
    private static let joined = 256 << 10
    /// The maximum length of a chunk, in bytes. Longer ones would need more memory, and save no time.
    private static let longestChunk: Int64 = 8 << 20

    private let memory: StreamMemory
    private weak var task: UploadTask?
    /// The announced size of the object; nil if the client has announced none.
    private let announced: Int64?
    /// All pieces but the last end at multiples of this number.
    private let granularity: Int64
    private var chunk: NextChunk
    /// The session of the task. Nil until a task of an earlier process continues, and after the end.
    private var upload: IncomingUpload?
    private var held: [Held] = []
    /// The offset of the first held byte. The engine has all bytes before it.
    private var start: Int64
    /// The offset after the last held byte.
    private(set) var end: Int64
    /// The offset of an append that names none; nil if the next append must name one. The engine may have more bytes,
    /// which an earlier process sent and did not record.
    private var next: Int64?
    /// The number of the connection whose append was the last to name its offset. Connections with lower numbers, which may
    /// have ended with appends on their way, name theirs again.
    private var newest: Int64 = 0
    /// The highest number of a connection whose append was refused for that reason; 0 for none.
    private var overtaken: Int64 = 0
    /// The engine has all bytes before this offset, and the attempt to record the progress has ended.
    private var acknowledged: Int64
    /// The task store has recorded the progress up to this offset.
    private var durable: Int64
    /// How often the engine has lost bytes that it had.
    private var losses = 0
    /// The piece that the engine is getting; nil while it gets none.
    private var sending: (end: Int64, isLast: Bool)?
    /// The requests in the order of their arrival. They succeed in this order, and fail at once.
    private var waiting: [Waiting] = []
    /// Whether the last append has failed.
    private var hasGap = false
    public private(set) var isFinishing = false
    private var expected = Checksums()
    /// The error for appends after the end of the task.
    private var ended: StorageError?
    private let changed = Waiters()

    /// - Parameters:
    ///   - announced: the announced size of the object; nil if the client has announced none.
    ///   - offset: the progress that an earlier process has recorded; nil for a new task.
    init(
        of task: UploadTask, announcing announced: Int64?, granularity: Int64, chunkSize: Int64?,
        from offset: Int64? = nil, _ memory: StreamMemory
    ) {
        (self.announced, self.task, self.granularity, self.memory) = (announced, task, granularity, memory)
        chunk = NextChunk(
            chunkSize.map { .fixed(min($0, Self.longestChunk)) } ?? ChunkSizes(largest: Self.longestChunk))
        chunk.align(to: granularity)
        next = offset == nil ? 0 : nil
        let offset = offset ?? 0
        (start, end, acknowledged, durable) = (offset, offset, offset, offset)
        attach(to: task.incoming)
    }

    /// All bytes before this offset are accepted: the cancellation of an append does not drop them.
    public var offset: Int64 { max(sending?.end ?? start, firstUnanswered()) }

    /// The offset of the first byte of all appends without an outcome, except `mine`.
    private func firstUnanswered(besides mine: Waiting? = nil) -> Int64 {
        waiting.lazy.filter { $0.outcome == nil && $0 !== mine }.compactMap(\.added?.lowerBound).reduce(end, min)
    }

    public var isAsked: Bool { !waiting.isEmpty }

    /// Sets the session of the task.
    func attach(to upload: IncomingUpload?) {
        self.upload = upload
        upload?.didBeginToWait = { [weak self] in self?.pump() }
        pump()
    }

    // MARK: - The client

    /// Appends bytes, at an offset if it is not nil. Bytes before the end of the stream are skipped. Returns once the
    /// stream need not hold the bytes back. A cancellation drops the bytes, unless the engine has or is getting them.
    ///
    /// - Parameter connection: the number of the client's connection; later connections have higher numbers.
    public func append(_ bytes: [UInt8], at offset: Int64?, from connection: Int64 = 0) async throws -> Position {
        let mine = try take(bytes, at: offset, from: connection)
        // The engine may answer within `pump`.
        waiting.append(mine)
        pump()
        do { return try await outcome(of: mine) } catch let error as CancellationError {
            switch mine.outcome {
            // Earlier cancellations may have dropped the bytes before the append, too.
            case nil: cut(at: min(end, max(mine.added?.lowerBound ?? end, sending?.end ?? start)))
            case .success: breakSequence()
            case .failure: break
            }
            throw error
        }
    }

    /// Records that an append was answered with an error.
    func breakSequence() { (next, hasGap) = (nil, true) }

    /// Ends the object after the appended bytes. Returns the last snapshot of the task when the object is stored.
    ///
    /// - Parameter connection: the number of the client's connection.
    public func finish(_ expected: Checksums, from connection: Int64 = 0) async throws -> TaskSnapshot {
        // The bytes of a refused append of this connection would be missing.
        if connection < newest, connection <= overtaken { throw StorageError.unknownEnd(end) }
        // An append that is refused after this request does not change the end.
        if hasGap, !isFinishing { throw StorageError.unknownEnd(end) }
        if let size = announced, end != size { throw StorageError.otherSize(end, than: size) }
        guard let task else { throw StorageError(.cancelled, "The upload has ended.") }
        let mine = Waiting(adding: nil, until: .max)
        waiting.append(mine)
        if !isFinishing {
            (isFinishing, self.expected) = (true, expected)
            pump()
        }
        _ = try await outcome(of: mine)
        return try await task.result()
    }

    /// Waits for the outcome of a request, and removes the request from `waiting`.
    private func outcome(of mine: Waiting) async throws -> Position {
        defer {
            waiting.removeAll { $0 === mine }
            changed.wakeAll()
        }
        settle()
        while true {
            switch mine.outcome {
            case .failure(let error): throw error
            case .success(let position) where waiting.first === mine: return position
            case .success, nil: try await changed.wait()
            }
        }
    }

    /// Sets the outcomes of the appends that have succeeded. Later failures do not change them.
    private func settle() {
        for one in waiting where one.outcome == nil && one.added != nil && one.end - acknowledged <= mayHold {
            one.outcome = .success(position(after: one))
        }
        changed.wakeAll()
    }

    private func position(after one: Waiting) -> Position {
        let held = min(firstUnanswered(besides: one), acknowledged.addingSaturated(mayHold))
        return Position(offset: max(one.end, min(end, acknowledged), held), durable: durable)
    }

    private func fail(if isConcerned: (Waiting) -> Bool, with error: (Waiting) -> StorageError) {
        for one in waiting where one.outcome == nil && isConcerned(one) { one.outcome = .failure(error(one)) }
        changed.wakeAll()
    }

    /// Holds the bytes of an append. Throws if they do not follow the end of the stream.
    private func take(_ bytes: [UInt8], at offset: Int64?, from connection: Int64) throws(StorageError) -> Waiting {
        if let ended { throw ended }
        if isFinishing { throw .invalidArgument("task", "The upload is being finished: it takes no more bytes.") }
        // The client has reconnected, and appends elsewhere: what it sent before does not follow.
        if offset == nil, connection < newest {
            overtaken = max(overtaken, connection)
            throw .overtaken(end)
        }
        do throws(StorageError) {
            if let offset, offset < 0 { throw .invalidArgument("offset", "offset must be at least 0, not \(offset).") }
            guard let place = offset ?? next else { throw .unknownPosition(end) }
            let last = place.addingSaturated(Int64(bytes.count))
            if place > end { throw .gap(end, place) }
            if let size = announced, last > size { throw .otherSize(last, than: size) }
            (hasGap, next) = (false, last)
            if offset != nil { newest = connection }
            let before = end
            hold(place == end ? bytes : Array(bytes.dropFirst(Int(clamping: end - place))))
            return Waiting(adding: before..<end, until: last)
        } catch {
            breakSequence()
            throw error
        }
    }

    private func hold(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        if let last = held.last, last.bytes.count + bytes.count <= Self.joined, end > sending?.end ?? start {
            held[held.count - 1].bytes += bytes
        } else {
            held.append(Held(bytes: bytes, start: end))
        }
        end += Int64(bytes.count)
        memory.bytes += bytes.count
    }

    // MARK: - The engine

    /// The number of bytes that the stream may hold after the append is answered. If memory is short, only bytes that
    /// make no chunk.
    private var mayHold: Int64 {
        if granularity == 1 { return 0 }
        return memory.bytes > TransferMemory.limit ? granularity : chunk.size
    }

    /// The next piece for the engine; nil until more bytes arrive.
    private var nextPiece: (range: Range<Int64>, isLast: Bool)? {
        let count = end - start
        if isFinishing, count <= chunk.size { return (start..<end, true) }
        // The engine may have kept a part of a piece, so `start` need not be a multiple of the granularity.
        let last = min(end, start.addingSaturated(chunk.size)) / granularity * granularity
        guard last > start, isFinishing || count >= mayHold else { return nil }
        return (start..<last, false)
    }

    /// Passes the next piece to the engine if the task waits for one. Until then a cancellation can drop the bytes.
    private func pump() {
        guard sending == nil, let upload, upload.waitsForItsClient, let (range, isLast) = nextPiece else { return }
        sending = (range.upperBound, isLast)
        let piece = IncomingBytes.Piece(range, read: reader(of: range))
        let elapsed = task?.context.time.clock.stopwatch()
        Loop.immediateTask { [self] in
            let answer = try? await upload.send(piece, isLast: isLast, expected)
            sending = nil
            guard let answer else { return }
            adapt(to: answer, after: range, took: elapsed?() ?? .zero)
            note(answer, after: range, isLast: isLast, of: upload)
            pump()
        }
    }

    /// Returns a closure that reads bytes that are held at the time of this call, even after they were dropped.
    private func reader(of range: Range<Int64>) -> IncomingBytes.Piece.Read {
        let parts = held.filter { $0.start < range.upperBound && $0.end > range.lowerBound }
        return { buffer, offset throws(StorageError) in
            var missing = buffer.count
            for part in parts {
                let first = max(offset, part.start), last = min(offset + Int64(buffer.count), part.end)
                guard first < last else { continue }
                part.bytes.withUnsafeBytes { all in
                    let from = UnsafeRawBufferPointer(
                        rebasing: all[Int(first - part.start)..<Int(last - part.start)])
                    UnsafeMutableRawBufferPointer(rebasing: buffer[Int(first - offset)...]).copyMemory(from: from)
                }
                missing -= Int(last - first)
            }
            guard missing == 0 else {
                throw StorageError(.internalError, "\(missing) bytes from \(offset) on have not arrived.")
            }
        }
    }

    private func note(
        _ answer: IncomingUpload.Answer, after range: Range<Int64>, isLast: Bool, of upload: IncomingUpload
    ) {
        switch answer {
        case .received(let offset) where isLast:
            // The engine has more bytes than the stream.
            lose(all: .unknownEnd(offset), from: offset)
        case .received(let offset):
            release(upTo: offset)
            Loop.task { [self] in await acknowledge(upTo: offset) }
        case .failed(let error) where task?.machine.taskState.isFinished == false:
            lose(all: error, from: upload.offset ?? start)
        // `taskEnded` follows.
        case .failed, .completed, .ended: break
        }
    }

    private func adapt(to answer: IncomingUpload.Answer, after range: Range<Int64>, took: Duration) {
        switch answer {
        case .received(range.upperBound) where range.upperBound - range.lowerBound == chunk.size:
            chunk.adapt(toFullChunkIn: took)
        case .failed: chunk.startAnew()
        case .received, .completed, .ended: break
        }
    }

    private func acknowledge(upTo offset: Int64) async {
        let lossesBefore = losses
        let isRecorded = await task?.untilRecorded(upTo: offset, again: losses > 0) ?? true
        guard losses == lossesBefore else { return }
        acknowledged = max(acknowledged, min(offset, start))
        if isRecorded { durable = acknowledged }
        settle()
    }

    /// Drops the held bytes before an offset, which the engine has.
    private func release(upTo offset: Int64) {
        held.removeFirst(held.prefix { $0.end <= offset }.count)
        let before = end - start
        (start, end) = (offset, max(end, offset))
        forget(before - (end - start))
    }

    private func forget(_ count: Int64) { memory.bytes -= Int(count) }

    // MARK: - Failures

    /// Drops the held bytes from a position on, which the engine is not getting. The appends that wait for them fail.
    /// The request that ends the object fails, too, unless the engine is getting the last piece.
    private func cut(at position: Int64) {
        settle()
        breakSequence()
        if isFinishing, sending?.isLast != true {
            isFinishing = false
            fail(if: { $0.added == nil }, with: { _ in .unknownEnd(position) })
        }
        while let last = held.last, last.start >= position { held.removeLast() }
        if let last = held.last, last.end > position {
            held[held.count - 1].bytes.removeLast(Int(last.end - position))
        }
        forget(end - position)
        end = position
        fail(
            if: { $0.added != nil && $0.end > position },
            with: { .gap(position, $0.added?.lowerBound ?? position) })
    }

    /// Drops all held bytes, since they do not follow the bytes that the engine has.
    private func lose(all error: StorageError, from offset: Int64) {
        settle()
        breakSequence()
        isFinishing = false
        drop()
        if offset < start || offset < durable { losses += 1 }
        (start, end, acknowledged, durable) = (offset, offset, min(acknowledged, offset), min(durable, offset))
        fail(if: { $0.end > offset }, with: { _ in error })
    }

    private func drop() {
        held = []
        forget(end - start)
        end = start
    }

    public func taskEnded() {
        upload?.didBeginToWait = nil
        upload = nil
        let error = task?.snapshot().error
        ended = error ?? .endedStream
        let last = end
        drop()
        // After a success all bytes are stored.
        if error == nil { (start, end, acknowledged, durable) = (last, last, last, last) }
        settle()
        for one in waiting where one.outcome == nil {
            one.outcome = error.map { .failure($0) } ?? .success(Position(offset: last, durable: last))
        }
        changed.wakeAll()
    }
}

extension StorageError {
    /// The error for an append without an offset after a failed one.
    fileprivate static func unknownPosition(_ end: Int64) -> StorageError {
        .invalidArgument(
            "offset",
            "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at \(end)."
        )
    }

    /// The error for an append without an offset after one of a later connection.
    fileprivate static func overtaken(_ end: Int64) -> StorageError {
        .invalidArgument(
            "offset",
            "A later connection has appended: say at which offset the bytes are. The next one is that at \(end).")
    }

    fileprivate static func unknownEnd(_ end: Int64) -> StorageError {
        .invalidArgument(
            "task",
            "It is not clear where the object ends: the upload has \(end) bytes, but an append has failed, or went to an earlier process."
        )
    }

    static var endedStream: StorageError {
        .invalidArgument("task", "The upload is finished: it takes no more bytes.")
    }
}
