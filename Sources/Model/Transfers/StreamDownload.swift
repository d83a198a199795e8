import Checksums
import Platform
import Storage

/// A download whose client fetches the bytes piece by piece, in one generation of its object.
///
/// The stream is the session of its task. A step reads the metadata, then answers reads until it is stopped, a piece
/// fails, or the object ends. The next step answers the reads that are left.
///
/// These reads are the sequence. A read with an offset of its own is no part of it: it needs no step, is retried by
/// itself, and changes neither the position nor the progress.
@Loop public final class StreamDownload: TransferSession, TaskStream {
    public typealias Strategy = DownloadStrategy

    /// The answer to a read.
    public struct Piece: Sendable {
        public var bytes: [UInt8]
        public var offset: Int64
        /// Whether all bytes of the object were read in order and match its checksum. Nil unless the sequence ends with
        /// this piece.
        public var isVerified: Bool?
        /// The size of the object. Nil for a piece of the sequence.
        public var size: Int64?

        /// Whether the object ends with the piece, or before it.
        public var isEnd: Bool { isVerified != nil || size.map { $0 <= offset + Int64(bytes.count) } ?? false }
    }

    /// A request that waits for its piece.
    private final class Read {
        let length: Int64
        let mayBegin: @Loop (Int64) async throws -> Int64
        var outcome: Result<Piece, any Error>?

        init(_ length: Int64, _ mayBegin: @escaping @Loop (Int64) async throws -> Int64) {
            (self.length, self.mayBegin) = (length, mayBegin)
        }
    }

    private static let thread = WorkerThreads("streams", limit: 2)

    private let context: TransferContext
    private let memory: TransferMemory
    weak var task: DownloadTask?
    private let reference: Reference
    private let id: String
    private let caller: Caller
    private let first: Int64
    /// The offset of the next byte.
    public private(set) var offset: Int64
    /// Nil until a step has read the metadata.
    private var object: ObjectMetadata?
    private var checksum = Checksum()
    private var isVerified: Bool?
    /// Why the task has ended without all bytes.
    private var failure: StorageError?
    private var reads: [Read] = []
    private let asked = Waiters()
    private let answered = Waiters()
    /// Woken when the object is known, when the task is resumed, and at its end.
    private let moved = Waiters()
    /// The number of reads apart from the sequence that have no answer, and how many of them the engine is serving.
    private var readsApart = 0
    public private(set) var fetchesApart = 0
    /// The offset of the first byte that is not on its way to the client.
    private var told: Int64
    private let turns = Waiters()
    public private(set) var waitsForItsClient = false

    init(
        _ reference: Reference, from offset: Int64, task: String, for caller: Caller, _ context: TransferContext,
        _ memory: TransferMemory
    ) {
        (self.reference, id, self.context, self.memory, self.caller) = (reference, task, context, memory, caller)
        (first, self.offset, told) = (offset, offset, offset)
    }

    public var isAsked: Bool { !reads.isEmpty || readsApart > 0 }
    private var backend: any Backend { context.backend }

    // MARK: - The client

    /// Returns the next piece of the sequence, of at most `length` bytes. Reads are answered in their order.
    ///
    /// - Parameter mayBegin: waited for before a piece is fetched. Receives the length of the piece, and returns the
    ///   length that is allowed.
    public func read(
        _ length: Int64, mayBegin: @escaping @Loop (Int64) async throws -> Int64
    ) async throws -> Piece {
        let read = Read(length, mayBegin)
        if let failure { throw failure }
        if let isVerified { return Piece(bytes: [], offset: offset, isVerified: isVerified) }
        reads.append(read)
        asked.wakeAll()
        do {
            while read.outcome == nil { try await answered.wait() }
        } catch {
            // The next read gets the piece.
            answer(read, .failure(error))
            throw error
        }
        let piece = try read.outcome?.get()
        // When the client has the last piece, the task has ended.
        if piece?.isVerified != nil { _ = try await task?.result() }
        return piece ?? Piece(bytes: [], offset: offset, isVerified: isVerified)
    }

    /// Returns when the pieces before this one are on their way to the client, or when the request is cancelled.
    public func waitForTurn(of piece: Piece) async {
        while told < piece.offset {
            do { try await turns.wait() } catch { break }
        }
        told = max(told, piece.offset + Int64(piece.bytes.count))
        turns.wakeAll()
    }

    private func answer(_ read: Read, _ outcome: Result<Piece, any Error>) {
        reads.removeAll { $0 === read }
        read.outcome = read.outcome ?? outcome
        answered.wakeAll()
    }

    public func taskEnded() {
        failure = task?.snapshot().error
        let end = Piece(bytes: [], offset: offset, isVerified: isVerified)
        for read in reads where read.outcome == nil { read.outcome = failure.map { .failure($0) } ?? .success(end) }
        reads = []
        if failure != nil { object = nil }
        answered.wakeAll()
        moved.wakeAll()
    }
}

// MARK: - Reads apart from the sequence

extension StreamDownload {
    /// Returns the piece at an offset, of at most `length` bytes, also after the task has succeeded. A piece beyond the
    /// end has no bytes.
    public func read(
        _ length: Int64, at place: Int64, mayBegin: @escaping @Loop (Int64) async throws -> Int64
    ) async throws -> Piece {
        _ = try BytePart(offset: place, length: length)
        readsApart += 1
        defer { readsApart -= 1 }
        let object = try await untilItMoves()
        let start = min(place, object.size)
        let wanted = min(length, object.size - start)
        let count = wanted == 0 ? 0 : try await mayBegin(wanted)
        let bytes = try await fetch(start..<start + count, of: object)
        task?.list?.metrics.add(count)
        return Piece(bytes: bytes, offset: place, size: object.size)
    }

    /// The object, once it is known and while the task is not paused. Throws the error of the task.
    private func untilItMoves() async throws -> ObjectMetadata {
        while true {
            if let failure { throw failure }
            if let object, task?.state != .paused { return object }
            try await moved.wait()
        }
    }

    /// The bytes of a range. Those that arrive while the task is paused are dropped, and fetched again afterwards.
    private func fetch(_ range: Range<Int64>, of object: ObjectMetadata) async throws -> [UInt8] {
        var budget = RetryBudget(limit: caller.retryTime, seed: context.random.next())
        while true {
            _ = try await untilItMoves()
            try await memory.free()
            let elapsed = context.time.clock.stopwatch()
            do throws(StorageError) {
                let bytes = try await fetchOnce(range, of: object)
                if let failure { throw failure }
                if task?.state != .paused { return bytes }
            } catch {
                try Task.checkCancellation()
                guard error.retryable else { throw error }
                let rest = try budget.delay(after: error, took: elapsed(), at: context.time.now())
                try await context.time.clock.sleep(for: rest)
                budget.rested(rest)
            }
        }
    }

    private func fetchOnce(_ range: Range<Int64>, of object: ObjectMetadata) async throws(StorageError) -> [UInt8] {
        fetchesApart += 1
        memory.take(range.count)
        defer {
            fetchesApart -= 1
            memory.giveBack(range.count)
        }
        do throws(StorageError) {
            return try await backend.piece(range, of: object, task: id, for: caller)
        } catch {
            throw error.orAbout(reference)
        }
    }
}

// MARK: - The session of the task

extension StreamDownload {
    public nonisolated func discard() {}
    public nonisolated func bookmark() async -> Bookmark? { nil }

    public func perform(_ step: DownloadStrategy.Step, _ context: StepContext) async -> DownloadAnswer {
        do {
            let object = try await found()
            moved.wakeAll()
            context.report(progress(of: object))
            while isVerified == nil {
                let read = try await nextRead()
                let length: Int64
                do { length = try await read.mayBegin(min(read.length, object.size - offset)) } catch {
                    if Task.isCancelled { return .aborted }
                    answer(read, .failure(error))
                    continue
                }
                try await serve(read, length, of: object)
                context.report(progress(of: object))
            }
            return .completed(object)
        } catch let error as StorageError {
            return Task.isCancelled ? .aborted : .failed(error.orAbout(reference))
        } catch {
            return .aborted
        }
    }

    private func progress(of object: ObjectMetadata) -> Progress {
        Progress(completedUnitCount: offset - first, totalUnitCount: object.size - first)
    }

    private func found() async throws -> ObjectMetadata {
        if let object { return object }
        let found = try await backend.metadata(of: reference, for: caller.preparing)
        _ = try BytePart(offset: first).range(in: found.size)
        object = found
        return found
    }

    private func nextRead() async throws -> Read {
        while true {
            try Task.checkCancellation()
            if let read = reads.first { return read }
            waitsForItsClient = true
            defer { waitsForItsClient = false }
            try await asked.wait()
        }
    }

    private func serve(_ read: Read, _ length: Int64, of object: ObjectMetadata) async throws {
        try await memory.free()
        let range = offset..<min(object.size, offset.addingSaturated(length))
        try await memory.holding(range.count) {
            let bytes = try await backend.piece(range, of: object, task: id, for: caller)
            // The next read fetches the bytes again.
            guard read.outcome == nil, !Task.isCancelled else { return }
            try await note(bytes, of: object)
            let piece = Piece(bytes: bytes, offset: offset - Int64(bytes.count), isVerified: isVerified)
            answer(read, .success(piece))
        }
    }

    /// Adds bytes to the checksum. Throws if they are the last ones, and the checksum differs.
    private func note(_ bytes: [UInt8], of object: ObjectMetadata) async throws {
        if first == 0 {
            let before = checksum
            checksum = await Self.thread.run {
                var checksum = before
                bytes.withUnsafeBytes { checksum.update($0, like: object.checksums.fastest) }
                return checksum
            }
        }
        offset += Int64(bytes.count)
        guard offset == object.size else { return }
        do {
            isVerified = try verify(object)
        } catch {
            await backend.verifyStored(object)
            throw error
        }
    }

    private func verify(_ object: ObjectMetadata) throws -> Bool {
        let expected = object.checksums.fastest
        guard first == 0, !expected.isEmpty else { return false }
        if let kind = expected.difference(from: Checksums(checksum, like: expected)) {
            throw StorageError.damagedStream(object, kind)
        }
        return true
    }
}

extension StorageError {
    fileprivate static func damagedStream(_ object: ObjectMetadata, _ kind: Checksums.Kind) -> StorageError {
        StorageError(
            .nonMatchingChecksum,
            "The bytes that were read of \(object.reference.url) do not match its \(kind.rawValue): discard them."
        ).about(object.reference)
    }
}
