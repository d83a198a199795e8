extension Clock where Duration == Swift.Duration {
    /// Tells later how much time has passed since now.
    package var reading: Reading {
        let start = now
        return Reading { start.duration(to: now) }
    }
}

package struct Reading: Sendable {
    package let passed: @Sendable () -> Duration
}
