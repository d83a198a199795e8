extension String {
    package static let hidden = "(…)"

    /// Hides these secrets and long pieces of them, and all values that are secret by name or place: params of URLs,
    /// members of JSON, headers, passwords in URLs. Finds them in every encoding.
    package func hidingSecrets(_ known: [String] = []) -> String {
        guard let found = secrets(known) else { return .hidden }
        guard !found.isEmpty else { return self }
        let source = Array(utf8)
        var (shown, end) = ([UInt8](), 0)
        for range in found {
            shown += source[end..<range.lowerBound] + Array(String.hidden.utf8)
            end = range.upperBound
        }
        return String(decoding: shown + source[end...], as: UTF8.self)
    }

    /// The values that are secret by their names, undecoded.
    package var namedSecrets: [String] {
        let source = Array(utf8)
        return (secrets([]) ?? [0..<source.count]).map { String(decoding: source[$0], as: UTF8.self) }
    }

    /// Whether the text contains one of the secrets, or a long piece of one, in any encoding.
    package func repeats(_ known: [String]) -> Bool {
        let known = KnownSecrets(known)
        return DecodedText.readings(of: self).contains { !known.secrets(in: $0).isEmpty }
    }

    /// The ranges of secrets, in order and disjoint; nil if the text has too many readings.
    private func secrets(_ known: [String]) -> [Range<Int>]? {
        let (known, readings) = (KnownSecrets(known), DecodedText.readings(of: self))
        guard readings.count < DecodedText.mostReadings else { return nil }
        return Self.joined(readings.flatMap { SecretFinder.secrets(in: $0) + known.secrets(in: $0) })
    }

    private static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
        ranges.sorted { $0.lowerBound < $1.lowerBound }.reduce(into: []) { joined, range in
            if let last = joined.last, range.lowerBound <= last.upperBound {
                joined[joined.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
            } else {
                joined.append(range)
            }
        }
    }

    /// The index after `://`.
    private var schemeEnd: Index? {
        utf8.indices.first { utf8[$0...].starts(with: "://".utf8) }.map { utf8.index($0, offsetBy: 3) }
    }

    /// A URL without query, fragment and user info, shortened if it is very long.
    package var withoutSecretParts: String {
        let start = schemeEnd ?? startIndex
        let target = utf8[start...].prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let user = target.lastIndex(of: UInt8(ascii: "@"))
        let rest = user.map { target[target.index(after: $0)...] } ?? target
        let shown = rest.prefix(1024)
        let head = self[..<start] + (user == nil ? "" : Self.hidden + "@")
        return head + String(decoding: shown, as: UTF8.self) + (shown.endIndex < endIndex ? "…" : "")
    }
}
