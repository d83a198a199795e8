import Platform
import Storage

/// The bytes of an upload that its client appends piece by piece, from their arrival until the engine has them.
///
///     append ──▶ held bytes ──▶ IncomingUpload ──▶ the engine
///                 start…end                         durable
///
/// Appends get their positions in the order in which they arrive. One is answered when its bytes are so near behind what
/// the engine has that they may stay here: that is the back pressure. An engine that takes any piece gets what is there
/// whenever its task asks for bytes, and nothing stays here; others get chunks, so that small appends need no request each.
///
/// If an append is answered with an error, the bytes behind it have no place: all later ones fail, and so does the end,
/// until one says where it belongs. Bytes of a cancelled append go, unless the engine has or is getting them.
@Loop public final class StreamUpload: TaskStream {
    /// Where the stream is after an append: everything before `offset` is taken, and everything before `durable` survives
    /// the process.
    public struct Position: Equatable, Sendable {
        public var offset: Int64
        public var durable: Int64
    }

    /// Bytes of one append, or of several small ones.
    private struct Held {
        var bytes: [UInt8]
        let start: Int64
        var end: Int64 { start + Int64(bytes.count) }
    }

    /// A request that waits: an append for its bytes, the end for that of the task.
    private final class Waiting {
        /// The bytes that the append has brought; nil for the end.
        let added: Range<Int64>?
        /// Everything before it is what the append waits for.
        let end: Int64
        var outcome: Result<Position, StorageError>?

        init(adding added: Range<Int64>?, until end: Int64) { (self.added, self.end) = (added, end) }
    }

    /// Small appends are joined up to so many bytes.
    private static let joined = 256 << 10
    /// In bytes: a longer piece would only take memory.
    static let longestPiece: Int64 = 8 << 20

    private let memory: StreamMemory
    private weak var task: UploadTask?
    /// The size of the object; nil where the client does not announce it.
    private let announced: Int64?
    /// Pieces but the last end at multiples of it.
    private let granularity: Int64
    private let pieceSize: Int64
    /// Nil until a task of an earlier process continues.
    private var upload: IncomingUpload?
    private var held: [Held] = []
    /// Where the held bytes are: the engine has all before.
    private var start: Int64
    private(set) var end: Int64
    /// Where the last append ended; nil where the next one has to say where its bytes are. An engine may have more than
    /// that: what an earlier process got and did not record.
    private var next: Int64?
    /// The engine has everything before it, and that is recorded, or could not be recorded.
    private var acknowledged: Int64
    /// Everything before it is recorded.
    private var durable: Int64
    /// How often the engine has had less than it was known to have.
    private var losses = 0
    /// The piece that the engine is getting; nil while it gets none.
    private var sending: (end: Int64, isLast: Bool)?
    /// In the order of their arrival, in which they succeed. A failure waits for nobody.
    private var waiting: [Waiting] = []
    /// An append has failed since the last one that has not.
    private var hasGap = false
    public private(set) var isFinishing = false
    private var expected = Checksums()
    /// What an append gets once the task has ended.
    private var ended: StorageError?
    private let changed = Waiters()

    /// `offset` is what an earlier process has recorded; nil for a new task.
    init(
        of task: UploadTask, announcing announced: Int64?, granularity: Int64, chunkSize: Int64?,
        from offset: Int64? = nil, _ memory: StreamMemory
    ) {
        (self.announced, self.task, self.granularity, self.memory) = (announced, task, granularity, memory)
        pieceSize = min(chunkSize ?? Self.longestPiece, Self.longestPiece)
        next = offset == nil ? 0 : nil
        let offset = offset ?? 0
        (start, end, acknowledged, durable) = (offset, offset, offset, offset)
        attach(to: task.incoming)
    }

    /// All bytes before it are taken: no append without an answer takes them back.
    public var offset: Int64 { max(sending?.end ?? start, firstUnanswered()) }

    /// Where the bytes of appends that have no outcome begin.
    private func firstUnanswered(besides mine: Waiting? = nil) -> Int64 {
        waiting.lazy.filter { $0.outcome == nil && $0 !== mine }.compactMap(\.added?.lowerBound).reduce(end, min)
    }

    public var isAsked: Bool { !waiting.isEmpty }

    /// The task has a session now.
    func attach(to upload: IncomingUpload?) {
        self.upload = upload
        upload?.didBeginToWait = { [weak self] in self?.pump() }
        pump()
    }

    // MARK: - The client

    /// Takes the next bytes, or those at an offset, without those that are there already. Returns once the engine has most
    /// of them. A request that is cancelled before takes back those that the engine is not getting.
    public func append(_ bytes: [UInt8], at offset: Int64?) async throws -> Position {
        let mine = try take(bytes, at: offset)
        // The engine may answer within `pump`.
        waiting.append(mine)
        pump()
        do { return try await outcome(of: mine) } catch let error as CancellationError {
            switch mine.outcome {
            case nil: cut(at: max(mine.added?.lowerBound ?? end, sending?.end ?? start))
            case .success: breakSequence()
            case .failure: break
            }
            throw error
        }
    }

    /// An append was answered with an error.
    func breakSequence() { (next, hasGap) = (nil, true) }

    /// The object ends with the bytes that are here. Returns its snapshot when it is stored.
    public func finish(_ expected: Checksums) async throws -> TaskSnapshot {
        // An append that was refused after the end does not change it.
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

    /// - Parameter mine: one of those that wait; no longer when this returns.
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

    /// Whoever has what he waits for keeps it, whatever happens next.
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

    /// Gives bytes their place. Throws where they have none.
    private func take(_ bytes: [UInt8], at offset: Int64?) throws(StorageError) -> Waiting {
        if let ended { throw ended }
        if isFinishing { throw .invalidArgument("task", "The upload is being finished: it takes no more bytes.") }
        do throws(StorageError) {
            if let offset, offset < 0 { throw .invalidArgument("offset", "offset must be at least 0, not \(offset).") }
            guard let place = offset ?? next else { throw .unknownPosition(end) }
            let last = place.addingSaturated(Int64(bytes.count))
            if place > end { throw .gap(end, place) }
            if let size = announced, last > size { throw .otherSize(last, than: size) }
            (hasGap, next) = (false, last)
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

    /// Bytes that may wait here for more of them. Where memory is short only those are held that make no piece.
    private var mayHold: Int64 {
        if granularity == 1 { return 0 }
        return memory.bytes > TransferMemory.limit ? granularity : pieceSize
    }

    /// The next piece for the engine; nil where it has to wait for more bytes.
    private var nextPiece: (range: Range<Int64>, isLast: Bool)? {
        let count = end - start
        if isFinishing, count <= pieceSize { return (start..<end, true) }
        // The engine may have kept a part of a piece: the next one ends where the pieces of the stream end.
        let last = min(end, start.addingSaturated(pieceSize)) / granularity * granularity
        guard last > start, isFinishing || count >= mayHold else { return nil }
        return (start..<last, false)
    }

    /// Passes a piece on where the task waits for one: what is not passed on yet can be taken back.
    private func pump() {
        guard sending == nil, let upload, upload.waitsForItsClient, let (range, isLast) = nextPiece else { return }
        sending = (range.upperBound, isLast)
        let piece = IncomingBytes.Piece(range, read: reader(of: range))
        Loop.immediateTask { [self] in
            let answer = try? await upload.send(piece, isLast: isLast, expected)
            sending = nil
            guard let answer else { return }
            note(answer, after: range, isLast: isLast, of: upload)
            pump()
        }
    }

    /// Reads bytes that are held now, whatever happens to them later.
    private func reader(of range: Range<Int64>) -> IncomingBytes.Piece.Read {
        let parts = held.filter { $0.start < range.upperBound && $0.end > range.lowerBound }
        return { buffer, offset in
            for part in parts {
                let first = max(offset, part.start), last = min(offset + Int64(buffer.count), part.end)
                guard first < last else { continue }
                part.bytes.withUnsafeBytes { all in
                    let from = UnsafeRawBufferPointer(
                        rebasing: all[Int(first - part.start)..<Int(last - part.start)])
                    UnsafeMutableRawBufferPointer(rebasing: buffer[Int(first - offset)...]).copyMemory(from: from)
                }
            }
        }
    }

    private func note(
        _ answer: IncomingUpload.Answer, after range: Range<Int64>, isLast: Bool, of upload: IncomingUpload
    ) {
        switch answer {
        case .received(let offset) where isLast:
            // It has more than the client knows of.
            lose(all: .unknownEnd(offset), from: offset)
        case .received(let offset):
            release(upTo: offset)
            Loop.task { [self] in await acknowledge(upTo: offset) }
        case .failed(let error) where task?.machine.taskState.isFinished == false:
            lose(all: error, from: upload.offset ?? start)
        // The end of the task follows.
        case .failed, .completed, .ended: break
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

    /// The engine has the bytes before an offset.
    private func release(upTo offset: Int64) {
        held.removeFirst(held.prefix { $0.end <= offset }.count)
        let before = end - start
        (start, end) = (offset, max(end, offset))
        forget(before - (end - start))
    }

    private func forget(_ count: Int64) { memory.bytes -= Int(count) }

    // MARK: - Failures

    /// Drops the bytes from a position on, which the engine is not getting. Appends that wait for them fail, and so does
    /// the end, unless the engine is getting the last piece.
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

    /// The engine is elsewhere: nothing that is here follows.
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
    /// An append without an offset after one that has failed.
    fileprivate static func unknownPosition(_ end: Int64) -> StorageError {
        .invalidArgument(
            "offset",
            "The append before has failed, or went to an earlier process: say at which offset the bytes are. The next one is that at \(end)."
        )
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
