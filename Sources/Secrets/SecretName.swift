extension String {
    /// Whether a param, a header or a member of this name holds a secret, in whatever way the name is encoded.
    public var isSecretName: Bool { DecodedText.readings(of: self).contains { $0.bytes[...].isSecretName } }

    /// Whether there is a word in it that names of secrets are made of.
    public var mentionsSecrets: Bool { DecodedText.readings(of: self).contains { $0.bytes[...].mentionsSecrets } }
}

extension ArraySlice<UInt8> {
    var isSecretName: Bool {
        // What tells where the next page of a listing begins opens nothing.
        let isPageToken = letters.suffix(9).elementsEqual("pagetoken".utf8)
        return !isPageToken && (mentionsSecrets || letters.elementsEqual("sig".utf8))
    }

    private static let words = [
        "token", "secret", "password", "passwd", "authorization", "signature", "uploadid", "privatekey", "apikey",
        "appcheck", "assertion", "cookie",
    ].map { Array($0.utf8) }

    var mentionsSecrets: Bool {
        let letters = letters
        return Self.words.contains { letters.contains($0) }
    }

    /// In lower case, and without what stands between words of a name.
    private var letters: [UInt8] { map(lowercased).filter { !"_-.".utf8.contains($0) } }
}
