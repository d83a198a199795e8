import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// A request that writes one object, by one of several writers that use the same name at the same time.
private struct WriteRoute: Sendable, CustomTestStringConvertible {
    /// What an answer says of the object. The size identifies the writer.
    struct Answer {
        let generation: String?
        let size: String?
        var metageneration: String?
        var mark: String?
        var token: String?

        init(_ json: JSON) {
            (generation, size) = (json["generation"]?.string, json["size"]?.string)
            (metageneration, token) = (json["metageneration"]?.string, json["downloadTokens"]?.string)
            mark = json["metadata"]?["mark"]?.string
        }

        init(_ headers: HTTPHeaders, size: String?) {
            (generation, metageneration) = (headers["x-goog-generation"], headers["x-goog-metageneration"])
            self.size = size
        }
    }

    let what: String
    /// Changes the metadata, and sets `mark` to the number of the writer; all others store as many bytes.
    var isPatch = false
    let write: @Sendable (GatewayClient, _ writer: Int) async throws -> Answer

    var testDescription: String { what }

    static func bytes(_ writer: Int) -> String { String(repeating: "x", count: writer) }
}

private let routes: [WriteRoute] = [
    WriteRoute(what: "Firebase, raw") { gateway, writer in
        .init(try await gateway.put("x", WriteRoute.bytes(writer)).json)
    },
    WriteRoute(what: "Firebase, multipart") { gateway, writer in
        let json = #"{"metadata":{"mark":"\#(writer)"}}"#
        return .init(try await gateway.multipart("\(gateway.v0)?name=x", json, WriteRoute.bytes(writer)).json)
    },
    WriteRoute(what: "Firebase, resumable") { gateway, writer in
        let url = try await gateway.start("x")
        return .init(try await gateway.command(url, "upload, finalize", WriteRoute.bytes(writer)).json)
    },
    WriteRoute(what: "Firebase, PATCH", isPatch: true) { gateway, writer in
        .init(try await gateway.send("PATCH", "\(gateway.v0)/x", #"{"metadata":{"mark":"\#(writer)"}}"#).json)
    },
    WriteRoute(what: "Cloud Storage, media") { gateway, writer in
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=media&name=x"
        return .init(try await gateway.send("POST", path, WriteRoute.bytes(writer)).json)
    },
    WriteRoute(what: "Cloud Storage, multipart with a download token") { gateway, writer in
        let json = #"{"metadata":{"firebaseStorageDownloadTokens":"\#(writer)","mark":"\#(writer)"}}"#
        return .init(try await gateway.store("x", json, WriteRoute.bytes(writer)).json)
    },
    WriteRoute(what: "Cloud Storage, resumable") { gateway, writer in
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=x"
        let url = try await gateway.send("POST", path, "{}").headers["Location"] ?? ""
        return .init(try await gateway.send("PUT", url, WriteRoute.bytes(writer)).json)
    },
    WriteRoute(what: "Cloud Storage, PATCH", isPatch: true) { gateway, writer in
        .init(try await gateway.send("PATCH", "\(gateway.gcs)/x", #"{"metadata":{"mark":"\#(writer)"}}"#).json)
    },
    WriteRoute(what: "Cloud Storage, PUT", isPatch: true) { gateway, writer in
        .init(try await gateway.send("PUT", "\(gateway.gcs)/x", #"{"metadata":{"mark":"\#(writer)"}}"#).json)
    },
    WriteRoute(what: "copyTo") { gateway, writer in
        .init(
            try await gateway.send("POST", "\(gateway.gcs)/from\(writer)/copyTo/b/\(gateway.bucket)/o/x", "{}").json)
    },
    WriteRoute(what: "rewriteTo") { gateway, writer in
        let path = "\(gateway.gcs)/from\(writer)/rewriteTo/b/\(gateway.bucket)/o/x"
        return .init(try await gateway.send("POST", path, "{}")["resource"] ?? .null)
    },
    WriteRoute(what: "compose") { gateway, writer in
        let json = #"{"sourceObjects":[{"name":"from\#(writer)"}]}"#
        return .init(try await gateway.send("POST", "\(gateway.gcs)/x/compose", json).json)
    },
    WriteRoute(what: "moveTo") { gateway, writer in
        let source = "move\(writer)"
        _ = try await gateway.put(source, WriteRoute.bytes(writer))
        return .init(try await gateway.send("POST", "\(gateway.gcs)/\(source)/moveTo/o/x").json)
    },
    WriteRoute(what: "PUT of the object's own URL") { gateway, writer in
        let answer = try await gateway.send("PUT", "/\(gateway.bucket)/x", WriteRoute.bytes(writer))
        let own = try await gateway.get("/\(gateway.bucket)/from\(writer)").headers["x-goog-hash"]
        return .init(answer.headers, size: answer.headers["x-goog-hash"] == own ? "\(writer)" : nil)
    },
    WriteRoute(what: "copy to the object's own URL") { gateway, writer in
        let answer = try await gateway.send(
            "PUT", "/\(gateway.bucket)/x", ["x-goog-copy-source": "\(gateway.bucket)/from\(writer)"])
        let own = try await gateway.get("/\(gateway.bucket)/from\(writer)").headers["x-goog-hash"]
        return .init(answer.headers, size: answer.headers["x-goog-hash"] == own ? "\(writer)" : nil)
    },
]

/// What several clients of the gateway do to one name at the same time.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayWriterTests {
    private static let writers = 1...4

    @Test(arguments: routes.indices)
    func `Each of several writers of one name gets the answer about its own object`(index: Int) async throws {
        let route = routes[index]
        let gateway = try GatewayClient.shared("writers\(index)")
        for writer in Self.writers { try await gateway.put("from\(writer)", WriteRoute.bytes(writer)) }
        try await gateway.put("x")
        var versions: Set<[String?]> = []
        for _ in 0..<15 {
            let answers = try await withThrowingTaskGroup(of: (Int, WriteRoute.Answer).self) { group in
                for writer in Self.writers { group.addTask { (writer, try await route.write(gateway, writer)) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (writer, answer) in answers {
                #expect(route.isPatch ? answer.mark == "\(writer)" : answer.size == "\(writer)")
                #expect(answer.mark == nil || answer.mark == "\(writer)")
                #expect(answer.token?.isEmpty != true)
                #expect(answer.generation != nil)
                #expect(versions.insert([answer.generation, answer.metageneration]).inserted)
            }
        }
    }

    @Test func `Each of several PATCHes of an object without a download token gets the answer about its own`()
        async throws
    {
        let gateway = try GatewayClient.shared("tokenless")
        for _ in 0..<15 {
            _ = try await gateway.store("x")
            let answers = try await withThrowingTaskGroup(of: (Int, WriteRoute.Answer).self) { group in
                for writer in Self.writers {
                    let json = #"{"metadata":{"mark":"\#(writer)"}}"#
                    group.addTask { (writer, .init(try await gateway.send("PATCH", "\(gateway.v0)/x", json).json)) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for (writer, answer) in answers { #expect(answer.mark == "\(writer)") }
            #expect(answers.compactMap(\.1.metageneration).sorted() == ["2", "3", "4", "5"])
            #expect(Set(answers.map(\.1.token)).count == 1 && answers[0].1.token?.isEmpty == false)
        }
    }

    @Test func `A repeated answer of a session is about what it has stored, and not about a later change`() async throws
    {
        let gateway = try GatewayClient.shared("repeated")
        let url = try await gateway.start("x")
        let stored = try await gateway.command(url, "upload, finalize", "abc")
        let patch = #"{"metadata":{"mark":"other"}}"#
        #expect(try await gateway.send("PATCH", "\(gateway.v0)/x", patch).status == 200)
        #expect(try await gateway.command(url, "upload, finalize", "abc").json == stored.json)
        #expect(try await gateway.command(url, "query").json == stored.json)
    }

    @Test func `The download token of an answer opens the object of that answer`() async throws {
        let gateway = try GatewayClient.shared("tokens")
        let answers = try await withThrowingTaskGroup(of: GatewayClient.Answer.self) { group in
            for writer in 1...20 { group.addTask { try await gateway.put("x", WriteRoute.bytes(writer)) } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        let tokens = Set(answers.compactMap { $0["downloadTokens"]?.string })
        #expect(tokens.count == 20)
        let now = try await gateway.get("\(gateway.v0)/x")
        let last = answers.filter { $0["generation"] == now["generation"] }
        #expect(last.count == 1 && last.first?["downloadTokens"] == now["downloadTokens"])
    }

    // MARK: - Moves

    @Test func `A move onto its own name is refused, and the object is kept`() async throws {
        let gateway = try GatewayClient.shared("move-self")
        try await gateway.put("x")
        #expect(try await gateway.send("POST", "\(gateway.gcs)/x/moveTo/o/x").status == 400)
        #expect(try await gateway.get("\(gateway.v0)/x?alt=media").text == "hello")
    }

    @Test func `A move keeps bytes, metadata and download tokens, and is a new generation`() async throws {
        let gateway = try GatewayClient.shared("move")
        let json = #"{"metadata":{"k":"v","firebaseStorageDownloadTokens":"one"},"contentType":"a/b"}"#
        for (name, text) in [("small", "hello"), ("large", String(repeating: "x", count: 300_000))] {
            let before = try await gateway.store(name, json, text)
            let moved = try await gateway.send("POST", "\(gateway.gcs)/\(name)/moveTo/o/to-\(name)")
            #expect(moved.status == 200 && moved["name"]?.string == "to-\(name)" && moved["metageneration"] == "1")
            #expect(moved["metadata"] == before["metadata"] && moved["contentType"] == "a/b")
            #expect(moved["generation"] != before["generation"] && moved["md5Hash"] == before["md5Hash"])
            #expect(try await gateway.get("\(gateway.gcs)/\(name)").status == 404)
            #expect(try await gateway.get("\(gateway.v0)/to-\(name)")["downloadTokens"] == "one")
            #expect(try await gateway.get("\(gateway.v0)/to-\(name)?alt=media").text == text)
        }
    }

    @Test func `Of two moves of one object one happens`() async throws {
        let gateway = try GatewayClient.shared("move-twice")
        for round in 0..<20 {
            try await gateway.put("x", "\(round)")
            async let one = gateway.send("POST", "\(gateway.gcs)/x/moveTo/o/a\(round)")
            async let two = gateway.send("POST", "\(gateway.gcs)/x/moveTo/o/b\(round)")
            let statuses = try await [one.status, two.status]
            #expect(statuses.sorted() == [200, 404])
            for (name, status) in zip(["a\(round)", "b\(round)"], statuses) {
                #expect(try await gateway.get("\(gateway.gcs)/\(name)").status == status)
            }
            #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        }
    }

    @Test func `A move beside a write of its source loses no bytes`() async throws {
        let gateway = try GatewayClient.shared("move-write")
        for round in 0..<30 {
            try await gateway.put("x", "old")
            async let moved = gateway.send("POST", "\(gateway.gcs)/x/moveTo/o/y")
            async let written = gateway.put("x", "new \(round)")
            let statuses = try await [moved.status, written.status]
            #expect(statuses == [200, 200])
            let (source, target) = (
                try await gateway.get("\(gateway.v0)/x?alt=media"), try await gateway.get("\(gateway.v0)/y?alt=media")
            )
            #expect(
                target.text == "new \(round)" && source.status == 404
                    || target.text == "old" && source.text == "new \(round)")
        }
    }

    // MARK: - Generations

    @Test func `What is about an old generation never touches a new one`() async throws {
        let gateway = try GatewayClient.shared("generations")
        for round in 0..<30 {
            for method in ["DELETE", "PATCH", "xml"] {
                let old = try await gateway.put("x", "old")["generation"]?.string ?? ""
                async let written = gateway.put("x", "new \(round)")
                let other =
                    if method == "xml" {
                        try await gateway.send("DELETE", "/\(gateway.bucket)/x?generation=\(old)")
                    } else {
                        try await gateway.send(
                            method, "\(gateway.gcs)/x?generation=\(old)",
                            method == "PATCH" ? #"{"metadata":{"stale":"1"}}"# : nil)
                    }
                #expect([200, 204, 404].contains(other.status))
                let new = try await written
                let now = try await gateway.get("\(gateway.v0)/x")
                #expect(now.status == 200 && now["generation"] == new["generation"] && now["metadata"] == nil)
            }
        }
    }

    @Test func `A copy is answered although its target is deleted immediately`() async throws {
        let gateway = try GatewayClient.shared("copy-delete")
        try await gateway.put("from", "hello")
        for _ in 0..<30 {
            async let copied = gateway.send(
                "POST", "\(gateway.gcs)/from/rewriteTo/b/\(gateway.bucket)/o/x", "{}")
            _ = try await gateway.send("DELETE", "\(gateway.gcs)/x")
            let answer = try await copied
            #expect(answer.status == 200 && answer["resource"]?["size"] == "5")
        }
    }

    // MARK: - Preconditions

    /// Requests that write to `x`, and what is to be appended to their query.
    private static let conditional: [(String, @Sendable (GatewayClient, String) async throws -> Int)] = [
        ("DELETE", { try await $0.send("DELETE", "\($0.gcs)/x?\($1)").status }),
        ("PATCH", { try await $0.send("PATCH", "\($0.gcs)/x?\($1)", #"{"contentType":"a/b"}"#).status }),
        ("PUT", { try await $0.send("PUT", "\($0.gcs)/x?\($1)", #"{"contentType":"a/b"}"#).status }),
        (
            "media",
            {
                try await $0.send("POST", "/upload/storage/v1/b/\($0.bucket)/o?name=x&\($1)", "new").status
            }
        ),
        (
            "multipart",
            {
                try await $0.multipart(
                    "/upload/storage/v1/b/\($0.bucket)/o?uploadType=multipart&\($1)", #"{"name":"x"}"#, "new"
                ).status
            }
        ),
        (
            "resumable",
            { gateway, query in
                let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=x&\(query)"
                let start = try await gateway.send("POST", path, "{}")
                guard start.status == 200 else { return start.status }
                return try await gateway.send("PUT", start.headers["Location"] ?? "", "new").status
            }
        ),
        (
            "copyTo",
            { try await $0.send("POST", "\($0.gcs)/from/copyTo/b/\($0.bucket)/o/x?\($1)", "{}").status }
        ),
        (
            "rewriteTo",
            { try await $0.send("POST", "\($0.gcs)/from/rewriteTo/b/\($0.bucket)/o/x?\($1)", "{}").status }
        ),
        ("moveTo", { try await $0.send("POST", "\($0.gcs)/from/moveTo/o/x?\($1)").status }),
        (
            "compose",
            {
                try await $0.send("POST", "\($0.gcs)/x/compose?\($1)", #"{"sourceObjects":[{"name":"from"}]}"#)
                    .status
            }
        ),
    ]

    @Test(arguments: conditional.indices)
    func `A write that its preconditions refuse changes nothing`(index: Int) async throws {
        let (what, write) = Self.conditional[index]
        let gateway = try GatewayClient.shared("conditions-\(what.lowercased())")
        try await gateway.put("from", "new")
        let before = try await gateway.put("x").json
        let generation = before["generation"]?.string ?? ""
        for query in [
            "ifGenerationMatch=1", "ifGenerationMatch=0", "ifGenerationNotMatch=\(generation)",
            "ifMetagenerationMatch=7", "ifMetagenerationNotMatch=1",
            "ifGenerationMatch=\(generation)&ifMetagenerationMatch=2",
        ] {
            #expect(try await write(gateway, query) == 412, "\(query)")
            #expect(try await gateway.get("\(gateway.v0)/x").json == before)
        }
        #expect(try await write(gateway, "ifGenerationMatch=one") == 400)
        #expect(try await gateway.get("\(gateway.v0)/x").json == before)
        let query = "ifGenerationNotMatch=1&ifMetagenerationNotMatch=2&ifGenerationMatch=\(generation)"
        #expect([200, 204].contains(try await write(gateway, query + "&ifMetagenerationMatch=")))
    }

    @Test(arguments: ["copyTo/b/BUCKET/o/y", "rewriteTo/b/BUCKET/o/y", "moveTo/o/y"])
    func `Preconditions of a source are checked`(target: String) async throws {
        let gateway = try GatewayClient.shared("sources-\(target.prefix(4).lowercased())")
        let generation = try await gateway.put("x")["generation"]?.string ?? ""
        let path = "\(gateway.gcs)/x/\(target.replacing("BUCKET", with: gateway.bucket))?"
        for (query, status) in [
            ("ifSourceGenerationMatch=1", 412), ("ifSourceGenerationNotMatch=\(generation)", 412),
            ("ifSourceMetagenerationMatch=2", 412), ("ifSourceMetagenerationNotMatch=1", 412),
            ("sourceGeneration=1", 404),
        ] {
            #expect(try await gateway.send("POST", path + query).status == status, "\(query)")
            #expect(try await gateway.get("\(gateway.gcs)/y").status == 404)
        }
        #expect(try await gateway.send("POST", "\(path)sourceGeneration=\(generation)").status == 200)
    }

    @Test func `Numbers of a composition are strings or numbers`() async throws {
        let gateway = try GatewayClient.shared("compose")
        let generation = try await gateway.put("x")["generation"]?.string ?? ""
        func compose(_ source: String) async throws -> Int {
            let json = #"{"sourceObjects":[{"name":"x",\#(source)}]}"#
            return try await gateway.send("POST", "\(gateway.gcs)/y/compose", json).status
        }
        for one in ["1", #""1""#] {
            #expect(try await compose(#""generation":\#(one)"#) == 404)
            #expect(try await compose(#""objectPreconditions":{"ifGenerationMatch":\#(one)}"#) == 412)
        }
        #expect(try await compose(#""generation":[]"#) == 400)
        #expect(try await compose(#""objectPreconditions":{"ifMetagenerationMatch":"1"}"#) == 400)
        #expect(try await gateway.get("\(gateway.gcs)/y").status == 404)
        #expect(try await compose(#""generation":\#(generation)"#) == 200)
        #expect(try await compose(#""objectPreconditions":{"ifGenerationMatch":"\#(generation)"}"#) == 200)
    }

    @Test func `A composition has the content type that its resource names, and none without`() async throws {
        let gateway = try GatewayClient.shared("composed-type")
        _ = try await gateway.store("x.txt", #"{"contentType":"text/plain"}"#)
        for (resource, type) in [("{}", String?.none), (#"{"contentType":"a/b"}"#, "a/b")] {
            let json = #"{"sourceObjects":[{"name":"x.txt"}],"destination":\#(resource)}"#
            #expect(try await gateway.send("POST", "\(gateway.gcs)/y.txt/compose", json)["contentType"]?.string == type)
            #expect(try await gateway.get("\(gateway.gcs)/y.txt")["contentType"]?.string == type)
            let served = try await gateway.get("\(gateway.gcs)/y.txt?alt=media").headers["Content-Type"]
            #expect(served == type ?? "application/octet-stream")
        }
    }

    @Test func `A copy ignores the checksums of an object that was read before`() async throws {
        let gateway = try GatewayClient.shared("checksums")
        let old = try await gateway.store("y", "{}", "old").text
        try await gateway.put("x")
        let path = "\(gateway.gcs)/x/rewriteTo/b/\(gateway.bucket)/o/y"
        #expect(try await gateway.send("POST", path, old).status == 200)
    }
}
