import CCrypto
import Checksums
import JSONText
import Secrets
import Storage

@testable import EmbeddedEngine
@testable import RemoteEngines
@testable import Credentials

/// Small texts from outside: page tokens, tokens as files and commands print them, credentials, answers of servers.
@Sendable func fuzzSecrets(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let kind = feed.byte()
    let bytes = feed.all()
    switch kind % 4 {
    case 0: checkPageToken(bytes)
    case 1: checkToken(bytes)
    case 2: checkCredentials(bytes)
    default: checkTexts(bytes)
    }
}

private func checkPageToken(_ bytes: [UInt8]) {
    guard let one = attempt({ () throws(StorageError) in try Reference(bucket: "b", path: "a") }) else { return }
    if let text = bytes.text, let token = attempt({ () throws(StorageError) in try PageToken(text, of: one) }) {
        expect(token.text(for: one).utf8.elementsEqual(text.utf8), "a token is written in one way")
    }
    guard !bytes.isEmpty else { return }
    let token = PageToken(after: bytes)
    let text = token.text(for: one)
    let again = attempt { () throws(StorageError) in try PageToken(text, of: one) }
    expect(again?.entry == bytes, "a token reads back")
    expect(attempt { () throws(StorageError) in try PageToken(text, of: one.root) } == nil, "for its listing alone")
    let scan = NameScan(prefix: [], delimiter: [UInt8(ascii: "/")])
    expect(scan.next(after: bytes).map(bytes.lexicographicallyPrecedes) ?? true, "the next page is behind")
}

private func checkToken(_ bytes: [UInt8]) {
    let now = Timestamp(microseconds: 1_700_000_000_000_000)
    for kind in Token.Kind.allCases {
        do throws(TokenText.InvalidToken) {
            let token = try TokenText.token(kind, printed: bytes, at: now)
            let checked = attempt { () throws(StorageError) in try Token(kind, checking: token.secret) }
            expect(checked != nil, "a token can stand in a header")
            expect(!"\(token)".contains(token.secret) || token.secret.utf8.count < 12, "a token shows itself to nobody")
        } catch {
            expect(!error.reason.isEmpty && !error.reason.contains("\n"), "a complaint is a line")
        }
    }
    do throws(StorageError) {
        let token = try AccessTokenResponse.token(in: bytes, since: now, from: "A server")
        expect(token.expires != nil && token.kind == .accessToken, "an access token expires")
    } catch {
        expect(error.code == .unauthenticated && error.message.hasPrefix("A server"), "a complaint says who")
    }
}

private func checkCredentials(_ bytes: [UInt8]) {
    let file = CredentialFile(path: "/credentials.json", name: "--service-account")
    if case .success(let library) = CryptoLibrary.ofSystem, let text = bytes.text {
        _ = SigningKey(Secret(text), library).map { key in expect(key.sign([1]) != nil, "a key signs") }
    }
    guard let json = JSON(wire: bytes) else { return }
    do throws(StorageError) {
        _ = try AuthorizedUser(json, of: file)
        expect(json["client_id"]?.string?.isEmpty == false, "a user has a client")
    } catch {
        expect(error.code == .unauthenticated && error.message.contains(file.path), "a complaint names the file")
    }
    let complaint = file.unsupported(json, expected: "service_account").message
    expect(!complaint.contains("\n") && complaint.utf8.count < 2000, "a complaint is a line")
}

private func checkTexts(_ bytes: [UInt8]) {
    let encoded = Base64URL.encode(bytes)
    expect(Base64URL.decode(encoded.utf8) == bytes, "Base64 reads back")
    _ = Base64URL.decode(bytes)
    guard let text = bytes.text else { return }
    let half = String(text.prefix(text.count / 2))
    expect(half.utf8.count < 12 || !text.hidingSecrets([half]).contains(half), "a secret is not told")
    if let quoted = text.quotable(without: [Secret(half)]) {
        expect(half.utf8.count < 12 || !quoted.contains(half), "no secret is repeated")
    }
    if let quoted = text.quotable() {
        expect(
            !quoted.unicodeScalars.contains { $0.value < 0x20 } && quoted.unicodeScalars.count <= 301, "one short line")
    }
    for name in ["http://\(text)", text] {
        let endpoint = attempt { () throws(Endpoint.InvalidEndpoint) in
            try Endpoint(name, from: "--endpoint", allowInsecure: false)
        }
        if let endpoint { expect(endpoint.covers(endpoint.url + "/x"), "an endpoint covers what is below it") }
    }
}
