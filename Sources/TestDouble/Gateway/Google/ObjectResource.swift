import EmbeddedEngine
import HTTPText
import JSONText
import Storage

// The resources of objects in both dialects. Sizes and generations are strings.
extension ObjectMetadata {
    /// The resource of Firebase Storage.
    var firebase: JSON {
        let content = settable.content
        return .object(
            common + [
                .init(key: "contentType", value: .string(content[.contentType] ?? ContentType.fallback)),
                .init(key: "contentEncoding", value: .string(content[.contentEncoding] ?? "identity")),
                .init(
                    key: "contentDisposition",
                    value: .string(
                        content[.contentDisposition]
                            ?? "inline; filename*=utf-8''\(reference.name.escaped)")),
                .init(key: "downloadTokens", value: .string((downloadTokens ?? []).joined(separator: ","))),
            ]
                + [JSON.Member](present: [
                    "contentLanguage": content[.contentLanguage].map(JSON.string),
                    "cacheControl": content[.cacheControl].map(JSON.string), "metadata": custom,
                ]))
    }

    /// The resource of Google Cloud Storage. `base` is the start of its links.
    func cloud(_ base: String) -> JSON {
        let content = settable.content
        let path = "b/\(reference.bucket.escaped)/o/\(reference.object.escaped)"
        return .object(
            [
                .init(key: "kind", value: "storage#object"),
                .init(
                    key: "id", value: .string("\(reference.bucket)/\(reference.object)/\(generation)")),
                .init(key: "selfLink", value: .string("\(base)/storage/v1/\(path)")),
                .init(
                    key: "mediaLink",
                    value: .string(
                        "\(base)/download/storage/v1/\(path)?generation=\(generation)&alt=media")),
                .init(key: "timeStorageClassUpdated", value: .string(timeCreated.rfc3339)),
            ] + common
                + [JSON.Member](present: [
                    "contentType": content[.contentType].map(JSON.string),
                    "contentEncoding": content[.contentEncoding].map(JSON.string),
                    "contentDisposition": content[.contentDisposition].map(JSON.string),
                    "contentLanguage": content[.contentLanguage].map(JSON.string),
                    "cacheControl": content[.cacheControl].map(JSON.string), "metadata": cloudCustom,
                    "customTime": settable.kept?.customTime.map { .string($0.exactRFC3339) },
                    "temporaryHold": settable.kept?.temporaryHold.map(JSON.bool),
                    "eventBasedHold": settable.kept?.eventBasedHold.map(JSON.bool),
                    "componentCount": settable.kept?.componentCount.map { JSON($0) },
                ]))
    }

    private var common: [JSON.Member] {
        [
            .init(key: "name", value: .string(reference.object)),
            .init(key: "bucket", value: .string(reference.bucket)),
            .init(key: "generation", value: .string("\(generation)")),
            .init(key: "metageneration", value: .string("\(metageneration)")),
            .init(key: "timeCreated", value: .string(timeCreated.rfc3339)),
            .init(key: "updated", value: .string(updated.rfc3339)),
            .init(key: "storageClass", value: .string(storageClass.rawValue)),
            .init(key: "size", value: .string("\(size)")),
            .init(key: "crc32c", value: .string((checksums.crc32c ?? 0).base64)),
            .init(key: "etag", value: .string(resourceTag)),
        ] + [JSON.Member](present: ["md5Hash": answeredMD5.map { .string($0.base64) }])
    }

    private var custom: JSON? { Self.json(settable.custom) }

    /// The custom metadata with the download tokens as an entry.
    private var cloudCustom: JSON? {
        var entries = settable.custom
        if let downloadTokens, !downloadTokens.isEmpty {
            entries[SettableMetadata.tokensKey] = downloadTokens.joined(separator: ",")
        }
        return Self.json(entries)
    }

    private static func json(_ entries: ByteKeyedDictionary<String>) -> JSON? {
        // A plain nil would be the JSON null.
        entries.isEmpty ? JSON?.none : JSON(members: entries.sorted { $0.key < $1.key })
    }
}

extension KeptChange {
    fileprivate init(resource json: JSON) throws(GatewayError) {
        self.init()
        if json["customTime"] != nil {
            customTime = .some(try json.text("customTime").map { text throws(GatewayError) in try Self.time(text) })
        }
        storageClass = json["storageClass"]?.string.flatMap(StorageClass.init(rawValue:))
        if let hold = json["temporaryHold"] { temporaryHold = .some(hold.bool) }
        if let hold = json["eventBasedHold"] { eventBasedHold = .some(hold.bool) }
    }

    /// The properties that headers, or the fields of a form, name.
    init(fields: [(name: String, value: String)]) throws(GatewayError) {
        self.init()
        for (name, value) in fields {
            switch name.lowercased() {
            case ObjectHeaders.customTime: customTime = .some(try Self.time(value))
            case "expires": expires = value
            case ObjectHeaders.storageClass:
                guard let named = StorageClass(rawValue: value.uppercased()) else {
                    throw .badRequest("There is no storage class \(value.prefix(200)).")
                }
                storageClass = named
            default: break
            }
        }
    }

    private static func time(_ text: String) throws(GatewayError) -> Timestamp {
        guard let time = Timestamp(rfc3339: text) else {
            throw .badRequest("The customTime is no time as in RFC 3339: \(text.prefix(200))")
        }
        return time
    }
}

extension MetadataChange {
    /// Nulls remove, `metadata: null` removes all custom metadata, and values of it become strings. Throws for members
    /// that are not served.
    init(resource json: JSON) throws(GatewayError) {
        try ResourceMembers.object.check(json)
        self.init()
        for property in ContentProperty.allCases {
            guard let value = json[property.rawValue] else { continue }
            guard value.isNull || value.string != nil else {
                throw .badRequest("\(property) must be a string or null.")
            }
            content[property] = .some(value.string)
        }
        md5Hash = try json.text("md5Hash")
        crc32c = try json.text("crc32c").map(BodyChecksums.crc32c)
        if let md5Hash { _ = try BodyChecksums.md5(md5Hash) }
        switch json["metadata"] {
        case nil: break
        case .null: custom = .removeAll
        case .object(let members):
            var entries: ByteKeyedDictionary<String?> = [:]
            for member in members {
                guard member.value.array == nil, member.value.object == nil else {
                    throw .badRequest("metadata.\(member.key.prefix(200)) must be a string.")
                }
                entries[member.key] = .some(member.value.isNull ? nil : member.value.string ?? member.value.text)
            }
            custom = .merge(entries)
        default: throw .badRequest("metadata must be an object or null.")
        }
        kept = try KeptChange(resource: json)
    }
}

extension JSON {
    /// A member that is a string; nil where it is absent or null. Throws 400 for another value.
    func text(_ name: String) throws(GatewayError) -> String? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let text = value.string else { throw .badRequest("\(name) must be a string.") }
        return text
    }

    /// Throws 400 where a resource names another object than the request.
    func checkName(_ object: Reference) throws(GatewayError) {
        try checkBucket(object.bucket)
        try check("name", object.object)
    }

    /// Throws 400 where a resource names another bucket than the request.
    func checkBucket(_ bucket: String) throws(GatewayError) { try check("bucket", bucket) }

    /// Throws 400 where a member has another value than this; an empty one has none.
    func check(_ name: String, _ value: String) throws(GatewayError) {
        guard let text = try text(name), !text.isEmpty, text != value else { return }
        throw .badRequest("The \(name) is \(text) in the body, but \(value) in the path of the request.")
    }

    /// A member that is a number, or a string of digits; nil where it is absent or null. Throws 400 for another value.
    func integer(_ name: String) throws(GatewayError) -> Int64? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let number = value.number?.int64 ?? value.string.flatMap({ Int64(digits: $0) }), number >= 0 else {
            throw .badRequest("\(name) is no number: \(value.text)")
        }
        return number
    }
}

extension ResourceMembers {
    /// The members of an object in both dialects.
    static let object: ResourceMembers = [
        "cacheControl": .served(), "contentDisposition": .served(), "contentEncoding": .served(),
        "contentLanguage": .served(),
        "contentType": .served(), "metadata": .served(.object),
        // Uploads compare the checksums. The URL of the request decides on the name.
        "md5Hash": .outputOnly(), "crc32c": .outputOnly(), "name": .outputOnly(), "bucket": .outputOnly(),
        "componentCount": .outputOnly(.number), "customerEncryption": .refused(), "downloadTokens": .outputOnly(),
        "etag": .outputOnly(), "generation": .outputOnly(.number), "hardDeleteTime": .outputOnly(), "id": .outputOnly(),
        "kind": .outputOnly(), "mediaLink": .outputOnly(), "metageneration": .outputOnly(.number),
        "owner": .outputOnly(.object),
        "restoreToken": .outputOnly(), "retentionExpirationTime": .outputOnly(), "selfLink": .outputOnly(),
        "size": .outputOnly(.number), "softDeleteTime": .outputOnly(), "timeCreated": .outputOnly(),
        "timeDeleted": .outputOnly(),
        "timeFinalized": .outputOnly(), "timeStorageClassUpdated": .outputOnly(), "updated": .outputOnly(),
        "storageClass": .oneOf(storageClasses), "customTime": .served(), "eventBasedHold": .served(.flag),
        "temporaryHold": .served(.flag),
        "acl": .access, "contexts": .refused(), "kmsKeyName": .refused(), "retention": .refused(),
    ]

    /// The body of `compose`.
    static let composition: ResourceMembers = [
        "kind": .outputOnly(), "destination": .members(object), "sourceObjects": .each(source),
        "deleteSourceObjects": .refused(),
    ]

    private static let source: ResourceMembers = [
        "name": .served(), "generation": .served(.number),
        "objectPreconditions": .members(["ifGenerationMatch": .served(.number)]),
    ]
}
