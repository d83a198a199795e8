import Glibc
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct FileTests {
    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(_ path: String, _ kind: Token.Kind = .idToken) -> StoredTokenSource {
        StoredTokenSource(kind: kind, location: .file(path), now: { [day] in day.now })
    }

    @Test func `A file's token is the current content of the file`() async throws {
        let path = try scratch.write("  first\n")
        let source = source(path)
        let first = try await source.token(.idToken, insteadOf: nil)
        #expect(first == Token(.idToken, "first"))
        try scratch.write("other")
        #expect(try await source.token(.idToken, insteadOf: nil)?.secret == "other")
        #expect(try await source.token(.idToken, insteadOf: first)?.secret == "other")
        #expect(try await source.token(.accessToken, insteadOf: nil) == nil)
    }

    @Test(arguments: [
        ([], "empty"), ([0x20, 0x0A], "empty"), (Array("käse-secret".utf8), "ASCII"),
        (Array("se\u{1}cret".utf8), "control"),
        ([UInt8](repeating: 0x73, count: 65_537), "64 KiB"),
    ])
    func `A file without a valid token is an error with its path, without its content`(content: [UInt8], reason: String)
        async throws
    {
        let path = try scratch.write(content)
        let error = try await failure(of: source(path), .idToken)
        #expect(error.message.contains("--id-token-file") && error.message.contains(path) && error.file == path)
        #expect(error.message.contains(reason) && !error.message.contains("secret") && error.message.utf8.count < 300)
    }

    @Test func `A missing or irregular file is an error with its path`() async throws {
        let missing = try await failure(of: source(scratch.path + "/none", .appCheckToken), .appCheckToken)
        #expect(missing.message == "The file of --app-check-token-file, \(scratch.path)/none, does not exist.")
        let directory = try await failure(of: source(scratch.path), .idToken)
        #expect(directory.message.contains("is not a regular file"))
        let pipe = try await failure(of: source(scratch.makePipe()), .idToken)
        #expect(pipe.message.contains("is not a regular file"))
        let strange = try await failure(of: source("a\u{0}b"), .idToken)
        #expect(strange.message.contains("is not a path"))
    }

    @Test(.enabled(if: geteuid() != 0, "root may read everything"))
    func `An unreadable file is an error with its path`()
        async throws
    {
        let path = try scratch.write("secret")
        chmod(path, 0)
        #expect(try await failure(of: source(path), .idToken).message.contains("Permission denied"))
    }

    @Test func `A refused token is not returned again`() async throws {
        let path = try scratch.write("secret")
        let source = source(path)
        let token = try await source.token(.idToken, insteadOf: nil)
        let error = try await failure(of: source, .idToken, insteadOf: token)
        #expect(error.message == "The file of --id-token-file, \(path), holds a token that the server refused.")
        #expect(try await source.token(.idToken, insteadOf: Token(.idToken, "older")) == token)
    }

    @Test func `An expired token is not returned`() async throws {
        let path = try scratch.write(webToken(#"{"exp":1700000010}"#))
        let source = source(path)
        #expect(
            try await source.token(.idToken, insteadOf: nil)?.expires == Timestamp(microseconds: 1_700_000_010_000_000))
        day.pass(seconds: 10)
        let error = try await failure(of: source, .idToken)
        #expect(error.message.contains("expired at 2023-11-14T22:13:30.000Z") && !error.message.contains("eyJ"))
    }

    @Test func `A variable holds one token`() async throws {
        let source = StoredTokenSource(
            kind: .appCheckToken, location: .variable(Secret(" fixed ")), now: { [day] in day.now })
        let token = try await source.token(.appCheckToken, insteadOf: nil)
        #expect(token == Token(.appCheckToken, "fixed"))
        #expect(try await source.token(.idToken, insteadOf: nil) == nil)
        let error = try await failure(of: source, .appCheckToken, insteadOf: token)
        #expect(error.message.contains("STORAGE_RPC_APP_CHECK_TOKEN") && !error.message.contains("fixed"))
        let expired = StoredTokenSource(
            kind: .idToken, location: .variable(Secret(webToken(#"{"exp":1}"#))), now: { [day] in day.now })
        #expect(try await failure(of: expired, .idToken).message.contains("expired"))
        let broken = StoredTokenSource(
            kind: .idToken, location: .variable(Secret("se cret")), now: { [day] in day.now })
        let reason = try await failure(of: broken, .idToken).message
        #expect(reason.contains("STORAGE_RPC_ID_TOKEN is not a token") && !reason.contains("cret"))
    }
}
