import Storage

extension Backend {
    /// Uploads to the end, without a queue. Rests take no time but use up the patience; without any, a failure is the
    /// outcome at once.
    ///
    /// `between` is called before each step is carried out.
    public func run(
        _ upload: Upload, chunks: ChunkSizes? = nil, patience: Duration = .zero,
        between: (UploadMachine.Step) async -> Void = { _ in }
    ) async throws -> ObjectMetadata {
        let session = beginUpload(upload)
        let size = upload.source.size
        var machine = UploadMachine(
            size: size, oneRequest: size <= oneRequestLimit && chunks == nil, chunks: chunks ?? chunkSizes,
            patience: patience)
        var events: [UploadMachine.Event] = [.asked(.start), .admitted]
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
        case .ready, .queued, .working, .stopping, .resting, .paused, .ended(.cancelled): throw Unfinished()
        }
    }
}

private struct Unfinished: Error {}
