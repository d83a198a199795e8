import Glibc
import HTTPClient
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct LimitTests {
    let client = HTTPClient(.none)

    private func request(_ url: String, _ change: (inout HTTPLimits) -> Void) -> HTTPRequest {
        var request = HTTPRequest("GET", url)
        change(&request.limits)
        return request
    }

    /// Returns after this time on the client's own clock.
    private func wait(_ time: Duration) async throws {
        let end = Signal()
        let server = try FixtureServer { peer in
            _ = try peer.readHead()
            end.block()
        }
        let error = try await failure(of: request(server.url) { $0.answer = time }, by: client)
        end.fire()
        #expect(error.kind == .noAnswer && error.isRetryable && error.mayHaveReachedServer)
    }

    @Test func `A server that stops reading has stalled`() async throws {
        let end = Signal()
        let server = try FixtureServer { peer in
            peer.narrow()
            _ = try peer.readHead()
            end.block()
        }
        var request = request(server.url) { $0.stall = .milliseconds(150) }
        request.body = .bytes(pattern(32 << 20))
        let error = try await failure(of: request)
        end.fire()
        #expect(error.kind == .stalled && error.isRetryable && error.mayHaveReachedServer)
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"])
    func `A server that stops during its response has stalled`(beginning: String) async throws {
        let end = Signal()
        let server = try FixtureServer { peer in
            _ = try peer.readHead()
            try peer.write(beginning)
            end.block()
        }
        let limits: (inout HTTPLimits) -> Void = {
            $0.stall = .milliseconds(100)
            $0.answer = .milliseconds(beginning.hasSuffix("abc") ? 60_000 : 150)
        }
        let error = try await failure(of: request(server.url, limits))
        end.fire()
        #expect(error.kind == (beginning.hasSuffix("abc") ? .stalled : .noAnswer))
    }

    @Test func `The stall limit does not apply to the wait for a response`() async throws {
        let asked = Signal()
        let release = Signal()
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            asked.fire()
            release.block()
            try peer.answer("200 OK", "late")
        }
        var request = request(server.url) { $0.stall = .milliseconds(50) }
        request.method = "POST"
        request.body = .bytes([1])
        async let answer = client.perform(request)
        try await asked.happened()
        try await wait(.milliseconds(300))
        release.fire()
        #expect(try await answer.body == Array("late".utf8))
    }

    @Test func `A transfer that waits for its source has not stalled`() async throws {
        let server = try FixtureServer { peer in
            try peer.answer("200 OK", "\(peer.readRequest().body == [7])")
        }
        let asked = Signal()
        let waker = Mutex<HTTPWaker?>(nil)
        let isReady = Mutex(false)
        let source = ScriptedSource(count: 1) { buffer, _, wake in
            if isReady.withLock({ $0 }) {
                buffer[0] = 7
                return .bytes(1)
            }
            if waker.withLock({ $0.replace(with: wake) }) == nil { asked.fire() }
            return .later
        }
        var request = request(server.url) { $0.stall = .milliseconds(50) }
        request.method = "PUT"
        request.body = .source(source)
        async let answer = client.perform(request)
        try await asked.happened()
        waker.withLock { $0 }?()
        try await wait(.milliseconds(300))
        isReady.withLock { $0 = true }
        waker.withLock { $0 }?()
        #expect(try await answer.body == Array("true".utf8))
        try await source.ended.happened()
        waker.withLock { $0 }?()
    }

    @Test func `The total limit ends a transfer that makes progress`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readHead()
            try peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while true { try peer.write("1\r\nx\r\n") }
        }
        let limits: (inout HTTPLimits) -> Void = {
            $0.total = .seconds(3)
            $0.answerBytes = .max
        }
        let error = try await failure(of: request(server.url, limits))
        #expect(error.kind == .deadlineExceeded && !error.isRetryable && error.mayHaveReachedServer)
    }

    @Test func `A response in memory that comes byte by byte ends at the limit of responses`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readHead()
            try peer.write("HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n")
            while true { try peer.write("1\r\nx\r\n") }
        }
        var request = request(server.url) {
            $0.answer = .milliseconds(300)
            $0.answerBytes = .max
        }
        request.sink = NoSink()
        #expect(try await failure(of: request).kind == .deadlineExceeded)
    }

    /// Takes the bytes of a success only.
    private struct NoSink: HTTPBodySink {
        func write(_ bytes: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite { .taken }
    }

    @Test func `The total limit includes the wait for a free connection`() async throws {
        let asked = Signal()
        let release = Signal()
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            asked.fire()
            release.block()
            try peer.answer()
        }
        let client = HTTPClient(connectionsPerHost: 1, environment: .none)
        async let first = client.perform(HTTPRequest("GET", server.url))
        try await asked.happened()
        let error = try await failure(of: request(server.url) { $0.total = .milliseconds(50) }, by: client)
        #expect(error.kind == .deadlineExceeded && !error.mayHaveReachedServer)
        release.fire()
        #expect(try await first.status == 200)
    }

    @Test func `A host that does not accept connections exceeds the connect limit`() async throws {
        let crowd = try FullListenQueue()
        let error = try await failure(of: request(crowd.url) { $0.connect = .milliseconds(150) })
        #expect(error.kind == .connectTimedOut && error.isRetryable && !error.mayHaveReachedServer)
    }

    @Test func `The connect limit excludes the wait for a free connection`() async throws {
        let release = Signal()
        let asked = Signal()
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            asked.fire()
            release.block()
            try peer.answer()
            _ = try peer.readRequest()
            try peer.answer()
        }
        let client = HTTPClient(connectionsPerHost: 1, environment: .none)
        let request = request(server.url) {
            $0.connect = .milliseconds(50)
            $0.stall = .milliseconds(50)
        }
        async let first = client.perform(request)
        try await asked.happened()
        async let second = client.perform(request)
        try await wait(.milliseconds(300))
        release.fire()
        let statuses = try await (first.status, second.status)
        #expect(statuses == (200, 200) && server.connections == 1)
    }
}

extension Optional where Wrapped: Sendable {
    /// Returns the previous value.
    mutating func replace(with new: Wrapped) -> Wrapped? {
        defer { self = new }
        return self
    }
}

/// A port whose listen queue is full, so that further connections hang.
final class FullListenQueue: Sendable {
    let url: String
    private let sockets: [Int32]

    init() throws {
        let (listener, port) = try FixtureServer.silentPort()
        listen(listener, 0)
        url = "http://127.0.0.1:\(port)"
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let waiting = (0..<4).map { _ in socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0) }
        for socket in waiting {
            withUnsafePointer(to: &address) { pointer in
                _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
        }
        sockets = waiting + [listener]
    }

    deinit { for socket in sockets { close(socket) } }
}
