import HTTPText

extension ConditionalOutcome {
    /// Evaluates the preconditions in the order of RFC 9110, section 13.2.2.
    init(_ request: HTTPServerRequest, _ resource: ServedResource, at now: HTTPDate) {
        let headers = request.headers
        if !Self.holds(headers, resource) {
            self = .preconditionFailed
        } else if Self.isKnown(headers, resource) {
            self = .notModified
        } else if request.method == .get, Self.rangeHolds(headers, resource, now) {
            switch ByteRange(headers, size: max(0, resource.size)) {
            case .whole: self = .whole
            case .part(let range): self = .part(range)
            case .unsatisfiable: self = .unsatisfiable
            }
        } else {
            self = .whole
        }
    }

    /// Whether If-Match holds, or else If-Unmodified-Since. A malformed list matches nothing.
    private static func holds(_ headers: HTTPHeaders, _ resource: ServedResource) -> Bool {
        if let matches = matches("If-Match", headers, { resource.etag?.matchesStrongly($0) }) { return matches }
        guard let limit = date("If-Unmodified-Since", headers), let modified = resource.lastModified else {
            return true
        }
        return modified <= limit
    }

    /// Whether the client has the resource, by If-None-Match, or else by If-Modified-Since.
    private static func isKnown(_ headers: HTTPHeaders, _ resource: ServedResource) -> Bool {
        if let matches = matches("If-None-Match", headers, { resource.etag?.matchesWeakly($0) }) { return matches }
        guard let since = date("If-Modified-Since", headers), let modified = resource.lastModified else { return false }
        return modified <= since
    }

    /// Whether a tag of the field matches; nil without the field.
    private static func matches(
        _ name: String, _ headers: HTTPHeaders, _ matches: (EntityTag) -> Bool?
    ) -> Bool? {
        let lines = headers.all(name)
        if lines.isEmpty { return nil }
        return switch EntityTagList(parsing: lines) {
        case .any: true
        case .tags(let tags): tags.contains { matches($0) ?? false }
        case nil: false
        }
    }

    /// Whether If-Range holds. A date identifies the bytes only if more than its second has passed.
    private static func rangeHolds(_ headers: HTTPHeaders, _ resource: ServedResource, _ now: HTTPDate) -> Bool {
        let lines = headers.all("If-Range")
        guard let validator = headers.only("If-Range") else { return lines.isEmpty }
        if let tag = EntityTag(parsing: validator) { return resource.etag?.matchesStrongly(tag) ?? false }
        guard let date = HTTPDate(validator), date == resource.lastModified else { return false }
        return date < now
    }

    /// The date of a field. Nil for a malformed date, as if the field were missing.
    private static func date(_ name: String, _ headers: HTTPHeaders) -> HTTPDate? {
        headers.only(name).flatMap { HTTPDate($0) }
    }
}

/// An entity tag. Tags that match strongly name the same bytes.
package struct EntityTag: Sendable, Equatable, CustomStringConvertible {
    package let opaque: String
    package let isWeak: Bool

    /// `opaque` has no quotation marks. Returns nil for a character that a tag cannot have.
    package init?(_ opaque: String, isWeak: Bool = false) {
        var opaque = opaque
        guard opaque.withUTF8({ $0.allSatisfy(Self.isTagCharacter) }) else { return nil }
        (self.opaque, self.isWeak) = (opaque, isWeak)
    }

    package var description: String { (isWeak ? "W/\"" : "\"") + opaque + "\"" }

    init?(parsing text: String) {
        guard let tags = EntityTagList(parsing: [text]), case .tags(let all) = tags, all.count == 1 else { return nil }
        self = all[0]
    }

    func matchesStrongly(_ other: EntityTag) -> Bool { self == other && !isWeak }

    func matchesWeakly(_ other: EntityTag) -> Bool { opaque == other.opaque }

    static func isTagCharacter(_ byte: UInt8) -> Bool { byte == 0x21 || 0x23...0x7E ~= byte || byte >= 0x80 }
}

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
