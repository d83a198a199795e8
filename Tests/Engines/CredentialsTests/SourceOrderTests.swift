import HTTPClient
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct SourceOrderTests {
    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(_ options: CredentialOptions) -> any TokenSource {
        makeTokenSource(options, CredentialContext(day: day))
    }

    @Test func `Each kind is searched for in the documented order of sources`() async throws {
        let server = try TokenServer(
            always: .init(body: #"{"access_token":"machine"}"#, headers: ["Metadata-Flavor: Google"]))
        var options = CredentialOptions([
            "STORAGE_RPC_ACCESS_TOKEN": "variable", "GCE_METADATA_HOST": "127.0.0.1:\(server.port)", "HOME": "/nowhere",
        ])
        options.useApplicationDefault = true
        options.files = [
            .accessToken: try scratch.write("file"), .appCheckToken: try scratch.write("check", to: "check"),
        ]
        options.commands = [.accessToken: "echo command", .idToken: "echo id"]
        #expect(try await source(options).token(.accessToken, insteadOf: nil)?.secret == "file")
        #expect(try await source(options).token(.appCheckToken, insteadOf: nil)?.secret == "check")
        #expect(try await source(options).token(.idToken, insteadOf: nil)?.secret == "id")
        options.files = [:]
        #expect(try await source(options).token(.accessToken, insteadOf: nil)?.secret == "command")
        #expect(try await source(options).token(.appCheckToken, insteadOf: nil) == nil)
        options.commands = [:]
        #expect(try await source(options).token(.accessToken, insteadOf: nil)?.secret == "variable")
        options.environment = { [environment = options.environment] in $0.hasPrefix("STORAGE") ? "" : environment($0) }
        #expect(try await source(options).token(.accessToken, insteadOf: nil)?.secret == "machine")
    }

    @Test func `A failed source is not replaced by another one`() async throws {
        var options = CredentialOptions(["STORAGE_RPC_ID_TOKEN": "other"])
        options.files = [.idToken: scratch.path + "/none"]
        #expect(try await failure(of: source(options), .idToken).message.contains("--id-token-file"))
    }

    @Test func `Without named sources there are no tokens`() async throws {
        for kind in Token.Kind.allCases {
            #expect(try await source(CredentialOptions([:])).token(kind, insteadOf: nil) == nil)
        }
    }

    @Test func `Anonymous access looks for no access key`() async throws {
        let server = try TokenServer(always: .init(body: "{}"))
        var options = CredentialOptions([
            "STORAGE_RPC_ACCESS_KEY": "a:b", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:\(server.port)",
        ])
        (options.useAmazon, options.isAnonymous) = (true, true)
        #expect(try await source(options).token(.accessKey, insteadOf: nil) == nil)
        options.environment = { _ in nil }
        #expect(try await source(options).token(.accessKey, insteadOf: nil) == nil)
        #expect(server.requests.isEmpty)
    }

    @Test func `Descriptions show no secret`() {
        var options = CredentialOptions([:])
        options.commands = [.idToken: "curl -d s3cr3t"]
        let command = ShellCommand(line: Secret("curl -d s3cr3t"))
        let variable = StoredTokenSource(
            kind: .idToken, location: .variable(Secret("s3cr3t")), now: { [day] in day.now })
        var dumped = ""
        dump((options, command, variable, Secret("s3cr3t")), to: &dumped)
        #expect(!dumped.contains("s3cr3t"))
        #expect(!"\(options) \(command) \(variable) \(String(reflecting: options))".contains("s3cr3t"))
    }

    @Test func `Flags and variables have their documented names`() {
        #expect(
            Token.Kind.allCases.map(\.fileFlag) == [
                "--id-token-file", "--access-token-file", "--app-check-token-file", "--access-key-file",
            ])
        #expect(
            Token.Kind.allCases.map(\.commandFlag) == [
                "--id-token-command", "--access-token-command", "--app-check-token-command", "--access-key-command",
            ])
        #expect(
            Token.Kind.allCases.map(\.variable) == [
                "STORAGE_RPC_ID_TOKEN", "STORAGE_RPC_ACCESS_TOKEN", "STORAGE_RPC_APP_CHECK_TOKEN",
                "STORAGE_RPC_ACCESS_KEY",
            ])
    }
}
