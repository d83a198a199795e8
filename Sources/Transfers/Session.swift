import Storage

/// A task's line to its engine, whichever way the bytes go.
struct Session<Course: TaskCourse>: Sendable {
    typealias Report = @Sendable (Progress) -> Void

    let perform: @Sendable (Course.Step, @escaping Report) async -> Course.Answer
    let abort: @Sendable () -> Void
    let discard: @Sendable () -> Void
}

extension Session<UploadCourse> {
    init(_ session: any UploadSession) {
        self.init(
            perform: { step, _ in await session.perform(step) }, abort: { session.abort() },
            discard: { session.discard() })
    }

    /// For an upload whose source could not even be opened.
    init(failing error: StorageError) {
        self.init(perform: { _, _ in .failed(error) }, abort: {}, discard: {})
    }
}

extension Session<DownloadCourse> {
    init(_ session: any DownloadSession) {
        self.init(
            perform: { _, report in await session.fetch(report) }, abort: { session.abort() },
            discard: { session.discard() })
    }
}

/// What a task is made from.
struct TransferPlan<Course: TaskCourse> {
    var reference: Reference
    /// What is being uploaded.
    var metadata: TaskSnapshot.Metadata?
    var bytesInMemory = 0
    var machine: TaskMachine<Course>
    var session: Session<Course>
    var places: Places
}
