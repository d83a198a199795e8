import Platform
import Storage

/// The bytes of an upload that its client appends piece by piece, from their arrival until the engine has them.
///
///     append ──▶ held bytes ──▶ IncomingUpload ──▶ the engine
///                 start…end                         durable
///
/// Appends get their positions in the order in which they arrive. One is answered when its bytes are so near behind what
/// the engine has that they may stay here: that is the back pressure. An engine that takes any piece gets what is there
/// whenever it is idle, and nothing stays here; others get chunks, so that small appends need no request each.
///
/// Where an append fails the bytes behind it have no place any more: all later ones fail, until one says where it belongs.
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

    /// Somebody who waits for the bytes before a position.
    private final class Waiting {
        let end: Int64
        let isDone: @Loop () -> Bool
        var outcome: Result<Void, StorageError>?

        init(until end: Int64, _ isDone: @escaping @Loop () -> Bool) { (self.end, self.isDone) = (end, isDone) }
    }

    /// Small appends are joined up to so many bytes.
    private static let joined = 256 << 10
    /// In bytes: a longer piece would only take memory.
    static let longestPiece: Int64 = 8 << 20

    private let memory: StreamMemory
    private weak var task: UploadTask?
    private let source: IncomingBytes
    /// Pieces but the last are multiples of it.
    private let granularity: Int64
    private let pieceSize: Int64
    /// Nil until a task of an earlier process continues.
    private var upload: IncomingUpload?
    private var held: [Held] = []
    /// Where the held bytes are: the engine has all before.
    private var start: Int64
    private(set) var end: Int64
    /// Where the last append ended. An engine may have more than that: what an earlier process got and did not record.
    private var next: Int64
    /// Everything before it is recorded.
    private var durable: Int64
    /// The end of the piece that the engine is getting; nil while it gets none.
    private var sending: Int64?
    /// In the order of their arrival, in which they succeed. A failure waits for nobody.
    private var waiting: [Waiting] = []
    /// An append has to say where its bytes are.
    private var isPositionLost: Bool
    /// An append has failed since the last one that has not.
    private var hasGap = false
    private var isFinishing = false
    private var expected = IncomingBytes.Expected()
    /// What an append gets once the task has ended.
    private var ended: StorageError?
    private let changed = Waiters()

    /// `offset` is what an earlier process has recorded; nil for a new task.
    init(
        _ source: IncomingBytes, of task: UploadTask, granularity: Int64, chunkSize: Int64?, from offset: Int64? = nil,
        _ memory: StreamMemory
    ) {
        (self.source, self.task, self.granularity, self.memory) = (source, task, granularity, memory)
        pieceSize = min(chunkSize ?? Self.longestPiece, Self.longestPiece)
        (start, end, durable, next) = (offset ?? 0, offset ?? 0, offset ?? 0, offset ?? 0)
        self.offset = offset ?? 0
        isPositionLost = offset != nil
        attach(to: task.incoming)
    }

    /// Everything before it was answered, or the engine has it: the client may go on there, or earlier.
    private(set) var offset: Int64

    var isAsked: Bool { !waiting.isEmpty }

    /// The task has a session now.
    func attach(to upload: IncomingUpload?) {
        self.upload = upload
        pump()
    }

    func taskResumed() { pump() }

    // MARK: - The client

    /// Takes the next bytes, or those at an offset, without those that are there already. Returns once the engine has most
    /// of them. A request that is cancelled before takes its bytes back.
    public func append(_ bytes: [UInt8], at offset: Int64?) async throws -> Position {
        let place = try take(bytes, at: offset)
        pump()
        do {
            try await wait(until: place.upperBound) { [self] in place.upperBound - durable <= mayHold }
        } catch is CancellationError {
            takeBack(place)
            throw CancellationError()
        }
        let position = Position(offset: max(min(end, durable + mayHold), place.upperBound), durable: durable)
        self.offset = max(self.offset, position.offset)
        return position
    }

    /// An append was refused before it got a place: what follows has no place any more.
    public func noteRefusal() {
        guard !isFinishing else { return }
        (isPositionLost, hasGap) = (true, true)
    }

    /// The object ends with the bytes that are here. Returns its snapshot when it is stored.
    public func finish(_ expected: IncomingBytes.Expected) async throws -> TaskSnapshot {
        if hasGap { throw StorageError.unknownEnd(end) }
        if let size = source.announced, end != size { throw StorageError.otherSize(end, than: size) }
        guard let task else { throw StorageError(.cancelled, "The upload has ended.") }
        if !isFinishing {
            (isFinishing, self.expected) = (true, expected)
            source.end(at: end, expected)
            pump()
        }
        try await wait(until: .max) { task.state.isFinished }
        return try await task.result()
    }

    /// Throws what has happened to the bytes before a position.
    private func wait(until position: Int64, _ isDone: @escaping @Loop () -> Bool) async throws {
        let mine = Waiting(until: position, isDone)
        waiting.append(mine)
        defer {
            waiting.removeAll { $0 === mine }
            changed.wakeAll()
        }
        settle()
        while true {
            switch mine.outcome {
            case .failure(let error): throw error
            case .success where waiting.first === mine: return
            case .success, nil: try await changed.wait()
            }
        }
    }

    /// Whoever has what he waits for keeps it, whatever happens next.
    private func settle() {
        for one in waiting where one.outcome == nil && one.isDone() { one.outcome = .success(()) }
        changed.wakeAll()
    }

    private func fail(from position: Int64, _ error: (_ end: Int64) -> StorageError) {
        for one in waiting where one.outcome == nil && one.end > position {
            one.outcome = .failure(error(one.end))
        }
        changed.wakeAll()
    }

    /// Gives bytes their place. Throws where they have none.
    private func take(_ bytes: [UInt8], at offset: Int64?) throws(StorageError) -> Range<Int64> {
        if let offset, offset < 0 { throw .invalidArgument("offset", "offset must be at least 0, not \(offset).") }
        if let ended { throw ended }
        if isFinishing { throw .invalidArgument("task", "The upload is being finished: it takes no more bytes.") }
        do throws(StorageError) {
            guard let place = offset ?? (isPositionLost ? nil : next) else { throw .unknownPosition(end) }
            let last = place.addingSaturated(Int64(bytes.count))
            if place > end { throw .gap(end, place) }
            if let size = source.announced, last > size { throw .otherSize(last, than: size) }
            (isPositionLost, hasGap, next) = (false, false, last)
            hold(place == end ? bytes : Array(bytes.dropFirst(Int(clamping: end - place))))
            return place..<last
        } catch {
            (isPositionLost, hasGap) = (true, true)
            throw error
        }
    }

    private func hold(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        if let last = held.last, last.bytes.count + bytes.count <= Self.joined, end > sending ?? start {
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
        return memory.bytes > Transfers.memoryLimit ? granularity : pieceSize
    }

    /// The next piece for the engine; nil where it has to wait for more bytes.
    private var nextPiece: (range: Range<Int64>, isLast: Bool)? {
        let count = end - start
        if isFinishing, count <= pieceSize { return (start..<end, true) }
        let whole = min(count, pieceSize) / granularity * granularity
        guard whole > 0, isFinishing || count >= mayHold else { return nil }
        return (start..<start + whole, false)
    }

    /// Passes pieces on until it has to wait.
    private func pump() {
        // What a paused task has not sent can be taken back.
        guard sending == nil, let upload, task?.state != .paused, let (range, isLast) = nextPiece else { return }
        sending = range.upperBound
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
            Loop.task { [self] in
                await task?.untilRecorded(upTo: offset)
                durable = max(durable, min(offset, start))
                settle()
            }
        case .failed(let error) where task?.machine.taskState.isFinished == false:
            lose(all: error, from: upload.offset ?? start)
        // The end of the task follows.
        case .failed, .completed, .ended: break
        }
    }

    /// The engine has the bytes before an offset.
    private func release(upTo offset: Int64) {
        held.removeFirst(held.prefix { $0.end <= offset }.count)
        let before = end - start
        (start, end, self.offset) = (offset, max(end, offset), max(self.offset, offset))
        forget(before - (end - start))
    }

    private func forget(_ count: Int64) { memory.bytes -= Int(count) }

    // MARK: - Failures

    /// An append is cancelled: its bytes go, as far as the engine is not getting them, and those behind it fail.
    private func takeBack(_ place: Range<Int64>) {
        let position = max(place.lowerBound, sending ?? start)
        if position < end { return cut(at: position) }
        noteRefusal()
        if !isFinishing { fail(from: place.upperBound) { .gap(place.upperBound, $0) } }
    }

    /// Drops the bytes from a position on. Those who wait for them fail, and so does a `finish`.
    private func cut(at position: Int64) {
        settle()
        (isPositionLost, hasGap, isFinishing) = (true, true, false)
        source.end(at: nil)
        while let last = held.last, last.start >= position { held.removeLast() }
        if let last = held.last, last.end > position {
            held[held.count - 1].bytes.removeLast(Int(last.end - position))
        }
        forget(end - position)
        end = position
        fail(from: position) { $0 == .max ? .unknownEnd(position) : .gap(position, $0) }
    }

    /// The engine is elsewhere: nothing that is here follows.
    private func lose(all error: StorageError, from offset: Int64) {
        settle()
        (isPositionLost, hasGap, isFinishing) = (true, true, false)
        source.end(at: nil)
        drop()
        (start, end, durable, self.offset) = (offset, offset, min(durable, offset), offset)
        fail(from: offset) { _ in error }
    }

    private func drop() {
        held = []
        forget(end - start)
        end = start
    }

    func taskEnded() {
        drop()
        upload = nil
        settle()
        // After a success all bytes are stored.
        let error = task?.snapshot().error
        ended = error ?? .endedStream
        for one in waiting where one.outcome == nil { one.outcome = error.map { .failure($0) } ?? .success(()) }
        changed.wakeAll()
    }
}

/// The bytes of all streams that wait here for their engine. They have a limit of their own: those of a client that sends
/// no more stay, and must not keep other uploads waiting.
@Loop final class StreamMemory {
    var bytes = 0
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
