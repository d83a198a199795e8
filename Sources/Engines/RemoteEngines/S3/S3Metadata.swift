import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage

// Metadata of objects as headers. The names of custom entries come back in lower case, and some servers change "_" to "-",
// so other characters are escaped. Only entries beside this engine's mark are unescaped: those of other programs have no
// escapes.

extension S3Dialect {
    /// The maximum size of all custom names and values together, with this engine's mark, in bytes.
    static let mostCustomBytes = 2048
    /// The maximum length of the name of a custom entry after `x-amz-meta-`, as it is sent.
    static let longestCustomName = 80

    func check(_ metadata: SettableMetadata) throws(StorageError) {
        var bytes = S3Mark.header.utf8.count - S3Dialect.custom.utf8.count + S3Mark.longest
        for (name, value) in metadata.custom {
            let name = (sent: name.s3Name, own: name)
            guard Self.custom + name.sent != S3Mark.header else {
                throw .invalidArgument(
                    "metadata.customMetadata",
                    "The name \"\(name.own)\" in customMetadata is that of the entry which the engine s3 stores with each "
                        + "object.")
            }
            guard name.sent.utf8.count <= Self.longestCustomName else {
                throw .invalidArgument(
                    "metadata.customMetadata",
                    "The name \"\(name.own)\" in customMetadata has \(name.sent.utf8.count) characters as S3 has it, "
                        + "but at most \(Self.longestCustomName) may be stored.")
            }
            bytes += name.sent.utf8.count + value.s3Value.utf8.count
        }
        guard bytes <= Self.mostCustomBytes || metadata.custom.isEmpty else {
            throw .invalidArgument(
                "metadata.customMetadata",
                "Custom metadata has \(bytes) bytes as S3 has it, but at most \(Self.mostCustomBytes) may be stored.")
        }
    }

    fileprivate static let custom = "x-amz-meta-"

    /// A header of Ceph's answers about an object.
    static let cephHeader = "x-rgw-object-type"
    /// The header in the answers of Ceph that stands for tags. Ceph removes these when the metadata is replaced.
    static let tagCount = "x-amz-tagging-count"
    /// The headers, besides those of metadata, that a copy onto itself would lose.
    private static let kept = [
        "Expires", "x-amz-website-redirect-location", "x-amz-storage-class", "x-amz-server-side-encryption",
        "x-amz-server-side-encryption-aws-kms-key-id", "x-amz-server-side-encryption-bucket-key-enabled",
    ]

    /// The headers that store metadata.
    func headers(_ metadata: SettableMetadata, _ mark: S3Mark, of reference: Reference) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for property in ContentProperty.allCases {
            if let value = metadata.content[property] { headers.add(property.header, value.encodedWord) }
        }
        for (name, value) in metadata.custom { headers.add(Self.custom + name.s3Name, value.s3Value) }
        var mark = mark
        mark.hasContentType = metadata.content[.contentType] != nil
        headers.add(S3Mark.header, mark.text(of: reference, library))
        return headers
    }

    func metadata(in headers: HTTPHeaders, of reference: Reference, size: Int64) throws(GarbledAnswer) -> ObjectMetadata
    {
        guard let tag = headers["ETag"]?.entityTag, !tag.isEmpty else { throw GarbledAnswer("no ETag") }
        let mark = headers[S3Mark.header].flatMap { S3Mark($0, of: reference, library) }
        var settable = SettableMetadata()
        for property in ContentProperty.allCases {
            let value = headers[property.header]
            settable.content[property] = mark == nil ? value : value?.decodedWord
        }
        if mark?.hasContentType == false { settable.content[.contentType] = nil }
        for field in headers.fields {
            let name = field.name.lowercased()
            guard name.hasPrefix(Self.custom), name != S3Mark.header else { continue }
            let own = String(name.dropFirst(Self.custom.utf8.count))
            settable.custom[mark == nil ? own : own.ofS3] = mark == nil ? field.value : field.value.ofS3
        }
        let isEncrypted =
            headers["x-amz-server-side-encryption"].map { $0 != "AES256" } ?? false
            || headers["x-amz-server-side-encryption-customer-algorithm"] != nil
        let modified = headers["Last-Modified"].flatMap { HTTPDate($0) }
            .map { Timestamp(microseconds: $0.secondsSince1970 * 1_000_000) }
        guard mark != nil || modified != nil else { throw GarbledAnswer("no Last-Modified") }
        let time = modified ?? Timestamp(microseconds: 0)
        var object = ObjectMetadata(
            reference: reference, generation: mark?.generation ?? generation(tag, headers, time),
            metageneration: mark?.metageneration ?? 1, size: size, timeCreated: mark?.created ?? time,
            updated: mark?.updated ?? time,
            checksums: checksums(mark, isEncrypted ? nil : tag, size), settable: settable)
        (object.writeID, object.tagOfBytes) = (mark?.id, tag)
        for name in Self.kept {
            if let value = headers[name] { object.keptHeaders.add(name, value) }
        }
        if headers[Self.cephHeader] != nil, let count = headers[Self.tagCount], count != "0" {
            object.keptHeaders.add(Self.tagCount, count)
        }
        return object
    }

    /// The generation of an object of another program: its time, and within the second bits of its tag and version.
    private func generation(_ tag: String, _ headers: HTTPHeaders, _ time: Timestamp) -> Int64 {
        let version = headers["x-amz-version-id"] ?? ""
        let hash = library.sha256(Array("\(tag)\n\(version)".utf8)) ?? []
        let bits = hash.prefix(3).reduce(Int64(0)) { $0 << 8 | Int64($1) } & 0xFFFFF
        return time.microseconds.addingSaturated(bits)
    }

    /// The checksums of the mark, and the tag where it is one: the MD5 of the bytes, or that of the MD5s of their parts.
    private func checksums(_ mark: S3Mark?, _ tag: String?, _ size: Int64) -> Checksums {
        var checksums = mark?.checksums ?? Checksums()
        guard let tag else { return checksums }
        let halves = tag.split(separator: "-", omittingEmptySubsequences: false)
        guard let md5 = [UInt8](hexadecimal: halves[0]), md5.count == 16 else { return checksums }
        if halves.count == 1 {
            checksums.md5 = checksums.md5 ?? md5
        } else if halves.count == 2, let count = Int(halves[1]), let partSize = mark?.partSize,
            Int64(count) == max(1, (size - 1) / partSize + 1)
        {
            checksums.parts = Checksums.Parts(md5: md5, size: partSize, count: count)
        }
        return checksums
    }
}

extension ContentProperty {
    fileprivate var header: String {
        switch self {
        case .cacheControl: "Cache-Control"
        case .contentDisposition: "Content-Disposition"
        case .contentEncoding: "Content-Encoding"
        case .contentLanguage: "Content-Language"
        case .contentType: "Content-Type"
        }
    }
}

extension String {
    /// The tag without the marks around it.
    var entityTag: String {
        let strong = hasPrefix("W/") ? dropFirst(2) : self[...]
        return String(
            strong.hasPrefix("\"") && strong.hasSuffix("\"") && strong.utf8.count > 1
                ? strong.dropFirst().dropLast() : strong)
    }

    /// A value of a header: printable ASCII unchanged, any other text as an encoded word (RFC 2047).
    fileprivate var encodedWord: String {
        let isPlain = !isEmpty && utf8.allSatisfy { (0x20...0x7E).contains($0) } && first != " " && last != " "
        return isPlain ? self : "=?UTF-8?B?\(Array(utf8).base64)?="
    }

    /// The text of an encoded word in UTF-8; any other text unchanged.
    fileprivate var decodedWord: String {
        guard hasPrefix("=?UTF-8?B?"), hasSuffix("?="), utf8.count >= 12,
            let bytes = [UInt8](base64: String(dropFirst(10).dropLast(2))),
            let text = String(validating: bytes, as: UTF8.self)
        else { return self }
        return text
    }

    /// A name of custom metadata as a part of a header's name: lower-case letters, digits, "-" and "." stay.
    fileprivate var s3Name: String {
        s3Escaped { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    /// A value of custom metadata: printable ASCII stays, except "%", and blanks that servers may trim or fold.
    fileprivate var s3Value: String {
        let keepsBlanks = first != " " && last != " " && !has("  ")
        return s3Escaped { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "%") || $0 == 0x20 && keepsBlanks }
    }

    /// Escapes in lower case, since names come back in it.
    private func s3Escaped(_ keeps: (UInt8) -> Bool) -> String {
        // No escape is a "%" alone, so it stands for the empty text, which not every server keeps.
        guard !isEmpty else { return "%" }
        guard !utf8.allSatisfy(keeps) else { return self }
        return String(
            decoding: utf8.flatMap { keeps($0) ? [$0] : Array("%".utf8) + Array([$0].hexadecimal.utf8) }, as: UTF8.self)
    }

    /// The text that was escaped; the text itself if it has no valid escapes.
    fileprivate var ofS3: String { self == "%" ? "" : percentDecoded(self) ?? self }
}

extension S3Mark {
    /// The maximum length of the text of a mark, in bytes.
    static let longest = 256
}
