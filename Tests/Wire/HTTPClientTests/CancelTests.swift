import HTTPClient
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct CancelTests {
    let client = HTTPClient(.none)

    private func begin(_ request: HTTPRequest) -> Task<Result<HTTPResponse, HTTPError>, Never> {
        Task { [client] in
            do throws(HTTPError) { return .success(try await client.perform(request)) } catch { return .failure(error) }
        }
    }

    private func expectCancelled(
        _ result: Result<HTTPResponse, HTTPError>, reached: Bool, _ location: SourceLocation = #_sourceLocation
    ) {
        guard case .failure(let error) = result else {
            Issue.record("answered", sourceLocation: location)
            return
        }
        #expect(error.kind == .cancelled && !error.isRetryable, sourceLocation: location)
        #expect(error.mayHaveReachedServer == reached, sourceLocation: location)
    }

    @Test func `A request can be cancelled before it starts`() async throws {
        let server = try FixtureServer { _ in }
        let task = Task { [client] () throws(HTTPError) in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await client.perform(HTTPRequest("GET", server.url))
        }
        expectCancelled(await task.result.mapError { $0 as? HTTPError ?? HTTPError(.badURL, host: "") }, reached: false)
        #expect(server.connections == 0)
    }

    @Test func `A request can be cancelled while it connects`() async throws {
        let crowd = try FullListenQueue()
        let request = HTTPRequest("GET", crowd.url)
        let tasks = (0..<10).map { _ in begin(request) }
        for task in tasks { task.cancel() }
        for task in tasks { expectCancelled(await task.value, reached: false) }
    }

    @Test func `A request can be cancelled while it waits for a connection`() async throws {
        let asked = Signal()
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            asked.fire()
            peer.waitForEnd()
        }
        let client = HTTPClient(connectionsPerHost: 1, environment: .none)
        let first = Task { try await client.perform(HTTPRequest("GET", server.url)) }
        try await asked.happened()
        let second = Task { try await client.perform(HTTPRequest("GET", server.url)) }
        second.cancel()
        await #expect(throws: HTTPError.self) { try await second.value }
        first.cancel()
        await #expect(throws: HTTPError.self) { try await first.value }
        #expect(server.connections == 1)
    }

    /// The behaviour of the server after the head, until the client disconnects.
    enum Stage: CaseIterable { case reads, doesNotRead, isSilent, answersInPart }

    @Test(arguments: Stage.allCases)
    func `A cancellation closes the connection to the server`(stage: Stage) async throws {
        let (reached, gone, end) = (Signal(), Signal(), Signal())
        let server = try FixtureServer { peer in
            let request = try peer.readHead()
            if stage == .isSilent || stage == .answersInPart { _ = try peer.readBody(request) }
            if stage == .answersInPart { try peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc") }
            reached.fire()
            if stage == .doesNotRead { end.block() }
            peer.waitForEnd()
            gone.fire()
        }
        let isLong = stage == .reads || stage == .doesNotRead
        let source = ScriptedSource(count: isLong ? 1 << 40 : 10) { buffer, _, _ in
            buffer.initializeMemory(as: UInt8.self, repeating: 1)
            return .bytes(buffer.count)
        }
        let task = begin(HTTPRequest("PUT", server.url, body: .source(source)))
        try await reached.happened()
        task.cancel()
        expectCancelled(await task.value, reached: true)
        try await source.ended.happened()
        end.fire()
        try await gone.happened()
        task.cancel()
    }

    @Test(arguments: [true, false])
    func `A request can be cancelled while it waits for its source or its sink`(isSource: Bool) async throws {
        let server = try FixtureServer { peer in
            let request = try peer.readHead()
            _ = try peer.readBody(request)
            try peer.answer("200 OK", "body")
        }
        let asked = Signal()
        var request = HTTPRequest("PUT", server.url)
        if isSource {
            request.body = .source(
                ScriptedSource(count: 5) { _, _, _ in
                    asked.fire(); return .later
                })
        } else {
            request.sink = ScriptedSink { _, _ in
                asked.fire(); return .later
            }
        }
        let task = begin(request)
        try await asked.happened()
        task.cancel()
        expectCancelled(await task.value, reached: true)
    }

    @Test func `A request can be cancelled at any time`() async throws {
        let server = try FixtureServer { peer in
            while true { try peer.answer("200 OK", peer.readRequest().line) }
        }
        let outcomes = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let task = self.begin(HTTPRequest("PUT", server.url, body: .bytes([1, 2, 3])))
                    for _ in 0..<number % 40 { await Task.yield() }
                    task.cancel()
                    switch await task.value {
                    case .success(let response): return response.status == 200
                    case .failure(let error): return error.kind == .cancelled
                    }
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(outcomes == 1000)
        #expect(try await client.perform(HTTPRequest("GET", server.url)).status == 200)
    }
}
