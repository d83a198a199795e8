import HTTPText
import Platform

/// Serves GET and HEAD over HTTP/1.1 and 1.0 to clients on this machine.
///
/// Everything happens on the loop but the sending of files, which may have to wait for a disk. A connection costs a
/// descriptor and a suspended task; one that is silent costs nothing else until its time is over.
@Loop
public final class HTTPServer {
    public typealias Handler = @Loop (HTTPServerRequest) async -> HTTPServerResponse

    public struct ListenError: Error { public var message: String }

    let limits: HTTPServerLimits
    let handler: Handler
    let hosts: AcceptedHosts
    let deadlines: Deadlines
    let senders = WorkerThreads("send file", limit: 8)
    let socket: ListeningSocket
    private let acceptor: Acceptor
    private var connections: [ObjectIdentifier: ServedConnection] = [:]
    private var isOpen = true
    private var date = (second: HTTPDate(secondsSince1970: 0), text: "")

    /// Listens at once at `127.0.0.1:0`, `[::1]:8080` or `localhost:8080`; port 0 is any that is free.
    ///
    /// Requests are answered only where their Host is one of `hosts` or the address itself. SIGPIPE has to be ignored.
    public convenience init(
        address: String, limits: HTTPServerLimits = HTTPServerLimits(), hosts: AcceptedHosts = AcceptedHosts(),
        clock: any Clock<Duration> = ContinuousClock(), handler: @escaping Handler
    ) throws(ListenError) {
        guard let parsed = SocketAddress(address) else {
            throw ListenError(
                message: "\(address) is no address to listen on: it takes the form 127.0.0.1:8080 or [::1]:8080.")
        }
        do throws(ListeningSocket.Unusable) {
            self.init(try ListeningSocket(parsed), limits, hosts, clock, handler)
        } catch {
            throw ListenError(message: "\(address) cannot be listened on: \(error.reason).")
        }
    }

    private init(
        _ socket: ListeningSocket, _ limits: HTTPServerLimits, _ hosts: AcceptedHosts, _ clock: any Clock<Duration>,
        _ handler: @escaping Handler
    ) {
        (self.socket, self.limits, self.handler) = (socket, limits, handler)
        self.hosts = hosts.adding(socket.address.host)
        deadlines = Deadlines(limits, clock: clock)
        acceptor = Acceptor(socket.descriptor, clock: clock)
        acceptor.start { [weak self] in
            self?.hasRoom() ?? false
        } _: { [weak self] in
            self?.take($0)
        }
    }

    public var port: Int { Int(socket.address.port) }

    /// As it stands in a URL: `127.0.0.1:8080`.
    public var address: String { socket.address.description }

    public var connectionCount: Int { connections.count }

    /// Listens no more, and breaks off what is being sent.
    public func close() {
        guard isOpen else { return }
        isOpen = false
        acceptor.close()
        deadlines.close()
        for connection in connections.values { connection.breakOff() }
    }

    /// The Date header's value, written anew once a second.
    var dateNow: String {
        let now = HTTPDate.now
        if now != date.second { date = (now, now.description) }
        return date.text
    }

    private var isFull: Bool { connections.count >= limits.connections }

    /// Where there is none, whoever has said nothing for longest makes some: it can come again.
    private func hasRoom() -> Bool {
        if isFull { deadlines.first(.idle)?.expire() }
        return !isFull
    }

    private func take(_ socket: Descriptor) {
        let connection = ServedConnection(socket, of: self)
        connections[ObjectIdentifier(connection)] = connection
        connection.start { [weak self] in self?.forget($0) }
    }

    private func forget(_ connection: ServedConnection) {
        connections[ObjectIdentifier(connection)] = nil
        if isOpen { acceptor.resume() }
    }

    /// One more that could make room.
    func becameIdle() {
        if isFull, isOpen { acceptor.resume() }
    }
}
