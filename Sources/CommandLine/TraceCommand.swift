import Platform
import Tracing

/// `storage-rpc trace`: shows a file that `serve --trace` has written.
package enum TraceCommand {
    package struct Failure: UserFacingError { package let message: String }

    package static func run(_ path: String, html: String?) throws(Failure) {
        let file: Descriptor
        do throws(SystemError) {
            file = path == "-" ? .standardInput : try OpenFile(path, []).duplicate()
        } catch {
            throw Failure(message: "\(path) cannot be read: \(error.reason)")
        }
        let model = TraceModelBuilder.read(TraceReader(file))
        for problem in model.problems { Console.printError(problem) }
        if model.omittedProblems > 0 { Console.printError("and so with \(model.omittedProblems) more lines") }
        guard !model.entries.isEmpty else { throw Failure(message: "\(path) is no trace") }
        if let html { try write(TracePage.html(of: model), to: html) } else { try show(model) }
    }

    private static func show(_ model: TraceModel) throws(Failure) {
        let isColoured = Descriptor.standardOutput.isTerminal && CurrentProcess.environment("NO_COLOR") == nil
        var text = ""
        func flush() throws(Failure) {
            do throws(OutputError) { try Console.printUnescaped(text, end: "") } catch {
                throw Failure(message: error.message)
            }
            text = ""
        }
        try Timeline(model, isColoured: isColoured).tell { line throws(Failure) in
            text += line + "\n"
            if text.utf8.count > 64 << 10 { try flush() }
        }
        try flush()
    }

    private static func write(_ page: [UInt8], to path: String) throws(Failure) {
        do throws(SystemError) {
            let file = path == "-" ? .standardOutput : try OpenFile(path, [.writing, .create, .truncate]).duplicate()
            try file.writeBlocking(page)
        } catch {
            throw Failure(message: "\(path) cannot be written: \(error.reason)")
        }
    }
}
