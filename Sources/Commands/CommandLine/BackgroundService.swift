import Platform

/// A service in a session of its own, which outlives the process that started it.
struct BackgroundService {
    private let process: ChildProcess
    private let errors: any ServiceErrors

    struct Failure: UserFacingError { let message: String }

    /// How a service has ended.
    struct End {
        /// Another process has the root.
        let isBusy: Bool
        /// It has served other clients, which are gone.
        let hasServed: Bool
        let failure: any UserFacingError
    }

    /// Starts this program with other arguments. Throws if it cannot be started.
    ///
    /// - Parameters:
    ///   - output: its stderr.
    ///   - errors: reads what is written there.
    init(_ arguments: [String], _ output: Descriptor, _ errors: any ServiceErrors) throws(Failure) {
        self.errors = errors
        do throws(SystemError) {
            process = try ChildProcess(
                CurrentProcess.executable, ["storage-rpc"] + arguments, output: nil, error: output, .session)
        } catch {
            throw Failure(message: "no service can be started: \(error.reason)")
        }
    }

    /// Nil while it runs. Must not be read again after it was not nil.
    var end: End? {
        guard let exit = process.exitIfEnded() else { return nil }
        errors.finish()
        var status: Int32?
        if case .status(let number) = exit { status = number }
        let message = errors.last ?? "the service has ended at once\(errors.place.map { "; \($0) may say why" } ?? "")"
        return End(
            isBusy: status == ExitStatus.rootInUse, hasServed: status == 0,
            failure: status == ExitStatus.usage ? UsageError(message: message) : Failure(message: message))
    }

    /// It is the process that listens at the other end.
    func isPeer(of socket: Descriptor) -> Bool { socket.peerProcess == process.id }

    /// Its client has found it.
    func isFound() { errors.isFound() }

    /// Its client leaves it, and has seen the end of its connection. A service that ends for this reason releases its root
    /// in the same moment, and ends right after it; one that goes on for others is not waited for.
    func leave() { awaitEnd(milliseconds: 20) }

    /// Its client has no use for it. Returns when it has ended, so that it does not take the root later, or after two
    /// seconds.
    func abandon() {
        process.terminate()
        awaitEnd(milliseconds: 2000)
    }

    private func awaitEnd(milliseconds: Int) {
        for _ in 0..<milliseconds {
            if process.exitIfEnded() != nil { break }
            blockThread(milliseconds: 1)
        }
        errors.finish()
    }
}

/// Statuses of processes that those who start them understand.
package enum ExitStatus {
    /// The command line is invalid.
    package static let usage: Int32 = 64
    /// Another process has the root, and may release it.
    package static let rootInUse: Int32 = 75
}

/// Reads what a service writes to stderr.
protocol ServiceErrors {
    /// A file that has more of it, for people.
    var place: String? { get }
    /// The last error that the service has told people.
    var last: String? { get }
    func isFound()
    /// Shows what the service has written until now.
    func finish()
}

/// A file that services append their stderr to.
struct ServiceLog: ServiceErrors {
    private let path: String
    /// The size of the file before, in bytes.
    private let start: Int64

    /// A larger file is emptied. In bytes.
    private static let largest: Int64 = 1 << 20

    /// Throws if the file cannot be written.
    static func open(_ path: String) throws(BackgroundService.Failure) -> (ServiceLog, Descriptor) {
        do throws(SystemError) {
            let file = try OpenFile(path, [.writing, .append, .create, .noLink])
            if try file.status().size > largest { try? file.truncate(to: 0) }
            return (ServiceLog(path: path, start: try file.status().size), try file.duplicate())
        } catch {
            throw BackgroundService.Failure(message: "\(path) cannot be written: \(error.reason)")
        }
    }

    var place: String? { path }

    var last: String? {
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = bytes.withUnsafeMutableBytes { try? OpenFile(path, .noLink).read(into: $0, at: start) }
        return String(decoding: bytes[..<(count ?? 0)], as: UTF8.self).split(separator: "\n")
            .compactMap { Console.error(in: String($0)) }.last
    }

    func isFound() {}
    func finish() {}
}
