import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct AmazonCredentialsTests {
    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// The variables, with files in the test's directory and without the metadata service of a machine.
    private func options(_ variables: [String: String] = [:], profile: String? = nil) -> CredentialOptions {
        let own = [
            "AWS_CONFIG_FILE": "\(scratch.path)/config", "AWS_SHARED_CREDENTIALS_FILE": "\(scratch.path)/credentials",
            "AWS_EC2_METADATA_DISABLED": "true",
        ]
        var options = CredentialOptions(own.merging(variables) { $1 })
        (options.useAmazon, options.profile) = (true, profile)
        return options
    }

    private func source(_ variables: [String: String] = [:], profile: String? = nil) -> any TokenSource {
        makeTokenSource(options(variables, profile: profile), CredentialContext(day: day))
    }

    private func secret(_ variables: [String: String] = [:], profile: String? = nil) async throws -> String? {
        try await source(variables, profile: profile).token(.accessKey, insteadOf: nil)?.secret
    }

    private static let pair = ["AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "s3cr3t"]
    private static let document = #"{"Code":"Success","AccessKeyId":"i","SecretAccessKey":"s","Token":"t"}"#

    @Test(arguments: [
        ("id:secret", AccessKey(id: "id", secret: "secret")),
        ("id:se/c+r=:t:o", AccessKey(id: "id", secret: "se/c+r=", sessionToken: "t:o")),
        ("account%3Auser:secret", AccessKey(id: "account:user", secret: "secret")),
        ("id", nil), ("id:", nil), (":secret", nil), ("id:secret:", nil), ("", nil),
    ])
    func `The text of an access key has two or three parts`(text: String, key: AccessKey?) throws {
        #expect(AccessKey(text) == key && key?.text ?? text == text)
        let token = try? Token(.accessKey, checking: text)
        #expect(token?.accessKey == key)
        #expect((try? TokenText.token(.accessKey, in: Array(" \(text)\n".utf8)))?.accessKey == key)
    }

    @Test func `Access keys appear in no description, and their parts are secrets`() throws {
        let key = try #require(AccessKey("AKIAIOSFODNN7EXAMPLE:s3cr3t:t0k3n"))
        var dumped = ""
        dump((key, Token(.accessKey, key.text)), to: &dumped)
        #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains("s3cr3t"))
        #expect(Token(.accessKey, key.text).secrets == ["AKIAIOSFODNN7EXAMPLE", "s3cr3t", "t0k3n"])
        #expect(Token(.accessKey, "admin:s3cr3t").secrets == ["s3cr3t"])
        #expect(Token(.idToken, "a:b").secrets == ["a:b"])
    }

    @Test func `Keys are searched for in the order of Amazon's SDKs, after those that flags name`() async throws {
        let server = try TokenServer(always: .init(body: Self.document))
        try scratch.write("[default]\naws_access_key_id = own\naws_secret_access_key = a\n", to: "credentials")
        try scratch.write("[profile x]\naws_access_key_id = x\naws_secret_access_key = b\n", to: "config")
        var variables = Self.pair
        variables["STORAGE_RPC_ACCESS_KEY"] = "own:variable"
        variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = server.url
        var named = options(variables)
        named.files = [.accessKey: try scratch.write("of:file\n")]
        let source = makeTokenSource(named, CredentialContext(day: day))
        #expect(try await source.token(.accessKey, insteadOf: nil)?.secret == "of:file")
        #expect(try await source.token(.accessToken, insteadOf: nil) == nil)
        #expect(try await secret(variables) == "own:variable")
        variables["STORAGE_RPC_ACCESS_KEY"] = nil
        #expect(try await secret(variables) == "id:s3cr3t")
        #expect(try await secret(variables, profile: "x") == "x:b")
        variables["AWS_ACCESS_KEY_ID"] = ""
        variables["AWS_SECRET_ACCESS_KEY"] = nil
        #expect(try await secret(variables) == "own:a")
        variables["AWS_PROFILE"] = "x"
        #expect(try await secret(variables) == "x:b")
        variables["AWS_PROFILE"] = nil
        variables["AWS_SHARED_CREDENTIALS_FILE"] = "/dev/null"
        #expect(try await secret(variables) == "i:s:t" && server.requests.count == 1)
    }

    @Test func `The variables name a key, its session and its end`() async throws {
        var variables = Self.pair
        variables["AWS_SESSION_TOKEN"] = "tok"
        variables["AWS_CREDENTIAL_EXPIRATION"] = day.now.later(bySeconds: 100).rfc3339
        let token = try await source(variables).token(.accessKey, insteadOf: nil)
        #expect(token == Token(.accessKey, "id:s3cr3t:tok", expires: day.now.later(bySeconds: 100)))
        for change in [
            ["AWS_SECRET_ACCESS_KEY": ""], ["AWS_SECRET_ACCESS_KEY": "s3cr3t:x"], ["AWS_SECRET_ACCESS_KEY": "s3cr3t\n"],
            ["AWS_CREDENTIAL_EXPIRATION": "soon"],
        ] {
            let error = try await failure(of: source(variables.merging(change) { $1 }), .accessKey)
            #expect(error.message.contains("AWS_") && !error.message.contains("s3cr3t"), "\(error.message)")
        }
    }

    @Test func `A profile has its values in two files, of which the credentials take precedence`() async throws {
        try scratch.write(
            """
            # The file of a person.
            [default]
            region = eu-south-1   ; the near one
            s3 =
                max_concurrent_requests = 20
            [profile "my team"]
            AWS_Access_Key_Id=of config
              aws_session_token = nested lines are not of the profile
            services = local
            endpoint_url = http://127.0.0.1:9000 # of all services
            [services local]
            dynamodb =
              endpoint_url = http://127.0.0.1:1
            s3 =
              endpoint_url = http://127.0.0.1:2
            """, to: "config")
        try scratch.write(
            "[default]\r\naws_access_key_id=AKID\r\naws_secret_access_key=se/cr+et==\r\naws_session_token=tok\r\n"
                + "[my team]\naws_access_key_id = team\naws_secret_access_key = hush\n", to: "credentials")
        #expect(try await secret() == "AKID:se/cr+et==:tok")
        #expect(try await secret(profile: "my team") == "team:hush")
        let read = options().environment
        #expect(await awsRegion(environment: read) == "eu-south-1")
        #expect(await awsRegion(environment: read, profile: "my team") == nil)
        #expect(await awsEndpoint(environment: read) == nil)
        #expect(await awsEndpoint(environment: read, profile: "my team") == "http://127.0.0.1:2")
    }

    @Test func `Variables name the region and the server before a profile does`() async throws {
        try scratch.write("[default]\nregion = r1\nendpoint_url = http://127.0.0.1:1\n", to: "config")
        var variables = ["AWS_DEFAULT_REGION": "r2", "AWS_REGION": ""]
        #expect(await awsRegion(environment: options(variables).environment) == "r2")
        variables["AWS_REGION"] = "r3"
        #expect(await awsRegion(environment: options(variables).environment) == "r3")
        #expect(await awsEndpoint(environment: options().environment) == "http://127.0.0.1:1")
        variables = ["AWS_ENDPOINT_URL": "http://127.0.0.1:2"]
        #expect(await awsEndpoint(environment: options(variables).environment) == "http://127.0.0.1:2")
        variables["AWS_ENDPOINT_URL_S3"] = "http://127.0.0.1:3"
        #expect(await awsEndpoint(environment: options(variables).environment) == "http://127.0.0.1:3")
        variables["AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"] = "true"
        #expect(await awsEndpoint(environment: options(variables).environment) == nil)
    }

    @Test(arguments: [
        ("role_arn = arn:aws:iam::1:role/r\nsource_profile = x", "has role_arn, which is not supported here"),
        ("sso_session = s", "aws configure export-credentials --profile default"),
        ("web_identity_token_file = /f", "has web_identity_token_file"),
        ("aws_access_key_id = s3cr3t", "has aws_access_key_id without aws_secret_access_key"),
        ("aws_secret_access_key = s3cr3t", "has aws_secret_access_key without aws_access_key_id"),
        ("aws_access_key_id = i\naws_secret_access_key = s3cr3t two", "there is a space in it"),
        ("credential_process = echo s3cr3t", "printed no JSON object"),
        ("credential_process = exit 3", "ended with status 3"),
        (#"credential_process = echo '{"Version":2}'"#, "JSON with a Version other than 1"),
        (#"credential_process = echo '{"Version":1,"AccessKeyId":"i"}'"#, "JSON without SecretAccessKey"),
        (
            #"credential_process = echo '{"AccessKeyId":"i","SecretAccessKey":"s3cr3t","Expiration":"x"}'"#,
            "an Expiration that is no time"
        ),
        ("s3cr3t", "has a line that is neither [SECTION] nor NAME = VALUE: line 2"),
        ("[s3cr3t", "line 2"), ("region = r", "There is no access key. Set AWS_ACCESS_KEY_ID"),
    ])
    func `An unusable profile is an error that says what to do`(text: String, reason: String) async throws {
        try scratch.write("[default]\n\(text)\n", to: "credentials")
        let error = try await failure(of: source(), .accessKey)
        #expect(error.message.contains(reason) && !error.message.contains("s3cr3t"), "\(error.message)")
        #expect(error.message.hasSuffix("."))
    }

    @Test func `A named profile must exist, and files must be readable`() async throws {
        let missing = try await failure(of: source(profile: "none"), .accessKey)
        #expect(missing.message.hasPrefix("There is no profile none in \(scratch.path)/config and "))
        try scratch.write([0xFF], to: "config")
        let binary = try await failure(of: source(), .accessKey)
        #expect(binary.message == "The file \(scratch.path)/config is not UTF-8.")
        try scratch.write([UInt8](repeating: 0x0A, count: 1 << 20 + 1), to: "config")
        #expect(try await failure(of: source(), .accessKey).message.contains("is larger than 1024 KiB"))
    }

    @Test func `The process of a profile runs again when its key expires or is refused`() async throws {
        let (path, end) = (try scratch.write("", to: "runs"), day.now.later(bySeconds: 100).rfc3339)
        let script = try scratch.write(
            #"""
            echo >> \#(path)
            echo "{\"Version\":1,\"AccessKeyId\":\"i$(wc -l < \#(path))\",\"SecretAccessKey\":\"s\",\"Expiration\":\"\#(end)\"}"
            """#)
        try scratch.write("[default]\ncredential_process = sh \(script) # ; of /bin/sh\n", to: "config")
        let source = source()
        let first = try await source.token(.accessKey, insteadOf: nil)
        #expect(first == Token(.accessKey, "i1:s", expires: day.now.later(bySeconds: 100)))
        #expect(try await source.token(.accessKey, insteadOf: nil) == first)
        #expect(try await source.token(.accessKey, insteadOf: first)?.secret == "i2:s")
        day.pass(seconds: 41)
        #expect(try await source.token(.accessKey, insteadOf: nil)?.secret == "i3:s")
    }

    @Test func `A web identity is refused, and the machine is not asked for another key`() async throws {
        let server = try TokenServer(always: .init(body: Self.document))
        let variables = [
            "AWS_WEB_IDENTITY_TOKEN_FILE": "/f", "AWS_EC2_METADATA_DISABLED": "",
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:\(server.port)",
        ]
        let error = try await failure(of: source(variables), .accessKey)
        #expect(error.message.contains("AWS_WEB_IDENTITY_TOKEN_FILE") && server.requests.isEmpty)
        #expect(error.message.contains("--access-key-command 'aws configure export-credentials'"))
    }

    @Test func `A command may print a key as Amazon's command does`() async throws {
        var options = options()
        options.commands = [.accessKey: #"echo '{"Version":1,"AccessKeyId":"i","SecretAccessKey":"s"}'"#]
        let source = makeTokenSource(options, CredentialContext(day: day))
        #expect(try await source.token(.accessKey, insteadOf: nil)?.secret == "i:s")
    }

    @Test func `The environment of a command has a key in one variable or in several`() {
        #expect(Token.Kind.accessKey.secret { Self.pair[$0] } == "id:s3cr3t")
        #expect(Token.Kind.accessKey.secret { ["STORAGE_RPC_ACCESS_KEY": "a:b"][$0] ?? Self.pair[$0] } == "a:b")
        #expect(Token.Kind.accessKey.secret { $0 == "AWS_ACCESS_KEY_ID" ? "id" : nil } == nil)
        #expect(Token.Kind.idToken.secret { Self.pair[$0] } == nil)
        #expect(Token.Kind.idToken.secret { _ in "" } == nil)
    }
}
