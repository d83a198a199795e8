import JSONText
import Platform
import Tracing

/// `storage-rpc trace`: shows a file that `serve --trace` has written.
package enum TraceCommand {
    package struct Failure: UserFacingError { package let message: String }

    package static func run(_ path: String, _ options: CommandOptions) throws {
        let (file, lock) = try open(path)
        if options.isFollowing { return try TraceFollower(file, lock, path, options).run() }
        let model = try TraceModelBuilder.read(TraceReader(file))
        for problem in model.problems { Console.printError(problem) }
        if model.omittedProblems > 0 { Console.printError("and so with \(model.omittedProblems) more lines") }
        guard !model.entries.isEmpty else { throw Failure(message: "\(path) is no trace") }
        var timeline = options.timeline
        if let wanted = timeline.task {
            let found = model.tasks.map(\.task).filter { $0.hasPrefix(wanted) }
            guard let task = found.first, Set(found).count == 1 else {
                throw Failure(
                    message: found.isEmpty ? "no task of \(path) is \(wanted)" : "several tasks begin with \(wanted)")
            }
            timeline.task = task
        }
        if let html = options.html {
            try write(TracePage.html(of: model), to: html)
        } else {
            try show(model, timeline, asJSON: options.json)
        }
    }

    /// The file, and for a regular file also the file whose lock says whether it is still being written.
    private static func open(_ path: String) throws -> (Descriptor, lock: OpenFile?) {
        let notice = WaitNotice("waits for \(path == "-" ? "a trace on standard input" : path)")
        defer { notice.end() }
        guard path != "-" else {
            _ = Descriptor.waitUntilReadable(.standardInput, nil)
            return (.standardInput, nil)
        }
        do throws(SystemError) {
            let file = try OpenFile(path, [])
            let kind = try file.status().kind
            if kind != .directory { return (try file.duplicate(), kind == .regular ? file : nil) }
        } catch {
            throw Failure(message: "\(path) cannot be read: \(error.reason)")
        }
        throw UsageError(message: "\(path) is a directory")
    }

    private static func show(_ model: TraceModel, _ wanted: Timeline.Options, asJSON: Bool) throws {
        var options = wanted
        options.isColoured = isColoured
        options.width = Descriptor.standardOutput.terminalWidth
        var text = ""
        func flush() throws {
            try Console.printUnescaped(text, end: "")
            text = ""
        }
        func say(_ line: String) throws {
            text += line + "\n"
            if text.utf8.count > 64 << 10 { try flush() }
        }
        let timeline = Timeline(model, options)
        if asJSON {
            for entry in model.entries where timeline.isShown(entry) {
                try say(entry.json(connection: model.channels[entry.channel].number).text.safeJSON)
            }
        } else {
            try timeline.tell(say)
        }
        try flush()
    }

    static var isColoured: Bool {
        Console.isColoured(.standardOutput)
    }

    private static func write(_ page: [UInt8], to path: String) throws {
        do throws(SystemError) {
            let file = path == "-" ? .standardOutput : try OpenFile(path, [.writing, .create, .truncate]).duplicate()
            try file.writeBlocking(page)
        } catch {
            throw Failure(message: "\(path) cannot be written: \(error.reason)")
        }
    }
}
