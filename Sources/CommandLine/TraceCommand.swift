import Glibc
import Tracing

/// `storage-rpc trace`: shows what `serve --trace` has written.
package enum TraceCommand {
    package struct Failure: UserFacingError { package let message: String }

    package static func run(_ path: String, html: String?) throws(Failure) {
        let raw = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard raw >= 0 else { throw Failure(message: "\(path) cannot be read: \(String(cString: strerror(errno)))") }
        defer { close(raw) }
        let model = TraceModelBuilder.read(TraceReader(raw))
        for problem in model.problems { Console.printError(problem) }
        if model.omittedProblems > 0 { Console.printError("and so with \(model.omittedProblems) more lines") }
        guard !model.entries.isEmpty else { throw Failure(message: "\(path) is no trace") }
        if let html { try write(TracePage.html(of: model), to: html) } else { try show(model) }
    }

    private static func show(_ model: TraceModel) throws(Failure) {
        let isColoured = isatty(STDOUT_FILENO) == 1 && (getenv("NO_COLOR").map { $0.pointee == 0 } ?? true)
        var text = ""
        func flush() throws(Failure) {
            guard Console.write(text, to: STDOUT_FILENO) else {
                throw Failure(message: "nothing can be written to stdout: \(String(cString: strerror(errno)))")
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
        let raw = path == "-" ? dup(STDOUT_FILENO) : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard raw >= 0, page.withUnsafeBytes({ Console.write($0, to: raw) }), close(raw) == 0 else {
            throw Failure(message: "\(path) cannot be written: \(String(cString: strerror(errno)))")
        }
    }
}
