import Platform
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import HTTPClient

@Suite(.watchdog(minutes: 10)) struct ConnectionTests {
    let client = HTTPClient(.none)

    @Test func `A connection is reused`() async throws {
        let server = try FixtureServer { peer in
            while true { try peer.answer("200 OK", String(peer.readRequest().body.count)) }
        }
        for count in [0, 1, 70_000, 5, 0] {
            let response = try await client.perform(
                HTTPRequest("PUT", server.url, body: .bytes(pattern(count))))
            #expect(String(decoding: response.body, as: UTF8.self) == "\(count)")
        }
        #expect(server.connections == 1)
    }

    @Test func `A hundred requests run concurrently`() async throws {
        let arrived = Mutex(0)
        let all = Signal()
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            if arrived.withLock({
                $0 += 1; return $0 == 100
            }) {
                all.fire()
            }
            all.block()
            try peer.answer("200 OK", "all")
        }
        let client = HTTPClient(connectionsPerHost: 100, environment: .none)
        let answers = try await withThrowingTaskGroup(of: HTTPResponse.self) { group in
            for _ in 0..<100 { group.addTask { try await client.perform(HTTPRequest("GET", server.url)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 100 && answers.allSatisfy { $0.body == Array("all".utf8) })
        #expect(server.connections == 100)
    }

    @Test func `Requests beyond the connection limit wait`() async throws {
        let server = try FixtureServer { peer in
            while true { try peer.answer("200 OK", peer.readRequest().line) }
        }
        let client = HTTPClient(connectionsPerHost: 4, environment: .none)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<400 {
                group.addTask {
                    let response = try await client.perform(HTTPRequest("GET", "\(server.url)/\(number)"))
                    #expect(String(decoding: response.body, as: UTF8.self) == "GET /\(number) HTTP/1.1")
                }
            }
            try await group.waitForAll()
        }
        #expect((1...4).contains(server.connections))
    }

    @Test func `A header that arrives before its body is acknowledged at once`() async throws {
        let fastest = Mutex(Duration.seconds(1))
        let server = try FixtureServer { peer in
            for number in 0... {
                _ = try peer.readRequest()
                try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n")
                let start = ContinuousClock.now
                peer.waitForAcknowledgement()
                // The system acknowledges at once what a new connection receives.
                if number > 20 { fastest.withLock { $0 = min($0, start.duration(to: .now)) } }
                try peer.write("x")
            }
        }
        for _ in 1...50 { _ = try await client.perform(HTTPRequest("GET", server.url)) }
        // The system's own delay is 40 ms or more.
        #expect(server.connections == 1 && fastest.withLock { $0 } < .milliseconds(40))
    }

    @Test func `A closed socket does not stand for another one that has its port`() throws {
        func bound(to port: UInt16) -> Int32 {
            let number = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            (address.sin_port, address.sin_addr.s_addr) = (port.bigEndian, UInt32(0x7f00_0001).bigEndian)
            let bound = withUnsafeBytes(of: &address) {
                bind(number, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
            }
            #expect(bound == 0)
            return number
        }
        var sockets = ConnectionSockets()
        let closed = bound(to: 0), port = try #require(Socket.port(of: closed))
        sockets.add(closed)
        #expect(sockets.socket(atPort: port) == closed)
        // A file gets the number of the closed socket.
        let file = open("/dev/null", O_RDONLY)
        dup2(file, closed)
        let new = bound(to: UInt16(port))
        defer { for number in [file, closed, new] { close(number) } }
        sockets.add(new)
        #expect(sockets.socket(atPort: port) == new)
    }

    @Test(arguments: [100, 3 << 20])
    func `A request is resent if a reused connection closes before the response`(count: Int) async throws {
        let server = try FixtureServer { peer in
            if peer.number == 1 {
                _ = try peer.readRequest()
                try peer.answer("200 OK", "first")
            }
            let request = try peer.readRequest()
            if peer.number > 1 { try peer.answer("200 OK", "\(request.body == pattern(count))") }
        }
        _ = try await client.perform(HTTPRequest("GET", server.url))
        let response = try await client.perform(HTTPRequest("PUT", server.url, body: .bytes(pattern(count))))
        #expect(String(decoding: response.body, as: UTF8.self) == "true")
        #expect(server.connections == 2)
    }

    @Test(arguments: ["POST", "PUT", "PATCH", "DELETE", "GET"], [nil, 0, 100, 3 << 20])
    func `A request with isSentOnce reaches a server once`(method: String, count: Int?) async throws {
        let received = Mutex(0)
        let server = try FixtureServer { peer in
            if peer.number == 1 {
                _ = try peer.readRequest()
                try peer.answer()
            }
            _ = try peer.readRequest()
            received.withLock { $0 += 1 }
        }
        _ = try await client.perform(HTTPRequest("GET", server.url))
        var request = HTTPRequest(method, server.url, body: count.map { .bytes(pattern($0)) } ?? .none)
        request.isSentOnce = true
        let error = try await failure(of: request, by: client)
        #expect(error.kind.isBroken && error.isRetryable && error.mayHaveReachedServer)
        #expect(received.withLock { $0 } == 1)
    }

    @Test func `A body is read again for another connection, unless the request has isSentOnce`() async throws {
        let bytes = pattern(20 << 20)
        let file = try ScratchFile(bytes)
        let received = PieceComparison(bytes)
        let server = try FixtureServer { peer in
            if peer.number % 2 == 1 {
                _ = try peer.readRequest()
                try peer.answer()
                _ = try peer.readHead()
                _ = try peer.read(9 << 20)
                peer.endAnswers()
                return peer.waitForEnd()
            }
            _ = try peer.readHead()
            try peer.read(bytes.count, received.take)
            try peer.answer()
        }
        _ = try await client.perform(HTTPRequest("GET", server.url))
        let body = ReadAhead(descriptor: file.descriptor, count: Int64(bytes.count), on: WorkerThreads("read"))
        var request = HTTPRequest("PUT", server.url, body: .source(body))
        let response = try await client.perform(request)
        #expect(response.bytesSent == bytes.count)
        #expect(received.isComplete && server.connections == 2)
        let other = HTTPClient(.none)
        _ = try await other.perform(HTTPRequest("GET", server.url))
        request.isSentOnce = true
        let error = try await failure(of: request, by: other)
        #expect(error.kind.isBroken && error.isRetryable)
    }

    @Test func `A request to a server that closes every reused connection fails`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            if peer.number == 1 {
                try peer.answer()
                _ = try peer.readRequest()
            }
        }
        _ = try await client.perform(HTTPRequest("GET", server.url))
        let error = try await failure(of: HTTPRequest("POST", server.url, body: .bytes([1])), by: client)
        #expect(error.kind.isBroken && error.mayHaveReachedServer && error.isRetryable)
    }

    @Test func `A connection that the server closes after each answer is no error`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.answer("200 OK", "x")
        }
        for _ in 1...20 {
            let response = try await client.perform(HTTPRequest("PUT", server.url, body: .bytes([1, 2])))
            #expect(response.body == [UInt8(ascii: "x")])
        }
    }
}
