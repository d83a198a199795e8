import Storage

extension Backend {
    /// Uploads to the end, without a queue. Rests take no time but use up the retry time; without any, a failure is the
    /// outcome at once.
    ///
    /// `between` is called before each step is carried out.
    public func run(
        _ upload: Upload, chunks: ChunkSizes? = nil, retryTime: Duration = .zero,
        between: (UploadMachine.Step) async -> Void = { _ in }
    ) async throws -> ObjectMetadata {
        let size = upload.source.size
        let machine = UploadMachine(
            size: size, oneRequest: size <= oneRequestLimit && chunks == nil, chunks: chunks ?? chunkSizes,
            retryTime: retryTime)
        return try await run(machine, .start, beginUpload(upload), between)
    }

    /// The same with one that an earlier process began.
    public func goOn(
        _ upload: Upload, chunks: ChunkSizes? = nil, between: (UploadMachine.Step) async -> Void = { _ in }
    ) async throws -> ObjectMetadata {
        let size = upload.source.size
        let strategy = UploadStrategy(
            size: size, oneRequest: size <= oneRequestLimit && chunks == nil, chunks: chunks ?? chunkSizes)
        let restored = strategy.restored(acknowledged: 0, isOpen: upload.bookmark != nil)
        return try await run(UploadMachine(restored: restored, retryTime: .zero), .resume, beginUpload(upload), between)
    }

    private func run(
        _ machine: UploadMachine, _ wish: UploadMachine.Control, _ session: any UploadSession,
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
        case .ready, .queued, .working, .stopping, .resting, .paused, .ended(.cancelled): throw Unfinished()
        }
    }
}

extension UploadSession {
    /// As one that a client of this process wants.
    public func perform(_ step: UploadMachine.Step) async -> UploadMachine.Answer {
        await perform(step, replacesNewer: true)
    }
}

private struct Unfinished: Error {}
