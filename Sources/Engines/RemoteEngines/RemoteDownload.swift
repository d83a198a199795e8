import HTTPClient
import HTTPText
import LocalFiles
import Platform
import Storage
import Synchronization

/// One download from a remote engine: bytes of one generation, verified against its metadata.
///
/// An aborted step answers at once. The next step waits until all work of the aborted one has ended.
final class RemoteDownload: TransferSession {
    typealias Strategy = DownloadStrategy
    private typealias PendingAnswer = AbortableStep<DownloadAnswer>

    /// In bytes: an object up to this size is not worth a file that survives a pause.
    private static let longestShort: Int64 = 1 << 20

    private let download: Download
    private let backend: RemoteBackend
    private let queue: SerialQueue<PartialDownload>
    private let checkpoint: LatestCheckpoint
    @Loop private var hasTried = false
    /// The work for the latest step.
    private let latest = Mutex<Task<Void, Never>?>(nil)

    init(_ download: Download, _ backend: RemoteBackend) {
        (self.download, self.backend) = (download, backend)
        let partial = PartialDownload(download, in: backend.allowed.writing)
        checkpoint = partial.checkpoint
        queue = SerialQueue(on: backend.downloading, partial)
    }

    func perform(_ part: DownloadMachine.Step, _ context: StepContext) async -> DownloadAnswer {
        let reports = DownloadProgressReporter(backend.time.clock, context.report)
        return await PendingAnswer.answer(aborted: .aborted) { step in
            latest.withLock { latest in
                latest = Loop.task { [self, before = latest] in
                    await before?.value
                    await run(part, keepsNewer: context.replacesNewer ? nil : download.began, step, reports)
                }
            }
        } onCancel: { [self] step in
            reports.end()
            step.abort()
            if step.isAborted { latest.withLock { $0 }?.cancel() }
        }
    }

    func bookmark() async -> Bookmark? { checkpoint.bookmark }

    func discard() {
        let before = latest.withLock { $0 }
        Task { @Loop in
            backend.background.run { [self] in
                await before?.value
                await queue.run { partial in partial.discard() }
            }
        }
    }
}

@Loop extension RemoteDownload {
    private func run(
        _ part: DownloadMachine.Step, keepsNewer: Beginning?, _ step: PendingAnswer,
        _ reports: DownloadProgressReporter
    ) async {
        guard !step.isAborted else { return }
        defer { hasTried = true }
        queue.append { partial in partial.keepsNewer = keepsNewer }
        let answer: DownloadAnswer
        do throws(StorageError) {
            answer = .completed(
                try await LastStatus.attached { () async throws(StorageError) in
                    try await self.fetch(part, step, reports)
                })
        } catch {
            let error = error.about(download.reference)
            let isSuperseded = await queue.run { partial in
                defer { partial.park() }
                return partial.isSuperseded
            }
            answer = isSuperseded ? .superseded(error) : .failed(error)
        }
        reports.end()
        step.answer(answer)
    }

    private func fetch(
        _ part: DownloadMachine.Step, _ step: PendingAnswer, _ reports: DownloadProgressReporter
    ) async throws(StorageError) -> ObjectMetadata {
        var doubt: (generation: Int64, error: StorageError)?
        switch try await fetchNew(part, step, reports) {
        case (_, .done(let object))?: return object
        case (let generation, .doubtful(let error))?: doubt = (generation, error)
        case nil: break
        }
        return try await backend.settled(download.reference, download.caller, doubt: doubt) {
            object async throws(StorageError) in try await self.fetch(object, part, step, reports)
        }
    }

    /// Fetches the metadata and all bytes with one request. Nil if the download has bytes already, or if the response
    /// has bytes alone.
    private func fetchNew(
        _ part: DownloadMachine.Step, _ step: PendingAnswer, _ reports: DownloadProgressReporter
    ) async throws(StorageError) -> (generation: Int64, MediaOutcome<ObjectMetadata>)? {
        guard part == .fetch, backend.dialect.describesMedia, try await isNew() else { return nil }
        let reference = download.reference
        let sink = NewMediaSink(reference, backend.dialect) { [self] object in
            reports.arrived(0, of: object.size)
            let buffer = buffer(for: object, part, from: 0, step, reports)
            buffer.open { partial throws(StorageError) in try self.open(partial, for: object, part, step) }
            return buffer
        }
        var request = backend.dialect.media(of: reference, generation: nil, isGzip: true, from: 0, to: nil)
        request.sink = sink
        let answer = await backend.answer(to: request, reference, download.caller)
        if case .success(let response) = answer {
            guard response.isSuccess else { throw .refusal(response, of: request, to: reference, by: backend.dialect) }
            sink.bodyEnded(response)
        }
        switch sink.head {
        case .described(let object, let media, let buffer):
            let outcome = Result { () throws(StorageError) in try backend.outcome(of: answer, to: request, media) }
            // The writes of the buffer end before the file does.
            if case .success(.done) = outcome { return (object.generation, try await finish(object, step, buffer)) }
            await queue.run { _ in }
            if let failure = buffer.failure { throw failure }
            if case .doubtful(let error) = try outcome.get() {
                await distrust(object, reports)
                return (object.generation, .doubtful(error))
            }
            return nil
        case .undescribed: return nil
        case nil:
            _ = try answer.get()
            return nil
        }
    }

    /// Whether the download has no bytes yet. Then also checks the destination, except for a file of a folder: its directory
    /// was just made, and it is checked when the response begins.
    private func isNew() async throws(StorageError) -> Bool {
        if !hasTried, !download.isRestored, download.tree != nil { return true }
        return try await queue.run { partial throws(StorageError) in try partial.prepare() }
    }

    private nonisolated func open(
        _ partial: PartialDownload, for object: ObjectMetadata, _ part: DownloadMachine.Step, _ step: PendingAnswer
    ) throws(StorageError) {
        try partial.open(for: object.generation, isShort: isShort(object, part)) { !step.isAborted }
    }

    private nonisolated func isShort(_ object: ObjectMetadata, _ part: DownloadMachine.Step) -> Bool {
        object.size <= Self.longestShort && part == .fetch
    }

    /// Forgets the bytes of a response that cannot be trusted.
    private func distrust(_ object: ObjectMetadata, _ reports: DownloadProgressReporter) async {
        await queue.run { partial in partial.discard() }
        reports.arrived(0, of: object.size)
    }

    private func fetch(
        _ object: ObjectMetadata, _ part: DownloadMachine.Step, _ step: PendingAnswer,
        _ reports: DownloadProgressReporter
    ) async throws(StorageError) -> MediaOutcome<ObjectMetadata> {
        let offset = try await queue.run { partial throws(StorageError) in
            try self.open(partial, for: object, part, step)
            return partial.offset
        }
        reports.arrived(offset, of: object.size)
        guard offset < min(part.end ?? object.size, object.size) || offset == object.size else {
            throw end(at: offset, of: object, step, reports)
        }
        var object = object
        if offset < object.size, !step.isAborted {
            switch try await fetch(object, part, from: offset, step, reports) {
            case .done(let described): object.complete(described)
            case .doubtful(let error):
                await distrust(object, reports)
                return .doubtful(error)
            }
        }
        return try await finish(object, step)
    }

    private func fetch(
        _ object: ObjectMetadata, _ part: DownloadMachine.Step, from offset: Int64, _ step: PendingAnswer,
        _ reports: DownloadProgressReporter
    ) async throws(StorageError) -> MediaOutcome<MediaDescription> {
        let buffer = buffer(for: object, part, from: offset, step, reports)
        do throws(StorageError) {
            let outcome = try await backend.fetch(
                into: MediaSink(StoredContent(object), from: offset, into: buffer, backend.dialect), download.caller)
            await queue.run { _ in }
            if let failure = buffer.failure { throw failure }
            return outcome
        } catch {
            await queue.run { _ in }
            throw buffer.failure ?? error
        }
    }

    private nonisolated func buffer(
        for object: ObjectMetadata, _ part: DownloadMachine.Step, from offset: Int64, _ step: PendingAnswer,
        _ reports: DownloadProgressReporter
    ) -> DownloadBuffer {
        // A file of a folder gives its turn to the next one without waiting for the disk. Its writes are not reported: their
        // counts would be lower.
        let isEarly = download.tree != nil && isShort(object, part)
        return DownloadBuffer(on: queue) { count in
            if isEarly { reports.arrived(offset + count, of: object.size) }
        } _: { partial, bytes throws(StorageError) in
            guard !step.isAborted else { return }
            let wanted = UnsafeRawBufferPointer(
                rebasing: bytes.prefix(Int(min((part.end ?? .max) - partial.offset, Int64(bytes.count)))))
            if part.isDamaged, partial.offset == offset { UnsafeMutableRawBufferPointer(mutating: wanted)[0] ^= 1 }
            try partial.append(wanted)
            if !isEarly { reports.arrived(partial.offset, of: object.size) }
            if let end = part.end, partial.offset == end, end < object.size {
                throw self.end(at: end, of: object, step, reports)
            }
        }
    }

    /// Answers that a part has arrived, and returns an error that ends its request.
    private nonisolated func end(
        at offset: Int64, of object: ObjectMetadata, _ step: PendingAnswer, _ reports: DownloadProgressReporter
    ) -> StorageError {
        reports.end()
        step.answer(.received(Progress(completedUnitCount: offset, totalUnitCount: object.size)))
        return StorageError(.cancelled, "The request ends at byte \(offset).")
    }

    /// Ends the file, and closes its descriptors.
    ///
    /// - Parameter buffer: has the last bytes of the file.
    private func finish(
        _ object: ObjectMetadata, _ step: PendingAnswer, _ buffer: DownloadBuffer? = nil
    ) async throws(StorageError) -> MediaOutcome<ObjectMetadata> {
        do throws(StorageError) {
            _ = try await queue.run { partial throws(StorageError) in
                defer { partial.park() }
                if let failure = buffer?.failure { throw failure }
                guard !step.isAborted else { return false }
                return try partial.finish(size: object.size, object.checksums, if: step.mayCommit)
            }
            return .done(object)
        } catch {
            guard error.code == .nonMatchingChecksum else { throw error }
            return .doubtful(error)
        }
    }
}

extension ObjectMetadata {
    /// Adds the checksums of the response if the metadata has none.
    fileprivate mutating func complete(_ described: MediaDescription) {
        if checksums.isEmpty { checksums = described.checksums }
    }
}

extension RemoteBackend {
    package func beginDownload(_ download: Download) -> any DownloadSession { RemoteDownload(download, self) }
}
