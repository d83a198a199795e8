// Firebase's Admin SDK sets the download tokens of an object as an entry of its custom metadata, separated by commas. The
// service takes the entry out.

extension SettableMetadata {
    public static let tokensKey = "firebaseStorageDownloadTokens"

    /// Removes the download tokens from custom metadata and returns them; nil if it has no such entry.
    public mutating func takeDownloadTokens() -> [String]? {
        defer { custom[Self.tokensKey] = nil }
        return custom[Self.tokensKey].map([String].init(downloadTokens:))
    }
}

extension MetadataChange {
    /// The download tokens that this change sets; nil if it keeps them.
    public var downloadTokens: [String]? {
        guard case .merge(let entries) = custom, let entry = entries[SettableMetadata.tokensKey] else {
            return dropsDownloadTokens ? [] : nil
        }
        return [String](downloadTokens: entry ?? "")
    }

    /// Stores the object with the download tokens that are named here, and generates none.
    public mutating func makeNoDownloadToken() {
        guard downloadTokens == nil else { return }
        var entries: ByteKeyedDictionary<String?> = [:]
        if case .merge(let others) = custom { entries = others }
        entries[SettableMetadata.tokensKey] = .some("")
        custom = .merge(entries)
    }
}

extension [String] {
    /// Splits a comma-separated list of download tokens.
    public init(downloadTokens text: String) {
        var text = text
        self = text.withUTF8 { text in
            text.split(separator: UInt8(ascii: ",")).map { String(decoding: $0, as: UTF8.self) }
        }
    }
}
