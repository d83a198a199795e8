import HTTPClient
import JSONText
import TestSupport
import Testing

/// Errors about an object name it, and have the HTTP status if a server has responded.
@Suite(.timeLimit(.minutes(5))) struct ErrorDataTests {
    private typealias Members = [String: JSON]

    private static let bytes = noise(600_000)

    private static func methods(_ lives: Lives) throws -> [(name: String, params: Members)] {
        let source = try lives.write(bytes, to: "source")
        return [
            ("getMetadata", [:]), ("updateMetadata", ["metadata": ["contentType": "text/plain"]]), ("delete", [:]),
            ("list", [:]), ("listAll", [:]), ("getData", ["maxSize": 1_000_000]), ("downloadURL", [:]),
            ("revokeDownloadURL", [:]), ("putData", ["text": "Hello", "wait": true]),
            ("putFile", ["file": .string(source), "wait": true]),
            ("writeToFile", ["file": .string(lives.path("got")), "wait": true]),
        ]
    }

    /// Starts the service without retries.
    private static func start(_ lives: Lives, _ flags: String...) throws {
        if let endpoint = flags.first { try lives.start("--endpoint", endpoint) } else { try lives.start() }
        try lives.call(
            "storage/updateSettings",
            ["maxUploadRetryTime": 0, "maxDownloadRetryTime": 0, "maxOperationRetryTime": 0])
    }

    private static func expectError(
        _ lives: Lives, _ method: String, _ params: Members = [:], code: Int64? = nil, status: Int64?
    ) throws {
        let members = [JSON.Member(key: "reference", value: "gs://default-bucket/a")]
        let answer = try lives.answer(
            "reference/" + method, .object(members + params.map { .init(key: $0.key, value: $0.value) }))
        let (error, comment) = (answer["error"], Comment("\(lives.engine) \(method) \(params.keys) \(answer)"))
        let isAboutArgument = code == -13050
        #expect(error?["data"]?["bucket"]?.string == (isAboutArgument ? nil : "default-bucket"), comment)
        #expect(error?["data"]?["object"]?.string == (isAboutArgument ? nil : "a"), comment)
        #expect(error?["data"]?["httpStatus"]?.number?.int64 == (lives.fixture == nil ? nil : status), comment)
        if let code { #expect(error?["code"]?.number?.int64 == code, comment) }
    }

    @Test(arguments: [Lives.Engine.firebase, .gcs])
    func `The error of every method has the object and the HTTP status of the server`(engine: Lives.Engine) async throws
    {
        try await Lives.run(engine) { lives in
            try Self.start(lives)
            for (status, body) in [(404, ""), (403, ""), (412, ""), (503, ""), (200, "nonsense")] {
                for (method, params) in try Self.methods(lives) {
                    let isAsked = engine == .firebase || method != "revokeDownloadURL"
                    lives.fixture?.faults = (0..<32).map { _ in
                        .init(.request(1) { _ in true }, .answer(status, body: body))
                    }
                    try Self.expectError(lives, method, params, status: isAsked ? Int64(status) : nil)
                }
            }
            try Self.expectTasksToTell(lives)
        }
    }

    @Test(arguments: [Lives.Engine.firebase, .gcs])
    func `The error of every method names the object if the server is unreachable`(engine: Lives.Engine) async throws {
        try await Lives.run(engine) { lives in
            try Self.start(lives, "http://127.0.0.1:1")
            for (method, params) in try Self.methods(lives) {
                try Self.expectError(lives, method, params, status: nil)
            }
            try Self.expectTasksToTell(lives)
        }
    }

    private static func expectTasksToTell(_ lives: Lives) throws {
        let tasks = try lives.tasks("upload") + lives.tasks("download")
        #expect(!tasks.isEmpty)
        for task in tasks {
            #expect(task["error"]?["data"]?["bucket"]?.string == "default-bucket", "\(task)")
            #expect(task["error"]?["data"]?["object"]?.string == "a", "\(task)")
        }
    }

    @Test(arguments: Lives.Engine.allCases)
    func `Errors about missing objects, preconditions and arguments have code and HTTP status`(engine: Lives.Engine)
        async throws
    {
        try await Lives.run(engine) { lives in
            try Self.start(lives)
            let missing: Set = ["getMetadata", "updateMetadata", "delete", "getData", "downloadURL", "writeToFile"]
            for (method, params) in try Self.methods(lives) where missing.contains(method) {
                try Self.expectError(lives, method, params, code: -13010, status: 404)
            }
            let put: Members = ["text": "Hello", "wait": true]
            try Self.expectError(lives, "putData", put.bound(to: 1), code: -13412, status: engine == .gcs ? 412 : 404)
            try lives.call("reference/putData", ["reference": "gs://default-bucket/a", "text": "Hello", "wait": true])
            let change: Members = ["metadata": ["contentType": "text/plain"]]
            for (method, params) in [("updateMetadata", change), ("delete", [:])] {
                try Self.expectError(lives, method, params.bound(to: 1), code: -13412, status: 200)
            }
            try Self.expectError(lives, "getData", ["maxSize": 1], code: -13032, status: 200)
            try Self.expectError(lives, "list", ["pageToken": "nonsense"], code: -13050, status: 400)
        }
    }

    @Test(arguments: [Lives.Engine.firebase, .gcs])
    func `An error about bytes damaged in transit has the HTTP status of the response`(
        engine: Lives.Engine
    ) async throws {
        try await Lives.run(engine) { lives in
            try Self.start(lives)
            let fixture = try #require(lives.fixture)
            try fixture.put(Self.bytes, "default-bucket", "a")
            for (method, params) in try Self.methods(lives) where ["getData", "writeToFile"].contains(method) {
                fixture.faults = [.init(.byte(300_000), .corrupt)]
                try Self.expectError(lives, method, params, code: -13031, status: 200)
            }
            fixture.faults = [.init(.byte(300_000), .corrupt)]
            let file = JSON.string(lives.path("source"))
            try Self.expectError(
                lives, "putFile", ["file": file, "wait": true], code: -13031, status: engine == .gcs ? 400 : 200)
        }
    }

    @Test(arguments: Lives.Engine.allCases)
    func `An error without a response of a server has no HTTP status`(engine: Lives.Engine) async throws {
        try await Lives.run(engine) { lives in
            try Self.start(lives)
            let nowhere = JSON.string(lives.path("none/file"))
            let wrong: JSON = ["md5Hash": "AAAAAAAAAAAAAAAAAAAAAA=="]
            try Self.expectError(lives, "putFile", ["file": nowhere, "wait": true], code: -13000, status: nil)
            try Self.expectError(
                lives, "putData", ["text": "Hello", "metadata": wrong, "wait": true], code: -13031, status: nil)
            try Self.expectError(
                lives, "putData", ["text": "", "metadata": ["md5Hash": "x"]], code: -13050, status: nil)
            try lives.call("reference/putData", ["reference": "gs://default-bucket/a", "text": "Hello", "wait": true])
            try Self.expectError(lives, "writeToFile", ["file": nowhere, "wait": true], code: -13000, status: nil)
            try Self.expectError(lives, "getData", ["maxSize": -1], code: -13050, status: nil)
        }
    }
}

extension [String: JSON] {
    fileprivate func bound(to generation: JSON) -> Self { merging(["ifGenerationMatch": generation]) { $1 } }
}
