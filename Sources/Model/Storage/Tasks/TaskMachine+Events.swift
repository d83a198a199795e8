extension TaskMachine {
    public enum Event: Equatable, Sendable {
        case requested(Control)
        /// The concurrency limiter lets the task run.
        case admitted
        /// The progress of the step in flight, and the time since the step began.
        case reported(Progress, took: Duration = .zero)
        /// The step in flight has ended: the answer, the duration of the step, and the time of day.
        case answered(Answer, took: Duration = .zero, at: Timestamp = Timestamp(microseconds: 0))
        case retryDue(attempt: Int)
    }

    public enum Effect: Equatable, Sendable {
        /// Waits for the concurrency limiter.
        case acquire
        /// Leaves the concurrency limiter, or its queue.
        case release
        case perform(Step)
        case abort
        case wake(attempt: Int, after: Duration)
        /// Removes what has been transferred so far.
        case discard
        case publish(Status)
    }
}
