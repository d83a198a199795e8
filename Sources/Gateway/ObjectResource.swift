import Checksums
import EmbeddedEngine
import FoundationEssentials
import HTTPText
import JSONText
import Storage

// Objects as the two dialects write and read them. Sizes and generations are strings.
extension ObjectDetails {
    /// Of Firebase Storage.
    var firebase: JSON {
        let content = metadata.settable.content
        return .object(
            common + [
                .init(key: "contentEncoding", value: .string(content[.contentEncoding] ?? "identity")),
                .init(
                    key: "contentDisposition",
                    value: .string(
                        content[.contentDisposition]
                            ?? "inline; filename*=utf-8''\(metadata.reference.name.escaped)")),
                .init(key: "downloadTokens", value: .string(downloadTokens.joined(separator: ","))),
            ]
                + [JSON.Member](present: [
                    "contentLanguage": content[.contentLanguage].map(JSON.string),
                    "cacheControl": content[.cacheControl].map(JSON.string), "metadata": custom,
                ]))
    }

    /// Of Google Cloud Storage. `base` begins its links.
    func cloud(_ base: String) -> JSON {
        let (content, reference) = (metadata.settable.content, metadata.reference)
        let place = "b/\(reference.bucket.escaped)/o/\(reference.object.escaped)"
        return .object(
            [
                .init(key: "kind", value: "storage#object"),
                .init(
                    key: "id", value: .string("\(reference.bucket)/\(reference.object)/\(metadata.generation)")),
                .init(key: "selfLink", value: .string("\(base)/storage/v1/\(place)")),
                .init(
                    key: "mediaLink",
                    value: .string(
                        "\(base)/download/storage/v1/\(place)?generation=\(metadata.generation)&alt=media")),
                .init(key: "timeStorageClassUpdated", value: .string(metadata.timeCreated.rfc3339)),
            ] + common
                + [JSON.Member](present: [
                    "contentEncoding": content[.contentEncoding].map(JSON.string),
                    "contentDisposition": content[.contentDisposition].map(JSON.string),
                    "contentLanguage": content[.contentLanguage].map(JSON.string),
                    "cacheControl": content[.cacheControl].map(JSON.string), "metadata": custom,
                ]))
    }

    private var common: [JSON.Member] {
        [
            .init(key: "name", value: .string(metadata.reference.object)),
            .init(key: "bucket", value: .string(metadata.reference.bucket)),
            .init(key: "generation", value: .string("\(metadata.generation)")),
            .init(key: "metageneration", value: .string("\(metadata.metageneration)")),
            .init(
                key: "contentType",
                value: .string(metadata.settable.content[.contentType] ?? ContentType.fallback)),
            .init(key: "timeCreated", value: .string(metadata.timeCreated.rfc3339)),
            .init(key: "updated", value: .string(metadata.updated.rfc3339)),
            .init(key: "storageClass", value: "STANDARD"),
            .init(key: "size", value: .string("\(metadata.size)")),
            .init(key: "md5Hash", value: .string(Data(metadata.md5 ?? []).base64EncodedString())),
            .init(key: "crc32c", value: .string((metadata.crc32c ?? 0).base64)),
            .init(key: "etag", value: .string("\(metadata.generation)/\(metadata.metageneration)")),
        ]
    }

    private var custom: JSON? {
        // A plain nil would be the JSON null.
        metadata.settable.custom.isEmpty
            ? JSON?.none : JSON(members: metadata.settable.custom.sorted { $0.key < $1.key })
    }
}

extension GatewayService {
    /// Changes the metadata, and the download tokens where custom metadata names them.
    func update(
        _ object: Reference, _ json: JSON, _ change: MetadataChange, if conditions: Preconditions = Preconditions()
    ) async throws -> ObjectDetails {
        _ = try await backend.updateMetadata(of: object, change, if: conditions, for: caller)
        return try await details(of: object, json)
    }

    /// Of an object that has just changed; its download tokens are those that custom metadata names.
    func details(of object: Reference, _ json: JSON) async throws -> ObjectDetails {
        guard let tokens = MetadataChange.downloadTokens(in: json) else { return try await engine.details(of: object) }
        return try await engine.setDownloadTokens(of: object, to: tokens)
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
        md5Hash = json["md5Hash"]?.string
        switch json["metadata"] {
        case nil: break
        case .null: custom = .removeAll
        case .object(let members):
            var entries: ByteKeyedDictionary<String?> = [:]
            for member in members where member.key != Self.tokens {
                entries[member.key] = .some(member.value.isNull ? nil : member.value.string ?? member.value.text)
            }
            custom = .merge(entries)
        default: throw .badRequest("metadata must be an object or null.")
        }
    }

    /// The custom metadata in which the Admin SDK keeps download tokens.
    static let tokens = "firebaseStorageDownloadTokens"

    /// Nil where nothing is said of them.
    static func downloadTokens(in json: JSON) -> [String]? {
        guard let value = json["metadata"]?[tokens] else { return nil }
        return (value.string ?? "").split(separator: ",").map(String.init)
    }
}

extension IncomingBytes.Expected {
    /// Of the metadata.
    init(resource json: JSON) throws(GatewayError) {
        self.init()
        try take(md5: json["md5Hash"]?.string)
        try take(crc32c: json["crc32c"]?.string)
    }

    /// Adds those of `x-goog-hash`: `crc32c=…,md5=…`.
    mutating func take(_ headers: HTTPHeaders) throws(GatewayError) {
        for hash in headers.all("x-goog-hash").flatMap({ $0.split(separator: ",") }) {
            let parts = hash.split(separator: "=", maxSplits: 1).map { $0.filter { $0 != " " } }
            if parts.count == 2, parts[0] == "md5" { try take(md5: parts[1]) }
            if parts.count == 2, parts[0] == "crc32c" { try take(crc32c: parts[1]) }
        }
    }

    func check(_ bytes: [UInt8], of reference: Reference) throws(StorageError) {
        guard md5 != nil || crc32c != nil else { return }
        let checksum = Checksum(of: bytes)
        guard md5 ?? checksum.md5 == checksum.md5, crc32c ?? checksum.crc32c == checksum.crc32c else {
            throw StorageError(.nonMatchingChecksum, "The bytes do not have the checksum that was sent with them.")
                .about(reference)
        }
    }

    private mutating func take(md5 text: String?) throws(GatewayError) {
        guard let text else { return }
        guard let bytes = Data(base64Encoded: text), bytes.count == 16 else {
            throw .badRequest("The MD5 is not base64 of 16 bytes: \(text)")
        }
        md5 = Array(bytes)
    }

    private mutating func take(crc32c text: String?) throws(GatewayError) {
        guard let text else { return }
        guard let bytes = Data(base64Encoded: text), bytes.count == 4 else {
            throw .badRequest("The CRC32C is not base64 of 4 bytes: \(text)")
        }
        crc32c = bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }
}

extension UInt32 {
    /// Base64 of four bytes, the first one highest.
    fileprivate var base64: String { withUnsafeBytes(of: bigEndian) { Data($0) }.base64EncodedString() }
}
