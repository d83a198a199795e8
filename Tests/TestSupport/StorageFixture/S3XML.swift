import Foundation
import HTTPText

/// An element of a document of Amazon S3.
struct S3Element: Sendable {
    var name: String
    var text = ""
    var children: [S3Element] = []

    init(_ name: String, _ text: String = "") { (self.name, self.text) = (name, text) }
    init(_ name: String, _ children: [S3Element]) { (self.name, self.children) = (name, children) }

    func child(_ name: String) -> String? { children.first { $0.name == name }?.text }

    /// As text, with the escapes of Ceph.
    var document: String { "<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + markup(" xmlns=\"\(Self.namespace)\"") }

    private static let namespace = "http://s3.amazonaws.com/doc/2006-03-01/"

    private func markup(_ attributes: String = "") -> String {
        guard !text.isEmpty || !children.isEmpty else { return "<\(name)\(attributes)/>" }
        return "<\(name)\(attributes)>" + text.xmlEscaped + children.map { $0.markup() }.joined() + "</\(name)>"
    }
}

extension String {
    /// Ceph refers to control characters, which XML does not have, and does not encode U+FFFE and U+FFFF.
    fileprivate var xmlEscaped: String {
        unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case ">": text += "&gt;"
            case "\"": text += "&quot;"
            case "'": text += "&apos;"
            case "\t", "\n": text.unicodeScalars.append(scalar)
            case "\u{0}"..<" ", "\u{7F}": text += "&#x\([UInt8(truncatingIfNeeded: scalar.value)].hexadecimal);"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

extension S3Element {
    /// Reads a document without attributes but `xmlns`, comments and declarations but the first. Nil for any other.
    init?(_ body: [UInt8]) {
        guard let text = String(validating: body, as: UTF8.self),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 && !"\t\r\n".unicodeScalars.contains($0) })
        else { return nil }
        var rest = Substring(text.trimmingCharacters(in: .whitespacesAndNewlines))
        if rest.hasPrefix("<?xml ") {
            guard let end = rest.range(of: "?>") else { return nil }
            rest = Substring(rest[end.upperBound...].trimmingCharacters(in: .whitespacesAndNewlines))
        }
        guard let root = S3Element(&rest), rest.isEmpty else { return nil }
        self = root
    }

    private init?(_ rest: inout Substring) {
        guard rest.hasPrefix("<"), let end = rest.firstIndex(of: ">") else { return nil }
        var tag = rest[rest.index(after: rest.startIndex)..<end]
        rest = rest[rest.index(after: end)...]
        let isEmpty = tag.hasSuffix("/")
        if isEmpty { tag = tag.dropLast() }
        let words = tag.split(separator: " ")
        guard let name = words.first, words.dropFirst().allSatisfy({ $0.hasPrefix("xmlns=") }),
            name.utf8.allSatisfy({ isTokenCharacter($0) })
        else { return nil }
        self.init(String(name))
        if isEmpty { return }
        while !rest.hasPrefix("</") {
            guard let next = rest.firstIndex(of: "<") else { return nil }
            guard let text = Self.unescaped(rest[..<next]) else { return nil }
            self.text += text
            rest = rest[next...]
            if rest.hasPrefix("</") { break }
            guard let child = S3Element(&rest) else { return nil }
            children.append(child)
        }
        guard rest.hasPrefix("</\(name)>") else { return nil }
        rest = rest.dropFirst(name.count + 3)
        // Elements with children have white space between them alone.
        if !children.isEmpty {
            guard text.allSatisfy(\.isWhitespace) else { return nil }
            text = ""
        }
    }

    private static func unescaped(_ text: Substring) -> String? {
        var (result, rest) = ("", text)
        while let mark = rest.firstIndex(of: "&") {
            guard let end = rest[mark...].firstIndex(of: ";") else { return nil }
            result += rest[..<mark]
            switch rest[rest.index(after: mark)..<end] {
            case "amp": result += "&"
            case "lt": result += "<"
            case "gt": result += ">"
            case "quot": result += "\""
            case "apos": result += "'"
            case let number where number.hasPrefix("#"):
                let isHex = number.hasPrefix("#x")
                guard let code = UInt32(number.dropFirst(isHex ? 2 : 1), radix: isHex ? 16 : 10),
                    let scalar = Unicode.Scalar(code), code >= 0x20 || [9, 10, 13].contains(code)
                else { return nil }
                result.unicodeScalars.append(scalar)
            default: return nil
            }
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }
}
