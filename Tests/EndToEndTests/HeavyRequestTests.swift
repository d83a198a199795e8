import Foundation
import Glibc
import HTTPText
import JSONText
import TestSupport
import Testing

/// Requests that ask for as much work as their bounds allow. Without bounds of the work each would hold all clients for
/// many seconds, or take gigabytes.
@Suite(.watchdog(minutes: 10)) struct HeavyRequestTests {
    private func text(_ part: String, _ count: Int) -> String { String(repeating: part, count: count) }

    /// The most that a request costs, in rounds of everyday requests. None of these comes near it, and without bounds each
    /// costs many times as much.
    private static let most = 250.0

    /// The processor time of the service until now, in seconds: other processes do not change it.
    private func spent(_ gateway: LiveGateway) throws -> Double {
        var (clock, time) = (clockid_t(), timespec())
        try #require(clock_getcpuclockid(gateway.service.id, &clock) == 0 && clock_gettime(clock, &time) == 0)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    /// The processor time of a round of everyday requests: a page of a list, a batch of 100 requests, and an upload of 4 MB.
    private func everydayCost(_ gateway: LiveGateway) async throws -> Double {
        let client = gateway.client, began = try spent(gateway)
        let parts = (0..<100).map { "--B\r\n\r\nGET \(client.gcs)/\($0) HTTP/1.1\r\n" }
        #expect(try await client.get("\(client.gcs)?maxResults=120").status == 200)
        #expect(
            try await client.send("POST", "/batch/storage/v1", parts.joined() + "--B--\r\n", Self.batch).status == 200)
        #expect(try await client.put("everyday", text("x", 4_000_000)).status == 200)
        return try spent(gateway) - began
    }

    /// What the request costs is bounded: it does not hold other clients, nor takes much memory.
    private func checkCost(
        of request: String, _ gateway: LiveGateway, in unit: Double, _ send: () async throws -> Void
    ) async throws {
        let began = try spent(gateway)
        try await send()
        #expect(try spent(gateway) - began < unit * Self.most, "\(request)")
        let metrics = try PrometheusReader.values(in: try await gateway.client.get("/metrics").text)
        #expect(try #require(metrics["process_resident_memory_bytes"]) < 400e6, "\(request)")
    }

    private static let batch: HTTPHeaders = ["Content-Type": "multipart/mixed; boundary=B"]

    @Test func `Heavy requests of the gateway do not delay other clients`() async throws {
        let gateway = try LiveGateway()
        let client = gateway.client
        for number in 0..<120 { try await client.put(text("a", 890) + "\(1000 + number)") }
        let unit = try await everydayCost(gateway)
        let stars = text("*a", 890) + "b"
        let choices = "{" + (0..<8).map { text("a", $0) }.joined(separator: ",") + "}" + stars
        try await checkCost(of: "matchGlob", gateway, in: unit) {
            let page = try await client.get("\(client.gcs)?matchGlob=\(client.escaped(choices))")
            let endsEarly = page["items"] == nil && page["nextPageToken"] != nil
            #expect(page.status == 200 && endsEarly, "a page of much work ends early")
        }
        func inBatch(_ request: String) -> String { "--B\r\n\r\n\(request)\r\n--B--\r\n" }
        let chunk = "1;chunk-signature=\(text("0", 64))\r\nx\r\n"
        let labels = "{\"labels\":{" + (0..<60_000).map { "\"k\($0)\":\"v\"" }.joined(separator: ",") + "}}"
        let requests: [(String, String, String, HTTPHeaders, status: Int)] = [
            ("GET", "\(client.gcs)?matchGlob=\(text("*a", 7900))", "", [:], 400),
            (
                "POST", "/batch/storage/v1",
                inBatch("GET \(client.gcs)?matchGlob={\(text(",", 100_000))}\(text("a", 100_000)) HTTP/1.1"),
                Self.batch,
                200
            ),
            ("POST", "/batch/storage/v1", inBatch("GET /b/box HTTP/1.1\n" + text("\n", 1_000_000)), Self.batch, 200),
            ("POST", "/batch/storage/v1", inBatch("GET /b/box HTTP/1.1\n" + text("a:\n", 300_000)), Self.batch, 200),
            ("PATCH", "/storage/v1/b/box", labels, ["Content-Type": "application/json"], 400),
            ("POST", "/box?delete", "<Delete>" + text("<a/>", 1_000_000) + "</Delete>", [:], 400),
            ("GET", "/box?encoding-type=url&delimiter=\(text("a", 440))b", "", [:], 200),
            (
                "PUT", "/box/chunks", text(chunk, 20_000) + "0\r\n\r\n",
                ["x-amz-content-sha256": "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"], 200
            ),
        ]
        for (method, path, body, headers, status) in requests {
            let name = "\(method) \(path.prefix(60))"
            try await checkCost(of: name, gateway, in: unit) {
                let answer = try await client.send(method, path, body.isEmpty ? nil : body, headers)
                #expect(answer.status == status, "\(name)")
            }
        }
        try gateway.end()
    }

    @Test func `The patterns of a folder do not delay other clients`() async throws {
        let gateway = try LiveGateway()
        let folder = gateway.place.directory + "/folder"
        let deep = [folder] + [String](repeating: text("a", 240), count: 3)
        try FileManager.default.createDirectory(atPath: deep.joined(separator: "/"), withIntermediateDirectories: true)
        for number in 0..<5 {
            try Data().write(to: URL(filePath: deep.joined(separator: "/") + "/\(text("a", 200))\(number)"))
        }
        let patterns = (0..<25).map { "\"**\(text("*a", 400))/b\($0)\"" }.joined(separator: ",")
        let params = #"{"reference":"gs://box/f","directory":"\#(folder)","exclude":[\#(patterns)],"wait":true}"#
        try await checkCost(of: "putDirectory", gateway, in: everydayCost(gateway)) {
            let ended = try await gateway.client.call("reference/putDirectory", params)
            #expect(ended["state"] == "success")
        }
        #expect(try await gateway.client.names("prefix=f").items.count == 5)
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
