/// An element of an XML document: its children, or its text.
package struct XMLElement {
    package var name: String
    package var text = ""
    package var children: [XMLElement] = []
    /// The attributes of an element that is written. Their values need no escapes.
    package var attributes: [(name: String, value: String)] = []

    package init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
    package init(_ name: String, _ children: [XMLElement]) { (self.name, self.children) = (name, children) }
    package init(_ name: String, _ texts: KeyValuePairs<String, String?>) { self.init(name, Self.list(texts)) }

    /// The elements that have a text.
    package static func list(_ texts: KeyValuePairs<String, String?>) -> [XMLElement] {
        texts.compactMap { name, text in text.map { XMLElement(name, $0) } }
    }

    /// The text of the first child of this name; nil if there is none.
    package subscript(name: String) -> String? { children.first { $0.name == name }?.text }

    /// The namespace of the documents of Amazon S3, which clients of Google Cloud Storage ask for, too.
    package static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

    /// A document with this root. What XML 1.0 cannot hold becomes U+FFFD: callers refuse it before where it has a
    /// meaning.
    package func document(namespace: String? = XMLElement.namespace) -> [UInt8] {
        var output = Array("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".utf8)
        write(to: &output, namespace)
        return output
    }

    /// Documents that are written have few levels.
    private func write(to output: inout [UInt8], _ namespace: String? = nil) {
        output += "<\(name)".utf8
        if let namespace { output += " xmlns=\"\(namespace)\"".utf8 }
        for (name, value) in attributes { output += " \(name)=\"\(value)\"".utf8 }
        output.append(UInt8(ascii: ">"))
        for child in children { child.write(to: &output) }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;".utf8
            case "<": output += "&lt;".utf8
            case ">": output += "&gt;".utf8
            case "\"": output += "&quot;".utf8
            // Readers would change or drop these blanks.
            case "\r", "\n", "\t": output += "&#\(scalar.value);".utf8
            case " "..."~": output.append(UInt8(ascii: scalar))
            default: output += String(Self.isAllowed(scalar) ? scalar : "\u{FFFD}").utf8
            }
        }
        output += "</\(name)>".utf8
    }

    /// Whether a document of XML 1.0 can have the character.
    package static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }
}

/// A strict reader of small documents in UTF-8: elements with children or with text, attributes that are checked and
/// dropped, comments, CDATA sections, and references to characters. It has no document types, entities or processing
/// instructions.
package struct XMLReader {
    package struct Malformed: Error, Equatable { package let why: String }

    private static let mostLevels = 8

    /// The largest number of elements in a document: more than a list of 10,000 parts has.
    private static let mostElements = 50_000

    /// The document in UTF-8.
    private let bytes: [UInt8]
    private let takesAllCharacters: Bool
    private var next = 0

    /// Parses a document and returns the root element. The caller bounds its length.
    ///
    /// - Parameter takesAllCharacters: accepts characters that XML 1.0 does not have, which some servers write.
    package static func root(
        of bytes: [UInt8], takesAllCharacters: Bool = false
    ) throws(Malformed) -> XMLElement {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed(why: "it is not UTF-8") }
        guard takesAllCharacters || text.unicodeScalars.allSatisfy(XMLElement.isAllowed) else {
            throw Malformed(why: "it has a character that XML has not")
        }
        var reader = XMLReader(bytes: bytes, takesAllCharacters: takesAllCharacters)
        return try reader.document()
    }

    private mutating func document() throws(Malformed) -> XMLElement {
        _ = skip("\u{FEFF}")
        if skip("<?xml") { try declaration() }
        try skipBlanksAndComments()
        var (open, count): ([XMLElement], Int) = ([], 0)
        while true {
            count += 1
            guard count <= Self.mostElements else {
                throw Malformed(why: "it has more than \(Self.mostElements) elements")
            }
            guard skip("<") else { throw Malformed(why: "an element is missing") }
            guard open.count < Self.mostLevels else { throw Malformed(why: "it has too many levels") }
            let (name, isEmpty) = try startTag()
            open.append(XMLElement(name, ""))
            if isEmpty, let root = close(&open) { return try end(root) }
            // Ends of elements, up to the beginning of the next one.
            while true {
                open[open.count - 1].text += try text()
                if !skip("</") { break }
                guard try self.name() == open[open.count - 1].name else {
                    throw Malformed(why: "the element \(open[open.count - 1].name) does not end")
                }
                skipBlanks()
                guard skip(">") else { throw Malformed(why: "a tag does not end") }
                try check(&open[open.count - 1])
                if let root = close(&open) { return try end(root) }
            }
        }
    }

    /// Throws where an element has both children and text.
    private func check(_ element: inout XMLElement) throws(Malformed) {
        guard !element.children.isEmpty else { return }
        guard element.text.utf8.allSatisfy(Self.isBlank) else {
            throw Malformed(why: "the element \(element.name) has text between its children")
        }
        element.text = ""
    }

    /// Makes the last element a child of the one before. Returns the root where it is the last.
    private func close(_ open: inout [XMLElement]) -> XMLElement? {
        let element = open.removeLast()
        if open.isEmpty { return element }
        open[open.count - 1].children.append(element)
        return nil
    }

    private mutating func end(_ root: XMLElement) throws(Malformed) -> XMLElement {
        try skipBlanksAndComments()
        guard next == bytes.count else { throw Malformed(why: "there is something behind its root") }
        return root
    }

    private mutating func declaration() throws(Malformed) {
        try attributes()
        guard skip("?>") else { throw Malformed(why: "its declaration does not end") }
    }

    /// Parses a start tag behind its `<`.
    private mutating func startTag() throws(Malformed) -> (name: String, isEmpty: Bool) {
        let name = try name()
        try attributes()
        if skip("/>") { return (name, true) }
        guard skip(">") else { throw Malformed(why: "a tag does not end") }
        return (name, false)
    }

    private mutating func attributes() throws(Malformed) {
        var names: Set<String> = []
        while true {
            let isSeparate = skipBlanks()
            guard let byte = current, isSeparate, Self.isOfName(byte) else { return }
            guard names.insert(try name()).inserted else { throw Malformed(why: "an attribute occurs twice") }
            skipBlanks()
            guard skip("=") else { throw Malformed(why: "an attribute has no value") }
            skipBlanks()
            guard let quote = current, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'"),
                let end = bytes[(next + 1)...].firstIndex(where: { $0 == quote || $0 == UInt8(ascii: "<") }),
                bytes[end] == quote
            else { throw Malformed(why: "the value of an attribute is malformed") }
            next = end + 1
        }
    }

    private var current: UInt8? { next < bytes.count ? bytes[next] : nil }

    private mutating func name() throws(Malformed) -> String {
        let end = bytes[next...].firstIndex { !Self.isOfName($0) } ?? bytes.count
        let name = String(decoding: bytes[next..<end], as: UTF8.self)
        guard let first = name.unicodeScalars.first, first.properties.isAlphabetic || first == "_",
            name.unicodeScalars.allSatisfy({ $0.isASCII || $0.properties.isAlphabetic })
        else { throw Malformed(why: "a name is malformed") }
        next = end
        return name
    }

    /// Parses the text up to the next tag.
    private mutating func text() throws(Malformed) -> String {
        var text: [UInt8] = []
        while let byte = current {
            if byte == UInt8(ascii: "<") {
                if skip("<!--") {
                    try skipComment()
                } else if skip("<![CDATA[") {
                    text += try characters()
                } else {
                    break
                }
            } else if byte == UInt8(ascii: "&") {
                text += String(try reference()).utf8
            } else {
                next += 1
                // A line ends with one character, however it is written.
                if byte == 0x0D, current == 0x0A { continue }
                text.append(byte == 0x0D ? 0x0A : byte)
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses the characters of a CDATA section behind its start, which are literal.
    private mutating func characters() throws(Malformed) -> [UInt8] {
        var text: [UInt8] = []
        while let byte = current {
            if skip("]]>") { return text }
            next += 1
            if byte == 0x0D, current == 0x0A { continue }
            text.append(byte == 0x0D ? 0x0A : byte)
        }
        throw Malformed(why: "a CDATA section does not end")
    }

    private static let entities: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'",
    ]

    private mutating func reference() throws(Malformed) -> Unicode.Scalar {
        let body = bytes[next...].dropFirst().prefix(12)
        guard let end = body.firstIndex(of: UInt8(ascii: ";")) else { throw Malformed(why: "a reference does not end") }
        let name = String(decoding: body[..<end], as: UTF8.self)
        next = end + 1
        if let scalar = Self.entities[name] { return scalar }
        guard name.hasPrefix("#") else { throw Malformed(why: "it has the entity \(name)") }
        let isHex = name.hasPrefix("#x")
        let digits = name.dropFirst(isHex ? 2 : 1)
        guard digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let scalar = UInt32(digits, radix: isHex ? 16 : 10).flatMap(Unicode.Scalar.init),
            takesAllCharacters || XMLElement.isAllowed(scalar)
        else { throw Malformed(why: "it has the character \(name)") }
        return scalar
    }

    private mutating func skipBlanksAndComments() throws(Malformed) {
        skipBlanks()
        while skip("<!--") {
            try skipComment()
            skipBlanks()
        }
    }

    /// Skips a comment behind its `<!--`.
    private mutating func skipComment() throws(Malformed) {
        while next < bytes.count {
            if skip("-->") { return }
            guard !skip("--") else { break }
            next += 1
        }
        throw Malformed(why: "a comment is malformed")
    }

    @discardableResult private mutating func skipBlanks() -> Bool {
        let start = next
        while let byte = current, Self.isBlank(byte) { next += 1 }
        return next > start
    }

    private mutating func skip(_ text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard count <= bytes.count - next, (0..<count).allSatisfy({ bytes[next + $0] == text.utf8Start[$0] }) else {
            return false
        }
        next += count
        return true
    }

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x0A || byte == 0x09 || byte == 0x0D }

    /// Whether a name may have the byte. All bytes of characters beyond ASCII may occur.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: ":"), 0x80...:
            true
        default: false
        }
    }
}
