import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage
import TestSupport
import Testing

/// The protocol of Amazon S3 as the fixture of other tests speaks it.
@Suite(.watchdog(minutes: 10)) struct S3FixtureTests {
    private let user: S3User
    private var fixture: StorageFixture { user.fixture }

    init() throws {
        user = S3User(fixture: try StorageFixture())
        fixture.s3.smallestPart = 10
    }

    private func error(_ response: HTTPResponse) -> String? { response.element("Code") }

    private func open(_ key: String = "a", _ headers: HTTPHeaders = [:]) async throws -> String {
        let answer = try await user.send("POST", "/b/\(key)?uploads=", headers)
        return try #require(answer.element("UploadId")?.replacing("&amp;", with: "&")).escaped
    }

    private func part(_ number: Int, _ id: String, _ bytes: [UInt8], key: String = "a") async throws -> String {
        let answer = try await user.send("PUT", "/b/\(key)?partNumber=\(number)&uploadId=\(id)", [:], bytes)
        return try #require(answer.headers["ETag"])
    }

    private func complete(_ id: String, _ tags: [String], key: String = "a") async throws -> HTTPResponse {
        let parts = tags.enumerated().map { number, tag in
            "<Part><PartNumber>\(number + 1)</PartNumber><ETag>\(tag.replacing("\"", with: "&quot;"))</ETag></Part>"
        }
        let body = "<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>"
        return try await user.send("POST", "/b/\(key)?uploadId=\(id)", [:], Array(body.utf8))
    }

    /// An upload of two parts that is ready for its end.
    private func ready() async throws -> (id: String, tags: [String]) {
        let id = try await open("a", ["x-amz-meta-k_e": "v", "Content-Type": "x/y"])
        return (id, [try await part(1, id, user.bytes), try await part(2, id, [1])])
    }

    // MARK: Signatures

    @Test func `Signatures of Amazon's documentation are right`() async throws {
        fixture.s3.accessKey = AccessKey(
            id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
        fixture.s3.skew = 1_369_353_600 - Int64(TimeSource.system.now().microseconds / 1_000_000)
        let link =
            "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2F"
            + "s3%2Faws4_request&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host&X-Amz-Signature="
        let right = "aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404"
        let host: HTTPHeaders = ["Host": "examplebucket.s3.amazonaws.com"]
        // The path is a bucket here: its list wants params that the link does not have.
        #expect(error(try await user.plain("GET", link + right, host)) == "InvalidArgument")
        #expect(error(try await user.plain("GET", link + right)) == "SignatureDoesNotMatch")
        #expect(
            error(try await user.plain("GET", link + right.replacing("a", with: "b"), host)) == "SignatureDoesNotMatch")
        fixture.s3.skew += 90_000
        let late = try await user.plain("GET", link + right, host)
        #expect(late.status == 403 && error(late) == "AccessDenied")
    }

    @Test func `Each part of a signature is verified`() async throws {
        fixture.s3.isPublic = false
        #expect(try await user.send("PUT", "/b/a%20b//..%2F%2B", [:], [1]).status == 200)
        #expect(fixture.objects == ["b/a b//../+"])
        for (change, status, code) in [
            ({ $0.key = AccessKey(id: $0.key.id, secret: "other") }, 403, "SignatureDoesNotMatch"),
            ({ $0.key = AccessKey(id: "other", secret: $0.key.secret) }, 403, "InvalidAccessKeyId"),
            ({ $0.key = AccessKey(id: $0.key.id, secret: $0.key.secret, sessionToken: "t") }, 400, "InvalidToken"),
            ({ $0.date = "20200101T000000Z" }, 403, "RequestTimeTooSkewed"),
            ({ $0.unsigned = ["x-amz-meta-k": "v"] }, 403, "AccessDenied"),
            ({ $0.unsigned = ["x-unknown": "v"] }, 400, "InvalidArgument"),
            ({ $0.content = String(repeating: "0", count: 64) }, 400, "XAmzContentSHA256Mismatch"),
        ] as [((inout S3User) -> Void, Int, String)] {
            var other = user
            change(&other)
            let answer = try await other.send("PUT", "/b/x", [:], [1])
            #expect(answer.status == status && error(answer) == code)
        }
        #expect(error(try await user.plain("GET", "/b/x")) == "AccessDenied")
        #expect(fixture.objects.count == 1)
    }

    @Test func `A region, an expired key and the time of the server are reported`() async throws {
        fixture.s3.region = "eu-9"
        let wrong = try await user.send("GET", "/b/a")
        #expect(
            wrong.status == 400 && error(wrong) == "AuthorizationHeaderMalformed" && wrong.element("Region") == "eu-9")
        let head = try await user.send("HEAD", "/b/a")
        #expect(head.status == 400 && head.headers["x-amz-bucket-region"] == "eu-9" && head.body.isEmpty)
        fixture.s3.region = nil
        fixture.s3.expiredKeys = [user.key.id]
        #expect(error(try await user.send("GET", "/b/a")) == "ExpiredToken")
        fixture.s3.expiredKeys = []
        fixture.s3.skew = 1000
        let skewed = try await user.send("GET", "/b/a")
        #expect(skewed.status == 403 && error(skewed) == "RequestTimeTooSkewed")
        let date = try #require(skewed.headers["Date"].flatMap { HTTPDate($0) })
        #expect(abs(date.secondsSince1970 - TimeSource.system.now().microseconds / 1_000_000 - 1000) < 900)
    }

    // MARK: Objects

    @Test func `Objects are stored, read in ranges, and deleted`() async throws {
        let headers: HTTPHeaders = [
            "Content-Type": "x/y", "Cache-Control": "no-store", "x-amz-meta-My_Key": "v", "Content-MD5": user.md5,
        ]
        let stored = try await user.send("PUT", "/b/a", headers, user.bytes)
        let etag = "\"\(Checksum(of: user.bytes).md5.hexadecimal)\""
        #expect(stored.status == 200 && stored.headers["ETag"] == etag && stored.body.isEmpty)
        let head = try await user.send("HEAD", "/b/a")
        #expect(head.headers["Content-Length"] == "\(user.bytes.count)" && head.headers["x-amz-meta-my-key"] == "v")
        #expect(head.headers["content-type"] == "x/y" && head.headers["x-rgw-object-type"] != nil)
        let part = try await user.send("GET", "/b/a", ["Range": "bytes=2-4", "If-Match": etag])
        #expect(part.status == 206 && part.body == Array(user.bytes[2...4]))
        #expect(try await user.send("GET", "/b/a", ["Range": "bytes=100-"]).status == 416)
        #expect(try await user.send("GET", "/b/a", ["If-Match": "\"0\""]).status == 412)
        #expect(error(try await user.send("PUT", "/b/a", ["Content-MD5": user.md5], [7])) == "BadDigest")
        #expect(error(try await user.send("PUT", "/b/a", ["Content-MD5": "AA=="], [7])) == "InvalidDigest")
        #expect(fixture.bytes("b", "a") == user.bytes)
        #expect(try await user.send("DELETE", "/b/a", ["If-Match": "\"0\""]).status == 204)
        #expect(try await user.send("DELETE", "/b/a").status == 204)
        #expect(error(try await user.send("GET", "/b/a")) == "NoSuchKey")
    }

    @Test(arguments: StorageFixture.S3Settings.Server.allCases)
    func `Conditions hold as they do at each server`(server: StorageFixture.S3Settings.Server) async throws {
        fixture.s3.server = server
        let hasNone = server == .swift
        #expect(try await user.send("PUT", "/b/a", ["If-None-Match": "*"], [1]).status == (hasNone ? 501 : 200))
        let stored = try await user.send("PUT", "/b/a", [:], [1])
        let etag = try #require(stored.headers["ETag"]).filter { $0 != "\"" }
        #expect((etag == Checksum(of: [1]).md5.hexadecimal) == (server != .kms))
        #expect(try await user.send("PUT", "/b/a", ["If-None-Match": "*"], [2]).status == (hasNone ? 501 : 412))
        let quoted = try await user.send("PUT", "/b/a", ["If-Match": "\"\(etag)\""], [1])
        #expect(quoted.status == (hasNone ? 501 : server == .aws ? 200 : 412))
        #expect(try await user.send("PUT", "/b/a", ["If-Match": etag], [1]).status == (hasNone ? 501 : 200))
        let kept = server == .aws || server == .swift
        #expect(try await user.send("DELETE", "/b/a", ["If-Match": "\"0\""]).status == (kept ? 412 : 204))
    }

    @Test func `Copies keep metadata or replace it`() async throws {
        _ = try await user.send("PUT", "/b/a%2Bb", ["x-amz-meta-k": "v", "Content-Type": "x/y"], [1])
        let source: HTTPHeaders = ["x-amz-copy-source": "/b/a%2Bb"]
        #expect(try await user.send("PUT", "/b/c", source).element("ETag")?.contains("&quot;") == true)
        #expect(try await user.send("HEAD", "/b/c").headers["x-amz-meta-k"] == "v")
        #expect(error(try await user.send("PUT", "/b/a%2Bb", source)) == "InvalidRequest")
        var replacing = source
        replacing["x-amz-metadata-directive"] = "REPLACE"
        replacing["x-amz-meta-n"] = "w"
        #expect(try await user.send("PUT", "/b/a%2Bb", replacing).status == 200)
        let head = try await user.send("HEAD", "/b/a%2Bb")
        #expect(head.headers["x-amz-meta-k"] == nil && head.headers["x-amz-meta-n"] == "w")
        #expect(head.headers["content-type"] == "binary/octet-stream")
        replacing["x-amz-copy-if-match"] = "0"
        #expect(error(try await user.send("PUT", "/b/a%2Bb", replacing)) == "PreconditionFailed")
        #expect(error(try await user.send("PUT", "/b/d", ["x-amz-copy-source": "/b/none"])) == "NoSuchKey")
        #expect(fixture.log.requests(.patch).count == 3 && fixture.log.requests(.rewrite).count == 2)
    }

    @Test func `Lists have pages, prefixes and encoded names`() async throws {
        for name in ["a'b c", "d/e", "d/f", "g\u{1}", "h"] { try fixture.put([1], "b", name, by: .s3) }
        let path = "/b?delimiter=%2F&encoding-type=url&list-type=2&max-keys=2"
        let first = try await user.send("GET", path)
        #expect(first.text.contains("<Key>a&apos;b%20c</Key>") && first.text.contains("<Prefix>d/</Prefix>"))
        #expect(first.element("IsTruncated") == "true" && first.element("KeyCount") == "2")
        let token = try #require(first.element("NextContinuationToken"))
            .replacing("&lt;", with: "<").replacing("&amp;", with: "&")
        let second = try await user.send("GET", path.replacing("?", with: "?continuation-token=\(token.escaped)&"))
        #expect(second.text.contains("<Key>g%01</Key>") && second.text.contains("<Key>h</Key>"))
        #expect(second.element("IsTruncated") == "false")
        #expect(try await user.send("GET", path.replacing("?", with: "?continuation-token=x&")).status == 400)
        #expect(try await user.send("GET", "/b?list-type=2").status == 400)
        #expect(try await user.send("GET", "/").element("Name") == "b")
        #expect(try await user.send("HEAD", "/b").status == 200)
    }

    @Test func `Several objects are deleted, and each refusal is reported`() async throws {
        for name in ["a", "b<", "c"] { try fixture.put([1], "b", name, by: .s3) }
        fixture.s3.undeletable = ["c"]
        let body = Array(
            "<Delete><Object><Key>a</Key></Object><Object><Key>b&lt;</Key></Object><Object><Key>c</Key></Object></Delete>"
                .utf8)
        #expect(try await user.send("POST", "/b?delete=", [:], body).status == 400)
        let answer = try await user.send("POST", "/b?delete=", ["Content-MD5": Checksum(of: body).md5.base64], body)
        #expect(answer.text.contains("<Deleted><Key>b&lt;</Key></Deleted>") && fixture.objects == ["b/c"])
        #expect(answer.text.contains("<Error><Key>c</Key><Code>AccessDenied</Code>"))
    }

    // MARK: Uploads in parts

    @Test func `An upload in parts stores an object with a composed tag`() async throws {
        let (id, tags) = try await ready()
        let listed = try await user.send("GET", "/b/a?max-parts=1&uploadId=\(id)")
        #expect(listed.element("IsTruncated") == "true" && listed.element("Size") == "\(user.bytes.count)")
        let rest = try await user.send("GET", "/b/a?part-number-marker=1&uploadId=\(id)")
        #expect(rest.element("PartNumber") == "2" && rest.element("IsTruncated") == "false")
        #expect(try await user.send("GET", "/b?prefix=a&uploads=").element("Key") == "a")
        #expect(error(try await complete(id, [tags[0]])) == "InvalidPart")
        #expect(error(try await complete(id, [tags[1], tags[0]])) == "InvalidPart")
        #expect(error(try await complete(id, [])) == "MalformedXML")
        let done = try await complete(id, tags)
        #expect(done.status == 200 && done.text.contains("<ETag/>"))
        let digests = Checksum(of: user.bytes).md5 + Checksum(of: [1]).md5
        let head = try await user.send("HEAD", "/b/a")
        #expect(head.headers["ETag"] == "\"\(Checksum(of: digests).md5.hexadecimal)-2\"")
        #expect(head.headers["x-amz-meta-k-e"] == "v" && head.headers["content-type"] == "x/y")
        #expect(fixture.bytes("b", "a") == user.bytes + [1] && fixture.log.sessions.map(\.state) == [.final])
        #expect(fixture.requests.prefix(3).map(\.kind) == [.start, .chunk, .chunk])
        #expect(fixture.requests[2].range == 10..<11)
    }

    @Test func `After its end an upload is removed, and its repetition depends on the object`() async throws {
        let (id, tags) = try await ready()
        _ = try await complete(id, tags)
        #expect(error(try await user.send("GET", "/b/a?uploadId=\(id)")) == "NoSuchKey")
        #expect(error(try await user.send("DELETE", "/b/a?uploadId=\(id)")) == "NoSuchUpload")
        let again = try await complete(id, tags)
        #expect(again.status == 200 && again.element("ETag")?.contains("-2") == true)
        #expect(try await user.send("GET", "/b/a").status == 200)
        _ = try await user.send("PUT", "/b/a", [:], [1])
        for _ in 0..<2 { #expect(error(try await complete(id, tags)) == "InternalError") }
        #expect(fixture.bytes("b", "a") == [1])
        fixture.s3.server = .swift
        #expect(try await complete(id, tags).status == 404)
        #expect(try await user.send("GET", "/b/a?uploadId=\(id)").status == 200)
    }

    @Test(arguments: [true, false])
    func `A request to an upload whose end had no answer destroys the object`(isAbort: Bool) async throws {
        let (id, tags) = try await ready()
        fixture.faults = [.init(.first(.finalize), .answerAfterHandling(500))]
        fixture.s3.lockedCompletes = 1
        #expect(try await complete(id, tags).status == 500)
        #expect(try await user.send("GET", "/b/a").status == 200)
        #expect(try await user.send("GET", "/b/a?uploadId=\(id)").element("PartNumber") == "1")
        #expect(try await user.send("GET", "/b?uploads=").element("UploadId") != nil)
        if isAbort {
            #expect(try await user.send("DELETE", "/b/a?uploadId=\(id)").status == 204)
        } else {
            #expect(try await complete(id, tags).status == 500)
            #expect(try await complete(id, tags).status == 200)
        }
        #expect(try await user.send("HEAD", "/b/a").status == 200)
        #expect(error(try await user.send("GET", "/b/a")) == "NoSuchKey" && fixture.bytes("b", "a") == nil)
        #expect(fixture.objects == ["b/a"])
    }

    @Test func `An aborted upload stores nothing, and its end fails for ever`() async throws {
        let (id, tags) = try await ready()
        #expect(try await user.send("DELETE", "/b/a?uploadId=\(id)").status == 204)
        #expect(error(try await user.send("DELETE", "/b/a?uploadId=\(id)")) == "NoSuchUpload")
        for _ in 0..<2 { #expect(try await complete(id, tags).status == 500) }
        #expect(fixture.objects.isEmpty && fixture.log.cancelledSessions.count == 1)
    }

    @Test func `Parts have the sizes and the numbers that the server wants`() async throws {
        fixture.s3.server = .swift
        let id = try await open()
        let many = try await user.send("PUT", "/b/a?partNumber=1001&uploadId=\(id)", [:], [1])
        #expect(error(many) == "InvalidArgument")
        fixture.s3.server = .equalParts
        var tags = [try await part(1, id, user.bytes), try await part(2, id, user.bytes + [1])]
        #expect(error(try await complete(id, tags)) == "InvalidPart")
        tags[1] = try await part(2, id, [1])
        fixture.s3.smallestPart = 11
        #expect(error(try await complete(id, tags)) == "EntityTooSmall")
        fixture.s3.smallestPart = 10
        fixture.s3.server = .aws
        let done = try await complete(id, tags)
        #expect(done.status == 200 && done.text.contains("?>\n   \n<") && done.element("ETag")?.contains("-2") == true)
    }

    @Test func `A part may be a range of an object`() async throws {
        try fixture.put(user.bytes, "b", "source", by: .s3)
        let id = try await open()
        let path = "/b/a?partNumber=1&uploadId=\(id)"
        let source: HTTPHeaders = ["x-amz-copy-source": "/b/source", "x-amz-copy-source-range": "bytes=1-3"]
        let tag = try #require(
            try await user.send("PUT", path, source).element("ETag")?.replacing("&quot;", with: "\""))
        let beyond: HTTPHeaders = ["x-amz-copy-source": "/b/source", "x-amz-copy-source-range": "bytes=1-10"]
        #expect(try await user.send("PUT", path, beyond).status == 416)
        var bound = source
        (bound["x-amz-copy-if-match"], bound["x-amz-copy-source-if-match"]) = ("0", "0")
        #expect(try await user.send("PUT", path, bound).status == 200)
        #expect(try await complete(id, [tag]).status == 200)
        #expect(fixture.bytes("b", "a") == Array(user.bytes[1...3]))
    }

    @Test func `A fault makes lists of parts wrong`() async throws {
        let (id, _) = try await ready()
        for (lie, numbers) in [
            (.granules(-1), ["1"]), (.granules(1), ["1", "2", "3"]), (.text("many"), ["1", "2", "3"]),
        ] as [(StorageFixture.Fault.FalseOffset, [String])] {
            fixture.faults = [.init(.first(.query), .reportFalseOffset(lie))]
            let text = try await user.send("GET", "/b/a?uploadId=\(id)").text
            #expect(text.matches(of: /<PartNumber>(\d+)</).map { String($0.1) } == numbers)
        }
    }

    @Test func `Damaged bytes are refused by their checksum`() async throws {
        let id = try await open()
        fixture.faults = [.init(.first(.chunk), .corrupt), .init(.first(.multipart), .corrupt)]
        let path = "/b/a?partNumber=1&uploadId=\(id)"
        var other = user
        other.content = "UNSIGNED-PAYLOAD"
        #expect(error(try await other.send("PUT", path, ["Content-MD5": user.md5], user.bytes)) == "BadDigest")
        #expect(error(try await other.send("PUT", "/b/a", ["Content-MD5": user.md5], user.bytes)) == "BadDigest")
        #expect(fixture.unfired.isEmpty && fixture.objects.isEmpty)
    }
}

/// A client that signs its requests.
private struct S3User: Sendable {
    let fixture: StorageFixture
    let bytes = Array("0123456789".utf8)
    var key: AccessKey
    /// `x-amz-date`; nil for the current time.
    var date: String?
    /// `x-amz-content-sha256`; nil for the hash of the body.
    var content: String?
    /// Headers that are not signed.
    var unsigned: HTTPHeaders = [:]
    private let client = HTTPClient.direct

    init(fixture: StorageFixture) { (self.fixture, key) = (fixture, fixture.s3.accessKey) }

    var md5: String { Checksum(of: bytes).md5.base64 }

    func plain(
        _ method: String, _ path: String, _ headers: HTTPHeaders = [:], _ body: [UInt8]? = nil
    ) async throws -> HTTPResponse {
        try await client.perform(
            HTTPRequest(method, fixture.url + path, headers: headers, body: body.map { .bytes($0) } ?? .none))
    }

    /// - Parameter path: encoded, with a query whose items are sorted.
    func send(
        _ method: String, _ path: String, _ headers: HTTPHeaders = [:], _ body: [UInt8]? = nil
    ) async throws -> HTTPResponse {
        let now = TimeSource.system.now().rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z"
        let date = date ?? now
        var headers = headers
        headers["Host"] = String(fixture.url.dropFirst("http://".count))
        headers["x-amz-date"] = date
        headers["x-amz-content-sha256"] = try content ?? hash(body ?? []).hexadecimal
        headers["x-amz-security-token"] = key.sessionToken
        let sorted = headers.fields.map { ($0.name.lowercased(), $0.value) }.sorted { $0.0 < $1.0 }
        let names = sorted.map(\.0).joined(separator: ";")
        let halves = path.split(separator: "?", maxSplits: 1)
        let lines = [method, String(halves[0]).replacing("%2F", with: "/"), halves.count == 2 ? String(halves[1]) : ""]
        let end = ["", names, headers["x-amz-content-sha256"] ?? ""]
        let request = (lines + sorted.map { "\($0.0):\($0.1)" } + end).joined(separator: "\n")
        let scope = [String(date.prefix(8)), "us-east-1", "s3", "aws4_request"]
        let text = try ["AWS4-HMAC-SHA256", date, scope.joined(separator: "/"), hash(Array(request.utf8)).hexadecimal]
        var secret = Array("AWS4\(key.secret)".utf8)
        for word in scope + [text.joined(separator: "\n")] { secret = try authenticated(word, secret) }
        headers.add(
            "Authorization",
            "AWS4-HMAC-SHA256 Credential=\(key.id)/\(scope.joined(separator: "/")), SignedHeaders=\(names), "
                + "Signature=\(secret.hexadecimal)")
        for field in unsigned.fields { headers.add(field.name, field.value) }
        return try await plain(method, path, headers, body)
    }

    private func hash(_ bytes: [UInt8]) throws -> [UInt8] { try #require(CryptoLibrary.ofSystem.get().sha256(bytes)) }

    private func authenticated(_ text: String, _ key: [UInt8]) throws -> [UInt8] {
        let key = key + [UInt8](repeating: 0, count: 64 - key.count)
        return try hash(key.map { $0 ^ 0x5C } + hash(key.map { $0 ^ 0x36 } + Array(text.utf8)))
    }
}

extension HTTPResponse {
    fileprivate var text: String { String(decoding: body, as: UTF8.self) }

    /// The text of the first element of this name, with its escapes.
    fileprivate func element(_ name: String) -> String? {
        guard let start = text.firstRange(of: "<\(name)>"),
            let end = text[start.upperBound...].firstRange(of: "</\(name)>")
        else { return nil }
        return String(text[start.upperBound..<end.lowerBound])
    }
}
