/// Finds secrets by their names or places in one reading of a text: values, credentials, passwords in URLs.
struct SecretFinder {
    private let text: DecodedText
    private let bytes: [UInt8]

    private init(_ text: DecodedText) { (self.text, bytes) = (text, text.bytes) }

    /// The ranges in the source.
    static func secrets(in text: DecodedText) -> [Range<Int>] { SecretFinder(text).secrets.map(text.origin) }

    private var secrets: [Range<Int>] {
        var (found, index) = ([Range<Int>](), 0)
        while index < bytes.count {
            let secret: Range<Int>? =
                switch bytes[index] {
                case UInt8(ascii: "="): value(behind: index)
                case UInt8(ascii: ":"): value(behind: index) ?? user(behind: index)
                case UInt8(ascii: ">"): element(behind: index)
                case 0x20, 0x09: credentials(behind: index)
                case UInt8(ascii: "e"), UInt8(ascii: "y"): token(from: index)
                default: nil
                }
            if let secret { found.append(secret) }
            index = max(index + 1, secret?.upperBound ?? 0)
        }
        return found
    }
}

extension SecretFinder {
    /// The value of `name=…`, `"name": "…"`, or of `name: …` if it looks random.
    private func value(behind separator: Int) -> Range<Int>? {
        let (name, isQuoted) = name(before: separator)
        guard name.isSecretName else { return nil }
        let start = skipBlanks(from: separator + 1)
        guard start < bytes.count else { return start..<start }
        switch bytes[start] {
        case UInt8(ascii: "\""), UInt8(ascii: "'"): return text(from: start + 1, to: bytes[start])
        case UInt8(ascii: "[") where isQuoted: return text(from: start + 1, to: UInt8(ascii: "]"))
        case UInt8(ascii: "{") where isQuoted: return text(from: start + 1, to: UInt8(ascii: "}"))
        default:
            let value = value(from: start)
            return bytes[separator] == UInt8(ascii: "=") || isQuoted || looksRandom(value) ? value : nil
        }
    }

    /// The content of an element of XML: `<name>…</name>`.
    private func element(behind end: Int) -> Range<Int>? {
        var start = end
        while start > 0, Self.isNameByte(bytes[start - 1]) { start -= 1 }
        guard start > 0, bytes[start - 1] == UInt8(ascii: "<"), bytes[start..<end].isSecretName else { return nil }
        return text(from: end + 1, to: UInt8(ascii: "<"))
    }

    private func name(before separator: Int) -> (name: ArraySlice<UInt8>, isQuoted: Bool) {
        var end = separator
        while end > 0, Self.isBlank(bytes[end - 1]) { end -= 1 }
        let isQuoted = end > 0 && (bytes[end - 1] == UInt8(ascii: "\"") || bytes[end - 1] == UInt8(ascii: "'"))
        if isQuoted { end -= 1 }
        var start = end
        while start > 0, Self.isNameByte(bytes[start - 1]) { start -= 1 }
        return (bytes[start..<end], isQuoted)
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch lowercased(byte) {
        case 0x30...0x39, 0x61...0x7A: true
        default: "-_.[]".utf8.contains(byte)
        }
    }

    private func skipBlanks(from start: Int) -> Int { bytes[start...].firstIndex { !Self.isBlank($0) } ?? bytes.count }

    /// A quoted or bracketed text; an escaped delimiter does not end it.
    private func text(from start: Int, to delimiter: UInt8) -> Range<Int> {
        var end = start
        while end < bytes.count, bytes[end] != delimiter {
            end += !text.isFullyDecoded && bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        return start..<min(end, bytes.count)
    }

    private func value(from start: Int) -> Range<Int> {
        start..<(bytes.indices[start...].first(where: endsValue) ?? bytes.count)
    }

    /// Whether the value ends at an index. Percent-encoded bytes belong to it.
    private func endsValue(_ index: Int) -> Bool {
        let byte = bytes[index]
        let isDelimiter =
            byte <= 0x20 || "&#\"<>".utf8.contains(byte) || byte == UInt8(ascii: "\\") && !text.isFullyDecoded
        return isDelimiter && !text.isPercentEncoded(index)
    }

    private func looksRandom(_ range: Range<Int>) -> Bool {
        range.count >= 12 && bytes[range].contains { (0x30...0x39).contains($0) }
    }

    /// The credentials after `Authorization: Bearer` and similar prefixes.
    private func credentials(behind blank: Int) -> Range<Int>? {
        let word = bytes[..<blank].suffix(8).map(lowercased)
        guard ["bearer", "basic", "firebase"].contains(where: { word.suffix($0.utf8.count).elementsEqual($0.utf8) })
        else { return nil }
        let value = value(from: skipBlanks(from: blank))
        return looksRandom(value) ? value : nil
    }

    /// A web token or an access token of Google, recognised by its first characters.
    private func token(from start: Int) -> Range<Int>? {
        guard ["eyJ", "ya29."].contains(where: { bytes[start...].starts(with: $0.utf8) }),
            start == 0 || !Self.isNameByte(bytes[start - 1])
        else { return nil }
        let token = start..<(bytes[start...].firstIndex { !Self.isNameByte($0) } ?? bytes.count)
        return token.count > 20 ? token : nil
    }

    /// The user info of `https://user:password@host`.
    private func user(behind colon: Int) -> Range<Int>? {
        guard bytes[colon...].starts(with: "://".utf8), !name(before: colon).name.elementsEqual("gs".utf8) else {
            return nil
        }
        let authority = bytes[(colon + 3)...].prefix { $0 > 0x20 && !"/?#\"<>\\".utf8.contains($0) }
        return authority.lastIndex(of: UInt8(ascii: "@")).map { authority.startIndex..<$0 }
    }
}
