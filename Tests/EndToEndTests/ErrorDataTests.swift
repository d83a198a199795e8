import HTTPClient
import JSONText
import TestSupport
import Testing

/// Errors about an object name it, and have the HTTP status if a server has responded.
@Suite(.watchdog) struct ErrorDataTests {
    private typealias Members = [String: JSON]

    private static let bytes = noise(600_000)

    private static func methods(_ program: RestartableService) throws -> [(name: String, params: Members)] {
        let source = try program.write(bytes, to: "source")
        return [
            ("getMetadata", [:]), ("updateMetadata", ["metadata": ["contentType": "text/plain"]]), ("delete", [:]),
            ("list", [:]), ("listAll", [:]), ("getData", ["maxSize": 1_000_000]), ("downloadURL", [:]),
            ("revokeDownloadURL", [:]), ("putData", ["text": "Hello", "wait": true]),
            ("putFile", ["file": .string(source), "wait": true]),
            ("writeToFile", ["file": .string(program.path("got")), "wait": true]),
        ]
    }

    /// Starts the service without retries.
    private static func start(_ program: RestartableService, _ flags: String...) throws {
        if let endpoint = flags.first { try program.start("--endpoint", endpoint) } else { try program.start() }
        try program.call(
            "storage/updateSettings",
            ["maxUploadRetryTime": 0, "maxDownloadRetryTime": 0, "maxOperationRetryTime": 0])
    }

    private static func expectError(
        _ program: RestartableService, _ method: String, _ params: Members = [:], code: Int64? = nil, status: Int64?
    ) throws {
        let members = [JSON.Member(key: "reference", value: "gs://default-bucket/a")]
        let all = JSON.object(members + params.map { .init(key: $0.key, value: $0.value) })
        var answer = try program.answer("reference/" + method, all)
        // Without retries, a server that is late by a second has not answered.
        for _ in 0..<5 where status != nil && program.fixture != nil && answer["error"]?["data"]?["httpStatus"] == nil {
            answer = try program.answer("reference/" + method, all)
        }
        let (error, comment) = (answer["error"], Comment("\(program.engine) \(method) \(params.keys) \(answer)"))
        let isAboutArgument = code == -13050
        #expect(error?["data"]?["bucket"]?.string == (isAboutArgument ? nil : "default-bucket"), comment)
        #expect(error?["data"]?["object"]?.string == (isAboutArgument ? nil : "a"), comment)
        #expect(error?["data"]?["httpStatus"]?.number?.int64 == (program.fixture == nil ? nil : status), comment)
        if let code { #expect(error?["code"]?.number?.int64 == code, comment) }
    }

    @Test(arguments: [RestartableService.Engine.firebase, .gcs])
    func `The error of every method has the object and the HTTP status of the server`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            try Self.start(program)
            for (status, body) in [(404, ""), (403, ""), (412, ""), (503, ""), (200, "nonsense")] {
                for (method, params) in try Self.methods(program) {
                    let isAsked = engine == .firebase || method != "revokeDownloadURL"
                    program.fixture?.faults = (0..<32).map { _ in
                        .init(.request(1) { _ in true }, .answer(status, body: body))
                    }
                    try Self.expectError(program, method, params, status: isAsked ? Int64(status) : nil)
                }
            }
            try Self.expectTasksToTell(program)
        }
    }

    @Test(arguments: [RestartableService.Engine.firebase, .gcs])
    func `The error of every method names the object if the server is unreachable`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            try Self.start(program, "http://127.0.0.1:1")
            for (method, params) in try Self.methods(program) {
                try Self.expectError(program, method, params, status: nil)
            }
            try Self.expectTasksToTell(program)
        }
    }

    private static func expectTasksToTell(_ program: RestartableService) throws {
        let tasks = try program.tasks("upload") + program.tasks("download")
        #expect(!tasks.isEmpty)
        for task in tasks {
            #expect(task["error"]?["data"]?["bucket"]?.string == "default-bucket", "\(task)")
            #expect(task["error"]?["data"]?["object"]?.string == "a", "\(task)")
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `Errors about missing objects, preconditions and arguments have code and HTTP status`(
        engine: RestartableService.Engine
    )
        async throws
    {
        try await RestartableService.run(engine) { program in
            try Self.start(program)
            let missing: Set = ["getMetadata", "updateMetadata", "delete", "getData", "downloadURL", "writeToFile"]
            for (method, params) in try Self.methods(program) where missing.contains(method) {
                try Self.expectError(program, method, params, code: -13010, status: 404)
            }
            let put: Members = ["text": "Hello", "wait": true]
            try Self.expectError(program, "putData", put.bound(to: 1), code: -13412, status: engine == .gcs ? 412 : 404)
            try program.call(
                "reference/putData", ["reference": "gs://default-bucket/a", "text": "Hello", "wait": true])
            let change: Members = ["metadata": ["contentType": "text/plain"]]
            for (method, params) in [("updateMetadata", change), ("delete", [:])] {
                try Self.expectError(program, method, params.bound(to: 1), code: -13412, status: 200)
            }
            try Self.expectError(program, "getData", ["maxSize": 1], code: -13032, status: 200)
            try Self.expectError(program, "list", ["pageToken": "nonsense"], code: -13050, status: 400)
        }
    }

    @Test(arguments: [RestartableService.Engine.firebase, .gcs])
    func `An error about bytes damaged in transit has the HTTP status of the response`(
        engine: RestartableService.Engine
    ) async throws {
        try await RestartableService.run(engine) { program in
            try Self.start(program)
            let fixture = try #require(program.fixture)
            try fixture.put(Self.bytes, "default-bucket", "a")
            for (method, params) in try Self.methods(program) where ["getData", "writeToFile"].contains(method) {
                fixture.faults = [.init(.byte(300_000), .corrupt)]
                try Self.expectError(program, method, params, code: -13031, status: 200)
            }
            fixture.faults = [.init(.byte(300_000), .corrupt)]
            let file = JSON.string(program.path("source"))
            try Self.expectError(
                program, "putFile", ["file": file, "wait": true], code: -13031, status: engine == .gcs ? 400 : 200)
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `An error without a response of a server has no HTTP status`(engine: RestartableService.Engine) async throws {
        try await RestartableService.run(engine) { program in
            try Self.start(program)
            let nowhere = JSON.string(program.path("none/file"))
            let wrong: JSON = ["md5Hash": "AAAAAAAAAAAAAAAAAAAAAA=="]
            try Self.expectError(program, "putFile", ["file": nowhere, "wait": true], code: -13000, status: nil)
            try Self.expectError(
                program, "putData", ["text": "Hello", "metadata": wrong, "wait": true], code: -13031, status: nil)
            try Self.expectError(
                program, "putData", ["text": "", "metadata": ["md5Hash": "x"]], code: -13050, status: nil)
            try program.call(
                "reference/putData", ["reference": "gs://default-bucket/a", "text": "Hello", "wait": true])
            try Self.expectError(program, "writeToFile", ["file": nowhere, "wait": true], code: -13000, status: nil)
            try Self.expectError(program, "getData", ["maxSize": -1], code: -13050, status: nil)
        }
    }
}

extension [String: JSON] {
    fileprivate func bound(to generation: JSON) -> Self { merging(["ifGenerationMatch": generation]) { $1 } }
}
