import HTTPText
import JSONText
import TestSupport
import Testing

/// What a client sends to a session that is complete: the answer is success only if the object has it.
@Suite(.serialized, .watchdog(minutes: 10)) struct GatewayRepeatTests {
    private func session(_ gateway: GatewayClient, _ name: String = "x") async throws -> String {
        let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=\(name)"
        return try await gateway.send("POST", path, "{}").headers["Location"] ?? ""
    }

    private func put(
        _ gateway: GatewayClient, _ url: String, _ text: String, _ range: String?, _ hash: String? = nil
    ) async throws -> GatewayClient.Answer {
        var headers: HTTPHeaders = [:]
        if let range { headers["Content-Range"] = "bytes \(range)" }
        if let hash { headers["x-goog-hash"] = hash }
        return try await gateway.send("PUT", url, text, headers)
    }

    @Test func `A complete session is success only for what is stored`() async throws {
        let gateway = try GatewayClient.shared("repeats")
        let url = try await session(gateway)
        let stored = try await put(gateway, url, "hello", "0-4/5")
        for (text, range) in [
            ("llo", "2-4/5"), ("hello", "0-4/5"), ("hello", nil), ("", "*/5"), ("", "*/*"), ("", nil),
            ("llo", "2-*/*"), ("he", "0-1/*"),
        ] as [(String, String?)] {
            let again = try await put(gateway, url, text, range)
            #expect(again.status == 200 && again.json == stored.json, "\(text) \(range ?? "")")
        }
        for (text, range, status) in [
            ("LLO", "2-4/5", 409), ("hellO", "0-4/5", 409), ("HELLO", nil, 409), ("hello!", "0-5/6", 400),
            ("hell", nil, 400), ("", "*/6", 400), ("", "*/0", 400), ("llo!", "2-5/*", 400), ("o", "9-9/10", 400),
            ("xx", "0-1/*", 409), ("hell", "0-*/*", 400),
        ] as [(String, String?, Int)] {
            #expect(try await put(gateway, url, text, range).status == status, "\(text) \(range ?? "")")
        }
        #expect(try await put(gateway, url, "hello", nil, "crc32c=AAAAAA==").status == 400)
        #expect(try await put(gateway, url, "hello", nil, "crc32c=mnG7TA==").status == 200)
        #expect(try await gateway.get("\(gateway.gcs)/x?alt=media").text == "hello")
    }

    @Test func `A complete Firebase session is success only for what is stored`() async throws {
        let gateway = try GatewayClient.shared("firebase-repeats")
        let url = try await gateway.start("x")
        _ = try await gateway.command(url, "upload", "he")
        let stored = try await gateway.command(url, "upload, finalize", at: 2, "llo")
        for (offset, text) in [(2, "llo"), (0, "hello"), (5, "")] {
            let again = try await gateway.command(url, "upload, finalize", at: offset, text)
            #expect(again.status == 200 && again.upload == "final" && again.json == stored.json, "\(text)")
        }
        let unplaced = ["X-Goog-Upload-Command": "upload, finalize"] as HTTPHeaders
        #expect(try await gateway.send("POST", url, "hello", unplaced).status == 200)
        for (offset, text, status) in [(2, "LLO", 409), (0, "hello!", 400), (0, "", 400), (9, "x", 400)] {
            let again = try await gateway.command(url, "upload, finalize", at: offset, text)
            #expect(again.status == status && again.upload == "final", "\(text)")
        }
        #expect(try await gateway.send("POST", url, "hellO", unplaced).status == 409)
    }

    @Test func `A long body that is sent again is compared to its end`() async throws {
        let gateway = try GatewayClient.shared("long-repeats")
        let url = try await session(gateway)
        let bytes = [UInt8](repeating: 7, count: 9 << 20)
        #expect(try await gateway.send("PUT", url, bytes: bytes).status == 200)
        #expect(try await gateway.send("PUT", url, bytes: bytes).status == 200)
        var other = bytes
        other[other.count - 1] = 8
        #expect(try await gateway.send("PUT", url, bytes: other).status == 409)
    }

    @Test func `Bytes that can no longer be compared are an error`() async throws {
        let gateway = try GatewayClient.shared("gone-repeats")
        let url = try await session(gateway)
        _ = try await put(gateway, url, "hello", nil)
        try await gateway.put("x", "other")
        #expect(try await put(gateway, url, "hello", nil).status == 410)
        #expect(try await put(gateway, url, "", "*/5")["size"] == "5")
        #expect(try await gateway.send("DELETE", "\(gateway.gcs)/x").status == 204)
        #expect(try await put(gateway, url, "hello", nil).status == 410)
    }

    @Test func `Of several ends of one session with different bytes one is success`() async throws {
        let gateway = try GatewayClient.shared("race")
        for round in 0..<15 {
            let url = round % 2 == 0 ? try await session(gateway) : try await gateway.start("x")
            let answers = try await withThrowingTaskGroup(of: (String, GatewayClient.Answer).self) { group in
                for text in ["aaaaa", "bbbbb", "ccccc"] {
                    group.addTask {
                        round % 2 == 0
                            ? (text, try await put(gateway, url, text, "0-4/5"))
                            : (text, try await gateway.command(url, "upload, finalize", text))
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.map(\.1.status).sorted() == [200, 409, 409])
            let winner = answers.first { $0.1.status == 200 }?.0
            #expect(try await gateway.get("\(gateway.gcs)/x?alt=media").text == winner)
        }
    }

    @Test func `A session keeps to the size that its client has announced`() async throws {
        let gateway = try GatewayClient.shared("told")
        let url = try await session(gateway)
        let (chunk, end) = (GatewayClient.chunk, GatewayClient.chunk.utf8.count)
        #expect(try await put(gateway, url, chunk, "0-\(end - 1)/\(end + 3)").status == 308)
        #expect(try await put(gateway, url, "l", "\(end)-\(end)/\(end + 1)").status == 400)
        #expect(try await put(gateway, url, "", "*/2").status == 400)
        let stored = try await put(gateway, url, "llo", "\(end)-\(end + 2)/\(end + 3)")
        #expect(stored["size"]?.string == "\(end + 3)")
    }

    @Test(
        arguments: [
            "+0-2/3", "0-+2/3", "0-2/+3", "0-2/03", "00-2/3", "0-02/3", " 0-2/3", "0-2 /3", "0 - 2/3",
            "0-2/3/", "0-2/3,4", "0-2/3x", "0-2", "0-/3", "-2/3", "2/3", "*", "*/-3", "*/+3", "*/03", "*-2/3", "0--2/3",
            "0-2/99999999999999999999", "0-99999999999999999999/*", "0-2/", "/3", "", "0-2/3\u{660}",
        ])
    func `A Content-Range with another syntax is refused`(range: String) async throws {
        let gateway = try GatewayClient.shared("syntax")
        let url = try await session(gateway)
        #expect(try await put(gateway, url, "abc", range).status == 400)
        #expect(try await gateway.get("\(gateway.gcs)/x").status == 404)
        _ = try await gateway.send("DELETE", url)
    }

    @Test func `Numbers of headers have no sign and no zero before them`() async throws {
        let gateway = try GatewayClient.shared("numbers")
        for number in ["+5", "-5", "05", "5x", "0x5", "99999999999999999999", "٥"] {
            let path = "/upload/storage/v1/b/\(gateway.bucket)/o?uploadType=resumable&name=x"
            #expect(try await gateway.send("POST", path, "{}", ["x-upload-content-length": number]).status == 400)
            let start: HTTPHeaders = [
                "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
                "X-Goog-Upload-Header-Content-Length": number,
            ]
            #expect(try await gateway.send("POST", "\(gateway.v0)?name=x", "{}", start).status == 400)
            let url = try await gateway.start("x")
            let chunk: HTTPHeaders = ["X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": number]
            #expect(try await gateway.send("POST", url, "abc", chunk).status == 400)
            let condition = HTTPHeaders([.init("x-goog-if-generation-match", number)])
            #expect(try await gateway.send("PUT", "/\(gateway.bucket)/x", "a", condition).status == 400, "\(number)")
        }
        #expect(try await gateway.names("").items == [])
    }
}
