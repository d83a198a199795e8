extension TaskMachine {
    public enum Event: Equatable, Sendable {
        case asked(Wish)
        /// It has a place now.
        case admitted
        /// The step in flight is so far, so long after it began.
        case reported(Progress, took: Duration = .zero)
        /// The step in flight has ended, after so long and at this time of day.
        case answered(Answer, took: Duration = .zero, at: Timestamp = Timestamp(microseconds: 0))
        case retryDue(attempt: Int)
    }

    /// What the user wants.
    public enum Wish: Equatable, Sendable, CaseIterable { case start, pause, resume, cancel }

    public enum Effect: Equatable, Sendable {
        /// Get in line for a place.
        case acquire
        /// Give the place back, or leave the line.
        case release
        case perform(Step)
        case abort
        case wake(attempt: Int, after: Duration)
        /// What has been moved so far is not wanted any more.
        case discard
        case publish(Status)
    }
}
