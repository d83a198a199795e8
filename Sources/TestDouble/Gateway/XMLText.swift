/// An element of an XML document: its children, or its text.
struct XMLElement {
    var name: String
    var text = ""
    var children: [XMLElement] = []

    init(_ name: String, _ text: String) { (self.name, self.text) = (name, text) }
    init(_ name: String, _ children: [XMLElement]) { (self.name, self.children) = (name, children) }

    /// The namespace of the documents of Amazon S3, which clients of Google Cloud Storage ask for, too.
    static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

    /// A document with this root. What XML 1.0 cannot hold becomes U+FFFD: callers refuse it before where it has a meaning.
    func document(namespace: String? = XMLElement.namespace) -> [UInt8] {
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        write(to: &text, namespace)
        return Array(text.utf8)
    }

    /// Documents that are written have few levels.
    private func write(to output: inout String, _ namespace: String? = nil) {
        output += "<\(name)"
        if let namespace { output += " xmlns=\"\(namespace)\"" }
        output += ">"
        for child in children { child.write(to: &output) }
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": output += "&amp;"
            case "<": output += "&lt;"
            case ">": output += "&gt;"
            case "\"": output += "&quot;"
            // Readers would change or drop them.
            case "\r", "\n", "\t": output += "&#\(scalar.value);"
            default: output.unicodeScalars.append(Self.isAllowed(scalar) ? scalar : "\u{FFFD}")
            }
        }
        output += "</\(name)>"
    }

    /// Whether a document of XML 1.0 can have it.
    static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }
}

/// A strict reader of small documents in UTF-8: elements with children or with text, attributes that are checked and
/// dropped, comments, and references to characters. It has no document types, entities, CDATA or processing instructions.
struct XMLReader {
    struct Malformed: Error, Equatable { let why: String }

    private static let mostLevels = 8

    private var rest: Substring.UnicodeScalarView

    /// The root element. Bounds of the length are the caller's.
    static func root(of bytes: [UInt8]) throws(Malformed) -> XMLElement {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed(why: "it is not UTF-8") }
        guard text.unicodeScalars.allSatisfy(XMLElement.isAllowed) else {
            throw Malformed(why: "it has a character that XML has not")
        }
        var reader = XMLReader(rest: text.unicodeScalars[...])
        return try reader.document()
    }

    private mutating func document() throws(Malformed) -> XMLElement {
        _ = take("\u{FEFF}")
        if take("<?xml") { try declaration() }
        try skipBlanksAndComments()
        var open: [XMLElement] = []
        while true {
            guard take("<") else { throw Malformed(why: "an element is missing") }
            guard open.count < Self.mostLevels else { throw Malformed(why: "it has too many levels") }
            let (name, isEmpty) = try startTag()
            open.append(XMLElement(name, ""))
            if isEmpty, let root = close(&open) { return try end(root) }
            // Ends of elements, up to the beginning of the next one.
            while true {
                open[open.count - 1].text += try text()
                if !take("</") { break }
                guard try self.name() == open[open.count - 1].name else {
                    throw Malformed(why: "the element \(open[open.count - 1].name) does not end")
                }
                skipBlanks()
                guard take(">") else { throw Malformed(why: "a tag does not end") }
                try check(&open[open.count - 1])
                if let root = close(&open) { return try end(root) }
            }
        }
    }

    /// Throws where an element has both children and text.
    private func check(_ element: inout XMLElement) throws(Malformed) {
        guard !element.children.isEmpty else { return }
        guard element.text.unicodeScalars.allSatisfy(Self.isBlank) else {
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
        guard rest.isEmpty else { throw Malformed(why: "there is something behind its root") }
        return root
    }

    private mutating func declaration() throws(Malformed) {
        try attributes()
        guard take("?>") else { throw Malformed(why: "its declaration does not end") }
    }

    /// Behind `<`.
    private mutating func startTag() throws(Malformed) -> (name: String, isEmpty: Bool) {
        let name = try name()
        try attributes()
        if take("/>") { return (name, true) }
        guard take(">") else { throw Malformed(why: "a tag does not end") }
        return (name, false)
    }

    private mutating func attributes() throws(Malformed) {
        var names: Set<String> = []
        while true {
            let isSeparate = skipBlanks()
            guard let next = rest.first, isSeparate, Self.isOfName(next) else { return }
            guard names.insert(try name()).inserted else { throw Malformed(why: "an attribute occurs twice") }
            skipBlanks()
            guard take("=") else { throw Malformed(why: "an attribute has no value") }
            skipBlanks()
            guard let quote = rest.popFirst(), quote == "\"" || quote == "'", let end = rest.firstIndex(of: quote),
                !rest[..<end].contains("<")
            else { throw Malformed(why: "the value of an attribute is malformed") }
            rest = rest[rest.index(after: end)...]
        }
    }

    private mutating func name() throws(Malformed) -> String {
        let name = rest.prefix(while: Self.isOfName)
        guard let first = name.first, first.properties.isAlphabetic || first == "_" else {
            throw Malformed(why: "a name is malformed")
        }
        rest = rest[name.endIndex...]
        return String(String.UnicodeScalarView(name))
    }

    /// Up to the next tag.
    private mutating func text() throws(Malformed) -> String {
        var text = String.UnicodeScalarView()
        while let next = rest.first {
            if next == "<" {
                guard take("<!--") else { break }
                try skipComment()
            } else if next == "&" {
                text.append(try reference())
            } else {
                rest.removeFirst()
                // A line ends with one character, however it is written.
                if next == "\r", rest.first == "\n" { continue }
                text.append(next == "\r" ? "\n" : next)
            }
        }
        return String(text)
    }

    private static let entities: [String: Unicode.Scalar] = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'",
    ]

    private mutating func reference() throws(Malformed) -> Unicode.Scalar {
        let body = rest.dropFirst().prefix(12)
        guard let end = body.firstIndex(of: ";") else { throw Malformed(why: "a reference does not end") }
        let name = String(String.UnicodeScalarView(body[..<end]))
        rest = rest[rest.index(after: end)...]
        if let scalar = Self.entities[name] { return scalar }
        guard name.hasPrefix("#") else { throw Malformed(why: "it has the entity \(name)") }
        let isHex = name.hasPrefix("#x")
        let digits = name.dropFirst(isHex ? 2 : 1)
        guard digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
            let scalar = UInt32(digits, radix: isHex ? 16 : 10).flatMap(Unicode.Scalar.init),
            XMLElement.isAllowed(scalar)
        else { throw Malformed(why: "it has the character \(name)") }
        return scalar
    }

    private mutating func skipBlanksAndComments() throws(Malformed) {
        skipBlanks()
        while take("<!--") {
            try skipComment()
            skipBlanks()
        }
    }

    /// Behind `<!--`.
    private mutating func skipComment() throws(Malformed) {
        while !rest.isEmpty {
            if take("-->") { return }
            guard !rest.starts(with: "--".unicodeScalars) else { break }
            rest.removeFirst()
        }
        throw Malformed(why: "a comment is malformed")
    }

    @discardableResult private mutating func skipBlanks() -> Bool {
        let blanks = rest.prefix(while: Self.isBlank)
        rest = rest[blanks.endIndex...]
        return !blanks.isEmpty
    }

    private mutating func take(_ text: String) -> Bool {
        guard rest.starts(with: text.unicodeScalars) else { return false }
        rest = rest.dropFirst(text.unicodeScalars.count)
        return true
    }

    private static func isBlank(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\n" || scalar == "\t" || scalar == "\r"
    }

    private static func isOfName(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "A"..."Z", "a"..."z", "0"..."9", "_", "-", ".", ":": true
        default: scalar.value >= 0x80 && scalar.properties.isAlphabetic
        }
    }
}
