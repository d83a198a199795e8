import Foundation
import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// `service/metrics` and `GET /metrics`, with the real program.
@Suite(.watchdog) struct MetricsTests {
    private let place = Place()
    private let http = HTTPClient.direct

    /// A service with both HTTP servers, which has done some work, and their addresses.
    private func busyService() throws -> (ServiceProcess, Caller, urls: String, gateway: String) {
        let (service, caller) = try place.service(["--http", "127.0.0.1:0", "--gateway", "127.0.0.1:0"])
        try service.waitForLog("the gateway listens")
        let gateway = try #require(service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1)
        let big = place.directory + "/private-file"
        try Data(repeating: 7, count: 3_000_000).write(to: URL(filePath: big))
        try caller.call("initialize", #"{"client":{"name":"private-client"}}"#)
        try caller.call(
            "reference/putFile", #"{"reference":"gs://private-b/private-name","file":"\#(big)","wait":true}"#)
        try caller.call("reference/getData", #"{"reference":"gs://private-b/private-name","maxSize":3000000}"#)
        for _ in 1...2 { _ = try? caller.call("reference/getMetadata", #"{"reference":"gs://private-b/none"}"#) }
        _ = try? caller.call("private-method")
        try caller.call("reference/deleteAll", #"{"reference":"gs://private-b/none","wait":true}"#)
        let url = try caller.call("reference/downloadURL", #"{"reference":"gs://private-b/private-name"}"#)
        let address = try #require(url.text.firstMatch(of: /http:..[^\/]+/)?.0)
        return (service, caller, String(address), String(gateway))
    }

    @Test func `GET /metrics counts the work of the service in the text format of Prometheus`() async throws {
        let (service, caller, urls, gateway) = try busyService()
        #expect(
            try await http.perform(HTTPRequest("GET", "\(urls)/v0/b/b/o/none?alt=media&token=private")).status == 403)
        for address in [urls, gateway] {
            let answer = try await http.perform(HTTPRequest("GET", "\(address)/metrics"))
            #expect(answer.status == 200)
            #expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
            #expect(answer.headers["Access-Control-Allow-Origin"] == nil)
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(!text.contains("private"))
            let metrics = try PrometheusReader.values(in: text)
            #expect(metrics[#"storage_rpc_requests_total{method="reference/putFile"}"#] == 1)
            #expect(metrics[#"storage_rpc_requests_total{method="unknown"}"#] == 1)
            #expect(metrics[#"storage_rpc_errors_total{code="-13010"}"#] == 2)
            #expect(metrics[#"storage_rpc_errors_total{code="-32601"}"#] == 1)
            #expect(metrics[#"storage_rpc_object_bytes_total{kind="upload"}"#] == 3_000_000)
            #expect(metrics[#"storage_rpc_object_bytes_total{kind="download"}"#] == 3_000_000)
            #expect(metrics[#"storage_rpc_tasks{kind="upload",state="success"}"#] == 1)
            #expect(metrics[#"storage_rpc_tasks_ended_total{kind="upload",state="success"}"#] == 1)
            #expect(metrics[#"storage_rpc_tasks_ended_total{kind="folder",state="success"}"#] == 1)
            for kind in ["upload", "folder"] {
                #expect(metrics[#"storage_rpc_task_duration_seconds_count{kind="\#(kind)"}"#] == 1)
            }
            #expect(metrics[#"storage_rpc_task_duration_seconds_bucket{kind="upload",le="14400"}"#] == 1)
            #expect(try #require(metrics["storage_rpc_request_duration_seconds_count"]) >= 3)
            #expect(metrics["storage_rpc_objects"] == 1)
            let (free, size) = (metrics["storage_rpc_disk_free_bytes"], metrics["storage_rpc_disk_size_bytes"])
            #expect(try #require(free) > 0 && free! < size!)
            #expect(metrics[#"storage_rpc_connections"#] == 1)
            #expect(try #require(metrics["storage_rpc_sent_bytes_total"]) > 4_000_000)
            #expect(try #require(metrics["storage_rpc_received_bytes_total"]) > 300)
            #expect(metrics[#"storage_rpc_http_requests_total{server="download_urls",status="4xx"}"#] == 1)
            #expect(try #require(metrics["storage_rpc_commit_duration_seconds_count"]) > 0)
            #expect(try #require(metrics["storage_rpc_sync_duration_seconds_count"]) > 0)
            #expect(try #require(metrics["storage_rpc_loop_iteration_duration_seconds_count"]) > 0)
            #expect(try #require(metrics["process_resident_memory_bytes"]) > 1_000_000)
        }
        withExtendedLifetime((service, caller)) {}
    }

    @Test func `The servers of --http and --gateway answer health checks`() async throws {
        let (service, caller, urls, gateway) = try busyService()
        for address in [urls, gateway] {
            for method in ["GET", "HEAD"] {
                let answer = try await http.perform(HTTPRequest(method, "\(address)/healthz"))
                #expect(
                    answer.status == 200
                        && String(decoding: answer.body, as: UTF8.self) == (method == "GET" ? "ok\n" : ""))
            }
        }
        withExtendedLifetime((service, caller)) {}
    }

    @Test func `service/metrics has the same metrics, and none names objects, files or clients`() async throws {
        let (service, caller, urls, _) = try busyService()
        let answer = try caller.call("service/metrics")
        #expect(!answer.text.contains("private"))
        let families = try #require(answer["metrics"]?.array)
        let text = try await http.perform(HTTPRequest("GET", "\(urls)/metrics")).body
        let types = String(decoding: text, as: UTF8.self).matches(of: /# TYPE (\S+) (\S+)/).map { "\($0.1) \($0.2)" }
        #expect(families.map { "\($0["name"]?.string ?? "") \($0["type"]?.string ?? "")" } == types)
        withExtendedLifetime(service) {}
    }

    @Test func `The metrics count retries`() async throws {
        try await onThread { [place] in
            let (service, caller) = try place.service(Place.unreachable)
            try caller.call("reference/putData", #"{"reference":"gs://b/a","text":"x"}"#)
            var retries = 0.0
            while retries < 1 {
                let families = try caller.call("service/metrics")["metrics"]?.array ?? []
                let samples = families.first { $0["name"] == "storage_rpc_retries_total" }?["samples"]?.array
                let upload = samples?.first { $0["labels"]?["kind"] == "upload" }
                retries = try #require(upload?["value"]?.number?.double)
            }
            withExtendedLifetime(service) {}
        }
    }
}

/// Reads the text format strictly by its definition.
enum PrometheusReader {
    struct Malformed: Error { let line: String }

    /// The values by name and labels.
    static func values(in text: String) throws -> [String: Double] {
        guard text.hasSuffix("\n") else { throw Malformed(line: "the end") }
        var (values, family, kind): ([String: Double], String, Substring) = ([:], "", "")
        var (helped, buckets): (String, [Double]) = ("", [])
        for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
            let malformed = Malformed(line: String(line))
            if let help = line.wholeMatch(of: /# HELP ([a-z_:][a-z0-9_:]*) .+/) {
                helped = String(help.1)
            } else if let type = line.wholeMatch(of: /# TYPE (\S+) (counter|gauge|histogram)/) {
                (family, kind, buckets) = (String(type.1), type.2, [])
                guard helped == family, values.keys.allSatisfy({ !$0.hasPrefix(family + "{") && $0 != family }) else {
                    throw malformed
                }
            } else {
                let sample =
                    /([a-z_:][a-z0-9_:]*)(\{[a-z_]+="(?:[^"\\\n]|\\[\\n"])*"(?:,[a-z_]+="(?:[^"\\\n]|\\[\\n"])*")*\})? (\S+)/
                guard let match = line.wholeMatch(of: sample), let value = Double(match.3) else { throw malformed }
                let suffixes = kind == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
                guard suffixes.contains(where: { family + $0 == match.1 }), value >= 0 else { throw malformed }
                if kind == "counter", !family.hasSuffix("_total") { throw malformed }
                if match.1.hasSuffix("_bucket") { buckets.append(value) }
                if match.1.hasSuffix("_count") {
                    guard buckets.last == value, buckets == buckets.sorted() else { throw malformed }
                    buckets = []
                }
                let key = String(match.1) + (match.2 ?? "")
                guard values.updateValue(value, forKey: key) == nil else { throw malformed }
            }
        }
        return values
    }
}
