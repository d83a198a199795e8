import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// Requests that ask for as much work as their bounds allow. Without bounds of the work each would hold all clients for
/// many seconds, or take gigabytes.
@Suite(.watchdog(minutes: 10)) struct HeavyRequestTests {
    private func text(_ part: String, _ count: Int) -> String { String(repeating: part, count: count) }

    /// No iteration of the loop, and no transaction, was one that a client notices; nor was much memory used.
    private func checkOthersWereServed(_ client: GatewayClient, after request: String) async throws {
        let metrics = try PrometheusReader.values(in: try await client.get("/metrics").text)
        for name in ["storage_rpc_loop_iteration_duration_seconds", "storage_rpc_commit_duration_seconds"] {
            let all = try #require(metrics["\(name)_count"])
            #expect(metrics["\(name)_bucket{le=\"5\"}"] == all, "\(name) of \(request)")
        }
        #expect(try #require(metrics["process_resident_memory_bytes"]) < 400e6, "\(request)")
    }

    @Test func `Heavy requests of the gateway hold no other client`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        for number in 0..<120 { try await client.put(text("a", 890) + "\(1000 + number)") }
        let stars = text("*a", 890) + "b"
        let choices = "{" + (0..<8).map { text("a", $0) }.joined(separator: ",") + "}" + stars
        let page = try await client.get("\(client.gcs)?matchGlob=\(client.escaped(choices))")
        #expect(
            page.status == 200 && page["items"] == nil && page["nextPageToken"] != nil, "a page of much work ends early"
        )
        try await checkOthersWereServed(client, after: "matchGlob")

        let batch: HTTPHeaders = ["Content-Type": "multipart/mixed; boundary=B"]
        func inBatch(_ request: String) -> String { "--B\r\n\r\n\(request)\r\n--B--\r\n" }
        let chunk = "1;chunk-signature=\(text("0", 64))\r\nx\r\n"
        let labels = "{\"labels\":{" + (0..<60_000).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}}"
        let requests: [(String, String, String, HTTPHeaders, status: Int)] = [
            ("GET", "\(client.gcs)?matchGlob=\(text("*a", 7900))", "", [:], 400),
            (
                "POST", "/batch/storage/v1",
                inBatch("GET \(client.gcs)?matchGlob={\(text(",", 100_000))}\(text("a", 100_000)) HTTP/1.1"), batch, 200
            ),
            ("POST", "/batch/storage/v1", inBatch("GET /b/box HTTP/1.1\n" + text("\n", 1_000_000)), batch, 200),
            ("POST", "/batch/storage/v1", inBatch("GET /b/box HTTP/1.1\n" + text("a:\n", 300_000)), batch, 200),
            ("PATCH", "/storage/v1/b/box", labels, ["Content-Type": "application/json"], 400),
            ("POST", "/box?delete", "<Delete>" + text("<a/>", 1_000_000) + "</Delete>", [:], 400),
            ("GET", "/box?encoding-type=url&delimiter=\(text("a", 440))b", "", [:], 200),
            (
                "PUT", "/box/chunks", text(chunk, 20_000) + "0\r\n\r\n",
                ["x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"], 200
            ),
        ]
        for (method, path, body, headers, status) in requests {
            let answer = try await client.send(method, path, body.isEmpty ? nil : body, headers)
            #expect(answer.status == status, "\(method) \(path.prefix(60))")
            try await checkOthersWereServed(client, after: "\(method) \(path.prefix(60))")
        }
        try gateway.end()
    }

    @Test func `The patterns of a folder hold no other client`() async throws {
        let gateway = try LiveGateway()
        let folder = gateway.place.directory + "/folder"
        let deep = [folder] + [String](repeating: text("a", 240), count: 3)
        try FileManager.default.createDirectory(atPath: deep.joined(separator: "/"), withIntermediateDirectories: true)
        for number in 0..<5 {
            try Data().write(to: URL(filePath: deep.joined(separator: "/") + "/\(text("a", 200))\(number)"))
        }
        let patterns = (0..<25).map { "\"**\(text("*a", 400))/b\($0)\"" }.joined(separator: ",")
        let ended = try await gateway.client.call(
            "reference/putDirectory",
            #"{"reference":"gs://box/f","directory":"\#(folder)","exclude":[\#(patterns)],"wait":true}"#)
        #expect(ended["state"] == "success")
        #expect(try await gateway.client.names("").items.count == 5)
        try await checkOthersWereServed(gateway.client, after: "putDirectory")
        try gateway.end()
    }

    @Test func `A form whose key repeats the name of its file is refused before its name is made`() async throws {
        let client = try GatewayClient.shared("long-keys")
        let key = text("${filename}", 2500)
        let form = """
            --B\r\nContent-Disposition: form-data; name="key"\r\n\r\n\(key)\r\n--B\r\n\
            Content-Disposition: form-data; name="file"; filename="\(text("a", 15_000))"\r\n\r\nx\r\n--B--\r\n
            """
        let answer = try await client.send(
            "POST", "/\(client.bucket)", form, ["Content-Type": "multipart/form-data; boundary=B"])
        #expect(answer.status == 400 && answer.text.contains("37500000 bytes"))
    }
}
