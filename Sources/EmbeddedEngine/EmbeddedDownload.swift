import Platform
import LocalFiles
import Storage
import Synchronization

/// One download out of the embedded engine.
///
/// A try ends with the generation that it began with, even where that is overwritten or deleted meanwhile: its bytes
/// are held open. The next try looks again: what was deleted by then is not found, another generation starts anew.
final class EmbeddedDownload: DownloadSession {
    private typealias Attempt = AbortableStep<DownloadAnswer>

    /// Stays in the processor's cache between being read, summed up and written.
    private static let pieceSize = 256 << 10
    private static let reportSize: Int64 = 4 << 20

    private struct Try {
        var attempt: Attempt
        var reports: ArrivalReports
    }

    private let download: Download
    private let backend: EmbeddedBackend
    /// Tries may be abandoned but never overlap: the next one waits here for the thread of the one before.
    private let queue: SerialQueue<LandingFile>
    private let mark: LandingBookmark
    private let current = Mutex<Try?>(nil)

    init(_ download: Download, _ backend: EmbeddedBackend) {
        self.download = download
        self.backend = backend
        let landing = LandingFile(download, in: backend.allowed.writing)
        mark = landing.mark
        queue = SerialQueue(on: backend.downloading, landing)
    }

    func fetch(_ report: @escaping @Sendable (Progress) -> Void) async -> DownloadAnswer {
        await withCheckedContinuation { waiter in
            let attempt = Attempt(waiter, aborted: .aborted)
            let reports = ArrivalReports(backend.clock, step: Self.reportSize, report)
            current.withLock { $0 = Try(attempt: attempt, reports: reports) }
            Loop.task { [self] in
                do throws(StorageError) {
                    let object = try await backend.open(download.reference)
                    queue.submit { self.land(object, in: $0, attempt, reports) }
                } catch {
                    attempt.answer(.failed(error))
                }
            }
        }
    }

    func abort() {
        guard let current = current.withLock({ $0 }) else { return }
        current.reports.end()
        current.attempt.abort()
    }

    func bookmark() async -> Bookmark? { mark.bookmark }

    func discard() {
        abort()
        Task { @Loop in
            backend.background.run { [self] in
                await queue.run { landing in landing.discard() }
            }
        }
    }

    private func land(_ object: OpenObject, in landing: LandingFile, _ attempt: Attempt, _ reports: ArrivalReports) {
        guard !attempt.isAborted else { return }
        defer { landing.park() }
        do throws(StorageError) {
            try landing.open(for: object.metadata.generation) { !attempt.isAborted }
            try copy(object, to: landing, attempt, reports)
            guard !attempt.isAborted else { return }
            let hasLanded = try landing.finish(
                size: object.metadata.size, crc32c: object.metadata.crc32c, if: attempt.mayCommit)
            if hasLanded { attempt.answer(.completed(object.metadata)) }
        } catch {
            reports.end()
            attempt.answer(.failed(error.about(download.reference)))
        }
    }

    private func copy(_ object: OpenObject, to landing: LandingFile, _ attempt: Attempt, _ reports: ArrivalReports)
        throws(StorageError)
    {
        let size = object.metadata.size
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceSize, alignment: 4096)
        defer { buffer.deallocate() }
        object.expectReading(from: landing.offset)
        reports.arrived(landing.offset, of: size)
        while landing.offset < size, !attempt.isAborted {
            let count = min(Int64(Self.pieceSize), size - landing.offset)
            let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(count)])
            try object.read(into: piece, at: landing.offset)
            try landing.append(UnsafeRawBufferPointer(piece))
            reports.arrived(landing.offset, of: size)
        }
    }
}
