import HTTPText

/// The delimiter of a multipart body, from the value of its Content-Type (RFC 2046, section 5.1.1).
package struct MultipartBoundary: Sendable, Equatable {
    /// The boundary: 1 to 70 visible characters of ASCII and spaces, and no space at the end.
    package let text: String

    /// Nil for a text that is no boundary.
    package init?(_ text: String) {
        let bytes = text.utf8
        guard 1...70 ~= bytes.count, bytes.last != 0x20, bytes.allSatisfy({ 0x20...0x7E ~= $0 }) else { return nil }
        self.text = text
    }

    /// Nil unless the type is multipart and has one boundary, which may be unquoted, or in double or single quotes.
    ///
    /// An unquoted boundary may have any character but a semicolon: some clients send `===============7==`.
    package init?(contentType: String) {
        let end = contentType.utf8.firstIndex(of: 0x3B) ?? contentType.endIndex
        let type = trimmed(contentType[..<end])
        guard type.utf8.count > 10, isSameName(type.prefix(10), "multipart/") else { return nil }
        guard let values = HeaderParameters.all("boundary", of: contentType[end...]), values.count == 1 else {
            return nil
        }
        self.init(values[0])
    }
}

/// The parameters behind the first value of a header: `; name="key"; filename=x`. A value may be unquoted, or in double
/// or single quotes.
package enum HeaderParameters {
    /// The values of the name. Nil where a parameter is malformed.
    package static func all(_ name: String, of text: Substring) -> [String]? {
        var (rest, values) = (text, [String]())
        while !rest.isEmpty {
            guard let (other, value) = nextParameter(&rest) else { return nil }
            if isSameName(other, name) { values.append(value) }
        }
        return values
    }

    /// Removes a semicolon and a parameter, and returns the parameter. Nil where it is malformed.
    private static func nextParameter(_ rest: inout Substring) -> (name: Substring, value: String)? {
        rest = rest.dropFirst()
        let name = rest.prefix { $0 != "=" && $0 != ";" }
        rest = rest[name.endIndex...]
        guard rest.first == "=" else { return trimmed(name).isEmpty ? ("", "") : nil }
        rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
        if let quote = rest.first, quote == "\"" || quote == "'" {
            guard let value = nextQuoted(&rest, quote) else { return nil }
            return (trimmed(name), value)
        }
        let value = rest.prefix { $0 != ";" }
        rest = rest[value.endIndex...]
        return (trimmed(name), String(trimmed(value)))
    }

    /// Removes a quoted value and the blanks that follow it, and returns the value. Nil without the closing quote.
    private static func nextQuoted(_ rest: inout Substring, _ quote: Character) -> String? {
        var value = ""
        rest = rest.dropFirst()
        while var character = rest.popFirst() {
            if character == quote {
                rest = rest.drop { $0 == " " || $0 == "\t" }
                return rest.isEmpty || rest.first == ";" ? value : nil
            }
            // Browsers do not escape the backslashes of files' names.
            if character == "\\", quote == "\"", let escaped = rest.first, escaped == "\"" || escaped == "\\" {
                character = rest.removeFirst()
            }
            value.append(character)
        }
        return nil
    }
}
