import Platform
import Glibc
import JSONRPC
import Storage
import TestSupport
import Transfers

@testable import Methods

extension ScriptedBackend {
    /// Knows every object, but requires the id token "fresh".
    static func guarded(_ kind: EngineKind = .firebase) -> ScriptedBackend {
        ScriptedBackend(kind: kind) { reference, caller throws(StorageError) in
            var refused: Token?
            for _ in 1...2 {
                let token = try await caller.tokens?.token(.idToken, insteadOf: refused)
                if token?.secret == "fresh" { return .stored(reference, size: 5) }
                refused = token
            }
            throw StorageError(.unauthenticated, "Who asks must be known.")
        }
    }
}

/// A service with a scripted engine and a clock that stands still.
@Loop final class TestService {
    private nonisolated let time = TimeOfDay()
    private let backend: ScriptedBackend
    private let own: (any TokenSource)?
    private let limits: Limits
    private lazy var service = ServiceContext(
        .init(defaultBucket: "b", limits: limits, processID: 1),
        transfers: Transfers(backend: backend, time: .system), tokens: own,
        time: TimeSource(clock: ContinuousClock()) { [time] in time.now }
    ) { _, _ in }

    private var connections: [ObjectIdentifier: Connection<ConnectionContext>] = [:]

    nonisolated init(
        _ backend: ScriptedBackend, own: (any TokenSource)? = nil, limits: Limits = Limits()
    ) {
        (self.backend, self.own, self.limits) = (backend, own, limits)
    }

    @discardableResult
    func serve(_ socket: Descriptor, clock: any Clock<Duration> = ManualClock()) -> Connection<ConnectionContext> {
        var context: ConnectionContext?
        let connection = Connection<ConnectionContext>(
            input: socket, output: socket, table: allMethods, limits: limits.connection, clock: clock
        ) { [weak self] connection in
            context?.leave()
            context = nil
            self?.connections[ObjectIdentifier(connection)] = nil
        }
        let opened = ConnectionContext(service, peer: connection)
        context = opened
        connections[ObjectIdentifier(connection)] = connection
        connection.serve(opened)
        return connection
    }
}

/// A guarded service in this process; each connection is a socket pair.
final class GuardedStage: TranscriptStage {
    private let scene: TestService

    init(own: String? = nil, engine: EngineKind = .firebase) {
        scene = TestService(.guarded(engine), own: own.map { OwnToken(secret: $0) })
    }

    func connect(_ framing: WireFraming) throws -> WireClient {
        var ends: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        let descriptor = Descriptor(owning: ends[1])
        Task { @Loop [scene] in scene.serve(descriptor) }
        return WireClient(reading: ends[0], writing: ends[0], framing: framing)
    }

    struct Unplayable: Error {}

    func restart() throws { throw Unplayable() }
    func waitForExit() throws -> Int32 { throw Unplayable() }
    func strike() throws {}
}
