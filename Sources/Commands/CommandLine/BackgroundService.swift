import Platform

/// A service in a session of its own, which outlives the process that started it.
struct BackgroundService {
    private let process: ChildProcess
    /// The file that the service's stderr is appended to.
    private let log: String
    /// The size of the log before, in bytes.
    private let logStart: Int64

    /// A larger log is emptied. In bytes.
    private static let largestLog: Int64 = 1 << 20

    struct Failure: UserFacingError { let message: String }

    /// Starts this program with other arguments. Throws if it cannot be started, or `log` cannot be written.
    init(_ arguments: [String], log: String) throws(Failure) {
        self.log = log
        let output: Descriptor
        do throws(SystemError) {
            let file = try OpenFile(log, [.writing, .append, .create, .noLink])
            if try file.status().size > Self.largestLog { try? file.truncate(to: 0) }
            (logStart, output) = (try file.status().size, try file.duplicate())
        } catch {
            throw Failure(message: "\(log) cannot be written: \(error.reason)")
        }
        do throws(SystemError) {
            process = try ChildProcess(
                CurrentProcess.executable, ["storage-rpc"] + arguments, output: nil, error: output, .session)
        } catch {
            throw Failure(message: "no service can be started: \(error.reason)")
        }
    }

    /// The reason why the service has ended; nil while it runs. Must not be read again after it was not nil.
    var failure: Failure? {
        guard process.hasEnded() else { return nil }
        return Failure(message: lastError ?? "the service has ended at once; \(log) may say why")
    }

    /// The last line of the log that `Console.printError` has written.
    private var lastError: String? {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = bytes.withUnsafeMutableBytes { try? OpenFile(log, .noLink).read(into: $0, at: logStart) }
        let prefix = "storage-rpc: "
        return String(decoding: bytes[..<(count ?? 0)], as: UTF8.self).split(separator: "\n")
            .last { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }
}
