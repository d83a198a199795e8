import FoundationEssentials

extension [UInt8] {
    /// Decodes the Base64 of RFC 4648, section 4. Nil unless `text` is the one way to write these bytes: `aGk=`, but neither
    /// `aGk==` nor `aGl=`.
    package init?(base64 text: String) {
        guard let bytes = Data(base64Encoded: text), text.utf8.count == (bytes.count + 2) / 3 * 4 else { return nil }
        let lastGroup = Data(bytes.suffix((bytes.count + 2) % 3 + 1)).base64EncodedString()
        guard text.utf8.suffix(4).elementsEqual(lastGroup.utf8) else { return nil }
        self.init(bytes)
    }

    package var base64: String { Data(self).base64EncodedString() }

    /// In lower case, two digits a byte.
    package var hexadecimal: String {
        let digits = Array<UInt8>("0123456789abcdef".utf8)
        return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
