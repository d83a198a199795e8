import ClientMemory
import HTTPText
import Platform

/// Serves HTTP/1.1 and 1.0 to clients on this machine.
///
/// Runs on the loop, except for sending files, which may block on the disk. An idle connection costs a descriptor and a
/// suspended task until its timeout.
@Loop
package final class HTTPServer {
    package typealias Handler = @Loop (HTTPServerRequest) async -> HTTPServerResponse

    package struct ListenError: Error { package var message: String }

    let limits: HTTPServerLimits
    let methods: Set<HTTPServerRequest.Method>
    private let time: TimeSource
    let handler: Handler
    let hosts: AcceptedHosts
    let deadlines: Deadlines
    let metrics: HTTPServerMetrics
    let memory: ConnectionMemory
    let senders = WorkerThreads("send file", limit: 8)
    let socket: ListeningSocket
    private let acceptor: Acceptor
    private var connections: [ObjectIdentifier: ServedConnection] = [:]
    private var isOpen = true
    private var date = (second: HTTPDate(secondsSince1970: 0), text: "")

    /// Listens on an address such as `127.0.0.1:0`, `[::1]:8080` or `localhost:8080`; port 0 is any free port.
    ///
    /// Answers only requests whose Host is one of `hosts` or the address itself, and whose method is one of `methods`;
    /// other methods get a 405. The handler gets a request before its body is read. `memory` is the memory of all
    /// clients. SIGPIPE has to be ignored.
    package convenience init(
        address: String, methods: Set<HTTPServerRequest.Method> = [.get, .head],
        limits: HTTPServerLimits = HTTPServerLimits(), hosts: AcceptedHosts = AcceptedHosts(), time: TimeSource,
        metrics: HTTPServerMetrics, memory: ConnectionMemory,
        handler: @escaping Handler
    ) throws(ListenError) {
        guard let parsed = SocketAddress(address) else {
            throw ListenError(
                message: "\(address) is no address to listen on: it takes the form 127.0.0.1:8080 or [::1]:8080.")
        }
        do throws(SystemError) {
            self.init(try ListeningSocket(parsed), methods, limits, hosts, time, metrics, memory, handler)
        } catch {
            throw ListenError(message: "\(address) cannot be listened on: \(error.reason).")
        }
    }

    private init(
        _ socket: ListeningSocket, _ methods: Set<HTTPServerRequest.Method>, _ limits: HTTPServerLimits,
        _ hosts: AcceptedHosts, _ time: TimeSource, _ metrics: HTTPServerMetrics, _ memory: ConnectionMemory,
        _ handler: @escaping Handler
    ) {
        (self.socket, self.methods, self.limits, self.time, self.handler) = (socket, methods, limits, time, handler)
        (self.metrics, self.memory) = (metrics, memory)
        self.hosts = hosts.adding(socket.address.host)
        deadlines = Deadlines(limits, clock: time.clock)
        acceptor = Acceptor(socket.descriptor, clock: time.clock)
        acceptor.start { [weak self] in
            self?.hasRoom() ?? false
        } _: { [weak self] in
            self?.accept($0)
        }
    }

    package var port: Int { Int(socket.address.port) }

    /// The address as in a URL: `127.0.0.1:8080`.
    package var address: String { socket.address.description }

    package var connectionCount: Int { connections.count }

    /// Stops listening, and aborts all connections.
    package func close() {
        guard isOpen else { return }
        isOpen = false
        acceptor.close()
        deadlines.close()
        for connection in connections.values { connection.breakOff() }
    }

    /// The value of the Date header, formatted once a second.
    var dateNow: String {
        let now = time.httpDate
        if now != date.second { date = (now, now.description) }
        return date.text
    }

    private var isFull: Bool { connections.count >= limits.connections }

    /// Closes the longest idle connection when the server is full.
    private func hasRoom() -> Bool {
        if isFull { deadlines.first(.idle)?.expire() }
        return !isFull
    }

    private func accept(_ socket: Descriptor) {
        let connection = ServedConnection(socket, of: self)
        connections[ObjectIdentifier(connection)] = connection
        connection.start { [weak self] in self?.forget($0) }
    }

    private func forget(_ connection: ServedConnection) {
        connections[ObjectIdentifier(connection)] = nil
        if isOpen { acceptor.resume() }
    }

    /// Accepts a waiting connection, for which the idle one can be closed.
    func becameIdle() { if isFull, isOpen { acceptor.resume() } }
}
