import HTTPClient
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Deletions, listings and URLs with faults of the server or the connection.
@Suite(.watchdog(minutes: 10)) struct RemoteObjectTests {
    private func places(clock: any Clock<Duration> = HurriedClock()) throws -> [(any RemoteFixture)] {
        try RemoteFaultTests.places.map { type in
            try type.init(StorageFixture(buckets: ["b"]), limits: .patient, clock: clock)
        }
    }

    @Test(arguments: [false, true])
    func `A deletion with a lost response succeeds`(isFirstOnItsConnection: Bool) async throws {
        for place in try places() {
            try place.fixture.put([1], "b", "a")
            if !isFirstOnItsConnection { _ = try await place.backend.metadata(of: ref("a")) }
            place.fixture.faults = [.init(.first(.delete), .resetAfterHandling)]
            try await place.backend.delete("a")
            #expect(place.fixture.objects.isEmpty && place.fixture.log.requests(.delete).count == 1)
        }
    }

    @Test(arguments: [500, 503])
    func `A deletion that was executed but answered with an error succeeds`(status: Int) async throws {
        for place in try places() {
            try place.fixture.put([1], "b", "a")
            place.fixture.faults = [.init(.first(.delete), .answerAfterHandling(status))]
            try await place.backend.delete("a")
            #expect(place.fixture.objects.isEmpty)
        }
    }

    @Test(arguments: [(200, "<html>Log in</html>"), (200, #"{"name": "a"}"#), (202, ""), (204, "")])
    func `Only an empty answer says that an object is deleted`(status: Int, body: String) async throws {
        for place in try places() {
            for isMove in [false, true] {
                try place.fixture.put([1], "b", "a", by: type(of: place).dialect)
                let before = place.fixture.log.requests(.delete).count
                place.fixture.faults = [.init(.first(.delete), .answer(status, body: body))]
                if isMove {
                    _ = try await place.backend.run(
                        .copy(of: ref("a"), to: ref("m"), isMove: true), retryTime: .seconds(600))
                } else {
                    try await place.backend.delete("a")
                }
                let isBelieved = status == 204
                #expect((place.fixture.bytes("b", "a") == nil) == !isBelieved)
                #expect(place.fixture.log.requests(.delete).count - before == (isBelieved ? 1 : 2))
                place.fixture.remove("b", "m")
            }
        }
    }

    @Test func `A session is cancelled only if the answer says so`() async throws {
        for place in try places() {
            place.fixture.faults = [
                .init(.first(.chunk), .answer(403)), .init(.first(.cancel), .answer(200, body: "<html>Log in</html>")),
            ]
            _ = try await failure {
                _ = try await place.backend.run(.data(noise(1 << 20), to: ref("a")), chunks: .fixed(256 << 10))
            }
            try await place.fixture.until { !$0.cancelledSessions.isEmpty }
        }
    }

    @Test func `A missing object is not found although the first deletion was throttled`() async throws {
        for place in try places() {
            place.fixture.faults = [.init(.first(.delete), .answer(429))]
            #expect(try await failure { try await place.backend.delete("a") }.isObjectNotFound(ref("a")))
            let other = try await failure {
                let caller = Caller(retryTime: .seconds(600))
                try await place.backend.delete(ref("a", in: "other"), if: .init(), for: caller)
            }
            #expect(other.code == (place is GCSFixture ? .bucketNotFound : .objectNotFound))
        }
    }

    @Test func `Invalid object names are not listed, even if they fill whole pages`() async throws {
        for place in try places() {
            for name in ["x/", "x//foo", "x/bar//", "x/baz//qux", "x/a", "x/z/"] + (0..<5).map({ "x/\0/\($0)//" }) {
                try place.fixture.put([], "b", name)
            }
            for size in [1, 2, 1000] {
                var (found, token): ([Reference], String?) = ([], nil)
                repeat {
                    let page = try await place.backend.list("x", size, after: token)
                    #expect(page.pageToken == nil || page.items.count + page.prefixes.count > 0)
                    (found, token) = (found + page.items + page.prefixes, page.pageToken)
                } while token != nil
                #expect(try Set(found) == [ref("x/a"), ref("x/bar"), ref("x/baz"), ref("x/z"), ref("x/\0")])
                #expect(found.count == 5)
            }
        }
    }

    @Test func `A missing bucket is reported if the service distinguishes it`() async throws {
        for place in try places() {
            let error = try await failure { _ = try await place.backend.list("", in: "other") }
            let saysSo = type(of: place).dialect == .gcs
            #expect(error.code == (saysSo ? .bucketNotFound : .objectNotFound) && error.bucket == "other")
        }
    }

    @Test func `Listing ends with an error if a server repeats a page`() async throws {
        for place in try places() {
            try place.fixture.put([], "b", "a")
            let body = #"{"nextPageToken":"again"}"#
            place.fixture.faults = (0..<200).map { _ in .init(.first(.list), .answer(200, body: body)) }
            let error = try await failure {
                _ = try await place.backend.list(
                    ListQuery(ref(""), maxResults: 1), for: Caller(retryTime: .seconds(600)))
            }
            #expect(error.code == .unknown)
        }
    }

    @Test func `A token that expires during a download is renewed, and the download continues`() async throws {
        let bytes = noise(3 << 20)
        // This clock limits the wait for a token.
        for place in try places(clock: ContinuousClock()) {
            let scratch = try Scratch()
            try place.fixture.put(bytes, "b", "a")
            let isFirebase = place is FirebaseFixture
            let scheme = isFirebase ? "Firebase" : "Bearer"
            place.fixture.credentials = .init(["\(scheme) t0"])
            let (fixture, hasArrived) = (place.fixture, Signal())
            defer { hasArrived.fire() }
            fixture.faults = [
                // A reset before any byte has arrived on a kept connection is repaired below the engine.
                .init(.byte(1 << 20), .stall(until: hasArrived)),
                .init(.byte(1 << 20), .meanwhile { [weak fixture] in fixture?.credentials = .init(["\(scheme) t1"]) }),
                .init(.byte(1 << 20), .reset),
            ]
            let tokens = CountedTokens(kind: isFirebase ? .idToken : .accessToken)
            let caller = Caller(tokens: tokens, retryTime: .seconds(600))
            let session = place.backend.beginDownload(
                Download(reference: try ref("a"), file: scratch.path + "/file", task: "t", caller: caller))
            let first = await session.fetch { if $0.completedUnitCount > 0 { hasArrived.fire() } }
            guard case .failed(let error) = first, error.retryable else { throw Unexpected(first) }
            let second = await session.fetch { _ in }
            guard case .completed = second else { throw Unexpected(second) }
            #expect(try contentsOf(scratch.path + "/file") == bytes)
        }
    }

    @Test func `Objects with gzip encoding are downloaded as stored`() async throws {
        for place in try places() {
            let scratch = try Scratch()
            try place.fixture.put([1, 2], "b", "packed", metadata: ["contentEncoding": "gzip"])
            try place.fixture.put([1, 2], "b", "plain")
            for name in ["packed", "plain"] {
                _ = try await place.backend.fetch(name, to: scratch.path + "/file")
                #expect(try contentsOf(scratch.path + "/file") == [1, 2])
                #expect(try await place.backend.data(name) == [1, 2])
            }
            let asked = place.fixture.log.requests(.media).map { $0.headers["Accept-Encoding"] }
            #expect(asked == ["gzip", "gzip", "identity", "gzip"])
        }
    }
}

/// Returns t0, and the next number after each refusal.
private struct CountedTokens: TokenSource {
    let kind: Token.Kind

    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        guard kind == self.kind else { return nil }
        let number = refused.flatMap { Int($0.secret.dropFirst()) }.map { $0 + 1 } ?? 0
        return Token(kind, "t\(number)")
    }
}

@Suite(.watchdog(minutes: 10)) struct RemoteLinkTests {
    private let name = "dir/ä b+&?#%.txt"
    private let escaped = "dir%2F%C3%A4%20b%2B%26%3F%23%25.txt"

    @Test func `A Firebase download URL has the object's token, and a new one after revocation`() async throws {
        let place = try FirebaseFixture(StorageFixture())
        try place.fixture.put([1], "b", name, by: .gcs)
        let url = try await place.backend.downloadURL(name)
        #expect(url.hasPrefix("\(place.fixture.url)/v0/b/b/o/\(escaped)?alt=media&token="))
        #expect(try await place.backend.downloadURL(name) == url)
        let next = try await place.backend.revokeDownloadURL(name)
        #expect(next != url && next.hasPrefix("\(place.fixture.url)/v0/b/b/o/\(escaped)?alt=media&token="))
        #expect(try await place.backend.downloadURL(name) == next)
        let tokens = place.fixture.metadata("b", name)?["downloadTokens"]?.string
        #expect(tokens.map { next.hasSuffix("token=\($0)") } == true)
        #expect(try await failure { _ = try await place.backend.downloadURL("x") }.isObjectNotFound(ref("x")))
        #expect(try await failure { _ = try await place.backend.revokeDownloadURL("x") }.isObjectNotFound(ref("x")))
    }

    @Test func `downloadURL creates a missing token, or reports the missing permission`() async throws {
        let place = try FirebaseFixture(StorageFixture())
        try place.fixture.put([1], "b", "a")
        let bare = #"{"name":"a","generation":"1","size":"1"}"#
        place.fixture.faults = [.init(.first(.getMetadata), .answer(200, body: bare))]
        let url = try await place.backend.downloadURL("a")
        let newest = place.fixture.metadata("b", "a")?["downloadTokens"]?.string?.split(separator: ",").last
        #expect(newest.map { url.hasSuffix("&token=\($0)") } == true)
        for revokes in [false, true] {
            place.fixture.faults = [
                .init(.first(.getMetadata), .answer(200, body: bare)), .init(.first(.token), .answer(403)),
            ]
            let error = try await failure {
                _ = try await revokes ? place.backend.revokeDownloadURL("a") : place.backend.downloadURL("a")
            }
            #expect(error.code == .unauthorized && error.message.contains("administrator"))
        }
    }

    @Test func `URLs of a GCS emulator are unsigned, and signed URLs cannot be revoked`() async throws {
        let place = try GCSFixture(StorageFixture())
        try place.fixture.put([1], "b", name)
        let url = try await place.backend.downloadURL(name)
        #expect(url == "\(place.fixture.url)/storage/v1/b/b/o/\(escaped)?alt=media")
        let answer = try await HTTPClient.direct.perform(HTTPRequest("GET", url))
        #expect(answer.body == [1])
        #expect(try await failure { _ = try await place.backend.downloadURL("x") }.isObjectNotFound(ref("x")))
        let error = try await failure { _ = try await place.backend.revokeDownloadURL(name) }
        #expect(error.code == .unknown && error.message.contains("7 days"))
    }

    @Test func `The text to sign has the canonical form of Google's V4 signatures`() throws {
        let url = DownloadLink(
            endpoint: .gcs, reference: try ref("a/b c+~é/%2F", in: "bucket.x"), account: "me@x.iam.example",
            time: try #require(Timestamp(rfc3339: "2026-02-03T04:05:06.789Z")), lifetime: 604_800)
        let path = "/bucket.x/a/b%20c%2B~%C3%A9/%252F"
        let query =
            "X-Goog-Algorithm=GOOG4-RSA-SHA256"
            + "&X-Goog-Credential=me%40x.iam.example%2F20260203%2Fauto%2Fstorage%2Fgoog4_request"
            + "&X-Goog-Date=20260203T040506Z&X-Goog-Expires=604800&X-Goog-SignedHeaders=host"
        #expect(
            url.canonicalRequest
                == "GET\n\(path)\n\(query)\nhost:storage.googleapis.com\n\nhost\nUNSIGNED-PAYLOAD")
        #expect(
            url.textToSign(hash: [0x0F, 0xA0])
                == "GOOG4-RSA-SHA256\n20260203T040506Z\n20260203/auto/storage/goog4_request\n0fa0")
        #expect(
            url.url(signature: [0xFF, 0x01])
                == "https://storage.googleapis.com\(path)?\(query)&X-Goog-Signature=ff01")
    }
}

private struct Unexpected: Error {
    let answer: DownloadAnswer

    init(_ answer: DownloadAnswer) { self.answer = answer }
}
