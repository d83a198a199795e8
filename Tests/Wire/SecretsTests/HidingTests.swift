import Secrets
import TestSupport
import Testing

@Suite(.watchdog) struct HidingTests {
    @Test(arguments: [
        ("Bearer abc, abc", "Bearer (…), (…)"), ("ab c", "ab c"), ("", ""), ("éabcé", "é(…)é"), ("d", "(…)"),
        ("ABC aBc", "(…) (…)"), (#"\u0061b\u0063"#, "(…)"), ("%61%62%63", "(…)"), ("%2561bc", "(…)"),
        ("&#97;&#x62;c", "(…)"), (#"\\u0061bc"#, "(…)"), (#"%5Cu0061bc"#, "(…)"),
    ])
    func `Known secrets are hidden at every position and in every encoding`(text: String, shown: String) {
        #expect(text.hidingSecrets(["abc", "", "d"]) == shown)
    }

    @Test func `Long parts of a secret and its decoded form are hidden`() {
        let secret = "0123456789abcdef%2B%2Fxyz"
        #expect("so 23456789abcd is".hidingSecrets([secret]) == "so (…) is")
        #expect("so 23456789abc is".hidingSecrets([secret]) == "so 23456789abc is")
        #expect("56789ABCDEF+/xy".hidingSecrets([secret]) == "(…)")
        #expect("x0123456789abcdef%2b%2fxyzx".hidingSecrets([secret]) == "x(…)x")
        #expect("a23456789abcdz".repeats([secret]) && !"a23456789abz".repeats([secret]) && "%61bc".repeats(["abc"]))
    }

    @Test(arguments: [
        (#"{"url":"http://h/o/a?alt=media&token=s-1"}"#, #"{"url":"http://h/o/a?alt=media&token=(…)"}"#),
        ("http://h/o?token=a%20b&alt=media#x", "http://h/o?token=(…)&alt=media#x"),
        ("<a>?a=b&amp;token=c</a>", "<a>?a=b&amp;token=(…)</a>"), (#"?a=b\u0026token=c""#, #"?a=b\u0026token=(…)""#),
        ("?token=a&token=b", "?token=(…)&token=(…)"), ("?token=", "?token=(…)"),
        ("token=a ?tokens=b &xtoken=c", "token=(…) ?tokens=(…) &xtoken=(…)"), ("a pageToken=b", "a pageToken=b"),
        ("?nextPageToken=a&page_token=b", "?nextPageToken=a&page_token=b"),
        ("upload_id=AHx-1 next", "upload_id=(…) next"), ("X-Goog-Signature=0f", "X-Goog-Signature=(…)"),
        ("ToKeN=a", "ToKeN=(…)"), ("%74oken=a", "%74oken=(…)"), ("%54%4F%4b%45%4e%3Da", "%54%4F%4b%45%4e%3D(…)"),
        ("%2574oken%253Da%2526b end", "%2574oken%253D(…) end"),
        (#"\u0074oken\u003da\u0026b"#, #"\u0074oken\u003d(…)\u0026b"#),
        (#"tok\x65n=a"#, #"tok\x65n=(…)"#), ("&#116;oken&#61;a", "&#116;oken&#61;(…)"),
        ("&#x74oken=a", "&#x74oken=(…)"),
        (#"token=ab\u0063def&x"#, "token=(…)&x"), (#"C:\token=abc"#, #"C:\token=(…)"#), (#"token=a\qb"#, "token=(…)"),
        ("http%3A%2F%2Fh%2Fo%3Ftoken%3Da%26alt%3Dmedia is", "http%3A%2F%2Fh%2Fo%3Ftoken%3D(…) is"),
    ])
    func `Values of secret query items are hidden, however their names are encoded`(text: String, shown: String) {
        #expect(text.hidingSecrets() == shown)
    }

    @Test(arguments: [
        (#"{"downloadTokens":"a,b","size":1}"#, #"{"downloadTokens":"(…)","size":1}"#),
        (#"{"downloadTokens" : ["a","b"],"x":"y"}"#, #"{"downloadTokens" : [(…)],"x":"y"}"#),
        (#"{"secret":{"a":"b"},"x":1}"#, #"{"secret":{(…)},"x":1}"#),
        (#"{"nextPageToken":"a"}"#, #"{"nextPageToken":"a"}"#),
        (#"{\"access_token\":\"ab\\\"c\"}"#, #"{\"access_token\":\"(…)\"}"#), ("{'token': 'a'}", "{'token': '(…)'}"),
        (#"{"\u0074oken":"\u0061"}"#, #"{"\u0074oken":"(…)"}"#), (#"{"token":"a"#, #"{"token":"(…)"#),
        ("Authorization: Bearer Kq7-Lx2-Mz4Y, x", "Authorization: Bearer (…) x"),
        ("say Firebase Kq7-Lx2-Mz4Y", "say Firebase (…)"), ("Firebase Storage is down", "Firebase Storage is down"),
        ("X-GUploader-UploadID: Kq7-Lx2-Mz4Y", "X-GUploader-UploadID: (…)"),
        ("/run/access_token: permission denied", "/run/access_token: permission denied"),
        ("gives no token: the server refused", "gives no token: the server refused"),
        ("https://me:pass@h/x and http://h/@", "https://(…)@h/x and http://h/@"), ("gs://a@b/c", "gs://a@b/c"),
        ("https%3A%2F%2Fme%3Apass%40h", "https%3A%2F%2F(…)%40h"),
        ("no eyJhbGciOiJSUzI1NiJ9.e30.c2ln", "no (…)"), ("no ya29.a0AfH6SMBx-1234567890", "no (…)"),
        ("they say yes", "they say yes"), ("", ""), ("a=b", "a=b"), ("é=ü", "é=ü"),
    ])
    func `Secrets in JSON, headers and URLs and tokens with known prefixes are hidden`(
        text: String, shown: String
    ) {
        #expect(text.hidingSecrets() == shown)
    }

    @Test(arguments: [
        (
            "Authorization: AWS4-HMAC-SHA256 Credential=AK/20260101/r/s3/aws4_request, SignedHeaders=host, Signature=0a",
            "Authorization: (…) Credential=(…) SignedHeaders=host, Signature=(…)"
        ),
        (
            "?X-Amz-Credential=AK%2F20260101&X-Amz-Date=1&X-Amz-Security-Token=a&X-Amz-Signature=0a",
            "?X-Amz-Credential=(…)&X-Amz-Date=1&X-Amz-Security-Token=(…)&X-Amz-Signature=(…)"
        ),
        (#"{"AccessKeyId":"AK","SecretAccessKey":"s"}"#, #"{"AccessKeyId":"(…)","SecretAccessKey":"(…)"}"#),
        ("aws_secret_access_key = s3cr3t\nregion = r", "aws_secret_access_key = (…)\nregion = r"),
        (
            "<AWSAccessKeyId>AK</AWSAccessKeyId><Key>k</Key>", "<AWSAccessKeyId>(…)</AWSAccessKeyId><Key>k</Key>"
        ),
        ("<UploadId>2~x/y</UploadId>", "<UploadId>(…)</UploadId>"), ("&lt;UploadId&gt;2~x", "&lt;UploadId&gt;(…)"),
        ("<SessionToken/> <b>token</b> a>b", "<SessionToken/> <b>token</b> a>b"),
        ("<NextContinuationToken>k</NextContinuationToken>", "<NextContinuationToken>k</NextContinuationToken>"),
        ("?continuation-token=k", "?continuation-token=k"),
    ])
    func `Secrets of Amazon's requests, answers and files are hidden`(text: String, shown: String) {
        #expect(text.hidingSecrets() == shown)
    }

    @Test func `A text with too many layers of encoding is hidden as a whole`() {
        #expect(("%" + String(repeating: "25", count: 3) + "41").hidingSecrets() != .hidden)
        #expect(("%" + String(repeating: "25", count: 30) + "41").hidingSecrets() == .hidden)
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `Secrets are hidden in random encodings, and hiding again changes nothing`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        let secret =
            "Kq7-Lx2Mz"
            + (0..<8).map { _ in "abz019-_~".randomElement(using: &random).map { String($0) } ?? "" }.joined()
        let forms = ["token=\(secret)", "?a=b&upload_id=\(secret)&c=d", #"{"downloadTokens":"\#(secret)"}"#, secret]
        let text = forms.randomElement(using: &random) ?? ""
        var encoded = text
        for _ in 0..<Int.random(in: 0...3, using: &random) { encoded = encode(encoded, &random) }
        let shown = encoded.hidingSecrets(text == secret ? [secret] : [])
        #expect(shown.contains(String.hidden) && !shown.repeats([secret]), "\(encoded)")
        #expect(shown.hidingSecrets() == shown)
    }

    /// Encodes some of the characters or all, by one layer.
    private func encode(_ text: String, _ random: inout SeededGenerator) -> String {
        let (kind, share) = (Int.random(in: 0..<4, using: &random), Int.random(in: 1...4, using: &random))
        return text.unicodeScalars.map { scalar in
            let hex = String(scalar.value, radix: 16)
            let padded = String(repeating: "0", count: max(0, 4 - hex.count)) + hex
            let mustBe = kind == 0 ? scalar == "%" : kind == 1 ? scalar == "\\" || scalar == "\"" : scalar == "&"
            guard mustBe || Int.random(in: 0..<share, using: &random) == 0 else { return String(scalar) }
            return ["%" + padded.suffix(2), "\\u" + padded, "&#x\(hex);", "&#\(scalar.value);"][kind]
        }.joined()
    }
}

@Suite(.watchdog) struct SecretNameTests {
    @Test(arguments: [
        "token", "Token", "idToken", "access_token", "downloadTokens", "X-Goog-Signature", "Signature", "sig",
        "upload_id",
        "X-GUploader-UploadID", "client_secret", "%74oken", #"\u0074oken"#, "private-key", "Set-Cookie",
        "X-Firebase-AppCheck",
    ])
    func `Names of secrets are recognised`(name: String) {
        #expect(name.isSecretName)
    }

    @Test(arguments: ["pageToken", "nextPageToken", "page_token", "name", "", "kind", "design", "X-Goog-Date", "alt"])
    func `Other names are not names of secrets`(name: String) {
        #expect(!name.isSecretName)
    }
}
