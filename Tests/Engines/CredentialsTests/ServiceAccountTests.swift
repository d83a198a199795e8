import Checksums
import HTTPClient
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10), .enabled(if: TestKey.isPossible, "openssl makes and checks the keys"))
struct ServiceAccountTests {
    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(_ path: String) -> CachedTokenSource {
        CachedTokenSource(serviceAccount: path, CredentialContext(day: day))
    }

    private func issuing() throws -> TokenServer {
        try TokenServer { _, number in
            .init(body: #"{"access_token":"t\#(number)","expires_in":3599,"token_type":"Bearer"}"#)
        }
    }

    @Test func `The key signs an assertion as RFC 7523 specifies`() async throws {
        let server = try issuing()
        let token = try await source(scratch.write(keyFile(tokenURI: server.url))).token(.accessToken, insteadOf: nil)
        #expect(token == Token(.accessToken, "t0", expires: day.now.later(bySeconds: 3599)))
        let request = try #require(server.requests.first)
        #expect(request.line == "POST /token HTTP/1.1")
        #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
        #expect(request.form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer" && request.form.count == 2)
        let assertion = try #require(request.form["assertion"])
        let parts = assertion.split(separator: ".").compactMap { Base64URL.decode($0.utf8) }
        try #require(parts.count == 3)
        #expect(JSON(wire: parts[0]) == ["alg": "RS256", "typ": "JWT", "kid": "k1"])
        let claims = try #require(JSON(wire: parts[1]))
        #expect(claims["iss"] == "robot@project.example" && claims["aud"] == .string(server.url))
        #expect(claims["iat"] == 1_700_000_000 && claims["exp"] == 1_700_003_600)
        #expect(claims["scope"]?.string?.contains("https://www.googleapis.com/auth/devstorage.full_control") == true)
        let signed = assertion.utf8.prefix { _ in true }.lastIndex(of: UInt8(ascii: "."))
        let text = Array(assertion.utf8[..<(try #require(signed))])
        #expect(try #require(TestKey.shared).hasSigned(text, parts[2]))
        #expect(try !#require(TestKey.shared).hasSigned(text + [0x20], parts[2]))
    }

    @Test func `A token is kept until it is refused or about to expire`() async throws {
        let server = try issuing()
        let source = try source(scratch.write(keyFile(tokenURI: server.url)))
        let first = try await source.token(.accessToken, insteadOf: nil)
        #expect(try await source.token(.accessToken, insteadOf: nil) == first)
        let second = try await source.token(.accessToken, insteadOf: first)
        #expect(second?.secret == "t1")
        #expect(try await source.token(.accessToken, insteadOf: first) == second)
        day.pass(seconds: 3540)
        #expect(try await source.token(.accessToken, insteadOf: nil)?.secret == "t2")
        #expect(server.requests.count == 3)
        #expect(try await source.token(.idToken, insteadOf: nil) == nil)
    }

    @Test func `Concurrent callers share one request`() async throws {
        let (asked, go) = (Signal(), Signal())
        let server = try TokenServer { _, _ in
            asked.fire()
            go.block()
            return .init(body: #"{"access_token":"t"}"#)
        }
        let source = try source(scratch.write(keyFile(tokenURI: server.url)))
        let refused = Token(.accessToken, "old")
        let all = (0..<50).map { number in
            Task { try await source.token(.accessToken, insteadOf: number.isMultiple(of: 2) ? refused : nil) }
        }
        try await asked.happened()
        all[0].cancel()
        await #expect(throws: StorageError.self) { try await all[0].value }
        go.fire()
        for asking in all.dropFirst() {
            #expect(try await asking.value == Token(.accessToken, "t", expires: day.now.later(bySeconds: 3600)))
        }
        #expect(server.requests.count == 1)
    }

    @Test func `The key file is read again for each token`() async throws {
        let server = try issuing()
        let path = try scratch.write(keyFile(tokenURI: server.url))
        let source = source(path)
        let first = try await source.token(.accessToken, insteadOf: nil)
        try scratch.write(keyFile(tokenURI: server.url, ["private_key_id": "k2"]))
        _ = try await source.token(.accessToken, insteadOf: first)
        let header = server.requests.last?.form["assertion"].flatMap { Base64URL.decode($0.utf8.prefix { $0 != 0x2E }) }
        #expect(header.flatMap { JSON(wire: $0) }?["kid"] == "k2")
    }

    @Test func `The account signs bytes`() async throws {
        let account = try await ServiceAccount.read(scratch.write(keyFile(tokenURI: "https://unused.example")))
        #expect(account.account == "robot@project.example")
        for bytes in [[], Array("GOOG4-RSA-SHA256\n".utf8), [UInt8](repeating: 7, count: 100_000)] {
            #expect(try #require(TestKey.shared).hasSigned(bytes, try await account.sign(bytes)))
        }
        #expect(!String(reflecting: account).contains("PRIVATE KEY"))
    }

    @Test(
        arguments: [
            (["type": "authorized_user"], "is of the type authorized_user, which is not supported here"),
            (["type": nil], "does not say its type"), (["client_email": nil], "has no client_email"),
            (["private_key": nil], "has no private_key"), (["private_key": 5], "has no private_key"),
            (["private_key": "s3cr3t"], "not an RSA key in PEM"),
            (
                ["private_key": "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"],
                "not an RSA key in PEM"
            ),
            (["token_uri": "http://token.example/"], "not https"),
            (["token_uri": "http://127.0.0.1:1@evil.example/"], "not https"),
            (["token_uri": "ftp://s3cr3t.example/"], "not https"),
        ] as [([String: JSON], String)])
    func `An unusable key file is an error with its path and its flaw`(change: [String: JSON], reason: String)
        async throws
    {
        let path = try scratch.write(keyFile(tokenURI: "https://unused.example", change))
        let error = try await failure(of: source(path))
        #expect(error.message.hasPrefix("The file of --service-account, \(path), ") && error.message.contains(reason))
        #expect(!error.message.contains("s3cr3t") && !error.message.contains("c2VjcmV0"))
    }

    @Test(arguments: [
        ("", "is not a JSON object"), ("[]", "is not a JSON object"), ("{\"type\":", "is not a JSON object"),
    ])
    func `A key file without a JSON object is an error with its path`(text: String, reason: String) async throws {
        let error = try await failure(of: source(scratch.write(text)))
        #expect(error.message.contains(reason) && error.file != nil)
        #expect(try await failure(of: source(scratch.path + "/none")).message.contains("does not exist"))
    }

    @Test func `A key of another kind, or with a password, is refused`() async throws {
        try TestKey.openssl("genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out \(scratch.path)/ec")
        try TestKey.openssl("genpkey -algorithm RSA -aes128 -pass pass:secret -out \(scratch.path)/locked")
        for name in ["ec", "locked"] {
            let pem = String(decoding: try await SmallFile.read("\(scratch.path)/\(name)"), as: UTF8.self)
            #expect(SigningKey(Secret(pem), try CryptoLibrary.ofSystem.get()) == nil)
        }
    }

    @Test(arguments: [
        ("libnowhere.so.9", "libnowhere.so.9 cannot be loaded"),
        ("libm.so.6", "libm.so.6 is too old, it lacks ERR_clear_error"),
    ])
    func `Without libcrypto the error names the package to install`(library: String, reason: String) async throws {
        let file = try CredentialFile(
            path: scratch.write(keyFile(tokenURI: "https://unused.example")), name: "--service-account")
        let json = try await file.read()
        let error = await #expect(throws: StorageError.self) {
            try await ServiceAccount(
                json, of: file,
                library: Result { () throws(CryptoLibrary.Missing) in try CryptoLibrary(named: library) })
        }
        #expect(error?.code == .unauthenticated && error?.message.contains("(\(reason))") == true)
        #expect(error?.message.contains("install the package libssl3 (Debian, Ubuntu)") == true)
    }

    @Test func `A key hashes with SHA-256, and signs for its own account`() async throws {
        let account = try await ServiceAccount.read(scratch.write(keyFile(tokenURI: "http://127.0.0.1:1")))
        #expect(account.account == "robot@project.example")
        let hash = try await account.hash(Array("abc".utf8))
        #expect(hash.count == 32 && hash.prefix(4) == [0xBA, 0x78, 0x16, 0xBF] && hash.last == 0xAD)
        #expect(try await account.hash([]).prefix(4) == [0xE3, 0xB0, 0xC4, 0x42])
        #expect(try await TestKey.shared?.hasSigned([1, 2], account.sign([1, 2])) == true)
    }
}
