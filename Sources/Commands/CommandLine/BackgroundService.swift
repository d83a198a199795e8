import Platform

/// A service in a new session, which outlives the process that started it.
struct BackgroundService {
    private let process: ChildProcess
    private let errors: any ServiceErrors

    struct Failure: UserFacingError { let message: String }

    /// How a service has ended.
    struct End {
        /// Another process holds the root.
        let isBusy: Bool
        /// The service has served other clients, which have left.
        let hasServed: Bool
        let failure: any UserFacingError
    }

    /// Starts this program with other arguments, and the title of this process. Throws if it cannot be started.
    ///
    /// - Parameters:
    ///   - output: the stderr of the service.
    ///   - errors: reads what the service writes there.
    init(_ arguments: [String], _ output: Descriptor, _ errors: any ServiceErrors) throws(Failure) {
        self.errors = errors
        do throws(SystemError) {
            process = try ChildProcess(
                CurrentProcess.executable, [CurrentProcess.title] + arguments, output: nil, error: output, .session)
        } catch {
            throw Failure(message: "no service can be started: \(error.reason)")
        }
    }

    /// Nil while the service runs. Must not be read again after a value that is not nil.
    var end: End? {
        guard let exit = process.exitIfEnded() else { return nil }
        errors.finish()
        var status: Int32?
        if case .status(let number) = exit { status = number }
        let message = errors.last ?? "the service has ended at once\(errors.place.map { "; \($0) may say why" } ?? "")"
        let failure: any UserFacingError =
            switch status {
            case ExitStatus.usage: UsageError(message: message)
            case ExitStatus.rootInUse: RootInUse(message: message)
            default: Failure(message: message)
            }
        return End(isBusy: status == ExitStatus.rootInUse, hasServed: status == 0, failure: failure)
    }

    /// The service is the process at the other end of a socket.
    func isPeer(of socket: Descriptor) -> Bool { socket.peerProcess == process.id }

    /// Called when the client has connected to the service.
    func isFound() { errors.isFound() }

    /// Waits briefly after the service has closed the client's connection. A service that ends for this reason releases
    /// its root at the same moment and exits right after it; one with other clients is not waited for.
    func leave() { awaitEnd(milliseconds: 20) }

    /// Ends a service that the client does not need. Returns when it has exited, so that it cannot take the root later,
    /// or after two seconds.
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

/// Exit statuses with a meaning for the starting process.
package enum ExitStatus {
    /// The command line is invalid.
    package static let usage: Int32 = 64
    /// Another process holds the root, and may release it.
    package static let rootInUse: Int32 = 75
}

/// Reads the stderr of a service.
protocol ServiceErrors {
    /// The path of a file with more details, for people.
    var place: String? { get }
    /// The last error that the service has printed.
    var last: String? { get }
    func isFound()
    /// Shows what the service has written so far.
    func finish()
}

/// A file that services append their stderr to.
struct ServiceLog: ServiceErrors {
    private let path: String
    /// The size of the file before the service started, in bytes.
    private let start: Int64

    /// The size in bytes above which the file is emptied.
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
