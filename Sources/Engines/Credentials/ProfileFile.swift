/// A file of Amazon's tools: sections with a name each, which hold lines `NAME = VALUE`. The lines below a name without
/// a value that are indented further belong to it: `s3.endpoint_url`.
struct ProfileFile {
    struct Unreadable: Error { let reason: String }

    /// The values by the words of the section's name, in lower case by their own names.
    private(set) var sections: [[String]: [String: String]] = [:]
    private var section: [String]?
    private var parent: (name: String, indent: Int)?

    init(_ bytes: [UInt8]) throws(Unreadable) {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Unreadable(reason: "is not UTF-8") }
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let bytes = Array(line)
            let content = String(decoding: bytes.trimmed, as: UTF8.self)
            guard let first = content.utf8.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else {
                continue
            }
            let indent = bytes.prefix { $0 == 0x20 || $0 == 0x09 }.count
            guard first == UInt8(ascii: "[") ? begin(content) : add(content, indent) else {
                throw Unreadable(reason: "has a line that is neither [SECTION] nor NAME = VALUE: line \(index + 1)")
            }
        }
    }

    private mutating func begin(_ line: String) -> Bool {
        guard let end = line.firstIndex(of: "]") else { return false }
        let words = line[line.index(after: line.startIndex)..<end].split(separator: " ", maxSplits: 1).map { word in
            String(word).withoutQuotes
        }
        (section, parent) = (words, nil)
        sections[words, default: [:]] = sections[words] ?? [:]
        return !words.isEmpty
    }

    private mutating func add(_ line: String, _ indent: Int) -> Bool {
        guard let section else { return false }
        let isNested = parent.map { indent > $0.indent } ?? false
        guard let equals = line.utf8.firstIndex(of: UInt8(ascii: "=")) else { return isNested }
        var name = String(decoding: Array(line.utf8[..<equals]).trimmed, as: UTF8.self).lowercased()
        let value = Self.value(
            Array(line.utf8[line.utf8.index(after: equals)...]), isCommand: name == "credential_process")
        if let parent, isNested { name = "\(parent.name).\(name)" } else { parent = (name, indent) }
        sections[section]?[name] = value
        return true
    }

    /// The value without a comment, which begins after white space. A command line has none.
    private static func value(_ bytes: [UInt8], isCommand: Bool) -> String {
        let comment = bytes.indices.dropFirst().first { index in
            "#;".utf8.contains(bytes[index]) && (bytes[index - 1] == 0x20 || bytes[index - 1] == 0x09)
        }
        let end = isCommand ? bytes.endIndex : comment ?? bytes.endIndex
        return String(decoding: Array(bytes[..<end]).trimmed, as: UTF8.self)
    }
}

extension String {
    fileprivate var withoutQuotes: String {
        let bytes = Array(utf8).trimmed
        guard bytes.count >= 2, let first = bytes.first, first == bytes.last, "\"'".utf8.contains(first) else {
            return String(decoding: bytes, as: UTF8.self)
        }
        return String(decoding: bytes.dropFirst().dropLast(), as: UTF8.self)
    }
}
