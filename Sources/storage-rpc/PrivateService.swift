import CommandLine
import Credentials
import Dispatch
import Glibc
import Platform
import Storage

/// A service in this process for a single client, at the other end of a socket pair.
struct PrivateService {
    let socket: Int32
    private let engine: Engine
    private let options: ServiceOptions

    struct SocketError: UserFacingError { let message: String }

    init(_ options: ServiceOptions) throws {
        try Loop.start()
        let log = Log(level: options.logLevel)
        let engine = try Engine(options, log)
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SocketError(message: "no socket pair can be made: \(String(cString: strerror(errno)))")
        }
        let far = Descriptor(owning: ends[1])
        Task { @Loop in Server(options, engine, log).serveAlone(far) }
        (socket, self.engine, self.options) = (ends[0], engine, options)
    }

    /// Waits at most two seconds for background work, such as cancelling an upload at its server.
    func settle() {
        let done = DispatchSemaphore(value: 0)
        Task { [engine] in
            await engine.backend.settle()
            done.signal()
        }
        _ = done.wait(timeout: .now() + 2)
        options.credentials.running.stopAll()
    }
}
