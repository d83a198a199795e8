import JSONText

/// One transfer of a trace: what the service tells about it, or else what the messages of clients show.
package struct TracedTransfer: Sendable {
    package struct Sample: Sendable {
        package var at: Int64
        /// The state of the task; `waiting` while it waits after a failure.
        package var state: String
        package var completed: Int64
        package var total: Int64
        /// The next attempt, its time, and the failure before it. Empty unless the task waits for it.
        package var note = ""
        /// What the task waits for, as the end of a sentence.
        package var cause = ""
    }

    package var task: String
    /// `upload`, `download` or `folder`.
    package var kind: String
    package var reference = "?"
    package var samples: [Sample] = []
    package var error: String?
    /// The service has told all states of the transfer; messages then add only progress.
    var isTold = false

    package var isEnded: Bool { samples.last.map { ["success", "failed", "cancelled"].contains($0.state) } ?? false }
    package var duration: Int64 { (samples.last?.at ?? 0) - (samples.first?.at ?? 0) }

    /// The states of the samples, without repetitions.
    package var states: [String] {
        samples.reduce(into: []) { states, sample in
            if states.last != sample.state { states.append(sample.state) }
        }
    }
}

// Reading.

extension TracedTransfer {
    /// The kind of the tasks that messages of a method are about.
    static func kind(of method: String) -> String {
        if method.hasPrefix("downloadTask/") || method == "reference/writeToFile" { return "download" }
        return method.hasPrefix("folder") ? "folder" : "upload"
    }

    /// Begins with the time of the request that has begun the transfer.
    mutating func note(requestedAt time: Int64) {
        guard samples.first?.state != "asked for", samples.first.map({ time <= $0.at }) ?? true else { return }
        samples.insert(.init(at: time, state: "asked for", completed: 0, total: 0), at: 0)
    }

    /// Adds a sample of a snapshot. A message may tell an older state than the service has told.
    mutating func add(_ sample: Sample, _ snapshot: JSON, isMessage: Bool) {
        if let last = samples.last, isMessage, isTold {
            guard last.isSameState(as: sample), last.completed < sample.completed else { return }
        }
        samples.append(sample)
        if let error = snapshot["error"] { self.error = MessageSummary.of(error: error) }
    }
}

extension TracedTransfer.Sample {
    /// Nil without a state.
    init?(_ snapshot: JSON, at time: Int64) {
        guard let state = snapshot["state"]?.string else { return nil }
        let (progress, retry) = (snapshot["progress"], snapshot["retry"])
        self.init(
            at: time, state: retry != nil && state == "running" ? "waiting" : state,
            completed: max(0, progress?["completedUnitCount"]?.number?.int64 ?? 0),
            total: max(0, progress?["totalUnitCount"]?.number?.int64 ?? 0),
            note: retry.map(MessageSummary.of(retry:)) ?? "",
            cause: retry?["error"].map(MessageSummary.cause(of:)) ?? "")
    }

    func isSameState(as other: Self) -> Bool { (state, note) == (other.state, other.note) }
}

// The verdict.

extension TracedTransfer {
    /// In microseconds: the time from which on a transfer is slow.
    private static let slow: Int64 = 1_000_000

    /// One sentence about a slow transfer: what its time was spent on. Nil for a fast one.
    ///
    /// - Parameter end: the end of the trace.
    package func verdict(until end: Int64) -> String? {
        guard let first = samples.first, let last = samples.last else { return nil }
        let took = max(0, (isEnded ? last.at : end) - first.at)
        guard took >= Self.slow else { return nil }
        var spent: [Wait: Int64] = [:]
        for (sample, next) in zip(samples, samples.dropFirst().map(\.at) + [isEnded ? last.at : end]) {
            if let wait = sample.wait { spent[wait, default: 0] += max(0, next - sample.at) }
        }
        let name = reference.split(separator: "/").last.map(String.init) ?? reference
        let longest = spent.max { ($0.value, $1.key.what, $1.key.why) < ($1.value, $0.key.what, $0.key.why) }
        let how =
            if let (wait, time) = longest, time >= took / 5 {
                "\(wait.what) \(Self.seconds(time)) of \(Self.seconds(took))\(wait.why)"
            } else {
                "took \(Self.seconds(took)) for \(Amount.bytes(last.completed)), "
                    + "\(Amount.bytes(Int64(Double(last.completed) / Double(took) * 1e6)))/s"
            }
        let end = ["success": "", "failed": ", and failed", "cancelled": ", and was cancelled"][last.state]
        return "\(name) \(how)\(end ?? ", and has not ended")"
    }

    private static func seconds(_ microseconds: Int64) -> String { "\(Amount.fixed(microseconds / 1000, 1)) s" }
}

/// A time without transfer in a verdict: the words before and after the time.
private struct Wait: Hashable {
    let what: String
    var why = ""
}

extension TracedTransfer.Sample {
    /// Nil while bytes are transferred.
    fileprivate var wait: Wait? {
        switch state {
        case "waiting": Wait(what: "waited", why: " \(cause)")
        case "queued": Wait(what: "was queued for")
        case "paused": Wait(what: "was paused for")
        case "asked for": Wait(what: "waited", why: " to begin")
        default: nil
        }
    }
}
