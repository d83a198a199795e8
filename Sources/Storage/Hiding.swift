extension String {
    /// What is shown in the place of a secret.
    public static let hidden = "(…)"

    /// Without any of the secrets.
    public func hiding(_ secrets: [String]) -> String {
        let secrets = secrets.map { Array($0.utf8) }.filter { !$0.isEmpty }
        return rewritten { rest in secrets.first { rest.starts(with: $0) }.map { (shown: 0, dropped: $0.count) } }
    }

    /// Without the values of these params of a URL's query, wherever there is one in the text, be that HTML or JSON.
    public func hidingQueryValues(of names: [String]) -> String {
        let starts = names.flatMap { ["?\($0)=", "&\($0)=", "&amp;\($0)=", "\\u0026\($0)="] }.map { Array($0.utf8) }
        return rewritten { rest in
            starts.first { rest.starts(with: $0) }.map { start in
                (shown: start.count, dropped: rest.dropFirst(start.count).prefix { !Self.endsValue($0) }.count)
            }
        }
    }

    private static func endsValue(_ byte: UInt8) -> Bool { byte <= 0x20 || "&#\"\\<>".utf8.contains(byte) }

    /// A URL without its query and fragment, and without what may be a password; its first bytes where it is very long.
    var withoutSecretParts: String {
        let start = firstRange(of: "://")?.upperBound ?? startIndex
        let target = utf8[start...].prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let user = target.lastIndex(of: UInt8(ascii: "@"))
        let rest = user.map { target[target.index(after: $0)...] } ?? target
        let shown = rest.prefix(1024)
        let head = self[..<start] + (user == nil ? "" : Self.hidden + "@")
        return head + String(decoding: shown, as: UTF8.self) + (shown.endIndex < endIndex ? "…" : "")
    }

    /// Where `secret` finds something, its first bytes are shown, and the next are dropped.
    private func rewritten(_ secret: (ArraySlice<UInt8>) -> (shown: Int, dropped: Int)?) -> String {
        var (rest, shown) = (Array(utf8)[...], [UInt8]())
        while let byte = rest.first {
            if let found = secret(rest) {
                shown += rest.prefix(found.shown) + Array(Self.hidden.utf8)
                rest = rest.dropFirst(found.shown + found.dropped)
            } else {
                shown.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }
}
