import Foundation
import HTTPClient
import HTTPText
import JSONText
import Platform
import TestSupport
import Testing

/// Secrets do not appear on stderr, and on stdout only in answers to requests for them.
@Suite(.watchdog) struct SecretsTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)").path
    private let stale = "stale-Ks8vQ2", fresh = "fresh-Zt4mW9", app = "app-Xb7nR3"

    init() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Data(count: 1_000_000).write(to: URL(filePath: directory + "/file"))
    }

    private func cleanUp() { try? FileManager.default.removeItem(atPath: directory) }

    @Test func `Logs and errors contain no tokens, upload sessions and download tokens`() async throws {
        defer { cleanUp() }
        let fixture = try StorageFixture(credentials: .init(["Firebase \(fresh)"], appCheck: app))
        let echo =
            #"{"error":{"code":400,"message":"Firebase \#(fresh), \#(app) is wrong for /o?name=a&amp;upload_id=echoed-Lc5"}}"#
        let service = try ServiceProcess([
            "--engine", "firebase", "--endpoint", fixture.url, "--log-level", "debug",
        ])
        let talk = Talk(service)
        let (file, reference) = (directory + "/file", "gs://default-bucket/a")
        _ = await talk.ask("auth/setToken", ["token": .string(stale)])
        _ = await talk.ask("auth/setToken", ["token": .string(app), "kind": "appCheckToken"])
        _ = await talk.ask("auth/setToken", ["token": .string(fresh), "kind": .string(fresh)])
        _ = await talk.ask("auth/setToken", ["token": .string(fresh + " "), "expiresIn": 5])
        let put: JSON = ["reference": .string(reference), "file": .string(file), "wait": true]
        let stored = await talk.ask("reference/putFile", put, refreshed: fresh)
        #expect(stored["result"]?["state"]?.string == "success")
        let url = await talk.ask("reference/downloadURL", ["reference": .string(reference)])["result"]?["url"]?.string
        let token = try #require(url?.split(separator: "token=").last.map(String.init))
        let wrong = await talk.ask("storage/reference", ["url": .string("http://h/x?token=\(token)")])
        #expect(wrong["error"]?["code"]?.number?.int64 == -13053)
        fixture.faults = [
            .init(.first(.chunk), .answer(400, body: echo)), .init(.first(.query), .answer(400, body: echo)),
        ]
        #expect(await talk.ask("reference/putFile", put)["error"]?["message"]?.string?.contains("(…)") == true)
        fixture.faults = [.init(.first(.getMetadata), .answer(403, body: echo))]
        #expect(await talk.ask("reference/getMetadata", ["reference": .string(reference)])["error"] != nil)
        let sessions = fixture.log.sessions.map(\.id)
        #expect(sessions.count == 2)
        close(service.input)
        #expect(try service.waitForExit() == 0)
        let heard = talk.heard.filter { !$0.contains(#""url""#) }.joined()
        for secret in [stale, fresh, app, token, "echoed-Lc5"] + sessions {
            #expect(!service.logged.contains(secret) && !heard.contains(secret), "\(secret)")
        }
    }

    @Test func `Logs and traces contain no tokens and secrets of federated credentials`() async throws {
        defer { cleanUp() }
        let (subject, federated, account) = ("subject-Qp3dV8", "federated-Hy5kT1", "account-Nw2xJ6")
        let server = try TokenServer { request, _ in
            switch request.line.split(separator: " ")[1] {
            case "/sts": .init(body: #"{"access_token":"\#(federated)"}"#)
            case "/v1/projects/-/serviceAccounts/robot@project.example:generateAccessToken":
                .init(body: #"{"accessToken":"\#(account)","expireTime":"2099-01-01T00:00:00Z"}"#)
            default: .init(status: "403 Forbidden", body: #"{"error":{"message":"\#(account) may not"}}"#)
            }
        }
        let base = "http://127.0.0.1:\(server.port)"
        try Data((subject + "\n").utf8).write(to: URL(filePath: directory + "/subject"))
        let credentials: JSON = [
            "type": "external_account", "audience": "//iam.googleapis.com/pool", "quota_project_id": "payer",
            "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": .string(base + "/sts"),
            "credential_source": ["file": .string(directory + "/subject")], "client_id": "me",
            "client_secret": .string(app),
            "service_account_impersonation_url": .string(
                base + "/v1/projects/-/serviceAccounts/robot@project.example:generateAccessToken"),
        ]
        try Data(credentials.text.utf8).write(to: URL(filePath: directory + "/credentials"))
        let fixture = try StorageFixture(credentials: .init(["Bearer \(account)"]))
        func run(_ words: String...) async -> (status: Int32, text: String) {
            let place = ["--engine", "gcs", "--endpoint", fixture.url, "--application-default"]
            let outcome = await Command(
                ServiceProcess.program, words + place + ["--trace", "--log-level", "debug"],
                environment: ["GOOGLE_APPLICATION_CREDENTIALS": directory + "/credentials"], in: directory,
                withErrors: true
            ).run()
            return (outcome.status, outcome.text)
        }
        var told = [
            await run("put", "file", "a"), await run("get", "a", "got"), await run("ls", "--user-project", "other"),
        ]
        #expect(told.allSatisfy { $0.status == 0 })
        #expect(Set(fixture.requests.map { $0.headers["x-goog-user-project"] }) == ["payer", "other"])
        fixture.credentials = .init(["Bearer else"])
        told.append(await run("ls"))
        #expect(told[3].status == 1 && told[3].text.contains("unauthenticated"))
        for secret in [subject, federated, account, app] {
            #expect(told.allSatisfy { !$0.text.contains(secret) }, "\(secret)")
        }
    }

    @Test(arguments: [false, true])
    func `Traces and logs of commands contain no download token`(isRemote: Bool) async throws {
        defer { cleanUp() }
        let fixture = try StorageFixture(credentials: .init(["Firebase \(fresh)"]))
        let place =
            isRemote ? ["--engine", "firebase", "--endpoint", fixture.url] : ["--root", directory + "/root"]
        func run(_ words: String...) async -> String {
            await Command(
                ServiceProcess.program, words + place + ["--trace", "--log-level", "debug"],
                environment: ["STORAGE_RPC_ID_TOKEN": fresh], in: directory, withErrors: true
            ).run().text
        }
        var traces = [await run("put", "file", "a")]
        let lines = await run("call", "reference/downloadURL", #"{"reference":"gs://default-bucket/a"}"#).split(
            separator: "\n"
        ).map(String.init)
        let (logged, told) = (
            lines.filter { $0.hasPrefix("storage-rpc[") }, lines.filter { !$0.hasPrefix("storage-rpc[") }
        )
        let url = try #require(told.last.map { try JSON(parsing: $0) }?["url"]?.string)
        let token = try #require(url.split(separator: "token=").last.map(String.init))
        traces += told.dropLast()
        for words in [["get", url, "got"], ["ls", url], ["rm", "http://127.0.0.1:1/x?token=\(token)", url]] {
            traces.append(words.count == 2 ? await run(words[0], words[1]) : await run(words[0], words[1], words[2]))
        }
        #expect(FileManager.default.fileExists(atPath: directory + "/got"))
        #expect(traces.allSatisfy { $0.contains("<<") || $0.contains(">>") })
        #expect(traces.joined().contains("token=(…)"))
        for secret in [token, fresh] { #expect((traces + logged).allSatisfy { !$0.contains(secret) }) }
    }
}

/// Sends requests to a service one after the other, and keeps the received messages.
private final class Talk {
    private let service: ServiceProcess
    private var lastID: Int64 = 0
    private var buffer: [UInt8] = []
    private(set) var heard: [String] = []

    init(_ service: ServiceProcess) { self.service = service }

    /// Returns the answer. A request of the service for a token gets `refreshed`.
    func ask(_ method: String, _ params: JSON, refreshed: String = "") async -> JSON {
        lastID += 1
        say(["jsonrpc": "2.0", "id": JSON(lastID), "method": .string(method), "params": params])
        while let message = await hear() {
            if message["method"]?.string == "auth/refreshToken" {
                say(["jsonrpc": "2.0", "id": message["id"] ?? .null, "result": ["token": .string(refreshed)]])
            } else if message["id"] == JSON(lastID) {
                return message
            }
        }
        return .null
    }

    private func say(_ message: JSON) {
        let line = Array((message.text + "\n").utf8)
        #expect(write(service.input, line, line.count) == line.count)
    }

    private func hear() async -> JSON? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                let line = Array(buffer[..<end])
                buffer.removeSubrange(...end)
                heard.append(String(decoding: line, as: UTF8.self))
                return line.withUnsafeBytes { bytes in try? JSON(parsing: bytes) }
            }
            let output = service.output
            let chunk = await withCheckedContinuation { waiter in
                startTestThread("talk") {
                    var chunk = [UInt8](repeating: 0, count: 4096)
                    waiter.resume(returning: Array(chunk[..<max(0, read(output, &chunk, chunk.count))]))
                }
            }
            guard !chunk.isEmpty else { return nil }
            buffer += chunk
        }
    }
}
