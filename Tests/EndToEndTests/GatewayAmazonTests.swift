import HTTPText
import JSONText
import TestSupport
import Testing

/// What clients of Amazon S3 ask and repeat, and the answers in which Amazon differs from Google.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayAmazonTests {
    /// A header of requests that clients of Amazon S3 sign.
    private static let signed: HTTPHeaders = ["Authorization": "AWS4-HMAC-SHA256 x"]

    private func signed(_ more: HTTPHeaders = [:]) -> HTTPHeaders { HTTPHeaders(Self.signed.fields + more.fields) }

    private func code(_ answer: GatewayClient.Answer) -> String {
        "\(answer.status) \(answer.text.firstMatch(of: /<Code>([^<]*)</)?.1 ?? "")"
    }

    // MARK: - Questions

    @Test(arguments: [
        ("cors", "404 NoSuchCORSConfiguration"), ("encryption", "404 ServerSideEncryptionConfigurationNotFoundError"),
        ("lifecycle", "404 NoSuchLifecycleConfiguration"), ("object-lock", "404 ObjectLockConfigurationNotFoundError"),
        ("policy", "404 NoSuchBucketPolicy"), ("tagging", "404 NoSuchTagSet"),
        ("website", "404 NoSuchWebsiteConfiguration"), ("acl", "<Permission>FULL_CONTROL</Permission>"),
        ("versioning", "<VersioningConfiguration "), ("requestPayment", "<Payer>BucketOwner</Payer>"),
        ("ownershipControls", "<ObjectOwnership>BucketOwnerEnforced</ObjectOwnership>"),
    ])
    func `A bucket has none of the properties of Amazon S3`(param: String, expected: String) async throws {
        let gateway = try GatewayClient.shared("amazon-questions")
        let answer = try await gateway.get("/\(gateway.bucket)?\(param)")
        if expected.hasPrefix("404") {
            #expect(code(answer) == expected)
        } else {
            #expect(answer.status == 200 && answer.text.contains(expected), "\(answer.text)")
        }
    }

    @Test func `An object has no tags, and its owner controls it`() async throws {
        let gateway = try GatewayClient.shared("amazon-objects")
        try await gateway.put("x")
        #expect(try await gateway.get("/\(gateway.bucket)/x?tagging").text.contains("<TagSet></TagSet>"))
        #expect(try await gateway.get("/\(gateway.bucket)/x?acl").text.contains(#"xsi:type="CanonicalUser""#))
        for param in ["tagging", "acl"] {
            #expect(code(try await gateway.get("/\(gateway.bucket)/none?\(param)")) == "404 NoSuchKey")
        }
    }

    @Test func `A property that the JSON API keeps is not denied`() async throws {
        let gateway = try GatewayClient.shared("amazon-kept")
        let body = #"{"name":"amazon-kept","labels":{"a":"b"},"cors":[{"origin":["*"]}]}"#
        #expect(try await gateway.send("POST", "/storage/v1/b?project=p", body).status == 200)
        for (param, member) in [("tagging", "labels"), ("cors", "cors")] {
            let answer = try await gateway.get("/amazon-kept?\(param)")
            #expect(answer.status == 501 && answer.text.contains(member), "\(answer.text)")
        }
    }

    @Test func `Each object has one version, which is listed in pages and deleted as the current one`() async throws {
        let gateway = try GatewayClient.shared("amazon-versions")
        for name in ["a", "d/1", "d/2", "e"] { try await gateway.put(name) }
        var (marker, keys): (String, [String]) = ("", [])
        while true {
            let text = try await gateway.get("/amazon-versions?versions&max-keys=2&key-marker=\(marker)").text
            keys += text.matches(of: /<Version><VersionId>null<.*?<Key>([^<]*)</).map { String($0.1) }
            guard let next = text.firstMatch(of: /<NextKeyMarker>([^<]*)</)?.1 else { break }
            marker = String(next)
        }
        #expect(keys == ["a", "d/1", "d/2", "e"])
        let folders = try await gateway.get("/amazon-versions?versions&delimiter=/").text
        #expect(folders.contains("<CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes>"))
        let body = "<Delete><Object><Key>a</Key><VersionId>null</VersionId></Object></Delete>"
        #expect(try await gateway.send("POST", "/amazon-versions?delete", body).text.contains("<Deleted>"))
        #expect(try await gateway.names("").items == ["d/1", "d/2", "e"])
    }

    // MARK: - Repetitions

    private static let checksums = [
        ("crc32", "ChecksumCRC32", "NhCmhg=="), ("crc32c", "ChecksumCRC32C", "mnG7TA=="),
        ("crc64nvme", "ChecksumCRC64NVME", "M3eFcAZSQlc="), ("sha1", "ChecksumSHA1", "qvTGHdzF6KLavt4PO0gs2a6pQ00="),
        ("sha256", "ChecksumSHA256", "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="),
    ]

    @Test(arguments: checksums)
    func `The end of an upload in parts repeats the checksums of its parts`(
        name: String, element: String, sum: String
    ) async throws {
        let gateway = try GatewayClient.shared("amazon-checksums")
        let start = try await gateway.send("POST", "/amazon-checksums/\(name)?uploads").text
        let upload = "/amazon-checksums/\(name)?uploadId=\(try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1))"
        let header = "x-amz-checksum-\(name)"
        let wrong = HTTPHeaders([.init(header, [UInt8](repeating: 0, count: [UInt8](base64: sum)?.count ?? 0).base64)])
        #expect(code(try await gateway.send("PUT", "\(upload)&partNumber=1", "hello", wrong)) == "400 BadDigest")
        let part = try await gateway.send("PUT", "\(upload)&partNumber=1", "hello", HTTPHeaders([.init(header, sum)]))
        #expect(part.status == 200 && part.headers[header] == sum)
        func complete(_ element: String, _ sum: String, size: Int) async throws -> GatewayClient.Answer {
            let members = "<ETag>\(part.headers["ETag"] ?? "")</ETag><\(element)>\(sum)</\(element)>"
            return try await gateway.send(
                "POST", upload,
                "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber>\(members)</Part></CompleteMultipartUpload>",
                ["x-amz-mp-object-size": "\(size)"])
        }
        #expect(code(try await complete(element, "AAAA", size: 5)) == "400 InvalidPart")
        if name != "sha256" {
            #expect(code(try await complete("ChecksumSHA256", Self.checksums[4].2, size: 5)) == "400 InvalidPart")
        }
        #expect(code(try await complete("ChecksumMD2", sum, size: 5)) == "501 NotImplemented")
        let size = try await complete(element, sum, size: 6)
        #expect(size.status == 400 && size.text.contains("x-amz-mp-object-size"))
        #expect(try await complete(element, sum, size: 5).status == 200)
        #expect(try await gateway.get("/amazon-checksums/\(name)").text == "hello")
    }

    @Test func `Headers of an answer that come back with a copy are compared`() async throws {
        let gateway = try GatewayClient.shared("amazon-modify")
        try await gateway.put("x")
        let answer = try await gateway.send("HEAD", "/amazon-modify/x", Self.signed)
        let names = [
            "x-goog-generation", "x-goog-metageneration", "x-goog-hash", "x-goog-stored-content-length",
            "x-goog-stored-content-encoding",
        ]
        let source = signed([
            "x-amz-copy-source": "/amazon-modify/x", "x-amz-metadata-directive": "REPLACE", "x-amz-meta-k": "v",
        ])
        for name in names {
            let other = HTTPHeaders(source.fields + [.init(name, "7")])
            #expect(code(try await gateway.send("PUT", "/amazon-modify/x", "", other)) == "412 PreconditionFailed")
        }
        let repeated = names.map { HTTPHeaders.Field($0, answer.headers[$0] ?? "") }
        let modified = try await gateway.send("PUT", "/amazon-modify/x", "", HTTPHeaders(source.fields + repeated))
        #expect(modified.status == 200, "\(modified.text)")
        #expect(try await gateway.get("\(gateway.gcs)/x")["metadata"] == ["k": "v"])
    }

    @Test func `A signed URL of version 2 has headers as params`() async throws {
        let gateway = try GatewayClient.shared("amazon-signed")
        let url = "/amazon-signed/x?AWSAccessKeyId=k&Signature=s&Expires=9&content-type=a%2Fb&x-amz-meta-k=v"
        #expect(try await gateway.send("PUT", url, "hello", ["Content-Type": "c/d"]).status == 400)
        #expect(try await gateway.send("PUT", url, "hello", ["Content-Type": "a/b"]).status == 200)
        let stored = try await gateway.get("\(gateway.gcs)/x")
        #expect(stored["contentType"] == "a/b" && stored["metadata"] == ["k": "v"])
        let md5 = try await gateway.send("PUT", "\(url)&content-md5=AAAAAAAAAAAAAAAAAAAAAA%3D%3D", "hello")
        #expect(code(md5) == "400 BadDigest")
    }

    @Test func `The source of a copy may be the version null`() async throws {
        let gateway = try GatewayClient.shared("amazon-null")
        try await gateway.put("x")
        func copy(_ source: String) async throws -> GatewayClient.Answer {
            try await gateway.send("PUT", "/amazon-null/y", signed(["x-amz-copy-source": source]))
        }
        #expect(try await copy("/amazon-null/x?versionId=null").status == 200)
        for source in ["amazon-null/x?versionId=7", "amazon-null/x?versionId=", "amazon-null/x?"] {
            let refused = try await copy(source)
            #expect(code(refused) == "501 NotImplemented", "\(refused.text)")
        }
    }

    /// Google has a header with the same meaning, which its client has not sent.
    @Test(
        arguments: [
            ("PUT", ["x-amz-acl": "public-read"], "x-amz-acl is not served"),
            ("PUT", ["X-Amz-Acl": "public-read"], "X-Amz-Acl is not served"),
            ("PUT", ["x-amz-copy-source": "x"], "x-amz-copy-source is no BUCKET/NAME"),
            ("PUT", ["x-amz-copy-source": "b/x?versionId=1"], "x-amz-copy-source is not served here with a version"),
            ("PUT", ["x-amz-metadata-directive": "COPY"], "x-amz-metadata-directive needs"),
            ("PUT", ["x-goog-acl": "public-read"], "x-goog-acl is not served"),
        ] as [(String, HTTPHeaders, String)])
    func `An error names a header as its client has sent it`(
        method: String, headers: HTTPHeaders, expected: String
    ) async throws {
        let gateway = try GatewayClient.shared("amazon-names")
        let answer = try await gateway.send(method, "/amazon-names/x", "hello", headers)
        #expect(answer.status >= 400 && answer.text.contains(expected), "\(answer.text)")
    }

    // MARK: - Differences

    @Test func `Clients of Amazon S3 get its answers about missing objects and copies`() async throws {
        let gateway = try GatewayClient.shared("amazon-answers")
        let none = "/amazon-answers/none"
        #expect(try await gateway.send("DELETE", none).status == 404)
        #expect(try await gateway.send("DELETE", none, Self.signed).status == 204)
        let tag: HTTPHeaders = ["If-Match": "\"x\""]
        #expect(code(try await gateway.send("PUT", none, "new", tag)) == "412 PreconditionFailed")
        #expect(code(try await gateway.send("PUT", none, "new", signed(tag))) == "404 NoSuchKey")
        try await gateway.put("a b")
        let copied = try await gateway.send(
            "PUT", "/amazon-answers/c", signed(["x-amz-copy-source": "amazon-answers/a+b"]))
        #expect(copied.status == 200, "\(copied.text)")
        let itself: HTTPHeaders = ["x-amz-copy-source": "/amazon-answers/c"]
        #expect(code(try await gateway.send("PUT", "/amazon-answers/c", signed(itself))) == "400 InvalidRequest")
        #expect(try await gateway.send("PUT", "/amazon-answers/c", itself).status == 200)
        let head = try await gateway.send("HEAD", "/amazon-answers/c", signed(["Range": "bytes=1-2"]))
        #expect(head.status == 206 && head.headers["Content-Range"] == "bytes 1-2/5")
        #expect(try await gateway.send("HEAD", "/amazon-answers/c", ["Range": "bytes=1-2"]).status == 200)
        #expect(try await gateway.get("/amazon-answers/c?partNumber=1").text == "hello")
        #expect(code(try await gateway.get("/amazon-answers/c?partNumber=2")) == "416 InvalidPartNumber")
        let range: HTTPHeaders = ["x-amz-copy-source": "/amazon-answers/c", "x-amz-copy-source-range": ""]
        let start = try await gateway.send("POST", "/amazon-answers/d?uploads").text
        let id = try #require(start.firstMatch(of: /<UploadId>([^<]*)</)?.1)
        #expect(try await gateway.send("PUT", "/amazon-answers/d?uploadId=\(id)&partNumber=1", range).status == 200)
    }

    @Test func `An object that is deleted after its tag was compared is a missing one`() async throws {
        let gateway = try GatewayClient.shared("amazon-race")
        let path = "/amazon-race/x"
        for (fields, expected) in [(Self.signed.fields, 404), ([], 412)] as [([HTTPHeaders.Field], Int)] {
            let tag = try #require(try await gateway.send("PUT", path, "hello", Self.signed).headers["ETag"])
            let bytes = [UInt8](repeating: 7, count: 4 << 20)
            let lines = (fields + [.init("If-Match", tag), .init("Content-Length", "\(bytes.count)")])
                .map { "\($0.name): \($0.value)\r\n" }
            let writer = try gateway.visitor()
            let head = "PUT \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\(lines.joined())\r\n"
            try writer.send(Array(head.utf8) + bytes.dropLast())
            // The upload begins after the comparison.
            try await eventually {
                let tasks = try await gateway.call("uploadTask/list", "{}")["tasks"]?.array ?? []
                return tasks.contains { $0["reference"]?["bucket"] == "amazon-race" && $0["state"] == "running" }
            }
            #expect(try await gateway.send("DELETE", path).status == 204)
            nonisolated(unsafe) let visitor = writer
            let answer = try await onThread { try visitor.exchange([7]) }
            #expect(answer.hasPrefix("HTTP/1.1 \(expected) "), "\(answer)")
        }
    }

    @Test func `The name of a checksum needs the checksum`() async throws {
        let gateway = try GatewayClient.shared("amazon-named-sums")
        let path = "/amazon-named-sums/x"
        let name: HTTPHeaders = ["x-amz-sdk-checksum-algorithm": "CRC32C"]
        func put(_ more: HTTPHeaders) async throws -> GatewayClient.Answer {
            try await gateway.send("PUT", path, "hello", HTTPHeaders(name.fields + more.fields))
        }
        for other: HTTPHeaders in [
            [:], ["x-amz-checksum-crc32": "NhCmhg=="], ["Content-MD5": "XUFAKrxLKna5cZ2REBfFkg=="],
        ] {
            let refused = try await put(other)
            #expect(code(refused) == "400 InvalidRequest" && refused.text.contains("x-amz-checksum-crc32c"))
        }
        #expect(try await put(["x-amz-checksum-crc32c": "mnG7TA=="]).status == 200)
        #expect(try await gateway.get(path, name).text == "hello")
    }

    @Test func `A region has small letters for clients of Amazon S3`() async throws {
        let gateway = try GatewayClient.shared("amazon-regions")
        let constraint = "<LocationConstraint>eu-west-1</LocationConstraint>"
        let body = "<CreateBucketConfiguration>\(constraint)</CreateBucketConfiguration>"
        #expect(try await gateway.send("PUT", "/amazon-regions", body, Self.signed).status == 200)
        #expect(try await gateway.get("/amazon-regions?location", Self.signed).text.contains(">eu-west-1<"))
        #expect(try await gateway.get("/amazon-regions?location").text.contains(">EU-WEST-1<"))
    }

    @Test func `A name of a bucket that no bucket has, or that XML cannot hold, is refused by name`() async throws {
        let gateway = try GatewayClient.shared("amazon-bucket-names")
        for path in ["/%01", "/a%20b", "/%01?list-type=2", "/%01?location"] {
            #expect(code(try await gateway.get(path)) == "400 InvalidBucketName", "\(path)")
        }
        let live = try LiveGateway()
        try await live.client.put("x")
        #expect(try await live.client.get("/").text.contains("<Name>box</Name>"))
        let odd = "odd%EF%BF%BF"
        #expect(try await live.client.send("PUT", "/\(odd)/x", "hello").status == 200)
        #expect(try await live.client.send("HEAD", "/\(odd)", [:]).status == 200)
        for path in ["/\(odd)", "/\(odd)?list-type=2", "/\(odd)?versions", "/\(odd)?uploads", "/"] {
            let refused = try await live.client.get(path)
            #expect(refused.status == 400 && refused.text.contains("XML cannot hold"), "\(path) \(refused.text)")
        }
        let listed = try await live.client.get("/\(odd)?encoding-type=url").text
        #expect(listed.contains("<Name>\(odd)</Name>") && listed.contains("<Key>x</Key>"), "\(listed)")
        try live.end()
    }

    @Test func `A copy takes the metadata of its source that the client repeats`() async throws {
        let gateway = try GatewayClient.shared("amazon-repeated")
        let metadata: HTTPHeaders = ["x-amz-meta-mtime": "1.5", "Cache-Control": "no-cache"]
        #expect(try await gateway.send("PUT", "/amazon-repeated/x", "hello", signed(metadata)).status == 200)
        func copy(_ fields: HTTPHeaders) async throws -> GatewayClient.Answer {
            let source: HTTPHeaders = ["x-amz-copy-source": "/amazon-repeated/x"]
            return try await gateway.send(
                "PUT", "/amazon-repeated/y", "", signed(HTTPHeaders(source.fields + fields.fields)))
        }
        #expect(try await copy(["x-amz-meta-mtime": "2"]).text.contains("x-goog-metadata-directive: REPLACE"))
        #expect(code(try await copy(["x-amz-meta-other": "1.5"])) == "400 InvalidArgument")
        // A condition by tag decides where there is one by time, too.
        let old = "Thu, 01 Jan 1970 00:00:00 GMT"
        #expect(code(try await copy(["x-amz-copy-source-if-unmodified-since": old])) == "412 PreconditionFailed")
        let tag = try #require(try await gateway.get("/amazon-repeated/x").headers["ETag"])
        let both: HTTPHeaders = ["x-amz-copy-source-if-unmodified-since": old, "x-amz-copy-source-if-match": tag]
        #expect(try await copy(both).status == 200)
        #expect(try await copy(metadata).status == 200)
        #expect(try await gateway.get("\(gateway.gcs)/y")["metadata"] == ["mtime": "1.5"])
    }

    @Test func `Amazon S3 names the condition that does not hold, and deletes by tag`() async throws {
        let gateway = try GatewayClient.shared("amazon-tags")
        let path = "/amazon-tags/x"
        let tag = try #require(try await gateway.send("PUT", path, "hello", Self.signed).headers["ETag"])
        for condition in ["If-None-Match": "*", "If-Match": "\"x\""] {
            let refused = try await gateway.send("PUT", path, "x", HTTPHeaders([.init(condition.key, condition.value)]))
            #expect(refused.text.contains("<Condition>\(condition.key)</Condition>"))
        }
        #expect(try await gateway.send("DELETE", "/amazon-tags/none", signed(["If-Match": tag])).status == 204)
        func delete(_ tag: String, _ headers: HTTPHeaders) async throws -> GatewayClient.Answer {
            let objects = ["x", "none"].map { "<Object><Key>\($0)</Key><ETag>\(tag)</ETag></Object>" }.joined()
            return try await gateway.send("POST", "/amazon-tags?delete", "<Delete>\(objects)</Delete>", signed(headers))
        }
        let refused = try await delete("&quot;x&quot;", [:])
        #expect(refused.text.contains("<Key>x</Key><Code>PreconditionFailed</Code>"))
        #expect(refused.text.contains("<Deleted><Key>none</Key></Deleted>"))
        #expect(try await gateway.get(path).text == "hello")
        let bypassed = try await delete(tag, ["x-amz-bypass-governance-retention": "true"])
        #expect(bypassed.text.contains("<Deleted><Key>x</Key></Deleted>"))
        #expect(try await gateway.get(path).status == 404)
    }

    @Test func `Checksums of Amazon S3 come back`() async throws {
        let gateway = try GatewayClient.shared("amazon-sums")
        for (name, _, sum) in Self.checksums {
            let put = try await gateway.send(
                "PUT", "/amazon-sums/x", "hello", HTTPHeaders([.init("x-amz-checksum-\(name)", sum)]))
            #expect(put.status == 200 && put.headers["x-amz-checksum-\(name)"] == sum)
        }
        let crc32c = try #require(Self.checksums.first { $0.0 == "crc32c" }).2
        let asked: HTTPHeaders = ["x-amz-checksum-mode": "ENABLED"]
        #expect(code(try await gateway.get("/amazon-sums/x", ["x-amz-checksum-mode": "ALL"])) == "501 NotImplemented")
        let whole = try await gateway.get("/amazon-sums/x", signed(asked))
        #expect(whole.headers["x-amz-checksum-crc32c"] == crc32c)
        #expect(whole.headers["x-amz-checksum-type"] == "FULL_OBJECT")
        let part = signed(HTTPHeaders(asked.fields + [.init("Range", "bytes=0-1")]))
        #expect(try await gateway.get("/amazon-sums/x", part).headers["x-amz-checksum-crc32c"] == nil)
        #expect(try await gateway.get("/amazon-sums/x", Self.signed).headers["x-amz-checksum-crc32c"] == nil)
    }

    @Test func `Clients of Amazon S3 get packed objects without unpacking`() async throws {
        let gateway = try GatewayClient.shared("amazon-packed")
        let packed: [UInt8] = [
            0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 7, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0, 0,
        ]
        let stored = try await gateway.send("PUT", "/amazon-packed/x", bytes: packed, ["Content-Encoding": "gzip"])
        #expect(stored.status == 200)
        let plain: HTTPHeaders = ["Accept-Encoding": "identity"]
        #expect(try await gateway.get("/amazon-packed/x", plain).text == "hello")
        let answer = try await gateway.get("/amazon-packed/x", signed(plain))
        #expect(answer.body == packed && answer.headers["Content-Length"] == "\(packed.count)")
        #expect(answer.headers["Content-Encoding"] == "gzip")
    }
}
