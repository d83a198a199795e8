import CommandLine
import Credentials
import Dispatch
import Platform
import Storage

/// A service in this process for a single client, at the other end of a socket pair.
struct PrivateService {
    let socket: Descriptor
    private let engine: any Engine
    private let options: ServiceOptions
    /// Ends the process if the engine cannot be opened.
    private let opening: Task<Void, Never>

    struct SocketError: UserFacingError { let message: String }

    /// - Parameter isRootless: there is no root, and the service creates none.
    init(_ options: ServiceOptions, isRootless: Bool) throws {
        let log = Log(options)
        let engine: any Engine =
            try isRootless ? EmptyEngine(options) : makeEngine(options, log, keepsTasks: options.keepsTasks)
        let far: Descriptor
        do throws(SystemError) { (socket, far) = try Descriptor.socketPair() } catch {
            throw SocketError(message: "no socket pair can be made: \(error.reason)")
        }
        opening = Task { @Loop in await Server(options, engine, log).serveAlone(far) }
        (self.engine, self.options) = (engine, options)
    }

    /// Waits at most two seconds for background work, such as cancelling an upload at its server.
    func settle() {
        let done = DispatchSemaphore(value: 0)
        Task { [engine, opening] in
            await opening.value
            await engine.backend.settle()
            await engine.removeTemporaryFiles()
            done.signal()
        }
        _ = done.wait(timeout: .now() + 2)
        options.credentials.running.stopAll()
    }
}
