extension Token {
    /// In bytes.
    static let longestSecret = 64 << 10

    /// Throws `invalidArgument`, which does not repeat the secret, unless it can stand in a header of HTTP.
    public init(_ kind: Kind, checking secret: String, expires: Timestamp? = nil) throws(StorageError) {
        if let fault = Self.fault(in: secret) { throw .invalidArgument("token", "The token \(fault).") }
        self.init(kind, secret, expires: expires)
    }

    private static func fault(in secret: String) -> String? {
        if secret.isEmpty { return "is empty" }
        if secret.utf8.count > longestSecret { return "is longer than \(longestSecret) bytes" }
        guard secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "has a character that is not printable ASCII, or white space"
        }
        return nil
    }
}
