import Database
import Foundation
import HTTPClient
import HTTPText
import JSONText
import Roots
import TestSupport
import Testing

/// Stored bytes that are damaged on the disk, on every way to them through the gateway.
@Suite(.watchdog(minutes: 10)) struct GatewayDamageTests {
    private static let small = "the bytes of a row"
    private static let large = String(decoding: (0..<300_000).map { UInt8($0 % 251 & 0x7F) }, as: UTF8.self)

    /// A request that reads or copies the object `x`, and makes `y` if it succeeds.
    private static let ways: [(String, @Sendable (GatewayClient) async throws -> GatewayClient.Answer)] = [
        ("JSON", { try await $0.get("\($0.gcs)/x?alt=media") }),
        ("JSON, download", { try await $0.get("/download\($0.gcs)/x?alt=media") }),
        ("Firebase", { try await $0.get("\($0.v0)/x?alt=media") }),
        ("XML", { try await $0.get("/\($0.bucket)/x") }),
        ("XML, all as a range", { try await $0.get("/\($0.bucket)/x", ["Range": "bytes=0-"]) }),
        ("Amazon", { try await $0.get("/\($0.bucket)/x", ["x-amz-date": "20300101T000000Z"]) }),
        (
            "compose",
            { try await $0.send("POST", "\($0.gcs)/y/compose", #"{"sourceObjects":[{"name":"x"}]}"#) }
        ),
        (
            "compose of several",
            {
                let json = #"{"sourceObjects":[{"name":"intact"},{"name":"x"},{"name":"intact"}]}"#
                return try await $0.send("POST", "\($0.gcs)/y/compose", json)
            }
        ),
        ("a part", { try await part($0, [:]) }),
        ("a range as a part", { try await part($0, ["x-amz-copy-source-range": "bytes=3-6"]) }),
    ]

    /// What finds the damage only where the bytes are a row, or were found to be damaged before.
    private static let others: [(String, @Sendable (GatewayClient) async throws -> GatewayClient.Answer)] = [
        ("range, JSON", { try await $0.get("\($0.gcs)/x?alt=media", ["Range": "bytes=5-6"]) }),
        ("range, Firebase", { try await $0.get("\($0.v0)/x?alt=media", ["Range": "bytes=5-6"]) }),
        ("range, XML", { try await $0.get("/\($0.bucket)/x", ["Range": "bytes=5-6"]) }),
        ("HEAD", { try await $0.send("HEAD", "/\($0.bucket)/x") }),
        ("rewriteTo", { try await $0.send("POST", "\($0.gcs)/x/rewriteTo/b/\($0.bucket)/o/y", "{}") }),
        ("copyTo", { try await $0.send("POST", "\($0.gcs)/x/copyTo/b/\($0.bucket)/o/y", "{}") }),
        ("moveTo", { try await $0.send("POST", "\($0.gcs)/x/moveTo/o/y") }),
        (
            "copy to the object's own URL",
            { try await $0.send("PUT", "/\($0.bucket)/y", ["x-goog-copy-source": "\($0.bucket)/x"]) }
        ),
    ]

    /// Begins an upload in parts of `y`, and copies one part of `x`. Completes the upload if the part is stored.
    private static func part(_ gateway: GatewayClient, _ headers: HTTPHeaders) async throws -> GatewayClient.Answer {
        let start = try await gateway.send("POST", "/\(gateway.bucket)/y?uploads").text
        let id = try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1)
        var headers = headers
        headers.add("x-amz-copy-source", "\(gateway.bucket)/x")
        let answer = try await gateway.send("PUT", "/\(gateway.bucket)/y?uploadId=\(id)&partNumber=1", headers)
        guard answer.status == 200 else { return answer }
        return try await complete(gateway, "/\(gateway.bucket)/y?uploadId=\(id)", answer.headers["ETag"] ?? "")
    }

    private static func complete(
        _ gateway: GatewayClient, _ upload: String, _ tag: String
    ) async throws -> GatewayClient.Answer {
        let part = "<Part><PartNumber>1</PartNumber><ETag>\(tag)</ETag></Part>"
        return try await gateway.send(
            "POST", upload, "<CompleteMultipartUpload>\(part)</CompleteMultipartUpload>")
    }

    /// Flips a bit of all places with these bytes in files of a directory, without a change of their sizes.
    private static func strike(_ text: String, in directory: String) throws {
        let (damaged, length) = (Data(text.utf8), text.utf8.count)
        var count = 0
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            let path = "\(directory)/\(name)"
            guard let bytes = FileManager.default.contents(atPath: path) else { continue }
            var rest = bytes.startIndex
            while let place = bytes.range(of: damaged, in: rest..<bytes.endIndex) {
                let file = try #require(FileHandle(forUpdatingAtPath: path))
                try file.seek(toOffset: UInt64(place.lowerBound + length / 2))
                try file.write(contentsOf: [bytes[place.lowerBound + length / 2] ^ 1])
                try file.close()
                (rest, count) = (place.upperBound, count + 1)
            }
        }
        try #require(count > 0)
    }

    /// A service with `x`, whose bytes are damaged, and `intact`.
    private static func damaged(_ text: String) async throws -> LiveGateway {
        let gateway = try LiveGateway()
        for name in ["x", "intact"] { try await gateway.client.put(name, name == "x" ? text : "intact") }
        guard text == small else {
            try strike(text, in: gateway.place.root + "/objects")
            return gateway
        }
        try gateway.end()
        try strikeRow(in: gateway.place.root)
        return try LiveGateway(at: gateway.place)
    }

    /// Changes a byte of the row of `x`. No service uses the root.
    private static func strikeRow(in root: String) throws {
        let path = "\(root)/\(StorageRoot.databaseName)"
        let database = try Database(path: path, applicationID: StorageRoot.applicationID)
        let (row, damaged) = (small, small.replacing("row", with: "rox"))
        try database.execute(
            "UPDATE bodies SET bytes = CAST('\(damaged)' AS BLOB) WHERE bytes = CAST('\(row)' AS BLOB)")
    }

    /// An error of the server, or a connection that breaks before the last bytes.
    private static func expectRefusal(
        _ gateway: GatewayClient, _ what: String,
        _ way: @Sendable (GatewayClient) async throws -> GatewayClient.Answer, mayBreak: Bool = false
    ) async throws {
        do {
            let answer = try await way(gateway)
            #expect(answer.status == 500 && !answer.text.contains("the bytes of a"), "\(what): \(answer.status)")
        } catch is HTTPError {
            #expect(mayBreak, "\(what): the connection broke")
        }
        #expect(try await gateway.get("\(gateway.gcs)/y").status == 404, "\(what) has made an object")
    }

    /// How often the log names the damage by now: a request that is answered after it was logged before.
    private func complaints(_ gateway: LiveGateway) throws -> Int {
        try gateway.end()
        return gateway.service.logged.split(separator: "Object gs://box/x is damaged").count - 1
    }

    @Test(arguments: ways.indices, [false, true])
    func `Damaged bytes are neither a whole answer nor another object, and the log names them once`(
        index: Int, isLarge: Bool
    ) async throws {
        let text = isLarge ? Self.large : Self.small
        let gateway = try await Self.damaged(text)
        let (what, way) = Self.ways[index]
        for attempt in 0..<2 {
            let mayBreak = attempt == 0 && isLarge
            try await Self.expectRefusal(gateway.client, what, way, mayBreak: mayBreak)
        }
        for (what, way) in Self.others { try await Self.expectRefusal(gateway.client, what, way) }
        for (method, params) in [
            ("reference/getData", #"{"reference":"gs://box/x","maxSize":9,"offset":1,"length":2}"#),
            ("reference/copy", #"{"reference":"gs://box/x","to":"gs://box/y","wait":true}"#),
        ] {
            #expect(try await gateway.client.refusal(method, params) == -13031, "\(method)")
        }
        #expect(try await gateway.client.get("/box/intact").text == "intact")
        try await gateway.client.put("x", text)
        #expect(try await gateway.client.get("/box/x").text == text, "another object is intact")
        #expect(try complaints(gateway) == 1)
    }

    @Test(arguments: [-1, 10])
    func `A file of another size is damaged on every way`(more: Int) async throws {
        let gateway = try LiveGateway()
        for name in ["x", "intact"] { try await gateway.client.put(name, name == "x" ? Self.large : "intact") }
        let file = try #require(FileHandle(forUpdatingAtPath: gateway.place.root + "/objects/1"))
        try file.truncate(atOffset: UInt64(Self.large.utf8.count + more))
        try file.close()
        for (what, way) in Self.ways + Self.others { try await Self.expectRefusal(gateway.client, what, way) }
        let params = #"{"reference":"gs://box/x","maxSize":9,"offset":1,"length":2}"#
        #expect(try await gateway.client.refusal("reference/getData", params) == -13031)
        #expect(try complaints(gateway) == 1)
    }

    @Test func `A missing file fails in every way of reading`() async throws {
        let gateway = try LiveGateway()
        for name in ["x", "intact"] { try await gateway.client.put(name, name == "x" ? Self.large : "intact") }
        try FileManager.default.removeItem(atPath: gateway.place.root + "/objects/1")
        for (what, way) in Self.ways + Self.others { try await Self.expectRefusal(gateway.client, what, way) }
        let params = #"{"reference":"gs://box/x","to":"gs://box/y","wait":true}"#
        #expect(try await gateway.client.refusal("reference/copy", params) == -13000)
        #expect(try await gateway.client.get("\(gateway.client.gcs)/x").status == 200)
        try gateway.end()
    }

    @Test(arguments: [
        "UPDATE parts SET declared = 'x'", "UPDATE parts SET declared = '{\"x-amz-checksum-crc32\":1}'",
        "UPDATE multiparts SET metadata = 'x'", "UPDATE multiparts SET metadata = '[[1]]'",
    ])
    func `A damaged row of an upload in parts makes no object`(change: String) async throws {
        var gateway = try LiveGateway()
        let start = try await gateway.client.send("POST", "/box/y?uploads").text
        let upload = "/box/y?uploadId=\(try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1))"
        let part = try await gateway.client.send("PUT", "\(upload)&partNumber=1", "hello")
        try gateway.end()
        let path = "\(gateway.place.root)/\(StorageRoot.databaseName)"
        try Database(path: path, applicationID: StorageRoot.applicationID).execute(change)
        gateway = try LiveGateway(at: gateway.place)
        let answer = try await Self.complete(gateway.client, upload, part.headers["ETag"] ?? "")
        #expect(answer.status == 500 && answer.text.contains("damaged"), "\(answer.text)")
        #expect(try await gateway.client.get("/box/y").status == 404)
        try gateway.end()
    }

    @Test(arguments: ["properties", "policy"])
    func `A damaged row of a bucket is an error, and not a bucket without properties`(column: String) async throws {
        var gateway = try LiveGateway()
        let made = try await gateway.client.send("POST", "/storage/v1/b?project=p", #"{"name":"made"}"#)
        #expect(made.status == 200)
        try gateway.end()
        let path = "\(gateway.place.root)/\(StorageRoot.databaseName)"
        try Database(path: path, applicationID: StorageRoot.applicationID)
            .execute("UPDATE buckets SET \(column) = 'x' WHERE name = 'made'")
        gateway = try LiveGateway(at: gateway.place)
        for (method, path, body) in [
            ("GET", "/storage/v1/b/made", nil), ("GET", "/storage/v1/b/made/iam", nil),
            ("PATCH", "/storage/v1/b/made", #"{"labels":{"a":"b"}}"#),
        ] as [(String, String, String?)] {
            let answer = try await gateway.client.send(method, path, body)
            #expect(answer.status == 500 && answer.text.contains("damaged"), "\(path) \(answer.text)")
        }
        try gateway.end()
    }

    @Test func `Damage that a stream of JSON-RPC finds is remembered`() async throws {
        let gateway = try await Self.damaged(Self.large)
        try await onThread { [place = gateway.place] in
            let caller = try place.connect()
            let stream = try caller.call("reference/getStream", #"{"reference":"gs://box/x"}"#)
            let task = try #require(stream["task"]?.string)
            let codes = try (0..<3).map { _ in try caller.refusal("downloadTask/read", #"{"task":"\#(task)"}"#)["code"]
            }
            #expect(codes.contains(-13031), "\(codes)")
        }
        for (what, way) in Self.others { try await Self.expectRefusal(gateway.client, what, way) }
        #expect(try complaints(gateway) == 1)
    }

    @Test(arguments: [true, false])
    func `An upload of a directory replaces an object that is known to be damaged`(isLarge: Bool) async throws {
        let text = isLarge ? Self.large : Self.small
        let gateway = try await Self.damaged(text)
        let directory = gateway.place.directory + "/up"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/x"))
        let upload =
            #"{"reference":"gs://box","directory":\#(JSON.string(directory).text),"changed":true,"wait":true}"#
        let read = #"{"reference":"gs://box/x","maxSize":5000000}"#
        #expect(try await gateway.client.refusal("reference/getData", read) == -13031)
        try await onThread { [place = gateway.place] in
            let caller = try place.connect()
            for unchanged in [0, 1] as [Int64] {
                let end = try caller.call("reference/putDirectory", upload)
                #expect(end["files"]?["unchanged"]?.number?.int64 == unchanged, "\(end)")
            }
        }
        #expect(try await gateway.client.get("/box/x").text == text)
        try gateway.end()
    }

    @Test func `A copy that shares a damaged file is refused, too, and one in a file of its own is not`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        try await client.put("x", Self.large)
        try await client.put("own", Self.large)
        #expect(try await client.send("POST", "\(client.gcs)/x/copyTo/b/box/o/copy", "{}").status == 200)
        let objects = gateway.place.root + "/objects"
        let second = try #require(FileManager.default.contents(atPath: objects + "/2"))
        try Self.strike(Self.large, in: objects)
        try second.write(to: URL(fileURLWithPath: objects + "/2"))
        await #expect(throws: HTTPError.self) { _ = try await client.get("/box/x") }
        #expect(try await client.get("/box/copy", ["Range": "bytes=5-6"]).status == 500)
        #expect(try await client.get("/box/own").text == Self.large)
        try gateway.end()
    }

    @Test func `A damaged gzip does not arrive completely, although its bytes can be unpacked`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        let bytes = noise(200_000)
        let path = gateway.place.directory + "/noise"
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        let zipped = await Command("/bin/sh", ["-c", "gzip -n \"$0\"", path]).run()
        try #require(zipped.status == 0)
        let packed = try #require(FileManager.default.contents(atPath: path + ".gz"))
        try #require(packed.count > 100_000)
        _ = try await client.send("POST", "\(client.v0)?name=x", bytes: Array(packed))
        _ = try await client.send("PATCH", "\(client.v0)/x", #"{"contentEncoding":"gzip"}"#)
        let plain: HTTPHeaders = ["Accept-Encoding": "identity"]
        #expect(try await client.get("/box/x", plain).body == bytes)
        // The time in the head of the file means nothing for what is unpacked.
        let file = try #require(FileHandle(forUpdatingAtPath: gateway.place.root + "/objects/1"))
        try file.seek(toOffset: 4)
        try file.write(contentsOf: [1])
        try file.close()
        await #expect(throws: HTTPError.self) { _ = try await client.get("/box/x", plain) }
        #expect(try await client.get("/box/x", plain).status == 500)
        #expect(try complaints(gateway) == 1)
    }

    @Test func `A part that is damaged before its upload is complete makes no object`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        let start = try await client.send("POST", "/box/y?uploads").text
        let id = try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1)
        let upload = "/box/y?uploadId=\(id)"
        let tag = try await client.send("PUT", "\(upload)&partNumber=1", Self.large).headers["ETag"] ?? ""
        try Self.strike(Self.large, in: gateway.place.root + "/objects")
        let answer = try await Self.complete(client, upload, tag)
        #expect(answer.status == 500 && answer.text.contains("The part 1 of an upload to gs://box/y is damaged"))
        #expect(try await client.get("\(client.gcs)/y").status == 404)
        let again = try await client.send("PUT", "\(upload)&partNumber=1", Self.large).headers["ETag"] ?? ""
        #expect(try await Self.complete(client, upload, again).status == 200)
        #expect(try await client.get("/box/y").text == Self.large)
        try gateway.end()
        #expect(gateway.service.logged.contains("The part 1 of an upload to gs://box/y is damaged"))
    }
}
