import Checksums
import Foundation
import HTTPClient
import HTTPText
import Storage

/// Signature Version 4, computed from a request as it came.
struct S3Signature {
    private let call: Call
    private let settings: StorageFixture.S3Settings

    private init(_ call: Call, _ settings: StorageFixture.S3Settings) { (self.call, self.settings) = (call, settings) }

    /// Throws what the server answers to a request whose signature is not right.
    static func check(_ call: Call, _ settings: StorageFixture.S3Settings) throws(Answer) {
        let signature = S3Signature(call, settings)
        if call.query["X-Amz-Algorithm"] != nil {
            try signature.checkLink()
        } else if call.headers["Authorization"] != nil {
            try signature.checkHeader()
        } else if !settings.isPublic {
            throw .s3(403, "AccessDenied")
        }
    }

    static func now(_ settings: StorageFixture.S3Settings) -> Int64 { Int64(time(nil)) + settings.skew }

    private var now: Int64 { Self.now(settings) }

    private func checkHeader() throws(Answer) {
        let fields = try fields(call.headers["Authorization"] ?? "")
        guard let date = call.headers["x-amz-date"], let content = call.headers["x-amz-content-sha256"] else {
            throw .s3(400, "InvalidRequest", "x-amz-date and x-amz-content-sha256 are required.")
        }
        let isHash = content.utf8.count == 64 && content.utf8.allSatisfy { hexDigit($0) != nil }
        guard content == "UNSIGNED-PAYLOAD" || isHash else { throw .s3(400, "InvalidArgument", "x-amz-content-sha256") }
        let signed = fields["SignedHeaders"] ?? ""
        let names = signed.split(separator: ";").map(String.init)
        let required = call.headers.fields.map { $0.name.lowercased() }.filter { name in
            name.hasPrefix("x-amz-") || name == "content-md5" || name == "host"
        }
        guard Set(required).isSubset(of: names), names == names.sorted() else {
            throw .s3(403, "AccessDenied", "There were headers present in the request which were not signed")
        }
        try checkScope(fields["Credential"] ?? "", date, session: call.headers["x-amz-security-token"])
        guard let at = Self.seconds(date), abs(at - now) <= 900 else { throw .s3(403, "RequestTimeTooSkewed") }
        try compare(
            fields["Signature"] ?? "", date, credential: fields["Credential"] ?? "", query: canonicalQuery(), signed,
            content)
    }

    private func fields(_ value: String) throws(Answer) -> [String: String] {
        let scheme = "AWS4-HMAC-SHA256 "
        guard value.hasPrefix(scheme) else { throw .s3(400, "InvalidArgument", "Unsupported Authorization Type") }
        var fields: [String: String] = [:]
        for part in value.dropFirst(scheme.count).split(separator: ",") {
            let sides = part.drop { $0 == " " }.split(separator: "=", maxSplits: 1).map(String.init)
            guard sides.count == 2, fields.updateValue(sides[1], forKey: sides[0]) == nil else {
                throw .s3(400, "AuthorizationHeaderMalformed")
            }
        }
        guard Set(fields.keys) == ["Credential", "SignedHeaders", "Signature"] else {
            throw .s3(400, "AuthorizationHeaderMalformed")
        }
        return fields
    }

    private func checkLink() throws(Answer) {
        let query = call.query
        guard call.headers["Authorization"] == nil, query["X-Amz-Algorithm"] == "AWS4-HMAC-SHA256",
            let credential = query["X-Amz-Credential"], let date = query["X-Amz-Date"], let start = Self.seconds(date),
            let lifetime = query["X-Amz-Expires"].flatMap({ Int64($0) }), let signed = query["X-Amz-SignedHeaders"],
            let signature = query["X-Amz-Signature"]
        else { throw .s3(403, "AccessDenied") }
        guard (1...604_800).contains(lifetime) else {
            throw settings.server == .swift
                ? .s3(400, "AuthorizationQueryParametersError") : .s3(403, "AccessDenied")
        }
        try checkScope(credential, date, session: query["X-Amz-Security-Token"])
        guard start - 900 <= now, now < start + lifetime else { throw .s3(403, "AccessDenied", "Request has expired") }
        try compare(
            signature, date, credential: credential, query: canonicalQuery(without: "X-Amz-Signature"), signed,
            "UNSIGNED-PAYLOAD")
    }

    private func checkScope(_ credential: String, _ date: String, session: String?) throws(Answer) {
        let words = credential.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard words.count == 5, words[1] == date.prefix(8), words[3] == "s3", words[4] == "aws4_request" else {
            throw .s3(400, "AuthorizationHeaderMalformed")
        }
        guard !settings.expiredKeys.contains(words[0]) else { throw .s3(400, "ExpiredToken") }
        guard words[0] == settings.accessKey.id else {
            throw .s3(403, settings.server == .swift ? "SignatureDoesNotMatch" : "InvalidAccessKeyId")
        }
        guard session == settings.accessKey.sessionToken else { throw .s3(400, "InvalidToken") }
        if let region = settings.region, words[2] != region {
            throw Answer.s3(400, "AuthorizationHeaderMalformed", also: [S3Element("Region", region)])
                .with("x-amz-bucket-region", settings.server == .swift ? nil : region)
        }
    }

    private func compare(
        _ signature: String, _ date: String, credential: String, query: String, _ signed: String, _ content: String
    ) throws(Answer) {
        var headers = ""
        for name in signed.split(separator: ";").map(String.init) {
            let values = call.headers.all(name)
            guard !values.isEmpty else { throw .s3(403, "SignatureDoesNotMatch") }
            headers += "\(name):\(values.map(Self.trimmed).joined(separator: ","))\n"
        }
        let request = [call.method, call.canonicalPath, query, headers, signed, content].joined(separator: "\n")
        let scope = credential.split(separator: "/").dropFirst().map(String.init)
        let text = [
            "AWS4-HMAC-SHA256", date, scope.joined(separator: "/"), SHA256.hash(Array(request.utf8)).hexadecimal,
        ]
        .joined(separator: "\n")
        var key = Array("AWS4\(settings.accessKey.secret)".utf8)
        for word in scope { key = SHA256.authentication(of: Array(word.utf8), with: key) }
        let expected = SHA256.authentication(of: Array(text.utf8), with: key).hexadecimal
        guard signature == expected else { throw .s3(403, "SignatureDoesNotMatch") }
    }

    /// Sorted by the encoded names, then by the encoded values.
    private func canonicalQuery(without name: String? = nil) -> String {
        call.pairs.filter { $0.name != name }.map { ($0.name.percentEncoded, $0.value.percentEncoded) }
            .sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    private static func trimmed(_ value: String) -> String {
        value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ")
    }

    /// The seconds since 1970 of `YYYYMMDDTHHMMSSZ`.
    private static func seconds(_ text: String) -> Int64? {
        let digits = Array(text.utf8).filter { (0x30...0x39).contains($0) }
        guard text.utf8.count == 16, digits.count == 14, text.hasSuffix("Z"), text.dropFirst(8).hasPrefix("T") else {
            return nil
        }
        func number(_ range: Range<Int>) -> Int32 { digits[range].reduce(0) { $0 * 10 + Int32($1 - 0x30) } }
        var parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (number(0..<4) - 1900, number(4..<6) - 1, number(6..<8))
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (number(8..<10), number(10..<12), number(12..<14))
        return Int64(timegm(&parts))
    }
}

/// SHA-256 and its HMAC (RFC 2104).
enum SHA256 {
    static func hash(_ bytes: [UInt8]) -> [UInt8] {
        guard case .success(let library) = CryptoLibrary.ofSystem, let hash = library.sha256(bytes) else {
            fatalError("The fixture needs libcrypto.")
        }
        return hash
    }

    static func authentication(of text: [UInt8], with key: [UInt8]) -> [UInt8] {
        let short = key.count > 64 ? hash(key) : key
        let block = short + [UInt8](repeating: 0, count: 64 - short.count)
        return hash(block.map { $0 ^ 0x5C } + hash(block.map { $0 ^ 0x36 } + text))
    }
}
