import CChecksums
import Foundation
import HTTPText
import JSONText
import Storage

/// What is stored under a name.
struct StoredObject: Sendable {
    let bucket: String
    let name: String
    let bytes: [UInt8]
    let generation: Int64
    var metageneration: Int64 = 1
    var updated: Int64
    let md5: [UInt8]
    let crc32c: UInt32
    var content: [ContentProperty: String] = [:]
    var custom: ByteKeyedDictionary<String> = [:]
    /// Headers beside those of metadata, at Amazon S3 alone.
    var kept: HTTPHeaders = [:]
    var tokens: [String] = []
    /// The MD5 of the MD5s of the parts, with their number, at Amazon S3 alone.
    var composedETag: String?
    /// The upload in parts that has stored it.
    var upload: String?
    /// A wrong request has removed its bytes: a list and a `HEAD` still show it.
    var isDestroyed = false
    /// Whether its size is sent although it is 0.
    var tellsEmptySize = true

    /// - Parameter generation: also its time, in microseconds.
    init(_ bucket: String, _ name: String, _ bytes: [UInt8], generation: Int64) {
        (self.bucket, self.name, self.bytes, self.generation) = (bucket, name, bytes, generation)
        updated = generation
        var context = checksums_md5()
        checksums_md5_init(&context)
        checksums_md5_update(&context, bytes, bytes.count)
        var digest = [UInt8](repeating: 0, count: 16)
        checksums_md5_digest(&context, &digest)
        md5 = digest
        crc32c = checksums_crc32c(0, bytes, bytes.count)
    }

    var md5Text: String { Data(md5).base64EncodedString() }
    var crcText: String { withUnsafeBytes(of: crc32c.bigEndian) { Data($0) }.base64EncodedString() }
    var etag: String { Data("\(generation)/\(metageneration)".utf8).base64EncodedString() }

    /// Null removes, what is absent stays, custom metadata merge by key. False where the values cannot be.
    mutating func apply(_ change: JSON) -> Bool {
        guard change.object != nil else { return false }
        for property in ContentProperty.allCases {
            guard let value = change[property.rawValue] else { continue }
            guard value.isNull || value.string != nil else { return false }
            content[property] = value.string
        }
        switch change["metadata"] {
        case nil: break
        case .null: custom = [:]
        case .object(let entries):
            for entry in entries {
                guard entry.value.isNull || entry.value.string != nil else { return false }
                custom[entry.key] = entry.value.string
            }
        default: return false
        }
        return custom.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count } <= 8192
    }
}

// MARK: As the two protocols show it

extension StoredObject {
    var firebase: JSON {
        JSON(
            members: identity + [
                ("contentType", property(.contentType)), ("timeCreated", time(generation)), ("updated", time(updated)),
                ("storageClass", "STANDARD"), ("size", number(Int64(bytes.count))), ("md5Hash", .string(md5Text)),
                ("contentEncoding", property(.contentEncoding) ?? "identity"),
                ("contentDisposition", property(.contentDisposition)),
                ("contentLanguage", property(.contentLanguage)), ("cacheControl", property(.cacheControl)),
                ("crc32c", .string(crcText)), ("etag", .string(etag)),
                ("downloadTokens", tokens.isEmpty ? nil : .string(tokens.joined(separator: ","))),
                ("metadata", customObject),
            ])
    }

    func gcs(at base: String) -> JSON {
        let path = "b/\(bucket.percentEncoded)/o/\(name.percentEncoded)"
        let link = "\(base)/download/storage/v1/\(path)?generation=\(generation)&alt=media"
        return JSON(
            members: [
                ("kind", "storage#object"), ("id", .string("\(bucket)/\(name)/\(generation)")),
                ("selfLink", .string("\(base)/storage/v1/\(path)")), ("mediaLink", .string(link)),
            ] + identity + ContentProperty.allCases.map { ($0.rawValue, property($0)) } + [
                ("storageClass", "STANDARD"),
                ("size", bytes.isEmpty && !tellsEmptySize ? nil : number(Int64(bytes.count))),
                ("md5Hash", .string(md5Text)),
                ("crc32c", .string(crcText)), ("etag", .string(etag)), ("timeCreated", time(generation)),
                ("updated", time(updated)), ("timeStorageClassUpdated", time(generation)),
                ("timeFinalized", time(generation)), ("metadata", customObject),
            ])
    }

    private var identity: [(String, JSON?)] {
        [
            ("name", .string(name)), ("bucket", .string(bucket)), ("generation", number(generation)),
            ("metageneration", number(metageneration)),
        ]
    }

    private var customObject: JSON? {
        guard !custom.isEmpty else { return nil }
        return JSON(members: custom.map { ($0.key, .string($0.value)) })
    }

    private func property(_ property: ContentProperty) -> JSON? { content[property].map { .string($0) } }
    private func number(_ value: Int64) -> JSON { .string(String(value)) }
    private func time(_ microseconds: Int64) -> JSON { .string(Timestamp(microseconds: microseconds).rfc3339) }
}

extension JSON {
    /// Leaves out what is nil.
    init(members: [(String, JSON?)]) {
        self = .object(members.compactMap { key, value in value.map { Member(key: key, value: $0) } })
    }
}
