import Platform
import HTTPClient
import HTTPText
import JSONText
import Storage

/// The common part of the dialects of Firebase Storage and Google Cloud Storage: JSON resources and `x-goog-` headers.
protocol GoogleDialect: Dialect, ChunkDialect {}

extension GoogleDialect {
    func authorize(_ request: inout HTTPRequest, with tokens: [Token], userProject: String?) {
        for token in tokens {
            switch token.kind {
            case .idToken: request.headers["Authorization"] = "Firebase \(token.secret)"
            case .accessToken: request.headers["Authorization"] = "Bearer \(token.secret)"
            case .appCheckToken: request.headers["X-Firebase-AppCheck"] = token.secret
            case .accessKey: break
            }
        }
        if let userProject { request.headers.add("x-goog-user-project", userProject) }
    }

    func metadata(in response: HTTPResponse, of reference: Reference) throws(GarbledAnswer) -> ObjectMetadata {
        try ObjectMetadata(wire: response.body, reference)
    }

    /// The service answers 204, and emulators 200 with empty JSON.
    func checkDeleted(in response: HTTPResponse) throws(GarbledAnswer) {
        guard [200, 204].contains(response.status), response.hasNothing else {
            throw GarbledAnswer("a text about something else than a deletion")
        }
    }

    func isNewer(_ object: ObjectMetadata, than other: ObjectMetadata) -> Bool { object.generation > other.generation }

    func listing(in response: HTTPResponse, for query: ListQuery) throws(GarbledAnswer) -> Listing {
        try Listing(wire: response.body, for: query)
    }

    var sessions: Sessions { .chunks(self) }

    func description(in headers: HTTPHeaders, of reference: Reference) -> MediaDescription {
        MediaDescription(
            generation: headers["x-goog-generation"].flatMap { Int64(digits: $0) },
            size: headers["x-goog-stored-content-length"].flatMap { Int64(digits: $0) },
            encoding: ContentEncoding(headers["x-goog-stored-content-encoding"]),
            checksums: Checksums(
                md5: headers.storedHash("md5").flatMap([UInt8].init(md5:)),
                crc32c: headers.storedHash("crc32c").flatMap(UInt32.init(base64:))))
    }

    func error(in response: HTTPResponse) -> ServerError {
        ServerError(
            message: JSON(wire: response.body)?["error"]?["message"]?.string,
            isMissingBucket: String(decoding: response.body, as: UTF8.self).has("bucket does not exist"))
    }
}

extension HTTPResponse {
    /// The body is empty, or is JSON without a value or a member.
    var hasNothing: Bool {
        guard !body.isEmpty, let json = JSON(wire: body) else { return body.isEmpty }
        return json.isNull || json.object?.isEmpty == true
    }

    /// The server does not know the session or has ended it.
    var isAboutEndedSession: Bool { [404, 410, 499].contains(status) }
}

extension HTTPHeaders {
    /// A checksum of the whole object, from one or several `x-goog-hash` headers.
    fileprivate func storedHash(_ name: String) -> String? { hashes.first { $0.name == name }?.value }
}

extension Listing {
    /// A page in the order of the server.
    ///
    /// Omits names that are no valid references, and metadata unless all items have it. Throws if an entry is not below
    /// the listed reference.
    init(wire bytes: [UInt8], for query: ListQuery) throws(GarbledAnswer) {
        guard let json = JSON(wire: bytes), json.object != nil else { throw GarbledAnswer("no listing") }
        var named: [(reference: Reference, json: JSON)] = []
        for item in try json.read("items", "a list", \.array) ?? [] {
            guard let name = item["name"]?.string, !name.isEmpty else { throw GarbledAnswer("an item has no name") }
            try query.check("item", name)
            let bucket = try item.read("bucket", "a text", \.string)
            guard bucket?.hasSameBytes(as: query.reference.bucket) != false else {
                throw GarbledAnswer("an item is in another bucket", isAboutOther: true)
            }
            if let reference = query.item(name) { named.append((reference, item)) }
        }
        let prefixes = try json.read("prefixes", "a list of texts", \.texts) ?? []
        for prefix in prefixes { try query.check("prefix", prefix) }
        let token = try json.read("nextPageToken", "a text", \.string) ?? ""
        self.init(
            prefixes: Self.eachOnce(prefixes.compactMap(query.prefix)),
            items: Self.eachOnce(named.map(\.reference)), pageToken: token.isEmpty ? nil : token)
        guard query.wantsMetadata else { return }
        var known: [ObjectMetadata] = []
        for (reference, json) in named where json["generation"] != nil {
            known.append(try ObjectMetadata(wire: json, reference))
        }
        if known.map(\.reference) == items { metadata = known }
    }

    private static func eachOnce(_ references: [Reference]) -> [Reference] {
        var seen: Set<Reference> = []
        return references.filter { seen.insert($0).inserted }
    }
}

extension ListQuery {
    /// The param for a delimiter. A list without one contains the objects at any depth.
    var delimiter: String { isRecursive ? "" : "&delimiter=%2F" }

    func check(_ kind: String, _ name: String) throws(GarbledAnswer) {
        guard !reference.isAbove(name) else { return }
        throw GarbledAnswer("the \(quoted(kind, name)) is not below \(reference.url)", isAboutOther: true)
    }
}

extension ObjectMetadata {
    /// Requires a generation and, unless a checksum proves that the object is empty, a size. Accepts the different
    /// values of emulators.
    init(wire bytes: [UInt8], _ reference: Reference) throws(GarbledAnswer) {
        guard let json = JSON(wire: bytes) else { throw GarbledAnswer("no metadata") }
        try self.init(wire: json, reference)
    }

    init(wire json: JSON, _ reference: Reference) throws(GarbledAnswer) {
        guard let generation = try json.read("generation", "a number", \.digits) else {
            throw GarbledAnswer("no metadata")
        }
        try reference.check(isNamedBy: json)
        let size = try json.read("size", "a size") { $0.digits.flatMap { $0 >= 0 ? $0 : nil } }
        let checksums = Checksums(
            md5: try json.checksum("md5Hash") { $0.md5 }, crc32c: try json.checksum("crc32c") { $0.crc32c })
        let created = try json.read("timeCreated", "a time", \.time) ?? Timestamp(microseconds: 0)
        self.init(
            reference: reference, generation: generation,
            metageneration: try json.read("metageneration", "a number", \.digits) ?? 1, size: size ?? 0,
            timeCreated: created, updated: try json.read("updated", "a time", \.time) ?? created,
            checksums: checksums, settable: try SettableMetadata(wire: json))
        // Google's testbench omits numbers that are zero.
        guard size != nil || checksums.agree(with: .ofNothing) == true else { throw GarbledAnswer("no size") }
    }
}

extension SettableMetadata {
    fileprivate init(wire json: JSON) throws(GarbledAnswer) {
        self.init()
        for property in ContentProperty.allCases {
            content[property] = try json.read(property.rawValue, "a text", \.string)
        }
        for member in try json.read("metadata", "an object", \.object) ?? [] {
            custom[member.key] = member.value.string ?? member.value.text
        }
    }

    /// The metadata at the start of an upload.
    func wire(name: String, md5Hash: String?, crc32c: String?) -> JSON {
        var members = [JSON.Member(key: "name", value: .string(name))]
        members += ContentProperty.allCases.compactMap { property in
            content[property].map { JSON.Member(key: property.rawValue, value: .string($0)) }
        }
        if let md5Hash { members.append(.init(key: "md5Hash", value: .string(md5Hash))) }
        if let crc32c { members.append(.init(key: "crc32c", value: .string(crc32c))) }
        if !custom.isEmpty { members.append(.init(key: "metadata", value: JSON(members: custom))) }
        return .object(members)
    }
}

extension MetadataChange {
    /// Only the changed members; null removes one.
    var wire: JSON {
        var members = ContentProperty.allCases.compactMap { property in
            content[property].map { JSON.Member(key: property.rawValue, value: .init($0)) }
        }
        switch custom {
        case .keep: break
        case .removeAll: members.append(.init(key: "metadata", value: .null))
        case .merge(let entries):
            let entries = entries.map { JSON.Member(key: $0.key, value: .init($0.value)) }
            members.append(.init(key: "metadata", value: .object(entries)))
        }
        return .object(members)
    }
}

extension JSON {
    fileprivate init(_ text: String?) { self = text.map(JSON.string) ?? .null }

    /// The value of a number or of a string of digits.
    var digits: Int64? { number?.int64 ?? string.flatMap { Int64(digits: $0) } }
    fileprivate var time: Timestamp? { string.flatMap(Timestamp.init(rfc3339:)) }
    fileprivate var md5: [UInt8]? { string.flatMap([UInt8].init(md5:)) }
    /// The value in base64, or in decimal as the Firebase emulator writes it.
    fileprivate var crc32c: UInt32? { string.flatMap { UInt32(base64: $0) ?? UInt32($0) } }

    fileprivate var texts: [String]? {
        guard let array else { return nil }
        let texts = array.compactMap(\.string)
        return texts.count == array.count ? texts : nil
    }

    /// A checksum; nil also for an empty text, which some servers write instead of omitting it.
    fileprivate func checksum<Value>(_ name: String, _ read: (JSON) -> Value?) throws(GarbledAnswer) -> Value? {
        self[name]?.string == "" ? nil : try self.read(name, "a checksum", read)
    }
}
