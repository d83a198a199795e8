import Secrets

/// A known secret is hidden in any text, in any encoding.
@Sendable func fuzzHiding(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let secret = "Kq7-Lx2Mz9b_04~"
    var encoded = secret
    for _ in 0..<feed.byte() % 4 { encoded = layer(feed.byte(), over: encoded, &feed) }
    let before = String(decoding: feed.bytes(Int(feed.byte())), as: UTF8.self)
    let text = before + encoded + String(decoding: feed.all(), as: UTF8.self)
    let shown = text.hidingSecrets([secret])
    expect(!shown.repeats([secret]), "no encoding gets a secret through: \(text) is shown as \(shown)")
    for named in shown.namedSecrets { expect(!named.repeats([secret]), "nor by a name") }
}

/// One more encoding of those characters that the feed chooses, and of those that must be.
private func layer(_ kind: UInt8, over text: String, _ feed: inout Feed) -> String {
    let kind = Int(kind % 4)
    let needed: [Set<Unicode.Scalar>] = [["%"], ["\\", "\""], ["&"], ["&"]]
    var (chosen, left) = (UInt8(0), 0)
    return text.unicodeScalars.map { scalar in
        if left == 0 { (chosen, left) = (feed.byte(), 8) }
        defer { (chosen, left) = (chosen >> 1, left - 1) }
        guard chosen & 1 == 1 || needed[kind].contains(scalar) else { return String(scalar) }
        let hex = String(scalar.value, radix: 16)
        let padded = String(repeating: "0", count: max(0, 4 - hex.count)) + hex
        return ["%" + padded.suffix(2), "\\u" + padded, "&#x\(hex);", "&#\(scalar.value);"][kind]
    }.joined()
}
