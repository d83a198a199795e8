import JSONText

/// Writes a trace as lines while it is recorded. Requests are written before their answers are known.
package struct LiveTimeline {
    private var builder = TraceModelBuilder()
    private var options: Timeline.Options
    /// The requests that have not been written, because the filter depends on their answers.
    private var hidden: Set<Int> = []
    /// The times of the last reports that were written, by task.
    private var reported: [String: Int64] = [:]

    /// Writes JSON for programs, one object per line.
    private let asJSON: Bool

    /// The minimum time between two reports of one transfer, unless all are written.
    private static let microsecondsBetweenReports: Int64 = 1_000_000

    package init(_ options: Timeline.Options, asJSON: Bool) {
        (self.options, self.asJSON) = (options, asJSON)
        self.options.isLive = true
    }

    /// No line of the trace was readable.
    package var isEmpty: Bool { builder.model.entries.isEmpty }

    /// The requested task exists, or no task was requested.
    package var hasTask: Bool {
        options.task.map { wanted in builder.model.tasks.contains { $0.task.hasPrefix(wanted) } } ?? true
    }

    /// Calls `say` with the lines of a new event. Lines longer than `width` are truncated.
    package mutating func take(_ line: TraceLine, width: Int?, _ say: (String) throws -> Void) rethrows {
        options.width = width
        let first = builder.model.entries.count
        if first == 0, !asJSON { try say(Timeline(builder.model, options).legend) }
        builder.take(line)
        for index in first..<builder.model.entries.count { try show(index, say) }
    }

    /// Calls `say` with the remaining facts at the end: requests without an answer, and transfers.
    package mutating func end(_ say: (String) throws -> Void) rethrows {
        options.isLive = false
        for index in hidden.sorted() {
            if Timeline(builder.model, options).isShown(builder.model.entries[index]) { try tell(index, say) }
        }
        if !asJSON { try Timeline(builder.model, options).tellSummary(say) }
    }

    private mutating func show(_ index: Int, _ say: (String) throws -> Void) rethrows {
        let entry = builder.model.entries[index]
        let isShown = Timeline(builder.model, options).isShown(entry) && isDue(entry)
        if isShown {
            if let partner = entry.partner, hidden.contains(partner) { try tell(partner, say) }
            try tell(index, say)
        } else if entry.isUnanswered {
            hidden.insert(index)
        }
        if let partner = entry.partner {
            hidden.remove(partner)
            builder.strip(partner)
        }
        // A request is kept until its answer.
        if !entry.isUnanswered { builder.strip(index) }
    }

    private mutating func isDue(_ entry: TraceModel.Entry) -> Bool {
        guard !options.showsAll, let task = entry.progressTask else { return true }
        let isDue = reported[task].map { entry.at - $0 >= Self.microsecondsBetweenReports } ?? true
        if isDue { reported[task] = entry.at }
        return isDue
    }

    private func tell(_ index: Int, _ say: (String) throws -> Void) rethrows {
        let entry = builder.model.entries[index]
        let timeline = Timeline(builder.model, options)
        try say(
            asJSON
                ? entry.json(connection: builder.model.channels[entry.channel].number).text.safeJSON
                : timeline.line(of: entry))
    }
}
