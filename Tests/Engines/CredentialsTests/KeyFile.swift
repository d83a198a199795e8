import Foundation
import JSONText
import TestSupport
import Testing

@testable import Credentials

/// A key that openssl creates once for all tests.
struct TestKey: Sendable {
    static let openssl = "/usr/bin/openssl"
    static let isPossible = access(openssl, X_OK) == 0
    static let shared: TestKey? = try? TestKey()

    let pem: String
    private let publicPEM: String

    private init() throws {
        let scratch = try Scratch()
        try Self.openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out \(scratch.path)/key")
        try Self.openssl("pkey -in \(scratch.path)/key -pubout -out \(scratch.path)/public")
        pem = try String(contentsOfFile: "\(scratch.path)/key", encoding: .utf8)
        publicPEM = try String(contentsOfFile: "\(scratch.path)/public", encoding: .utf8)
    }

    /// Verifies with openssl.
    func hasSigned(_ bytes: [UInt8], _ signature: [UInt8]) throws -> Bool {
        let own = try Scratch()
        let (text, proof) = try (own.write(bytes, to: "text"), own.write(signature, to: "signature"))
        let key = try own.write(publicPEM, to: "public")
        return try Self.run("dgst -sha256 -verify \(key) -signature \(proof) \(text)") == 0
    }

    static func openssl(_ arguments: String) throws { try #require(run(arguments) == 0) }

    private static func run(_ arguments: String) throws -> Int32 {
        Command(openssl, arguments.split(separator: " ").map(String.init)).runHere().status
    }
}

/// The text of a service account's key file with changed members; null removes a member.
func keyFile(tokenURI: String, _ changes: [String: JSON] = [:]) throws -> String {
    let usual: [String: JSON] = [
        "type": "service_account", "client_email": "robot@project.example", "private_key_id": "k1",
        "private_key": .string(try #require(TestKey.shared).pem), "token_uri": .string(tokenURI),
    ]
    let all = usual.merging(changes) { _, new in new }.filter { !$0.value.isNull }
    return JSON.object(all.map { JSON.Member(key: $0.key, value: $0.value) }).text
}
