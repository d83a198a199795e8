import JSONText
import Secrets
import Storage
import TestSupport
import Testing
import Tracing

/// Redaction of secrets and long values in traces.
@Suite(.watchdog) struct RedactionTests {
    private static let secret = "Sq7-Kx2"

    @Test(arguments: [
        #"{"method":"auth/setToken","params":{"token":"SECRET"}}"#,
        #"{"method":"auth/setToken","params":{"token":{"a":["SECRET"]}}}"#,
        #"{"method":"auth/setToken","params":["SECRET"]}"#,
        #"{"method":"auth/setToken","params":"SECRET"}"#,
        #"{"method":"auth/setToken","params":{"kind":"SECRET","data":"SECRET"}}"#,
        #"{"method":"auth/settoken","params":{"Tokn":"SECRET"}}"#,
        #"{"method":"setToken","params":{"idToken":"SECRET"}}"#,
        #"[{"method":"auth/setToken","params":{"token":"SECRET"}}]"#,
        #"{"id":1,"result":{"token":"SECRET"}}"#, #"{"id":1,"result":"SECRET"}"#,
        #"{"id":1,"result":{"tok":["SECRET"]}}"#,
        #"{"method":"reference/getMetadata","params":{"reference":"http://h/v0/b/b/o/a?alt=media&token=SECRET"}}"#,
        #"{"method":"reference/putData","params":{"metadata":{"customMetadata":{"firebaseStorageDownloadTokens":"SECRET"}}}}"#,
        #"{"method":"reference/putData","params":{"text":"see http://h/o/a?token=SECRET"}}"#,
        #"{"method":"reference/putFile","params":{"file":"http://h/o/a?alt=media&%74oken=SECRET"}}"#,
        #"{"method":"reference/putFile","params":{"file":"http%3A%2F%2Fh%2Fo%2Fa%3Ftoken%3DSECRET"}}"#,
        #"{"method":"uploadTask/wait","params":{"task":"http://h/o/a?ToKeN=SECRET"}}"#,
        #"{"method":"uploadTask/wait","params":{"task":"upload_id=SECRET"}}"#,
        #"{"method":"http://h/o/a?token=SECRET","id":1}"#, #"{"method":"m","id":"X-Goog-Signature=SECRET"}"#,
        #"{"method":"m","params":{"http://h/o/a?token=SECRET":1}}"#,
        #"{"method":"m","params":{"\u0074oken":"SECRET"}}"#,
        #"{"method":"m","params":{"%74oken":"SECRET","access_token":17}}"#,
        #"{"method":"m","params":{"text":"{\"downloadTokens\":\"SECRET\"}"}}"#,
        #"{"method":"auth/setToken","params":{"SECRET":null}}"#,
        #"{"method":"m","params":{"x":"eyJhbGciOiJSUzI1NiJ9.SECRET"}}"#,
        #"{"method":"m","params":{"x":"https://me:SECRET@h/"}}"#,
    ])
    func `Tokens of clients are hidden`(message: String) throws {
        let shown = try redacted(message, from: true)
        #expect(!shown.contains(Self.secret) && shown.contains(String.hidden))
    }

    @Test(arguments: [
        #"{"id":1,"result":{"url":"http://h/v0/b/b/o/a?alt=media&token=SECRET"}}"#,
        #"{"id":1,"result":{"url":"https://h/b/a?X-Goog-Signature=SECRET&X-Goog-Date=1"}}"#,
        #"{"id":1,"result":{"url":"https://h/b/a?x-goog-signature=SECRET&x-goog-date=1"}}"#,
        #"{"id":1,"result":{"url":"https://h/b/a?GoogleAccessId=me&Signature=SECRET"}}"#,
        #"{"id":1,"error":{"code":-13053,"message":"http://h/x?token=SECRET is no URL of an object"}}"#,
        #"{"id":1,"error":{"code":-13053,"message":"%74oken=SECRET","data":{"serverResponse":"upload_id=SECRET"}}}"#,
    ])
    func `Download URLs are shown without their tokens`(message: String) throws {
        let shown = try redacted(message, from: false)
        #expect(!shown.contains(Self.secret) && shown.contains("=" + .hidden))
    }

    @Test func `Other values are kept`() throws {
        for message in [
            #"{"id":1,"method":"auth/setToken","params":{"token":null,"kind":"idToken","expiresIn":5}}"#,
            #"{"id":1,"result":{"prefixes":[],"items":[],"pageToken":"bm90ZXM="}}"#,
            #"{"id":1,"method":"reference/putData","params":{"reference":"a=b","text":"hello"}}"#,
        ] {
            #expect(try redacted(message, from: message.contains("method")) == message)
        }
    }

    @Test func `Long strings, numbers, arrays and objects are counted`() throws {
        let long = String(repeating: "a", count: 5000)
        let many = (0..<50).map { "\($0)" }.joined(separator: ",")
        let members = (0..<50).map { "\"\($0)\":1" }.joined(separator: ",")
        let shown = try redacted(
            #"{"params":{"text":"\#(long.prefix(65))","file":"\#(long)","many":[\#(many)],"n":1\#(String(repeating: "0", count: 99)),"o":{\#(members)}}}"#,
            from: true)
        for part in [
            "\"text\":\"<65 bytes>\"", "\"file\":\"<5000 bytes>\"", "19,\"<30 more>\"]", "\"<100 bytes>\"", "<10 more>",
        ] {
            #expect(shown.contains(part), "\(part)")
        }
    }

    @Test(arguments: [
        #"{"method":"auth/setToken","params":{"x":"SECRET""#, #""token":"SECRET","#, #"{"\u0074oken":"SECRET","#,
        #""SECRET-and-so-on-as-long-as-tokens-are"}"#, #"{"url":"h?%74oken=SECRET""#, #"{"https://me:SECRET@h/""#,
    ])
    func `A malformed message reveals no secret`(text: String) {
        let bytes = Array(text.replacing("SECRET", with: Self.secret).utf8)
        let shown = bytes.withUnsafeBytes { Redaction.redacted(broken: $0) }
        #expect(!shown.contains(Self.secret))
    }

    @Test func `A malformed message is shown in part`() {
        let bytes = Array(#"{"id":1,"method":"reference/list",}"#.utf8)
        #expect(bytes.withUnsafeBytes { Redaction.redacted(broken: $0) } == #"{"id":1,"method":"reference/list",}"#)
        let noise = [UInt8](repeating: 0xFF, count: 1 << 20)
        #expect(noise.withUnsafeBytes { Redaction.redacted(broken: $0) }.utf8.count < 1000)
    }

    private func redacted(_ text: String, from isClient: Bool) throws -> String {
        try Redaction.redacted(json(text.replacing("SECRET", with: Self.secret)), from: isClient).text
    }
}

func json(_ text: String) throws -> JSON {
    try Array(text.utf8).withUnsafeBytes { try JSON(parsing: $0, maxDepth: 512) }
}
