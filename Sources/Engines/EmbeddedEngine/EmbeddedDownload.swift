import Platform
import LocalFiles
import Storage

/// A download from the embedded engine.
///
/// An attempt reads one generation, even if the object is overwritten or deleted meanwhile, because the file stays
/// open. The next attempt looks the object up again: a deleted object is not found, and another generation starts over.
final class EmbeddedDownload: TransferSession {
    typealias Strategy = DownloadStrategy
    private typealias PendingAnswer = AbortableStep<DownloadAnswer>

    private static let reportSize: Int64 = 4 << 20
    private static let longestShort: Int64 = 1 << 20

    private let download: Download
    private let backend: EmbeddedBackend
    /// Runs one attempt at a time: an aborted attempt finishes before the next begins.
    private let queue: SerialQueue<PartialDownload>
    private let checkpoint: LatestCheckpoint

    init(_ download: Download, _ backend: EmbeddedBackend) {
        (self.download, self.backend) = (download, backend)
        let partial = PartialDownload(download, in: backend.allowed.writing)
        checkpoint = partial.checkpoint
        queue = SerialQueue(on: backend.downloading, partial)
    }

    func perform(_ step: DownloadMachine.Step, _ context: StepContext) async -> DownloadAnswer {
        let reports = DownloadProgressReporter(backend.time.clock, step: Self.reportSize, context.report)
        return await PendingAnswer.answer(aborted: .aborted) { attempt in
            backend.open(download.reference) { [self] object in
                switch object {
                case .success(let object):
                    let keepsNewer = context.replacesNewer ? nil : download.began
                    queue.submit { partial in
                        partial.keepsNewer = keepsNewer
                        self.land(object, step, in: partial, attempt, reports)
                    }
                case .failure(let error): attempt.answer(.failed(error))
                }
            }
        } onCancel: { attempt in
            reports.end()
            attempt.abort()
        }
    }

    func bookmark() async -> Bookmark? { checkpoint.bookmark }

    func discard() {
        Task { @Loop in
            backend.background.run { [self] in
                await queue.run { partial in partial.discard() }
            }
        }
    }

    private func land(
        _ object: OpenObject, _ step: DownloadMachine.Step, in partial: PartialDownload, _ attempt: PendingAnswer,
        _ reports: DownloadProgressReporter
    ) {
        guard !attempt.isAborted else { return }
        defer { partial.park() }
        do throws(StorageError) {
            let size = object.metadata.size
            let isShort = size <= Self.longestShort && step == .fetch
            try partial.open(for: object.metadata.generation, isShort: isShort) { !attempt.isAborted }
            try copy(object, step, to: partial, attempt, reports)
            guard !attempt.isAborted else { return }
            guard partial.offset == size else {
                reports.end()
                return attempt.answer(
                    .received(Progress(completedUnitCount: partial.offset, totalUnitCount: size)))
            }
            let isComplete = try partial.finish(
                size: size, object.metadata.checksums, if: attempt.mayCommit)
            if isComplete { attempt.answer(.completed(object.metadata)) }
        } catch {
            reports.end()
            let error = cause(of: error, object).about(download.reference)
            attempt.answer(partial.isSuperseded ? .superseded(error) : .failed(error))
        }
    }

    /// Returns the error. After a wrong checksum it verifies the stored object, whose damage is then logged.
    private func cause(of error: StorageError, _ object: OpenObject) -> StorageError {
        guard error.code == .nonMatchingChecksum else { return error }
        do throws(StorageError) { try object.verify() } catch { return error }
        return error
    }

    private func copy(
        _ object: OpenObject, _ step: DownloadMachine.Step, to partial: PartialDownload, _ attempt: PendingAnswer,
        _ reports: DownloadProgressReporter
    ) throws(StorageError) {
        let (size, start) = (object.metadata.size, partial.offset)
        let end = min(size, step.end ?? size)
        // The block fits into the processor's cache while it is read, summed and written.
        let block = backend.blocks.take()
        defer { backend.blocks.give(back: block) }
        if size > BlockCache.blockSize { object.expectReading(from: partial.offset) }
        if size == 0 || size > BlockCache.blockSize { reports.arrived(partial.offset, of: size) }
        while partial.offset < end, !attempt.isAborted {
            let piece = block.prefix(Int(min(Int64(BlockCache.blockSize), end - partial.offset)))
            try object.read(into: piece, at: partial.offset)
            if step.isDamaged, partial.offset == start { piece[0] ^= 1 }
            try partial.append(UnsafeRawBufferPointer(piece))
            reports.arrived(partial.offset, of: size)
        }
    }
}
