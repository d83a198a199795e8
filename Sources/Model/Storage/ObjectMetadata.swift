import HTTPText

/// The properties of an object that its owner may set, besides custom metadata.
public enum ContentProperty: String, CaseIterable, Sendable {
    case cacheControl, contentDisposition, contentEncoding, contentLanguage, contentType

    /// The maximum size of a value, in bytes of UTF-8.
    public static let maxBytes = 8192

    /// Throws `invalidArgument` for a value that an HTTP header cannot hold.
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
    public var content: ContentValues<String> = [:]
    public var custom: ByteKeyedDictionary<String> = [:]
    /// Nil if no kept property is set.
    public var kept: KeptProperties?

    /// The maximum size of all custom keys and values together, in bytes of UTF-8: the service's own limit.
    public static let maxCustomBytes = 8192

    public init() {}

    /// Throws `invalidArgument`, and changes nothing, if a property or the custom metadata would exceed its size, or if
    /// an HTTP header cannot hold a property.
    public mutating func apply(_ change: MetadataChange) throws(StorageError) {
        if change.setsNothing { return }
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

    /// What a change with `replacesAll` keeps.
    private var replaceable: SettableMetadata {
        var left = SettableMetadata()
        left.kept = kept?.unremovable
        if left.kept?.isEmpty == true { left.kept = nil }
        return left
    }

    /// The metadata of a new object. The content type defaults to that of the first name that implies one.
    public static func ofUpload(
        _ change: MetadataChange, named names: [String]
    ) throws(StorageError) -> SettableMetadata {
        var metadata = SettableMetadata()
        metadata.content[.contentType] =
            names.lazy.compactMap(ContentType.inferred(fromName:)).first ?? ContentType.fallback
        var change = change
        // A new object has no property to remove.
        change.content = change.content.filter { $0.value != nil }
        try metadata.apply(change)
        return metadata
    }

    /// The size of all custom keys and values together, in bytes of UTF-8, without download tokens.
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
    /// Compares texts by their bytes.
    public static func == (a: SettableMetadata, b: SettableMetadata) -> Bool {
        a.content.count == b.content.count && a.kept == b.kept && a.isMet(by: b)
    }

    /// Whether stored metadata has these custom entries, exactly, and these content properties: servers add properties.
    public func isMet(by other: SettableMetadata) -> Bool {
        custom.count == other.custom.count && isContained(in: other)
    }

    /// Whether an object with the other metadata may have been stored with this: servers add entries and properties.
    package func isContained(in other: SettableMetadata) -> Bool {
        custom.allSatisfy { other.custom[$0.key]?.hasSameBytes(as: $0.value) == true }
            && content.allSatisfy { other.content[$0.key]?.hasSameBytes(as: $0.value) == true }
    }
}

/// A change of metadata: an absent property is kept, a nil removes it, a value sets it.
public struct MetadataChange: Equatable, Sendable {
    public enum Custom: Equatable, Sendable {
        case keep
        case removeAll
        case merge(ByteKeyedDictionary<String?>)
    }

    public var content: ContentValues<String?> = [:]
    public var custom = Custom.keep
    /// The change of kept properties. Only the embedded engine supports it.
    public var kept = KeptChange()
    /// Removes what the change does not name. Only the embedded engine supports it.
    public var replacesAll = false
    /// Removes the download tokens that the change does not name. Only the embedded engine supports it.
    public var dropsDownloadTokens = false
    /// Gives an object without a download token one. Only the embedded engine supports it.
    public var makesDownloadToken = false
    /// The base64 MD5 that uploaded bytes are checked against; ignored by an update, like `crc32c`.
    public var md5Hash: String?
    public var crc32c: UInt32?

    public init() {}

    /// Whether the change leaves all metadata as it is.
    fileprivate var setsNothing: Bool {
        if case .keep = custom { content.isEmpty && !replacesAll && kept.isEmpty } else { false }
    }

    /// Whether the change contains only kept properties.
    package var isAboutKeptAlone: Bool { content.isEmpty && custom == .keep && !replacesAll && !kept.isEmpty }

    /// Throws `invalidArgument` for a change that fits no object, whatever its metadata is.
    public func check() throws(StorageError) {
        var metadata = SettableMetadata()
        try metadata.apply(self)
    }
}

public struct ObjectMetadata: Equatable, Sendable {
    public var reference: Reference
    /// Grows with every upload to the reference.
    public var generation: Int64
    /// 1 after an upload; each change of metadata increments it.
    public var metageneration: Int64
    public var size: Int64
    public var timeCreated: Timestamp
    public var updated: Timestamp
    /// The checksums of the object's bytes. A remote engine may know none.
    public var checksums: Checksums
    public var settable: SettableMetadata
    /// The tokens that give access to the object without other credentials. Nil if they were not read with the rest:
    /// from a remote service, or from the record of a task.
    public var downloadTokens: [String]?
    /// What identifies the write that has stored the object; nil unless the engine marks its writes.
    package var writeID: String?
    /// The tag of the bytes, which conditions of requests name; nil unless the engine needs it.
    package var tagOfBytes: String?
    /// Headers of the object that a change of its metadata has to repeat, since it would remove them.
    package var keptHeaders: HTTPHeaders = [:]

    public init(
        reference: Reference, generation: Int64, metageneration: Int64, size: Int64, timeCreated: Timestamp,
        updated: Timestamp, checksums: Checksums, settable: SettableMetadata,
        downloadTokens: [String]? = nil
    ) {
        (self.reference, self.generation, self.metageneration) = (reference, generation, metageneration)
        (self.size, self.timeCreated, self.updated) = (size, timeCreated, updated)
        (self.checksums, self.settable, self.downloadTokens) = (checksums, settable, downloadTokens)
    }
}
