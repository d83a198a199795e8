import HTTPClient
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct ImpersonationTests {
    private let day = TestDay()
    private let scratch: Scratch
    private let servers: CredentialServers

    init() throws {
        scratch = try Scratch()
        servers = try CredentialServers()
    }

    private var user: [String: JSON] {
        [
            "type": "authorized_user", "client_id": "id", "client_secret": "hush", "refresh_token": "refresh",
            "token_uri": servers.url("token"),
        ]
    }

    private func impersonated(_ source: JSON, _ changes: [String: JSON] = [:]) -> String {
        CredentialServers.file(
            [
                "type": "impersonated_service_account", "service_account_impersonation_url": servers.impersonation,
                "source_credentials": source,
            ], changes)
    }

    private func json(_ text: String) throws -> JSON { try #require(JSON(wire: Array(text.utf8))) }

    private func credentials(_ text: String) throws -> ApplicationDefault {
        let path = try scratch.write(text)
        return ApplicationDefault(
            environment: { $0 == "GOOGLE_APPLICATION_CREDENTIALS" ? path : nil },
            context: CredentialContext(day: day))
    }

    private func token(_ text: String) async throws -> Token? {
        try await CachedTokenSource(credentials(text)).token(.accessToken, insteadOf: nil)
    }

    private func signer(_ text: String) async throws -> (any URLSigner)? {
        try await CachedSigner(credentials(text)).signer()
    }

    @Test func `A caller that may impersonate a service account gets its tokens`() async throws {
        let delegates: JSON = ["projects/-/serviceAccounts/one@p.example", "projects/-/serviceAccounts/two@p.example"]
        let text = impersonated(try json(CredentialServers.file(user, [:])), ["delegates": delegates])
        #expect(
            try await token(text)
                == Token(.accessToken, "robot-s3cr3t", expires: Timestamp(rfc3339: "2023-11-14T23:13:20Z")))
        try #require(servers.requests.count == 2)
        #expect(servers.requests[0].form["refresh_token"] == "refresh")
        let request = servers.requests[1]
        #expect(request.headers["Authorization"] == "Bearer source-s3cr3t")
        let body = try json(request.body)
        #expect(body["delegates"] == delegates && body["lifetime"] == "3600s" && body["scope"]?.array?.count == 2)
    }

    @Test func `One project is billed for the impersonation, another for later requests`() async throws {
        let source = try json(CredentialServers.file(user, ["quota_project_id": "source-payer"]))
        #expect(try await token(impersonated(source))?.userProject == nil)
        #expect(servers.requests.last?.headers["x-goog-user-project"] == "source-payer")
        #expect(try await token(impersonated(source, ["quota_project_id": "payer"]))?.userProject == "payer")
    }

    @Test(.enabled(if: TestKey.isPossible, "openssl makes the key"))
    func `The source of an impersonation may be any credential`() async throws {
        let key = try json(keyFile(tokenURI: "http://127.0.0.1:\(servers.server.port)/token"))
        let sources = [
            (key, "source-s3cr3t"), (try json(CredentialServers.file(user, [:])), "source-s3cr3t"),
            (try json(servers.external()), "federated-s3cr3t"),
            (try json(impersonated(json(CredentialServers.file(user, [:])))), "robot-s3cr3t"),
        ]
        for (source, secret) in sources {
            #expect(try await token(impersonated(source))?.secret == "robot-s3cr3t")
            #expect(servers.requests.last?.headers["Authorization"] == "Bearer \(secret)")
        }
    }

    @Test(
        arguments: [
            (["source_credentials": nil], "has no source_credentials"),
            (["source_credentials": ["type": "other"]], "is of the type other"),
            (["source_credentials": ["type": "authorized_user"]], "has no client_id"),
            (["service_account_impersonation_url": nil], "has no service_account_impersonation_url"),
        ] as [([String: JSON], String)])
    func `An unusable file is an error with its path and its flaw`(change: [String: JSON], reason: String) async throws
    {
        let text = impersonated(try json(CredentialServers.file(user, [:])), change)
        let error = try await failure(of: CachedTokenSource(credentials(text)))
        #expect(error.message.contains(scratch.path) && error.message.contains(reason), "\(error.message)")
    }

    // MARK: - Signatures

    private func signature(_ options: CredentialOptions) async throws -> [UInt8]? {
        let source = makeSignerSource(options, CredentialContext(day: day))
        return try await source()?.sign([])
    }

    @Test func `A caller that may impersonate an account signs without its key`() async throws {
        let text = impersonated(try json(CredentialServers.file(user, [:])), ["delegates": ["one"]])
        let signer = try #require(try await signer(text))
        #expect(signer.account == "robot@project.example")
        #expect(try await signer.sign(Array("text".utf8)) == [1, 2, 3])
        #expect(try await signer.sign([]) == [1, 2, 3])
        let signing = servers.requests.filter { $0.line.contains(":signBlob") }
        try #require(signing.count == 2 && servers.requests.count == 3)
        #expect(signing[0].line == "POST /v1/projects/-/serviceAccounts/robot@project.example:signBlob HTTP/1.1")
        #expect(signing[0].headers["Authorization"] == "Bearer source-s3cr3t")
        #expect(try json(signing[0].body) == ["delegates": ["one"], "payload": "dGV4dA=="])
        #expect(try await signer.hash(Array("abc".utf8)).prefix(4) == [0xBA, 0x78, 0x16, 0xBF])
    }

    @Test func `The account of a federated identity signs`() async throws {
        let text = servers.external(["service_account_impersonation_url": servers.impersonation])
        let signer = try #require(try await signer(text))
        #expect(signer.account == "robot@project.example")
        #expect(try await signer.sign([1]) == [1, 2, 3])
        #expect(servers.requests.last?.headers["Authorization"] == "Bearer robot-s3cr3t")
        #expect(try await self.signer(servers.external()) == nil)
        #expect(try await self.signer(CredentialServers.file(user, [:])) == nil)
    }

    @Test func `The account of the machine signs`() async throws {
        let flavor = ["Metadata-Flavor: Google"]
        let path = "/computeMetadata/v1/instance/service-accounts/default/"
        let machine = try CredentialServers([
            path + "email": .init(body: "robot@project.example\n", headers: flavor),
            path + "token": .init(body: #"{"access_token":"machine"}"#, headers: flavor),
        ])
        let server = MetadataServer(
            host: "127.0.0.1:\(machine.server.port)", iam: "http://127.0.0.1:\(machine.server.port)")
        let signer = try #require(try await server.signer(CredentialContext(day: day)))
        #expect(signer.account == "robot@project.example")
        #expect(try await signer.sign([1]) == [1, 2, 3])
        #expect(
            machine.requests.last?.line
                == "POST /v1/projects/-/serviceAccounts/robot@project.example:signBlob HTTP/1.1")
        #expect(machine.requests.last?.headers["Authorization"] == "Bearer machine")
        #expect(IAMCredentials.server == "https://iamcredentials.googleapis.com")
    }

    @Test func `A refused token is replaced once`() async throws {
        let refusing = try TokenServer { request, number in
            if request.line.contains(":signBlob") {
                let isFresh = request.headers["Authorization"] == "Bearer t2"
                return isFresh ? .init(body: #"{"signedBlob":"AQID"}"#) : .init(status: "401 Unauthorized")
            }
            return .init(body: #"{"access_token":"t\#(number)"}"#)
        }
        let base = "http://127.0.0.1:\(refusing.port)/"
        let source = try json(CredentialServers.file(user, ["token_uri": .string(base + "token")]))
        let text = impersonated(
            source,
            [
                "service_account_impersonation_url": .string(
                    base + "v1/projects/-/serviceAccounts/r@p:generateAccessToken")
            ])
        let signer = try #require(try await signer(text))
        #expect(try await signer.sign([]) == [1, 2, 3])
        #expect(refusing.requests.count == 4)
    }

    @Test(arguments: [
        TokenServer.Answer(status: "403 Forbidden", body: #"{"error":{"message":"robot-s3cr3t may not sign"}}"#),
        .init(body: "{}"), .init(body: #"{"signedBlob":"%"}"#), .init(body: #"{"signedBlob":""}"#),
    ])
    func `An invalid signature is an error without secrets`(answer: TokenServer.Answer) async throws {
        let path = "/v1/projects/-/serviceAccounts/robot@project.example:signBlob"
        let servers = try CredentialServers([path: answer])
        let text = servers.external(["service_account_impersonation_url": servers.impersonation])
        let signer = try #require(try await signer(text))
        let error = await #expect(throws: StorageError.self) { _ = try await signer.sign([]) }
        #expect(error?.code == .unauthenticated && error?.message.contains("s3cr3t") == false)
    }

    @Test func `The signer is cached until its file changes`() async throws {
        let path = try scratch.write(impersonated(try json(CredentialServers.file(user, [:]))))
        let kept = CachedSigner(
            ApplicationDefault(
                environment: { $0 == "GOOGLE_APPLICATION_CREDENTIALS" ? path : nil },
                context: CredentialContext(day: day)))
        for _ in 0..<3 { _ = try await kept.signer()?.sign([]) }
        #expect(servers.requests.count { $0.line.hasPrefix("POST /token") } == 1)
        try scratch.write(impersonated(try json(CredentialServers.file(user, ["refresh_token": "new"]))))
        _ = try await kept.signer()?.sign([])
        #expect(
            servers.requests.filter { $0.line.hasPrefix("POST /token") }.map { $0.form["refresh_token"] } == [
                "refresh", "new",
            ])
    }

    @Test(.enabled(if: TestKey.isPossible, "openssl makes the key"))
    func `A named key file signs, before all other credentials`() async throws {
        let key = try scratch.write(keyFile(tokenURI: "http://127.0.0.1:1"), to: "key")
        let other = try scratch.write(impersonated(try json(CredentialServers.file(user, [:]))), to: "other")
        var options = CredentialOptions(["GOOGLE_APPLICATION_CREDENTIALS": key, "HOME": "/nowhere"])
        options.useApplicationDefault = true
        #expect(try await signature(options)?.count == 256)
        options.environment = { $0 == "GOOGLE_APPLICATION_CREDENTIALS" ? other : nil }
        #expect(try await signature(options) == [1, 2, 3])
        options.serviceAccount = key
        #expect(try await signature(options)?.count == 256)
    }

    @Test func `An explicit access token prevents signatures by the default credentials`() async throws {
        var options = CredentialOptions(["HOME": "/nowhere", "GCE_METADATA_HOST": "127.0.0.1:1"])
        #expect(try await signature(options) == nil)
        options.useApplicationDefault = true
        options.files = [.accessToken: "/somewhere"]
        #expect(try await signature(options) == nil)
    }
}
