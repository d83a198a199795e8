extension UploadMachine {
    public enum Event: Equatable, Sendable {
        case asked(Wish)
        /// It has a place now.
        case admitted
        /// The step in flight has ended, after so long and at this time of day.
        case answered(Answer, took: Duration = .zero, at: Timestamp = Timestamp(microseconds: 0))
        case retryDue(attempt: Int)
    }

    /// What the user wants.
    public enum Wish: Equatable, Sendable, CaseIterable { case start, pause, resume, cancel }

    /// How the step in flight ended.
    public enum Answer: Equatable, Sendable {
        /// Every chunk but the last has to be a multiple of so many bytes.
        case opened(granularity: Int64 = 1)
        /// The engine has all bytes before this offset.
        case received(upTo: Int64)
        case completed(ObjectMetadata)
        case failed(StorageError)
        /// The engine knows nothing of what was opened, any more.
        case forgotten(StorageError)
        case aborted
    }

    public enum Effect: Equatable, Sendable {
        /// Get in line for a place.
        case acquire
        /// Give the place back, or leave the line.
        case release
        case perform(Step)
        case abort
        case wake(attempt: Int, after: Duration)
        /// What was stored so far is not wanted any more.
        case discard
        case publish(Status)
    }
}
