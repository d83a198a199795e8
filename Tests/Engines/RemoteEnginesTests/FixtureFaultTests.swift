import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// Each fault of the fixture has its effect, once.
@Suite(.watchdog(minutes: 10)) struct FixtureFaultTests {
    private typealias Fault = StorageFixture.Fault

    let user: FixtureUser
    var fixture: StorageFixture { user.fixture }

    init() throws { user = try FixtureUser() }

    /// Whether a request ends with a broken connection.
    private func breaks(_ request: () async throws(HTTPError) -> HTTPResponse) async -> Bool {
        do throws(HTTPError) {
            _ = try await request()
            return false
        } catch {
            if case .connectionBroken = error.kind { return true }
            return false
        }
    }

    @Test func `The fixture answers instead of handling a request, once for each fault`() async throws {
        fixture.faults = [
            Fault(.nth(1, .chunk), .answer(503, headers: ["Retry-After": "7"], body: "later")),
            Fault(.nth(1, .chunk), .answer(429)), Fault(.nth(9, .chunk), .reset),
        ]
        let url = try await user.start()
        let first = try await user.command("upload", url, 0..<262_144)
        #expect(first.status == 503 && first.headers["Retry-After"] == "7" && first.text == "later")
        #expect(try await user.command("upload", url, 0..<262_144).status == 429)
        #expect(try await user.size(url) == "0")
        #expect(try await user.command("upload", url, 0..<262_144).status == 200)
        #expect(fixture.unfired.count == 1 && fixture.requests.map(\.status) == [200, 503, 429, 200, 200])
        #expect(fixture.connections == 1)
    }

    @Test func `The fixture answers in the middle of a chunk`() async throws {
        fixture.faults = [Fault(.byte(300_000), .answer(500))]
        let url = try await user.start()
        #expect(try await user.command("upload, finalize", url, 0..<600_000).status == 500)
        #expect(try await user.size(url) == "262144")
        #expect(fixture.log.requests(.finalize).map(\.bytesReceived) == [300_000])
    }

    @Test func `The fixture answers with another status after handling a request`() async throws {
        fixture.faults = [Fault(.first(.finalize), .answerAfterHandling(502))]
        let url = try await user.startGCS()
        #expect(try await user.put(url, "bytes 0-599999/600000", 0..<600_000).status == 502)
        #expect(try await user.put(url, "bytes */600000").status == 200 && fixture.objects == ["box/a/b"])
    }

    @Test(arguments: [false, true]) func `The fixture breaks the connection at a byte of a chunk`(isGCS: Bool)
        async throws
    {
        fixture.faults = [Fault(.byte(524_288), .reset)]
        let url = try await isGCS ? user.startGCS() : user.start()
        let isBroken = await breaks { () throws(HTTPError) in
            try await isGCS
                ? user.afresh.put(url, "bytes 0-599999/600000", 0..<600_000)
                : user.afresh.command("upload, finalize", url, 0..<600_000)
        }
        #expect(isBroken && fixture.log.openSessions.map(\.persisted) == [524_288] && fixture.unfired.isEmpty)
        if isGCS {
            #expect(try await user.put(url, "bytes */600000").headers["Range"] == "bytes=0-524287")
            #expect(try await user.put(url, "bytes 0-599999/600000", 0..<600_000).status == 200)
            #expect(fixture.log.resentPersistedBytes == 524_288)
        } else {
            #expect(try await user.size(url) == "524288")
            #expect(try await user.command("upload, finalize", url, 524_288..<600_000).status == 200)
            #expect(fixture.log.resentPersistedBytes == 0)
        }
        #expect(fixture.bytes("box", "a/b") == user.bytes)
    }

    @Test(arguments: [0, 1, 2]) func `The fixture breaks the connection before or after handling a request`(which: Int)
        async throws
    {
        let deed = [Fault.Action.reset, .resetAfterHandling, .closeAfterHandling][which]
        fixture.faults = [Fault(.first(.chunk), deed)]
        let url = try await user.start()
        #expect(await breaks { () throws(HTTPError) in try await user.afresh.command("upload", url, 0..<262_144) })
        #expect(try await user.size(url) == (which == 0 ? "0" : "262144"))
        #expect(fixture.log.requests(.chunk).map(\.status) == [nil])
    }

    @Test func `The fixture closes a kept connection after its answer`() async throws {
        fixture.faults = [Fault(.first(.query), .closeAfterAnswer)]
        let url = try await user.start()
        #expect(try await user.size(url) == "0")
        #expect(try await user.command("upload", url, 0..<262_144).status == 200 && fixture.connections == 2)
    }

    @Test func `The fixture stalls within a chunk until its signal`() async throws {
        let signal = Signal()
        fixture.faults = [Fault(.byte(524_288), .stall(until: signal))]
        let url = try await user.start()
        let upload = Task { try await user.command("upload, finalize", url, 0..<600_000) }
        try await fixture.until { $0.unfired.isEmpty }
        #expect(fixture.log.openSessions.map(\.persisted) == [524_288])
        signal.fire()
        #expect(try await upload.value.status == 200 && fixture.bytes("box", "a/b") == user.bytes)
    }

    @Test func `A stall ends when the client disconnects, and a later request continues the session`() async throws {
        fixture.faults = [Fault(.byte(524_288), .stall(until: Signal()))]
        let url = try await user.start()
        let upload = Task { try await user.command("upload, finalize", url, 0..<600_000) }
        try await fixture.until { $0.unfired.isEmpty }
        upload.cancel()
        await #expect(throws: HTTPError.self) { try await upload.value }
        #expect(try await user.size(url) == "524288")
        #expect(try await user.command("upload, finalize", url, 524_288..<600_000).status == 200)
    }

    @Test func `The fixture delays a response`() async throws {
        let signal = Signal()
        fixture.faults = [Fault(.first(.chunk), .answerLate(signal))]
        let url = try await user.start()
        let upload = Task { try await user.command("upload", url, 0..<262_144) }
        try await fixture.until { $0.openSessions.map(\.persisted) == [262_144] }
        #expect(fixture.log.requests(.chunk).map(\.status) == [nil])
        signal.fire()
        #expect(try await upload.value.status == 200)
    }

    @Test func `The fixture reports false offsets`() async throws {
        fixture.faults = [
            Fault(.nth(1, .query), .reportFalseOffset(.granules(-1))),
            Fault(.nth(2, .query), .reportFalseOffset(.granules(1))),
            Fault(.nth(3, .query), .reportFalseOffset(.beyondTotal)),
            Fault(.nth(4, .query), .reportFalseOffset(.text("many"))),
        ]
        let url = try await user.start()
        try await user.command("upload", url, 0..<262_144)
        var told: [String?] = []
        for _ in 0..<5 { told.append(try await user.size(url)) }
        #expect(told == ["0", "524288", "862144", "many", "262144"])
        fixture.faults = [
            Fault(.first(.chunk), .reportFalseOffset(.granules(-1))),
            Fault(.nth(2, .query, .chunk), .reportFalseOffset(.beyondTotal)),
            Fault(.nth(3, .query, .chunk), .reportFalseOffset(.text("many"))),
        ]
        let other = try await user.startGCS()
        #expect(try await user.put(other, "bytes 0-262143/600000", 0..<262_144).headers["Range"] == nil)
        #expect(try await user.put(other, "bytes */600000").headers["Range"] == "bytes=0-862143")
        #expect(try await user.put(other, "bytes */600000").headers["Range"] == "bytes=0-many")
    }

    @Test(arguments: [404, 410]) func `The fixture forgets a session`(status: Int) async throws {
        fixture.faults = [Fault(.first(.chunk), .forget(status))]
        let url = try await user.startGCS()
        #expect(try await user.put(url, "bytes 0-262143/600000", 0..<262_144).status == status)
        #expect(try await user.put(url, "bytes */600000").status == status)
        #expect(fixture.log.sessions.map(\.state) == [.forgotten(status)])
    }

    @Test func `The fixture corrupts a stored byte or a sent byte`() async throws {
        fixture.faults = [Fault(.byte(400_000), .corrupt), Fault(.first(.media), .corrupt)]
        let url = try await user.start()
        #expect(try await user.command("upload, finalize", url, 0..<600_000).status == 200)
        let stored = try #require(fixture.bytes("box", "a/b"))
        #expect(stored.indices.filter { stored[$0] != user.bytes[$0] } == [400_000])
        let sent = try await user.send("GET", "/storage/v1/b/box/o/a%2Fb?alt=media").body
        #expect(sent.indices.filter { sent[$0] != stored[$0] } == [0])
        let part: HTTPHeaders = [
            "Content-Type": "multipart/related; boundary=x", "X-Goog-Upload-Protocol": "multipart",
        ]
        fixture.faults = [Fault(.first(.multipart), .corrupt)]
        let body = "--x\r\nContent-Type: a/b\r\n\r\n{}\r\n--x\r\nContent-Type: a/b\r\n\r\nabc\r\n--x--"
        #expect(try await user.send("POST", "/v0/b/box/o?name=c", part, Array(body.utf8)).status == 200)
        #expect(fixture.bytes("box", "c") == Array("`bc".utf8))
    }

    @Test func `A released fixture closes its connections`() async throws {
        var own: StorageFixture? = try StorageFixture()
        let url = try #require(own?.url)
        own?.faults = [Fault(.first(.list), .stall(until: Signal()))]
        let client = HTTPClient.direct
        let list = Task { try await client.perform(HTTPRequest("GET", url + "/v0/b/box/o")) }
        try await own?.until { $0.unfired.isEmpty }
        own = nil
        await #expect(throws: HTTPError.self) { try await list.value }
    }
}
