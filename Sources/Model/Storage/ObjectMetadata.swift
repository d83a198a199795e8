/// The properties of an object that its owner may set, besides custom metadata.
public enum ContentProperty: String, CaseIterable, Sendable {
    case cacheControl, contentDisposition, contentEncoding, contentLanguage, contentType

    /// Of each value, in UTF-8.
    public static let maxBytes = 8192

    /// Throws `invalidArgument` for a value that a header of HTTP cannot have as it is.
    func check(_ value: String) throws(StorageError) {
        let param = "metadata.\(self)"
        if self == .contentType, !value.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) {
            throw .invalidArgument(param, "\(param) goes into headers of HTTP, so it must be printable ASCII.")
        }
        guard let byte = value.utf8.first(where: { $0 < 0x20 || $0 == 0x7F }) else { return }
        let code = String(byte, radix: 16, uppercase: true)
        throw .invalidArgument(
            param,
            "\(param) goes into headers of HTTP, so it may not have the control character U+00\(byte < 16 ? "0" : "")\(code)."
        )
    }
}

/// The metadata that clients set. A property without a value is absent.
public struct SettableMetadata: Sendable {
    public var content: [ContentProperty: String] = [:]
    public var custom: ByteKeyedDictionary<String> = [:]
    /// Nil where there are none.
    public var kept: KeptProperties?

    /// Keys and values together, in bytes of UTF-8: the service's own limit.
    public static let maxCustomBytes = 8192

    public init() {}

    /// Throws `invalidArgument`, and changes nothing, where a property or the custom metadata would grow too large, or a
    /// header of HTTP cannot have a property as it is.
    public mutating func apply(_ change: MetadataChange) throws(StorageError) {
        var changed = change.replacesAll ? replaceable : self
        for property in ContentProperty.allCases {
            guard let value = change.content[property] else { continue }
            let param = "metadata.\(property)"
            try Self.check(value?.utf8.count ?? 0, atMost: ContentProperty.maxBytes, of: param, called: param)
            if let value { try property.check(value) }
            changed.content[property] = value
        }
        switch change.custom {
        case .keep: break
        case .removeAll: changed.custom = [:]
        case .merge(let entries):
            for (key, value) in entries { changed.custom[key] = value }
            try Self.check(
                changed.customBytes, atMost: Self.maxCustomBytes, of: "metadata.customMetadata",
                called: "Custom metadata")
            try Self.check(
                changed.custom[Self.tokensKey]?.utf8.count ?? 0, atMost: Self.maxCustomBytes,
                of: "metadata.customMetadata.\(Self.tokensKey)", called: Self.tokensKey)
        }
        if !change.kept.isEmpty {
            let kept = try change.kept.applied(to: changed.kept ?? KeptProperties())
            changed.kept = kept.isEmpty ? nil : kept
        }
        self = changed
    }

    /// What stays where all that a change does not name goes: the class and the time of an object are not removed.
    private var replaceable: SettableMetadata {
        var left = SettableMetadata()
        left.kept = kept?.ofCopy
        return left
    }

    /// The metadata of a new object. Without a content type it has that of the first name that implies one.
    public static func ofUpload(
        _ change: MetadataChange, named names: [String]
    ) throws(StorageError) -> SettableMetadata {
        var metadata = SettableMetadata()
        metadata.content[.contentType] =
            names.lazy.compactMap(ContentType.inferred(fromName:)).first ?? ContentType.fallback
        var change = change
        // There is nothing to remove yet.
        change.content = change.content.filter { $0.value != nil }
        try metadata.apply(change)
        return metadata
    }

    /// Keys and values together, without download tokens.
    package var customBytes: Int {
        custom.reduce(0) { sum, entry in
            entry.key == Self.tokensKey ? sum : sum + entry.key.utf8.count + entry.value.utf8.count
        }
    }

    private static func check(
        _ bytes: Int, atMost limit: Int, of param: String, called name: String
    ) throws(StorageError) {
        guard bytes > limit else { return }
        throw .invalidArgument(param, "\(name) has \(bytes) bytes, but at most \(limit) may be stored.")
    }
}

extension ContentProperty: Codable, CodingKeyRepresentable {}
extension SettableMetadata: Codable {}

extension SettableMetadata: Equatable {
    /// By bytes, as it is stored.
    public static func == (a: SettableMetadata, b: SettableMetadata) -> Bool {
        a.content.count == b.content.count && a.kept == b.kept && a.isMet(by: b)
    }

    /// Whether stored metadata fulfils this: servers add content properties of their own.
    public func isMet(by other: SettableMetadata) -> Bool {
        custom.count == other.custom.count && isContained(in: other)
    }

    /// Whether an object with the other metadata may have been made with these: servers add some of their own.
    package func isContained(in other: SettableMetadata) -> Bool {
        custom.allSatisfy { other.custom[$0.key]?.hasSameBytes(as: $0.value) == true }
            && content.allSatisfy { other.content[$0.key]?.hasSameBytes(as: $0.value) == true }
    }
}

/// A change of metadata: an absent property stays, a nil removes it, a value sets it.
public struct MetadataChange: Equatable, Sendable {
    public enum Custom: Equatable, Sendable {
        case keep
        case removeAll
        case merge(ByteKeyedDictionary<String?>)
    }

    public var content: [ContentProperty: String?] = [:]
    public var custom = Custom.keep
    /// For the embedded engine alone.
    public var kept = KeptChange()
    /// What the change does not name is removed. For the embedded engine alone.
    public var replacesAll = false
    /// Download tokens that the change does not name are removed. For the embedded engine alone.
    public var dropsDownloadTokens = false
    /// An object without a download token gets one. For the embedded engine alone.
    public var makesDownloadToken = false
    /// The base64 MD5 that the uploaded bytes must have; checked on upload, ignored on update. The same holds for the
    /// CRC32C.
    public var md5Hash: String?
    public var crc32c: UInt32?

    public init() {}

    /// Whether the change names kept properties, and nothing else.
    package var isAboutKeptAlone: Bool { content.isEmpty && custom == .keep && !replacesAll && !kept.isEmpty }

    /// Throws `invalidArgument` for a change that no object can take, whatever its metadata is.
    public func check() throws(StorageError) {
        var metadata = SettableMetadata()
        try metadata.apply(self)
    }
}

public struct ObjectMetadata: Equatable, Sendable {
    public var reference: Reference
    /// Changes with every upload to the same reference, and only grows.
    public var generation: Int64
    /// 1 after an upload; each change of metadata adds 1.
    public var metageneration: Int64
    public var size: Int64
    public var timeCreated: Timestamp
    public var updated: Timestamp
    /// Either of the two may be unknown to a remote engine.
    public var md5: [UInt8]?
    public var crc32c: UInt32?
    public var settable: SettableMetadata
    /// Whoever knows one of them may fetch the object. Nil where they were not read with the rest: from a remote service,
    /// or from the record of a task.
    public var downloadTokens: [String]?

    public init(
        reference: Reference, generation: Int64, metageneration: Int64, size: Int64, timeCreated: Timestamp,
        updated: Timestamp, md5: [UInt8]?, crc32c: UInt32?, settable: SettableMetadata,
        downloadTokens: [String]? = nil
    ) {
        (self.reference, self.generation, self.metageneration) = (reference, generation, metageneration)
        (self.size, self.timeCreated, self.updated, self.md5) = (size, timeCreated, updated, md5)
        (self.crc32c, self.settable, self.downloadTokens) = (crc32c, settable, downloadTokens)
    }
}
