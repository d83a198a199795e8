import Foundation
import JSONText
import Secrets
import TestSupport
import Testing

/// Encoded secrets: in params that errors repeat, and in responses of servers.
@Suite(.watchdog) struct EncodedSecretsTests {
    /// A text in several encodings.
    private static func disguises(_ text: String) -> [String] {
        func encode(_ text: String, _ form: (UInt8) -> String) -> String { text.utf8.map(form).joined() }
        func hex(_ byte: UInt8) -> String { (byte < 16 ? "0" : "") + String(byte, radix: 16) }
        let percent = encode(text) { "%" + hex($0) }
        return [
            text, percent, encode(percent) { "%" + hex($0) }, encode(text) { "\\u00" + hex($0) },
            encode(text) { "&#\($0);" }, text.uppercased(),
            encode(text) { $0 % 2 == 0 ? "%" + hex($0) : String(Unicode.Scalar($0)) },
        ]
    }

    /// In hex and in Base64, at each place that Base64 can have in the text around it.
    private static func digits(_ text: String) -> [String] {
        let hex = text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let base64 = ["", "x", "xy"].map { Data("\($0)\(text)".utf8).base64EncodedString() }
        return [hex, hex.uppercased()] + base64
            + base64.map {
                $0.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
                    .replacingOccurrences(of: "=", with: "")
            }
    }

    /// A secret with all its forms.
    private struct Secret {
        let text: String
        let forms: [String]

        init(_ text: String) { (self.text, forms) = (text, disguises(text) + digits(text)) }

        func isTold(by line: String) -> Bool { line.repeats([text]) || forms.contains { line.contains($0) } }
    }

    @Test func `Errors, logs and traces repeat params without the secrets of URLs in them`() async throws {
        try await RestartableService.run(.embedded) { program in
            let trace = program.path("trace")
            try program.start("--trace", trace, "--log-level", "debug")
            let object: JSON = "gs://default-bucket/a"
            try program.call("reference/putData", ["reference": object, "text": "x", "wait": true])
            let url = try #require(try program.call("reference/downloadURL", ["reference": object])["url"]?.string)
            let token = try #require(url.split(separator: "token=").last.map(String.init))
            let secret = Secret(token)
            let names = ["token", "%74oken", "ToKeN", "%2574oken", "\\u0074oken", "X-Goog-Signature", "upload_id"]
            let texts =
                Self.disguises(url) + names.flatMap { ["http://h/o/a?alt=media&\($0)=\(token)", "\($0)=\(token)"] }
            for text in texts {
                for (method, params) in Self.calls(with: text, about: object) {
                    let answer = try program.answer(method, params)
                    let error = try #require(answer["error"] ?? answer["result"]?["error"], "\(method) \(answer.text)")
                    try #require(!secret.isTold(by: error.text), "\(method) \(error.text)")
                }
            }
            let log = try program.terminated()
            let written = try String(contentsOfFile: trace, encoding: .utf8)
            for line in (written + log).split(separator: "\n") {
                try #require(!secret.isTold(by: String(line)), "\(line)")
            }
        }
    }

    /// Requests that cannot succeed.
    private static func calls(with text: String, about object: JSON) -> [(String, JSON)] {
        let value = JSON.string(text)
        return [
            ("reference/putFile", ["reference": object, "file": value]),
            ("reference/putFile", ["reference": object, "file": .string("/none/" + text), "wait": true]),
            ("reference/writeToFile", ["reference": object, "file": .string("/none/" + text), "wait": true]),
            ("uploadTask/wait", ["task": value]), ("downloadTask/cancel", ["task": value]),
            ("reference/putData", ["reference": object, "data": value]),
            ("reference/putData", ["reference": object, "text": "x", "observe": [value]]),
            ("reference/putData", ["reference": object, "text": "x", "metadata": ["md5Hash": value]]),
            ("reference/getMetadata", ["reference": ["bucket": "b", "fullPath": value]]),
            ("reference/getMetadata", ["reference": ["bucket": value, "fullPath": "a"]]),
            ("reference/getMetadata", ["reference": .string("gs://b/" + text)]),
            ("reference/list", ["reference": object, "pageToken": value]),
            ("storage/reference", ["url": .string("ftp://h/" + text)]), (text, [:]),
            ("service/status", .object([.init(key: text, value: 1)])),
            ("auth/setToken", ["token": .string(text + " "), "kind": value]),
        ]
    }

    @Test(arguments: [RestartableService.Engine.firebase, .gcs])
    func `Server responses are quoted without tokens and upload sessions`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            let trace = program.path("trace")
            try program.start("--trace", trace, "--log-level", "debug")
            let token = "fresh-Zt4mW9+/x"
            try program.call(
                "auth/setToken",
                ["token": .string(token), "kind": engine == .gcs ? "accessToken" : "idToken"])
            let (fixture, object) = (try #require(program.fixture), "gs://default-bucket/a" as JSON)
            let file = try program.write(noise(1_000_000), to: "file")
            var (secrets, errors) = ([token], [JSON]())
            let count = (Self.disguises(token) + Self.digits(token)).count
            for index in 0..<count {
                let session = "AHxI1n\(String(index + 1, radix: 16))_-14"
                secrets.append(session)
                func body(_ secret: String) -> String {
                    let disguise = (Self.disguises(secret) + Self.digits(secret))[index]
                    return #"{"error":{"code":400,"message":"No \#(disguise), sorry"},"said":"\#(disguise)"}"#
                }
                fixture.faults =
                    [.init(.first(.chunk), .answer(400, body: body(session)))]
                    + [1, 2].map { .init(.nth($0, .query), .answer(400, body: body(session))) }
                errors.append(
                    try program.answer("reference/putFile", ["reference": object, "file": .string(file), "wait": true]))
                for (kind, status) in [(StorageFixture.Kind.getMetadata, 403), (.getMetadata, 200), (.list, 200)] {
                    fixture.faults = [
                        .init(.first(kind), .answer(status, body: status == 200 ? "?" + body(token) : body(token)))
                    ]
                    let method = kind == .list ? "reference/list" : "reference/getMetadata"
                    errors.append(try program.answer(method, ["reference": object]))
                }
            }
            #expect(fixture.log.sessions.map(\.id) == Array(secrets.dropFirst()))
            for error in errors {
                let quoted = (error["error"] ?? error["result"]?["error"])?["data"]?["serverResponse"]?.string
                #expect(try #require(quoted, "\(error.text)").contains(String.hidden), "\(error.text)")
            }
            let log = try program.terminated()
            let written = try String(contentsOfFile: trace, encoding: .utf8)
            for secret in secrets.map(Secret.init) {
                for line in errors.map(\.text) + (written + log).split(separator: "\n").map(String.init) {
                    try #require(!secret.isTold(by: line), "\(line)")
                }
            }
        }
    }
}
