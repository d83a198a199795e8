import Checksums
import Storage

extension Backend {
    /// Uploads to the end, without a queue. Rests take no time but use up the retry time; without any, a failure is the
    /// outcome immediately.
    ///
    /// `between` is called before each step is carried out.
    package func run(
        _ upload: Upload, chunks: ChunkSizes? = nil, retryTime: Duration = .zero,
        between: (UploadMachine.Step) async -> Void = { _ in }
    ) async throws -> ObjectMetadata {
        let machine = UploadMachine(strategy(of: upload, chunks), retryTime: retryTime)
        return try await run(machine, .start, stoppable(upload), between)
    }

    private func strategy(of upload: Upload, _ chunks: ChunkSizes?) -> UploadStrategy {
        let size = upload.source.size
        let isSmall = size.map { $0 <= properties.oneRequestLimit && chunks == nil } ?? false
        return UploadStrategy(
            size: size, oneRequest: upload.source.copy == nil ? isSmall : properties.copiesAtOnce,
            chunks: chunks ?? properties.chunkSizes)
    }

    /// The same with one that an earlier process began.
    package func continueUpload(
        _ upload: Upload, chunks: ChunkSizes? = nil, between: (UploadMachine.Step) async -> Void = { _ in }
    ) async throws -> ObjectMetadata {
        let restored = strategy(of: upload, chunks).restored(acknowledged: 0, isOpen: upload.bookmark != nil)
        return try await run(UploadMachine(restored: restored, retryTime: .zero), .resume, stoppable(upload), between)
    }

    private func run(
        _ machine: UploadMachine, _ wish: UploadMachine.Control, _ session: StoppableSession<UploadStrategy>,
        _ between: (UploadMachine.Step) async -> Void
    ) async throws -> ObjectMetadata {
        var machine = machine
        var events: [UploadMachine.Event] = [.requested(wish), .admitted]
        var ends = 0
        while !events.isEmpty {
            for effect in machine.handle(events.removeFirst()) {
                switch effect {
                case .perform(let step):
                    await between(step)
                    events.append(.answered(await session.perform(step)))
                case .abort: session.abort()
                case .discard: session.discard()
                case .wake(let attempt, _): events.append(.retryDue(attempt: attempt))
                case .publish(.success), .publish(.failure): ends += 1
                case .acquire, .release, .publish: break
                }
            }
        }
        guard ends == 1 else { throw Unfinished() }
        switch machine.state {
        case .ended(.succeeded(let metadata)): return metadata
        case .ended(.failed(let error)): throw error
        case .ready, .queued, .working, .stopping, .resting, .paused, .ended(.cancelled), .ended(.cancelledInDoubt):
            throw Unfinished()
        }
    }
}

extension TransferSession where Strategy == UploadStrategy {
    /// As for a client of this process.
    package func perform(_ step: UploadMachine.Step, replacesNewer: Bool = true) async -> UploadMachine.Answer {
        await perform(step, StepContext(StepFlags(replacesNewer: replacesNewer)))
    }
}

extension TransferSession where Strategy == DownloadStrategy {
    package func fetch(_ report: @escaping @Sendable (Progress) -> Void) async -> DownloadAnswer {
        await perform(.fetch, StepContext(report: report))
    }
}

private struct Unfinished: Error {}

extension TaskMachine where Strategy == UploadStrategy {
    package init(
        size: Int64, oneRequest: Bool = false, chunks: ChunkSizes, retryTime: Duration = .seconds(600), seed: UInt64 = 0
    ) {
        self.init(UploadStrategy(size: size, oneRequest: oneRequest, chunks: chunks), retryTime: retryTime, seed: seed)
    }

    /// In bytes.
    package var size: Int64 { progress.totalUnitCount }
    package var acknowledged: Int64 { progress.completedUnitCount }
}

extension TaskMachine where Strategy == DownloadStrategy {
    package init(retryTime: Duration = .seconds(600), seed: UInt64 = 0) {
        self.init(DownloadStrategy(), retryTime: retryTime, seed: seed)
    }
}

extension Checksums {
    /// Whether the checksums are those of the bytes, and at least one is known.
    package func prove(_ bytes: [UInt8]) -> Bool {
        var found = Checksum()
        bytes.withUnsafeBytes { found.update($0, like: self) }
        return !isEmpty && flaw(in: Checksums(found, like: self)) == nil
    }
}
