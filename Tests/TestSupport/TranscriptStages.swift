import Testing
import EmbeddedEngine
import RemoteEngines
import Roots
import Platform
import Foundation
import Glibc
import JSONRPC
import Methods
import Synchronization
import Transfers

extension TranscriptDepth {
    /// A service at this depth, that keeps what it has in a directory.
    package func stage(_ transcript: Transcript, _ directory: String) throws -> any TranscriptStage {
        var flags = ["--root", directory + "/root", "--max-message-bytes", String(transcript.maxMessageBytes)]
        let server = try transcript.engine.map { _ in try StorageFixture(transcript) }
        if let server, let engine = transcript.engine { flags += ["--engine", engine, "--endpoint", server.url] }
        if transcript.needsHarness { flags.append("--harness") }
        return switch self {
        case .process: try ServiceInProcess(directory + "/root", maxMessageBytes: transcript.maxMessageBytes)
        case .stdio: try ServiceOnStdio(flags, server)
        case .socket: try ServiceOnSocket(directory + "/socket", flags, server)
        }
    }
}

extension StorageFixture {
    /// The server that a transcript is played on.
    fileprivate convenience init(_ transcript: Transcript) throws {
        try self.init(credentials: transcript.accepted.map { Credentials([$0]) })
        faults = transcript.faults
    }
}

/// The binary on its stdin and stdout.
package final class ServiceOnStdio: TranscriptStage {
    private let flags: [String]
    private let server: StorageFixture?
    private var process: ServiceProcess
    private var hasExited = false

    package init(_ flags: [String], _ server: StorageFixture? = nil) throws {
        self.flags = flags
        self.server = server
        process = try ServiceProcess(flags)
    }

    package func connect(_ framing: WireFraming) throws -> WireClient {
        WireClient(reading: process.output, writing: process.input, framing: framing)
    }

    package func restart() throws {
        try strike()
        process = try ServiceProcess(flags)
    }

    package func waitForExit() throws -> Int32 {
        hasExited = true
        return try process.waitForExit()
    }

    package func strike() throws {
        guard !hasExited else { return }
        let status = try process.waitForExit()
        guard status == 0 else { throw TranscriptPlayer.Failure(description: "it ended with status \(status)") }
    }
}

/// The binary on a Unix socket.
final class ServiceOnSocket: TranscriptStage {
    let endsWithItsClient = false
    private let path: String
    private let flags: [String]
    private let server: StorageFixture?
    private var process: ServiceProcess
    private var hasExited = false

    init(_ path: String, _ flags: [String], _ server: StorageFixture?) throws {
        self.path = path
        self.server = server
        self.flags = ["serve", "--socket", path, "--log-level", "info"] + flags
        process = try Self.start(self.flags)
    }

    private static func start(_ flags: [String]) throws -> ServiceProcess {
        let process = try ServiceProcess(flags)
        try process.waitForLog("listens on")
        return process
    }

    func connect(_ framing: WireFraming) throws -> WireClient {
        try WireClient(connectingTo: path, framing: framing)
    }

    func restart() throws {
        try strike()
        process = try Self.start(flags)
    }

    func waitForExit() throws -> Int32 {
        hasExited = true
        return try process.waitForExit()
    }

    func strike() throws {
        guard !hasExited else { return }
        process.signal(SIGTERM)
        let status = try process.waitForExit()
        guard status == 0 else { throw TranscriptPlayer.Failure(description: "SIGTERM ended it with \(status)") }
    }
}

/// A service within the tests, each connection a pair of sockets.
final class ServiceInProcess: TranscriptStage {
    private let scene: ServiceScene

    init(_ root: String, maxMessageBytes: Int) throws {
        scene = ServiceScene(try EmbeddedBackend(StorageRoot(root), time: .system), maxMessageBytes)
    }

    func connect(_ framing: WireFraming) throws -> WireClient {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw TranscriptPlayer.Failure(description: String(cString: strerror(errno)))
        }
        let descriptor = Descriptor(owning: ends[1])
        Task { @Loop [scene] in scene.serve(descriptor) }
        return WireClient(reading: ends[0], writing: ends[0], framing: framing)
    }

    func restart() throws { throw TranscriptPlayer.Failure(description: "nothing restarts within the tests") }

    func waitForExit() throws -> Int32 {
        try blockUntil { scene.hasEnded.withLock { $0 } }
        return scene.status.withLock { $0 }
    }

    func strike() throws {}

    /// A conversation that broke off may have left uploads running.
    deinit { Task { @Loop [scene] in try await scene.rest() } }
}

/// What the program does when it starts, without the program.
private final class ServiceScene: Sendable {
    let hasEnded = Mutex(false)
    let status = Mutex<Int32>(-1)
    private let backend: EmbeddedBackend
    private let limits: Limits
    @Loop private var service: ServiceContext?
    @Loop private var connections: [ObjectIdentifier: Connection<ConnectionContext>] = [:]

    init(_ backend: EmbeddedBackend, _ maxMessageBytes: Int) {
        self.backend = backend
        var limits = Limits()
        limits.connection.messageBytes = maxMessageBytes
        self.limits = limits
        backend.urlBase = { "http://127.0.0.1:9" }
        // In line before the first connection, as in the program.
        Task { @Loop in try await backend.open() }
    }

    @Loop func serve(_ descriptor: Descriptor) {
        let service = service ?? makeService()
        self.service = service
        var context: ConnectionContext?
        let connection = Connection<ConnectionContext>(
            input: descriptor, output: descriptor, table: allMethods, limits: limits.connection
        ) { [weak self] connection in
            context?.leave()
            context = nil
            self?.connections[ObjectIdentifier(connection)] = nil
        }
        let opened = ConnectionContext(service, peer: connection)
        context = opened
        connections[ObjectIdentifier(connection)] = connection
        connection.serve(opened)
    }

    @Loop private func makeService() -> ServiceContext {
        let configuration = ServiceContext.Configuration(
            defaultBucket: "default-bucket", limits: limits, processID: getpid())
        let transfers = Transfers(
            backend: backend, folders: backend.folders, limits: limits.transfers, time: .system)
        Task { try await transfers.restore(.pause) }
        return ServiceContext(configuration, transfers: transfers, time: .system) {
            [weak self] status, _ in self?.end(status)
        }
    }

    @Loop func rest() async throws { try await service?.transfers.suspend() }

    @Loop private func end(_ status: Int32) {
        self.status.withLock { $0 = status }
        Task { @Loop in
            try await rest()
            for connection in connections.values { await connection.finish() }
            hasEnded.withLock { $0 = true }
        }
    }
}
