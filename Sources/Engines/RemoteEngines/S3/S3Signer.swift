import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage
import Synchronization

/// Signs requests with Signature Version 4 of Amazon Web Services. Learns from responses the server's clock, and for each
/// bucket that it exists, its region, and whether conditions of writes are checked.
final class S3Signer: Sendable {
    /// The headers of a PUT with which a server stores only a new object, or replaces only one with this tag.
    private static let conditions = ["If-None-Match", "If-Match"]

    /// What is known about a bucket from responses.
    private struct Bucket: Equatable {
        var region: String?
        /// When a response has told last that the bucket exists, by the clock of this machine.
        var existed: Timestamp?
        /// Whether the server checks conditions of writes; false if it does not know them.
        var checksConditions: Bool?
        /// Whether a response comes from a Ceph, which has its own name for the condition of a copy.
        var isCephs = false
    }

    private struct State {
        /// By the start of their URLs.
        var buckets: [Substring: Bucket] = [:]
        /// How far the server's clock is ahead of this machine's.
        var clockLead = Duration.zero
        /// The last derived key, which is valid for a day.
        var derived: (scope: String, key: AccessKey, bytes: [UInt8])?
    }

    private static let algorithm = "AWS4-HMAC-SHA256"
    /// The hash of a body that is not read before it is sent.
    private static let unsignedPayload = "UNSIGNED-PAYLOAD"
    /// Bodies in memory up to this size, in bytes, are hashed. `Content-MD5`, which is signed, covers larger ones.
    private static let longestHashed: Int64 = 1 << 20
    /// A difference of the clocks from which on the server's time is used. `Date` has whole seconds.
    private static let smallestLead = Duration.seconds(2)

    private static let mostBuckets = 1000

    private let endpoint: Endpoint
    private let library: CryptoLibrary
    /// The region of buckets whose region no response has named.
    private let region: String
    private let now: @Sendable () -> Timestamp
    private let state: Mutex<State>

    /// - Parameter region: the region to sign for, until a response names another one.
    init(_ endpoint: Endpoint, region: String, _ library: CryptoLibrary, now: @escaping @Sendable () -> Timestamp) {
        (self.endpoint, self.region, self.library, self.now) = (endpoint, region, library, now)
        state = Mutex(State())
    }

    /// The time by the server's clock, as far as it is known.
    var time: Timestamp { now().advanced(by: state.withLock { $0.clockLead }) }

    /// Removes what the server has refused as unknown.
    func adapt(_ request: inout HTTPRequest) {
        guard request.method == "PUT", about(request.url)?.checksConditions == false else { return }
        for name in Self.conditions { request.headers[name] = nil }
    }

    /// Adds the headers of a signature.
    func sign(_ request: inout HTTPRequest, with key: AccessKey) {
        let moment = time.signatureMoment
        request.headers["x-amz-date"] = moment
        if let session = key.sessionToken { request.headers["x-amz-security-token"] = session }
        let payload = hash(of: request.body)
        request.headers["x-amz-content-sha256"] = payload
        let target = SignedTarget(request.url)
        var signed = request.headers.fields.compactMap { field in
            let name = field.name.lowercased()
            return name.hasPrefix("x-amz-") || name == "content-md5" ? (name: name, value: field.value) : nil
        }
        signed.append((name: "host", value: target.host))
        signed.sort { $0.name < $1.name }
        let names = signed.map(\.name).joined(separator: ";")
        let canonical = [
            request.method, target.path, target.query(adding: []),
            signed.map { "\($0.name):\(Self.canonical($0.value))\n" }.joined(), names, payload,
        ].joined(separator: "\n")
        let scope = scope(of: request.url, at: moment)
        let signature = signature(of: canonical, scope, at: moment, with: key)
        request.headers["Authorization"] =
            "\(Self.algorithm) Credential=\(key.id)/\(scope), SignedHeaders=\(names), Signature=\(signature)"
    }

    /// The URL with a signature in its query, which lets everybody read it for `lifetime` seconds.
    func presigned(_ url: String, with key: AccessKey, lifetime: Int64) -> String {
        let target = SignedTarget(url)
        let moment = time.signatureMoment
        let scope = scope(of: url, at: moment)
        var query = [
            ("X-Amz-Algorithm", Self.algorithm),
            ("X-Amz-Credential", "\(key.id)/\(scope)"), ("X-Amz-Date", moment),
            ("X-Amz-Expires", "\(lifetime)"), ("X-Amz-SignedHeaders", "host"),
        ]
        if let session = key.sessionToken { query.append(("X-Amz-Security-Token", session)) }
        let all = target.query(adding: query.map { ($0.0, $0.1.escaped) })
        let canonical = ["GET", target.path, all, "host:\(target.host)\n", "host", Self.unsignedPayload]
            .joined(separator: "\n")
        let signature = signature(of: canonical, scope, at: moment, with: key)
        return "\(target.origin)\(target.path)?\(all)&X-Amz-Signature=\(signature)"
    }

    /// Takes the clock, and what it tells about the bucket, from a response to a request of this URL. Returns true if a
    /// refused request is worth signing again.
    func adapts(to response: HTTPResponse, _ code: String?, of request: RemoteRequest, at url: String) -> Bool {
        let date = response.headers["Date"].flatMap { HTTPDate($0) }
        let lead = date.map { Duration.seconds($0.secondsSince1970) - .microseconds(now().microseconds) }
        let isSkewed =
            code == "RequestTimeTooSkewed" || response.status == 403 && response.body.isEmpty && code == nil
        return state.withLock { state in
            var hasChanged = false
            if let lead {
                let used = lead > Self.smallestLead || lead < .zero - Self.smallestLead ? lead : .zero
                let change = used - state.clockLead
                hasChanged = isSkewed && (change > .seconds(60) || change < .seconds(-60))
                state.clockLead = used
            }
            let name = bucket(of: url)
            var bucket = state.buckets[name] ?? Bucket()
            if request.method == "PUT", Self.conditions.contains(where: { request.headers[$0] != nil }) {
                if response.status == 501, bucket.checksConditions != false {
                    // A request that relied on the check is not sent again without it.
                    hasChanged = hasChanged || !(bucket.checksConditions ?? endpoint.isAmazons)
                    bucket.checksConditions = false
                } else if response.status == 412 {
                    bucket.checksConditions = true
                }
            }
            if response.isSuccess || code == "NoSuchKey" { bucket.existed = now() }
            if code == "NoSuchBucket" { bucket.existed = nil }
            if response.headers[S3Dialect.cephHeader] != nil { bucket.isCephs = true }
            if [301, 307, 400].contains(response.status), let region = Self.region(in: response),
                region != bucket.region ?? self.region
            {
                bucket.region = region
                hasChanged = true
            }
            if state.buckets[name] == nil, bucket == Bucket() { return hasChanged }
            if state.buckets.count >= Self.mostBuckets { state.buckets = [:] }
            state.buckets[name] = bucket
            return hasChanged
        }
    }

    /// Whether the server checks conditions of writes in the bucket of a URL. Amazon's do; of others it is known after the
    /// first refusal.
    func checksConditions(at url: String) -> Bool { about(url)?.checksConditions ?? endpoint.isAmazons }

    /// The names of the headers with the tag of the bytes that a copy is made of. A Ceph gets Amazon's name, too: a version
    /// that knows that one alone checks it.
    func copyConditions(at url: String) -> [String] {
        let name = "x-amz-copy-source-if-match"
        return about(url)?.isCephs == true ? [name, "x-amz-copy-if-match"] : [name]
    }

    /// Whether the bucket of a URL is known to exist: a response has told it within the last minute.
    func knowsBucket(at url: String) -> Bool {
        about(url)?.existed.map { now() < $0.advanced(by: .seconds(60)) } ?? false
    }

    private func about(_ url: String) -> Bucket? {
        state.withLock { $0.buckets.isEmpty ? nil : $0.buckets[bucket(of: url)] }
    }

    /// The region that a refusal names.
    private static func region(in response: HTTPResponse) -> String? {
        let named = response.headers["x-amz-bucket-region"] ?? XMLElement(answer: response)?["Region"]
        guard let named, !named.isEmpty, named.utf8.count <= 64,
            named.utf8.allSatisfy({ isTokenCharacter($0) })
        else { return nil }
        return named
    }

    private func hash(of body: HTTPBody) -> String {
        switch body {
        case .none: hexadecimalSHA256([])
        case .bytes(let bytes) where bytes.count <= Self.longestHashed: hexadecimalSHA256(bytes)
        case .bytes, .source: Self.unsignedPayload
        }
    }

    /// The region of the bucket of a URL.
    private func region(of url: String) -> String { about(url)?.region ?? region }

    /// What names the bucket of a URL: a label of the host, or the first segment of the path.
    private func bucket(of url: String) -> Substring {
        let origin = Endpoint.origin(of: url)
        let host = origin.split(separator: "/").last ?? ""
        let isHost = host.hasSuffix("." + endpoint.host) || endpoint.isAmazons && !host.hasPrefix("s3.")
        return isHost
            ? host.prefix { $0 != "." } : url.dropFirst(origin.count).dropFirst().prefix { $0 != "/" && $0 != "?" }
    }

    /// The URL at the region of its bucket, if the endpoint is Amazon's own.
    func located(_ url: String) -> String {
        guard endpoint.isAmazons else { return url }
        let origin = Endpoint.origin(of: url)
        let located = origin.replacing(String(endpoint.host), with: "s3.\(region(of: url)).amazonaws.com")
        return located + url.dropFirst(origin.count)
    }

    private func scope(of url: String, at moment: String) -> String {
        "\(moment.prefix(8))/\(region(of: url))/s3/aws4_request"
    }

    private func signature(
        of canonical: String, _ scope: String, at moment: String, with key: AccessKey
    ) -> String {
        let text = [Self.algorithm, moment, scope, hexadecimalSHA256(Array(canonical.utf8))].joined(separator: "\n")
        return hmac(Array(text.utf8), with: signingKey(scope, key)).hexadecimal
    }

    private func signingKey(_ scope: String, _ key: AccessKey) -> [UInt8] {
        if let derived = state.withLock({ $0.derived }), derived.scope == scope, derived.key == key {
            return derived.bytes
        }
        let bytes = scope.split(separator: "/").reduce(Array("AWS4\(key.secret)".utf8)) { derived, part in
            hmac(Array(part.utf8), with: derived)
        }
        state.withLock { $0.derived = (scope, key, bytes) }
        return bytes
    }

    /// HMAC with SHA-256 (RFC 2104).
    private func hmac(_ bytes: [UInt8], with key: [UInt8]) -> [UInt8] {
        var block = key.count > 64 ? sha256(key) : key
        block += [UInt8](repeating: 0, count: 64 - block.count)
        return sha256(block.map { $0 ^ 0x5C } + sha256(block.map { $0 ^ 0x36 } + bytes))
    }

    private func hexadecimalSHA256(_ bytes: [UInt8]) -> String { sha256(bytes).hexadecimal }

    /// Empty if libcrypto has failed: the server then refuses the signature.
    private func sha256(_ bytes: [UInt8]) -> [UInt8] { library.sha256(bytes) ?? [] }

    /// The value without blanks around it, and with one space for each sequence of them.
    private static func canonical(_ value: String) -> String {
        value.utf8.contains(where: { $0 == 0x20 || $0 == 0x09 })
            ? value.split(whereSeparator: { $0 == " " || $0 == "\t" }).joined(separator: " ") : value
    }
}

/// The parts of an escaped URL that a signature covers.
private struct SignedTarget {
    /// The scheme and the host, with a port that is not the scheme's own.
    let origin: String
    let host: String
    let path: String
    private let params: [(name: String, value: String)]

    init(_ url: String) {
        origin = Endpoint.origin(of: url)
        host = String(origin[(origin.firstRange(of: "://")?.upperBound ?? origin.startIndex)...])
        let halves = url.dropFirst(origin.count).split(
            separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = halves[0].isEmpty ? "/" : String(halves[0])
        params = (halves.count > 1 ? halves[1].split(separator: "&") : []).map { param in
            let pair = param.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(pair[0]), pair.count > 1 ? String(pair[1]) : "")
        }
    }

    /// The query in the order that is signed. The values are escaped.
    func query(adding more: [(String, String)]) -> String {
        (params + more.map { (name: $0.0, value: $0.1) })
            .sorted { ($0.name, $0.value) < ($1.name, $1.value) }
            .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }
}

extension Timestamp {
    /// The time in the form `20160301T201601Z`, as signatures have it.
    var signatureMoment: String { rfc3339.prefix(19).filter { $0 != "-" && $0 != ":" } + "Z" }
}
