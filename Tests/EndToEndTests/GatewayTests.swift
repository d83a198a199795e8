import Foundation
import HTTPClient
import HTTPText
import JSONText
import Synchronization
import TestSupport
import Testing

/// `serve --gateway` with the real program: requests of SDKs, beside requests of a test over JSON-RPC.
@Suite(.watchdog(minutes: 10)) struct GatewayTests {
    private let place = Place()
    private let http = HTTPClient.direct
    private static let chunk = 262_144

    /// A service with a gateway on any port, and the beginning of its URLs.
    private func service(_ flags: [String] = ["--harness"]) throws -> (ServiceProcess, String) {
        let (service, _) = try place.service(["--gateway", "127.0.0.1:0", "--socket", place.socket] + flags)
        try service.waitForLog("the gateway listens")
        let address = try #require(service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1)
        return (service, String(address))
    }

    /// Calls a method over JSON-RPC.
    @discardableResult private func call(_ method: String, _ params: String = "{}") async throws -> JSON {
        let result = Mutex(JSON.null)
        try await onThread { [place] in
            let answer = try place.connect().call(method, params)
            result.withLock { $0 = answer }
        }
        return result.withLock { $0 }
    }

    private func send(
        _ method: String, _ url: String, _ body: [UInt8] = [], _ headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        var request = HTTPRequest(method, url, headers: headers, body: body.isEmpty ? .none : .bytes(body))
        // Without a resend a lost response is an error.
        request.isSentOnce = true
        request.limits.answerBytes = 64 << 20
        return try await http.perform(request)
    }

    private func json(_ response: HTTPResponse) throws -> JSON {
        try JSON(parsing: String(decoding: response.body, as: UTF8.self))
    }

    /// The URL of an upload of Firebase's protocol.
    private func started(_ base: String, _ name: String) async throws -> String {
        let answer = try await send(
            "POST", "\(base)/v0/b/b/o?name=\(name)", Array(#"{"contentType":"video/mp4"}"#.utf8),
            ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"])
        #expect(answer.status == 200 && answer.body.isEmpty)
        #expect(answer.headers["X-Goog-Upload-Status"] == "active")
        return try #require(answer.headers["X-Goog-Upload-URL"])
    }

    private func upload(
        _ url: String, _ command: String, at offset: Int = 0, _ body: [UInt8] = []
    ) async throws -> HTTPResponse {
        try await send(
            "POST", url, body, ["X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": "\(offset)"])
    }

    @Test func `An upload of an SDK is a task, checks offsets, and continues after a restart`() async throws {
        let bytes = noise(3 * Self.chunk + 5)
        let (first, base) = try service([])
        let url = try await started(base, "film.mp4")
        let (one, two) = (Self.chunk, 2 * Self.chunk)
        let received = try await upload(url, "upload", at: 0, Array(bytes[..<one]))
        #expect(received.headers["X-Goog-Upload-Size-Received"] == "\(one)")
        // A repeated chunk, and a chunk behind a gap.
        let again = try await upload(url, "upload", at: 0, Array(bytes[..<one]))
        #expect(again.status == 200 && again.headers["X-Goog-Upload-Size-Received"] == "\(one)")
        let gap = try await upload(url, "upload", at: two, [1])
        #expect(gap.status == 400 && gap.headers["X-Goog-Upload-Status"] == "active")
        #expect(gap.headers["X-Goog-Upload-Size-Received"] == "\(one)")
        let task = try await call("uploadTask/list")["tasks"]?.array?.first
        #expect(task?["origin"] == "gateway" && task?["state"] == "running")
        #expect(task?["progress"]?["completedUnitCount"]?.number?.int64 == Int64(one))
        first.signal(SIGTERM)
        #expect(try first.waitForExit() == 0)

        let (second, other) = try service([])
        let resumed = url.replacing(base, with: other)
        let query = try await upload(resumed, "query")
        #expect(query.headers["X-Goog-Upload-Size-Received"] == "\(one)")
        let end = try await upload(resumed, "upload, finalize", at: one, Array(bytes[one...]))
        #expect(end.status == 200 && end.headers["X-Goog-Upload-Status"] == "final")
        let metadata = try json(end)
        #expect(metadata["size"]?.string == "\(bytes.count)" && metadata["contentType"] == "video/mp4")
        #expect(try json(await upload(resumed, "upload, finalize", at: one, Array(bytes[one...]))) == metadata)
        #expect(try await upload(resumed, "cancel").status == 400)
        let token = try #require(metadata["downloadTokens"]?.string)
        let media = try await send("GET", "\(other)/v0/b/b/o/film.mp4?alt=media&token=\(token)")
        #expect(media.body == bytes)
        second.signal(SIGTERM)
        #expect(try second.waitForExit() == 0)
    }

    /// The service is killed while it receives a chunk; the client continues after the acknowledged bytes.
    @Test(arguments: 0..<10) func `After a kill, an upload session has all acknowledged bytes and can be completed`(
        kill: Int
    ) async throws {
        let bytes = noise(4 * Self.chunk + 7, seed: UInt64(kill))
        let (first, base) = try service([])
        #expect(try await send("POST", "\(base)/v0/b/b/o?name=answered", bytes).status == 200)
        let url = try await started(base, "film.mp4")
        // Even numbers kill the service after an answer, odd ones during a request.
        let last = kill / 2
        var acknowledged = 0
        for number in 0..<last {
            let end = acknowledged + Self.chunk
            #expect(try await upload(url, "upload", at: acknowledged, Array(bytes[acknowledged..<end])).status == 200)
            acknowledged = end
            #expect(number < 4)
        }
        if kill % 2 == 1 {
            let (command, end) = last == 4 ? ("upload, finalize", bytes.count) : ("upload", acknowledged + Self.chunk)
            async let answer = upload(url, command, at: last * Self.chunk, Array(bytes[(last * Self.chunk)..<end]))
            try await Task.sleep(for: .milliseconds(kill))
            first.signal(SIGKILL)
            if (try? await answer)?.status == 200 { acknowledged = end }
        } else {
            first.signal(SIGKILL)
        }
        #expect(try first.waitForExit() != 0)

        let (second, other) = try service([])
        let resumed = url.replacing(base, with: other)
        let query = try await upload(resumed, "query")
        let received = query.headers["X-Goog-Upload-Size-Received"].flatMap { Int($0) } ?? -1
        #expect(query.status == 200 && received >= acknowledged && received <= bytes.count)
        if query.headers["X-Goog-Upload-Status"] == "active" {
            #expect(try await send("GET", "\(other)/v0/b/b/o/film.mp4").status == 404)
            let end = try await upload(resumed, "upload, finalize", at: received, Array(bytes[received...]))
            #expect(end.status == 200 && end.headers["X-Goog-Upload-Status"] == "final")
        }
        for name in ["answered", "film.mp4"] {
            #expect(try await send("GET", "\(other)/v0/b/b/o/\(name)?alt=media").body == bytes)
        }
        second.signal(SIGTERM)
        #expect(try second.waitForExit() == 0)
    }

    @Test func `A held upload that is released without its answer ends its connection and can be continued`()
        async throws
    {
        let (service, base) = try service()
        let url = try await started(base, "film.mp4")
        try await call("harness/arm", #"{"on":"send","do":{"hold":true}}"#)
        let sent = Task { try await upload(url, "upload", at: 0, noise(Self.chunk)) }
        while try await call("harness/settled")["held"]?.array?.isEmpty != false {}
        try await call("harness/release", #"{"do":{"lose":{}}}"#)
        await #expect(throws: HTTPError.self) { try await sent.value }
        #expect(try await upload(url, "query").headers["X-Goog-Upload-Size-Received"] == "\(Self.chunk)")
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    @Test func `A held copy counts as settled`() async throws {
        let (service, base) = try service()
        let uploads = "\(base)/upload/storage/v1/b/b/o?uploadType=media&name=a"
        #expect(try await send("POST", uploads, noise(10)).status == 200)
        try await call("harness/arm", #"{"on":"copy","do":{"hold":true}}"#)
        async let copied = send("POST", "\(base)/storage/v1/b/b/o/a/copyTo/b/b/o/c")
        while try await call("harness/settled")["held"]?.array?.isEmpty != false {}
        try await call("harness/release")
        #expect(try await copied.status == 200)
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    @Test func `Rules of the harness apply to uploads of SDKs`() async throws {
        let bytes = noise(4 * Self.chunk)
        let (service, base) = try service()
        let url = try await started(base, "film.mp4")
        // The second chunk is refused once, and the answer to the third is lost.
        try await call("harness/arm", #"{"on":"send","nth":2,"do":{"fail":{"httpStatus":503}}}"#)
        try await call("harness/arm", #"{"on":"send","nth":4,"do":{"lose":{}}}"#)
        for number in 0..<3 {
            let start = number * Self.chunk
            let piece = Array(bytes[start..<start + Self.chunk])
            if number == 1 { #expect(try await upload(url, "upload", at: start, piece).status == 503) }
            if number < 2 {
                #expect(try await upload(url, "upload", at: start, piece).status == 200)
            } else {
                await #expect(throws: HTTPError.self) { try await upload(url, "upload", at: start, piece) }
            }
        }
        let query = try await upload(url, "query")
        #expect(query.headers["X-Goog-Upload-Size-Received"] == "\(3 * Self.chunk)")
        // A rule holds the last chunk.
        let at = 3 * Self.chunk + 1000
        try await call("harness/arm", #"{"on":"send","at":\#(at),"do":{"hold":true}}"#)
        async let end = upload(url, "upload, finalize", at: 3 * Self.chunk, Array(bytes[(3 * Self.chunk)...]))
        while try await call("harness/settled")["held"]?.array?.isEmpty != false {}
        let task = try await call("uploadTask/list")["tasks"]?.array?.first
        #expect(task?["progress"]?["completedUnitCount"]?.number?.int64 == Int64(at))
        try await call("harness/release")
        #expect(try await end.headers["X-Goog-Upload-Status"] == "final")
        let copy = try await send("GET", "\(base)/v0/b/b/o/film.mp4?alt=media", [], ["Range": "bytes=10-19"])
        #expect(copy.status == 206 && copy.body == Array(bytes[10..<20]))
        // A task that is cancelled ends the session.
        let other = try await started(base, "other")
        let id = try await call("uploadTask/list")["tasks"]?.array?.last?["task"]?.string ?? ""
        try await call("uploadTask/cancel", #"{"task":"\#(id)"}"#)
        #expect(try await upload(other, "upload", at: 0, [1]).status == 400)
        #expect(try await upload(other, "query").headers["X-Goog-Upload-Status"] == "cancelled")
        #expect(try await send("POST", "\(base)/internal/reset").status == 200)
        #expect(try json(await send("GET", "\(base)/v0/b/b/o"))["items"]?.array == [])
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    @Test func `The gateway and JSON-RPC read and write the same objects`() async throws {
        let (service, base) = try service([])
        let boundary = "12345"
        let body = """
            --\(boundary)\r\nContent-Type: application/json\r\n\r\n{"name":"a/b.txt","metadata":{"k":1}}\r
            --\(boundary)\r\nContent-Type: text/plain\r\n\r\nhello\r\n--\(boundary)--
            """
        let stored = try await send(
            "POST", "\(base)/v0/b/b/o?name=a%2Fb.txt", Array(body.utf8),
            ["X-Goog-Upload-Protocol": "multipart", "Content-Type": "multipart/related; boundary=\(boundary)"])
        #expect(stored.status == 200, "\(String(decoding: stored.body, as: UTF8.self))")
        let seen = try await call("reference/getMetadata", #"{"reference":"gs://b/a/b.txt"}"#)
        #expect(seen["size"] == 5 && seen["customMetadata"]?["k"] == "1" && seen["contentType"] == "text/plain")
        try await call("reference/putData", #"{"reference":"gs://b/c","text":"x","wait":true}"#)
        let list = try json(await send("GET", "\(base)/v0/b/b/o?delimiter=%2F"))
        #expect(list["prefixes"] == ["a/"] && list["items"]?.array?.first?["name"] == "c")
        let patched = try await send(
            "PUT", "\(base)/v0/b/b/o/c", Array(#"{"cacheControl":"no-store"}"#.utf8),
            ["X-HTTP-Method-Override": "PATCH"])
        #expect(try json(patched)["metageneration"] == "2")
        #expect(try await send("POST", "\(base)/v0/b/b/o/c?create_token=true").status == 403)
        let tokens = try await send(
            "POST", "\(base)/v0/b/b/o/c?create_token=true", [], ["Authorization": "Bearer owner"])
        #expect(try json(tokens)["downloadTokens"]?.string?.split(separator: ",").count == 2)
        #expect(try await send("DELETE", "\(base)/v0/b/b/o/c").status == 204)
        #expect(try await send("GET", "\(base)/v0/b/b/o/c").status == 404)
        // Invalid requests are refused.
        for (method, path, status) in [
            ("POST", "/v0/b/b/o", 400), ("GET", "/v0/b/b/o?prefix=a", 400), ("GET", "/v1/b", 404),
            ("POST", "/v0/b/b/o?name=x&upload_id=none", 404), ("PUT", "/internal/setRules", 501),
            ("POST", "/internal/reset", 400), ("GET", "/b/b/o/none", 404), ("POST", "/b/b/o/c/acl", 400),
        ] {
            let answer = try await send(method, base + path, method == "GET" ? [] : [1])
            #expect(answer.status == status, "\(method) \(path)")
        }
        #expect(try await send("POST", "\(base)/internal/reset").status == 403)
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    /// An unsigned ID token, like those of Firebase's emulator.
    private func token(of uid: String) -> String {
        let parts = [#"{"alg":"none"}"#, #"{"sub":"\#(uid)","user_id":"\#(uid)"}"#, ""].map { text in
            Data(text.utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").filter {
                $0 != "="
            }
        }
        return parts.joined(separator: ".")
    }

    @Test func `harness/authorize decides which requests the gateway refuses`() async throws {
        let (service, base) = try service()
        for name in ["private/x", "open/x"] {
            #expect(try await send("POST", "\(base)/v0/b/b/o?name=\(name)", Array("hello".utf8)).status == 200)
        }
        let url = try #require(
            await call("reference/downloadURL", #"{"reference":"gs://b/private/x"}"#)["url"]?.string)
        #expect(url.hasPrefix("\(base)/v0/b/b/o/private%2Fx?alt=media&token="))
        let rules = #"""
            {"default": "deny", "rules": [
                {"prefix": "gs://b/private/", "operation": "delete", "who": "owner"},
                {"prefix": "gs://b/private/", "who": {"uid": "älice"}},
                {"prefix": "gs://b/inbox/", "operation": "create", "who": "signedIn"},
                {"prefix": "gs://b/open/", "operation": "get", "who": "anybody"}]}
            """#
        try await call("harness/authorize", rules.replacing("\n", with: ""))
        let (alice, bob) = ("Firebase \(token(of: "älice"))", "Bearer \(token(of: "bob"))")
        let resumable: HTTPHeaders = ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"]
        for (method, path, asks, status) in [
            ("GET", "o/private%2Fx", nil, 403), ("GET", "o/private%2Fx", alice, 200),
            ("GET", "o/private%2Fx", bob, 403), ("GET", "o/private%2Fx", "Basic \(token(of: "älice"))", 403),
            ("GET", "o/private%2Fx", "firebase \(token(of: "älice"))", 200),
            ("GET", "o/private%2Fnone", bob, 403), ("GET", "o/private%2Fnone", alice, 404),
            ("PATCH", "o/private%2Fx", alice, 200), ("DELETE", "o/private%2Fx", alice, 403),
            ("GET", "o?prefix=private/", alice, 200), ("GET", "o?prefix=private/", nil, 403), ("GET", "o", alice, 403),
            ("GET", "o/open%2Fx?alt=media", nil, 200), ("POST", "o?name=open/x", alice, 403),
            ("POST", "o?name=inbox/new", nil, 403), ("POST", "o?name=inbox/new", bob, 200),
            ("POST", "o?name=inbox/new", bob, 403), ("DELETE", "o/private%2Fx", "Bearer owner", 204),
        ] as [(String, String, String?, Int)] {
            var headers: HTTPHeaders = asks.map { ["Authorization": $0] } ?? [:]
            let answer = try await send(
                method, "\(base)/v0/b/b/\(path)", method == "PATCH" ? Array("{}".utf8) : [], headers)
            #expect(answer.status == status, "\(method) \(path) \(asks ?? "nobody")")
            if status == 403 { #expect(try json(answer)["error"]?["code"] == 403) }
            guard method == "POST" else { continue }
            // A session begins only where the upload would be allowed.
            for field in resumable.fields { headers[field.name] = field.value }
            if status == 403 {
                #expect(try await send("POST", "\(base)/v0/b/b/\(path)", [], headers).status == 403)
            }
        }
        // What may create an object replaces none that came meanwhile.
        var headers = resumable
        headers.add("Authorization", bob)
        let begun = try await send("POST", "\(base)/v0/b/b/o?name=inbox/late", [], headers)
        let media = "\(base)/upload/storage/v1/b/b/o?uploadType=media&name=inbox/late"
        #expect(try await send("POST", media, Array("first".utf8)).status == 200)
        let last = try await send(
            "POST", begun.headers["X-Goog-Upload-URL"] ?? "", Array("second".utf8),
            ["X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "0", "Authorization": bob])
        #expect(last.status == 403 && last.headers["X-Goog-Upload-Status"] == "final")
        #expect(try await send("GET", "\(base)/b/b/o/inbox%2Flate?alt=media").body == Array("first".utf8))
        // Servers have no security rules, and neither have tokens of downloads.
        #expect(try await send("GET", "\(base)/storage/v1/b/b/o/inbox%2Fnew").status == 200)
        #expect(try await send("GET", url).status == 403)
        let other = try #require(
            await call("reference/downloadURL", #"{"reference":"gs://b/inbox/new"}"#)["url"]?.string)
        #expect(try await send("GET", other).status == 200)
        #expect(try await send("GET", other + "0").status == 403)
        // The emulator keeps its rules when it is reset; a test that starts again has none.
        #expect(try await send("POST", "\(base)/internal/reset").status == 200)
        #expect(try await send("GET", "\(base)/v0/b/b/o").status == 403)
        try await call("harness/reset")
        #expect(try await send("GET", "\(base)/v0/b/b/o").status == 200)
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    @Test func `A space has a gateway of its own`() async throws {
        let (service, main) = try service()
        let address = Mutex("")
        try await onThread { [place] in
            let wire = try place.connect()
            let entered = try wire.call("harness/space", #"{"space":"one","gateway":true,"keep":true}"#)
            let own = try #require(entered["gateway"]?.string)
            address.withLock { $0 = own }
            // The address stays the same for later clients and after a reset.
            let other = try place.connect()
            #expect(try other.call("harness/space", #"{"space":"one"}"#)["gateway"]?.string == own)
            try wire.call("harness/reset", "{}")
            #expect(
                try place.connect().call("harness/space", #"{"space":"main"}"#)["gateway"]?.string
                    == String(main.dropFirst(7)))
        }
        let own = "http://\(address.withLock { $0 })"
        #expect(own != main)
        #expect(try await send("POST", "\(own)/v0/b/b/o?name=x", [1]).status == 200)
        #expect(try await send("GET", "\(own)/v0/b/b/o/x").status == 200)
        #expect(try await send("GET", "\(main)/v0/b/b/o/x").status == 404)
        // The gateway ends with its space.
        try await onThread { [place] in
            let wire = try place.connect()
            let entered = try wire.call("harness/space", #"{"gateway":true}"#)
            address.withLock { $0 = entered["gateway"]?.string ?? "" }
        }
        let gone = "http://\(address.withLock { $0 })/v0/"
        while (try? await send("GET", gone)) != nil {}
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    @Test(arguments: [["--gateway", "0.0.0.0:0"], ["--gateway", "127.0.0.1:0", "--engine", "gcs"]])
    func `The gateway refuses other addresses than loopback and other engines`(flags: [String]) async throws {
        let outcome = await Command(
            ServiceProcess.program, ["serve", "--root", place.root] + flags, withErrors: true
        ).run()
        #expect(outcome.status == 64 && outcome.text.contains("--gateway"))
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/rclone"), "there is no rclone"))
    func `rclone copies a tree to the gateway and back`() async throws {
        let (service, base) = try service([])
        let (source, copy) = ("\(place.directory)/source", "\(place.directory)/copy")
        for (name, size) in [("a.txt", 5), ("d/ü b.txt", 0), ("d/e/large", 20_000_000)] {
            let file = URL(filePath: "\(source)/\(name)")
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(noise(size)).write(to: file)
        }
        let flags = ["--gcs-endpoint", base, "--gcs-anonymous", "--gcs-bucket-policy-only", "--config", "/dev/null"]
        for words in [
            ["copy", source, ":gcs:box/tree"], ["check", "--download", source, ":gcs:box/tree"],
            ["copy", ":gcs:box/tree", copy], ["check", source, copy],
            ["moveto", ":gcs:box/tree/a.txt", ":gcs:box/b.txt"],
            ["purge", ":gcs:box/tree"],
        ] {
            let outcome = await Command("/usr/bin/rclone", words + flags, withErrors: true).run()
            #expect(outcome.status == 0, "\(words): \(outcome.text)")
        }
        let list = try json(await send("GET", "\(base)/storage/v1/b/box/o"))
        #expect(list["items"]?.array?.compactMap { $0["name"]?.string } == ["b.txt"])
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["GCS_SERVERS_PYTHON"] != nil,
            "GCS_SERVERS_PYTHON names no Python with the SDKs of others"))
    func `The SDKs of Google and other clients work with the gateway`() async throws {
        let (service, base) = try service([])
        let python = ProcessInfo.processInfo.environment["GCS_SERVERS_PYTHON"] ?? ""
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "sdks.py").path
        let outcome = await Command(
            python, [script],
            environment: ["STORAGE_EMULATOR_HOST": base, "GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT": "false"],
            withErrors: true
        ).run()
        #expect(outcome.status == 0, "\(outcome.text)")
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }
}
