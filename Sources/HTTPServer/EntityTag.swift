import HTTPText

/// An entity tag. Tags that match strongly name the same bytes.
public struct EntityTag: Sendable, Equatable, CustomStringConvertible {
    public let opaque: String
    public let isWeak: Bool

    /// `opaque` has no quotation marks. Returns nil for a character that a tag cannot have.
    public init?(_ opaque: String, isWeak: Bool = false) {
        guard opaque.utf8.allSatisfy(Self.isTagCharacter) else { return nil }
        (self.opaque, self.isWeak) = (opaque, isWeak)
    }

    public var description: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    /// Parses exactly one tag.
    init?(parsing text: String) {
        guard let tags = EntityTagList(parsing: [text]), case .tags(let all) = tags, all.count == 1 else { return nil }
        self = all[0]
    }

    func matchesStrongly(_ other: EntityTag) -> Bool { self == other && !isWeak }

    func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    static func isTagCharacter(_ byte: UInt8) -> Bool { byte == 0x21 || 0x23...0x7E ~= byte || byte >= 0x80 }
}

/// The value of If-Match and If-None-Match.
enum EntityTagList: Equatable {
    case any
    case tags([EntityTag])

    /// Parses all lines of the field; nil where one is malformed.
    init?(parsing lines: [String]) {
        if lines.count == 1, trimmed(lines[0][...]) == "*" {
            self = .any
            return
        }
        var tags: [EntityTag] = []
        for line in lines {
            var rest = line.utf8[...]
            while let tag = Self.next(&rest) { tags.append(tag) }
            guard rest.isEmpty else { return nil }
        }
        self = .tags(tags)
    }

    /// Parses the next tag and its comma. Returns nil at the end, and with a rest where it is malformed.
    private static func next(_ rest: inout Substring.UTF8View) -> EntityTag? {
        let all = rest.drop { $0 == 0x2C || $0 == 0x20 || $0 == 0x09 }
        let isWeak = all.starts(with: "W/".utf8)
        let quoted = all.dropFirst(isWeak ? 2 : 0)
        let opaque = quoted.dropFirst().prefix(while: EntityTag.isTagCharacter)
        let behind = quoted.dropFirst(1 + opaque.count)
        let after = behind.dropFirst().drop { $0 == 0x20 || $0 == 0x09 }
        guard quoted.first == 0x22, behind.first == 0x22, after.isEmpty || after.first == 0x2C else {
            rest = all
            return nil
        }
        rest = after
        return EntityTag(String(Substring(opaque)), isWeak: isWeak)
    }
}
