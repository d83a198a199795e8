extension TaskMachine {
    public enum Event: Equatable, Sendable {
        case requested(Control)
        /// The concurrency limiter lets the task run.
        case admitted
        /// The progress of the step in flight, and the time since its start.
        case reported(Progress, took: Duration = .zero)
        /// The step in flight has ended: how long it took, and the time of day.
        case answered(Answer, took: Duration = .zero, at: Timestamp = Timestamp(microseconds: 0))
        case retryDue(attempt: Int)
    }

    /// What a client can ask of a task.
    public enum Control: Equatable, Sendable, CaseIterable { case start, pause, resume, cancel, retry }

    public enum Effect: Equatable, Sendable {
        /// Ask the concurrency limiter.
        case acquire
        /// Leave the concurrency limiter, or its queue.
        case release
        case perform(Step)
        case abort
        case wake(attempt: Int, after: Duration)
        /// Remove what has been transferred so far.
        case discard
        case publish(Status)
    }
}
