import JSONText
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog) struct TokenTextTests {
    private let now = Timestamp(microseconds: 1_700_000_000_000_000)

    private func printed(_ kind: Token.Kind, _ text: String) throws(TokenText.InvalidToken) -> Token {
        try TokenText.token(kind, printed: Array(text.utf8), at: now)
    }

    @Test func `White space around a token is not part of it`() throws {
        #expect(try TokenText.token(.idToken, in: Array("\r\n\t abc.def \n".utf8)).secret == "abc.def")
    }

    @Test(arguments: [
        ("", "empty"), (" \n\t ", "empty"), ("a b", "space"), ("a\nb", "control character"), ("a\u{0}b", "control"),
        ("a\u{7F}b", "control"), ("käse", "ASCII"), ("a\u{2028}", "ASCII"),
        (String(repeating: "x", count: 65_537), "64 KiB"),
    ])
    func `An invalid token is an error that does not repeat it`(text: String, reason: String) {
        let error = #expect(throws: TokenText.InvalidToken.self) { try TokenText.token(.idToken, in: Array(text.utf8)) }
        #expect(error?.reason.contains(reason) == true && error?.reason.contains("käse") == false)
    }

    @Test func `The expiry of a web token is its claim`() throws {
        let token = try TokenText.token(.idToken, in: Array(webToken(#"{"exp":1700000100}"#).utf8))
        #expect(token.expires == Timestamp(microseconds: 1_700_000_100_000_000))
        #expect(WebToken.expiry(of: webToken(#"{"exp":1700000100.5}"#)) == token.expires)
    }

    @Test(arguments: [
        "a.b", "a.b.c", "a.b.c.d", "..", webToken("{}"), webToken(#"{"exp":"soon"}"#), webToken(#"{"exp":1e300}"#),
        webToken(#"{"exp":9223372036854775807}"#), webToken("[]"), webToken(#"{"exp":1700000000"#),
    ])
    func `A token without an expiry is valid`(text: String) throws {
        let token = try TokenText.token(.idToken, in: Array(text.utf8))
        #expect(token.secret == text && token.expires == nil)
    }

    @Test func `The member of a JSON object depends on the kind`() throws {
        let both = #"{"access_token":"a","id_token":"i","token":"t","expires_in":30}"#
        #expect(try printed(.accessToken, both).secret == "a")
        #expect(try printed(.idToken, both).secret == "i")
        #expect(try printed(.appCheckToken, both).secret == "t")
        #expect(try printed(.idToken, #"{"token":"t"}"#).secret == "t")
    }

    @Test(arguments: [
        (#""expires_in":30"#, 1_700_000_030), (#""expires_in":"30""#, 1_700_000_030),
        (#""expires_in":-5"#, 1_700_000_000),
        (#""expiry":"2023-11-14T22:14:00+00:00""#, 1_700_000_040), (#""expiry":1700000050"#, 1_700_000_050),
        (#""expires_in":9223372036854775807"#, 2_015_360_000),
    ])
    func `A JSON object may have an expiry`(member: String, seconds: Int64) throws {
        let token = try printed(.accessToken, #"{"access_token":"a",\#(member)}"#)
        #expect(token.expires == Timestamp(microseconds: seconds * 1_000_000))
    }

    @Test(arguments: [#""expiry":"tomorrow""#, #""expires_in":"soon""#, #""expiry":null"#])
    func `An invalid expiry is ignored`(member: String) throws {
        let claim = webToken(#"{"exp":1700000100}"#)
        let token = try printed(.accessToken, #"{"access_token":"\#(claim)",\#(member)}"#)
        #expect(token.expires == Timestamp(microseconds: 1_700_000_100_000_000))
    }

    @Test(arguments: [#"{}"#, #"{"id_token":"i"}"#, #"{"access_token":5}"#, #"{"access_token":""}"#])
    func `JSON without the token is refused`(text: String) {
        #expect(throws: TokenText.InvalidToken.self) { try printed(.accessToken, text) }
    }

    @Test func `Base64url decodes to the encoded bytes`() {
        for count in 0..<20 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 67 + 251) }
            let text = Base64URL.encode(bytes)
            #expect(Base64URL.decode(text.utf8) == bytes && text.utf8.count == (count * 8 + 5) / 6)
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8" && Base64URL.decode("a+b".utf8) == nil)
    }
}
