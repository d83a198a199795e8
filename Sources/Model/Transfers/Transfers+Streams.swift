import Platform
import Storage

// Streams are tasks whose clients send or fetch the bytes piece by piece.

extension Transfers {
    /// Creates a download whose client reads the bytes from an offset on. The task waits for `start`, and ends with the
    /// process.
    public func downloadStream(
        _ reference: Reference, from offset: Int64 = 0, for client: TransferClient? = nil
    ) async throws -> DownloadTask {
        let reference = try reference.checkedAsObject("has no bytes")
        _ = try BytePart(offset: offset)
        let client = orDefault(client)
        try await ready()
        try tasks.reservePlace()
        defer { tasks.giveBackPlace() }
        var request = TaskRequest(
            file: "", retryTime: client.settings.maxDownloadRetryTime, userProject: client.settings.userProject,
            hasOwnTokens: false)
        request.origin = .stream
        let number = downloads.newNumber()
        let record = TaskRecord(
            id: tasks.newID(number), kind: .download, number: number, began: context.time.now(),
            reference: reference,
            progress: .unknown, stage: .unfinished(request, nil))
        var caller = client.caller(\.maxDownloadRetryTime)
        caller.isTriedOnce = true
        let stream = StreamDownload(reference, from: offset, task: record.id, for: caller, context, memory)
        let machine = DownloadMachine(
            DownloadStrategy(from: offset), retryTime: .seconds(request.retryTime), seed: context.random.next())
        let task = make(
            record, machine, .open(stream, nil), tasks.limits.fromClients, nil, in: downloads)
        (task.stream, stream.task) = (stream, task)
        return task
    }

    /// Records that an append was refused before it reached its stream.
    public func refuseAppend(to task: String) {
        guard readiness.isReady else { return readiness.hasRefusedAppends = true }
        (try? uploads.task(task))?.stream?.breakSequence()
    }

    /// Makes the streams of earlier processes refuse their end if an append was refused before they were restored.
    func noteRefusedAppends() {
        guard readiness.hasRefusedAppends else { return }
        for task in uploads.all { task.stream?.breakSequence() }
    }

    /// Returns when no running stream has a request without an answer.
    func streamsAreServed() async {
        await Loop.whenIdle { [self] in
            !uploads.all.contains { !$0.isAtRest && $0.stream?.isAsked == true }
                && !downloads.all.contains { !$0.isAtRest && $0.stream?.isAsked == true }
        }
    }

    /// Cancels the download streams that `isGone` selects.
    public func cancelStreams(_ isGone: (DownloadTask) -> Bool = { _ in true }) {
        for task in downloads.all where task.stream != nil && isGone(task) { _ = task.beginCancel() }
    }
}

extension UploadTask {
    /// The stream of an unfinished task. Throws the error of the task, or `invalidArgument` if the task has succeeded
    /// or is no stream.
    public func openStream() throws(StorageError) -> StreamUpload {
        if let stream, !state.isFinished { return stream }
        if let error = snapshot().error, state.isFinished { throw error }
        throw origin == .stream ? .endedStream : .noStream(id, "reference/putStream")
    }
}

extension DownloadTask {
    /// The stream of the task. Throws the error of the task, or `invalidArgument` if the task is no stream.
    public func openStream() throws(StorageError) -> StreamDownload {
        guard let stream else { throw .noStream(id, "reference/getStream") }
        if state.isFinished, let error = snapshot().error { throw error }
        return stream
    }
}

extension StorageError {
    static func noStream(_ task: String, _ method: String) -> StorageError {
        .invalidArgument("task", "Task \(task) is no stream: \(method) did not begin it.")
    }
}
