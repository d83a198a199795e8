import JSONText
import Platform
import Tracing

/// `storage-rpc trace --follow`: shows a trace while it is recorded, until no service writes it any more.
final class TraceFollower {
    private let file: Descriptor
    /// Nil for a pipe, which ends with its writer.
    private let lock: OpenFile?
    private let path: String
    private let wanted: String
    private var timeline: LiveTimeline
    private var problems = 0
    /// The maximum number of reported problems.
    private static let mostProblems = 20
    private var text = ""
    /// No service writes the file; what was written until then is still read.
    private var isLastRead = false
    /// The number of waits, of a tenth of a second each.
    private var waits = 0

    init(_ file: Descriptor, _ lock: OpenFile?, _ path: String, _ options: CommandOptions) {
        (self.file, self.lock, self.path) = (file, lock, path)
        var wanted = options.timeline
        wanted.isColoured = TraceCommand.isColoured
        self.wanted = wanted.task ?? ""
        timeline = LiveTimeline(wanted, asJSON: options.json)
    }

    func run() throws {
        var reader = TraceReader(file) { [unowned self] in try waitForMore() }
        while let item = try reader.next() {
            switch item {
            case .line(let line): try timeline.take(line, width: Descriptor.standardOutput.terminalWidth, say)
            case .problem(let problem): try report(problem)
            }
        }
        guard !timeline.isEmpty else { throw noTrace }
        guard timeline.hasTask else { throw TraceCommand.Failure(message: "no task of \(path) is \(wanted)") }
        try timeline.end(say)
        try flush()
    }

    private var noTrace: TraceCommand.Failure { TraceCommand.Failure(message: "\(path) is no trace") }

    /// Reports an unreadable line. Throws if all lines were unreadable.
    private func report(_ problem: String) throws {
        try flush()
        problems += 1
        if problems <= Self.mostProblems { Console.printError(problem) }
        if problems > Self.mostProblems, timeline.isEmpty { throw noTrace }
    }

    /// Whether more may be written: a service holds a shared lock while it writes.
    private func waitForMore() throws -> Bool {
        try flush()
        guard let lock, !isLastRead else { return false }
        if lock.lock() {
            lock.unlock()
            isLastRead = true
            return true
        }
        if Descriptor.standardOutput.isAbandoned(within: .milliseconds(100)) { throw OutputError(error: .brokenPipe) }
        waits += 1
        if waits == 10 { Console.tell("waits for more of \(path); Ctrl-C ends it") }
        return true
    }

    private func say(_ line: String) throws {
        text += line + "\n"
        if text.utf8.count > 64 << 10 { try flush() }
    }

    private func flush() throws {
        if !text.isEmpty { try Console.printUnescaped(text, end: "") }
        text = ""
    }
}
