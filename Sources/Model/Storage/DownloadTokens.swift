// Firebase's Admin SDK sets the download tokens of an object as an entry of its custom metadata, separated by commas. The
// service takes the entry out.

extension SettableMetadata {
    public static let tokensKey = "firebaseStorageDownloadTokens"

    /// Takes the download tokens out of custom metadata; nil where it has no such entry.
    public mutating func takeDownloadTokens() -> [String]? {
        defer { custom[Self.tokensKey] = nil }
        return custom[Self.tokensKey].map([String].init(downloadTokens:))
    }
}

extension MetadataChange {
    /// The download tokens that this sets; nil where it keeps them.
    public var downloadTokens: [String]? {
        guard case .merge(let entries) = custom, let entry = entries[SettableMetadata.tokensKey] else {
            return dropsDownloadTokens ? [] : nil
        }
        return [String](downloadTokens: entry ?? "")
    }

    /// An object that is stored with this has the download tokens that it names, and no other.
    public mutating func makeNoDownloadToken() {
        guard downloadTokens == nil else { return }
        var entries: ByteKeyedDictionary<String?> = [:]
        if case .merge(let others) = custom { entries = others }
        entries[SettableMetadata.tokensKey] = .some("")
        custom = .merge(entries)
    }
}

extension [String] {
    /// Download tokens that are separated by commas.
    public init(downloadTokens text: String) {
        self = text.utf8.split(separator: UInt8(ascii: ",")).map { String(decoding: $0, as: UTF8.self) }
    }
}
