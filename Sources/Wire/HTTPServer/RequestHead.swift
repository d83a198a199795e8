import HTTPText

/// The head of a request while it is parsed. Its lines have no control characters but tabs.
struct RequestHead {
    let method: String
    let path: String
    let query: String?
    let isHTTP10: Bool
    /// The host of a target in absolute form, which clients of proxies send. It overrides the Host header.
    private var authority: String?
    var headers = HTTPHeaders()
    /// The name of a field whose value is not UTF-8.
    private var unreadable: String?

    init(requestLine line: ArraySlice<UInt8>) throws(Refusal) {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, isToken(words[0]), !words[1].isEmpty else { throw Refusal(400) }
        isHTTP10 = try Self.version(words[2])
        method = String(decoding: words[0], as: UTF8.self)
        var target = words[1]
        if target.prefix(7).map({ $0 | 0x20 }).elementsEqual("http://".utf8) {
            let rest = target.dropFirst(7)
            let end = rest.firstIndex { $0 == 0x2F || $0 == 0x3F } ?? rest.endIndex
            authority = String(decoding: rest[..<end], as: UTF8.self)
            target = end < rest.endIndex && rest[end] == 0x2F ? rest[end...] : ArraySlice([0x2F] + rest[end...])
        }
        // The other forms of a target do not begin with a slash.
        guard target.first == 0x2F, target.allSatisfy({ 0x21...0x7E ~= $0 && $0 != 0x23 }) else { throw Refusal(400) }
        let end = target.firstIndex(of: 0x3F)
        guard percentDecodedBytes(target[..<(end ?? target.endIndex)]) != nil else { throw Refusal(400) }
        path = String(decoding: target[..<(end ?? target.endIndex)], as: UTF8.self)
        query = end.map { String(decoding: target[($0 + 1)...], as: UTF8.self) }
    }

    mutating func add(_ line: ArraySlice<UInt8>) throws(Refusal) {
        guard let field = HTTPHeaders.Field(line: line) else { throw Refusal(400) }
        headers.add(field.name, field.value)
        if !HTTPHeaders.Field.isText(line) { unreadable = field.name }
    }

    /// Returns the request after the last line. Checks the message's length first.
    func request(
        _ methods: Set<HTTPServerRequest.Method>, _ hosts: AcceptedHosts, _ remoteAddress: String
    ) throws(Refusal) -> HTTPServerRequest {
        let length = try checkedLength()
        try check(hosts)
        guard let method = HTTPServerRequest.Method(rawValue: method), methods.contains(method) else {
            throw Refusal(405)
        }
        var request = HTTPServerRequest(
            path, method: method, query: query, headers: headers, remoteAddress: remoteAddress)
        request.framing = try framing(method, length)
        request.expectsContinue = try expectsContinue(method, request.framing)
        request.isHTTP10 = isHTTP10
        request.unreadableHeader = unreadable
        request.keepsAlive = keepsAlive
        return request
    }

    private var keepsAlive: Bool {
        let options = headers.list("Connection")
        if options.contains(where: { isSameName($0, "close") }) { return false }
        return !isHTTP10 || options.contains { isSameName($0, "keep-alive") }
    }

    private func check(_ hosts: AcceptedHosts) throws(Refusal) {
        let values = headers.all("Host")
        guard values.count == 1 || values.isEmpty && isHTTP10 else { throw Refusal(400) }
        for value in [values.first, authority] {
            guard let value else { continue }
            guard let host = AcceptedHosts.host(of: value) else { throw Refusal(400) }
            guard hosts.accepts(host) else { throw Refusal(421) }
        }
    }

    private static func version(_ word: ArraySlice<UInt8>) throws(Refusal) -> Bool {
        guard word.count == 8, word.starts(with: "HTTP/".utf8), word[word.startIndex + 6] == 0x2E,
            case let major = word[word.startIndex + 5], case let minor = word[word.startIndex + 7],
            0x30...0x39 ~= major, 0x30...0x39 ~= minor
        else { throw Refusal(400) }
        guard major == 0x31, minor <= 0x31 else { throw Refusal(505) }
        return minor == 0x30
    }
}

extension HTTPHeaders.Field {
    /// Whether a line is UTF-8. In a value of other bytes U+FFFD replaces them.
    package static func isText(_ line: ArraySlice<UInt8>) -> Bool {
        line.allSatisfy { $0 < 0x80 } || String(validating: line, as: UTF8.self) != nil
    }

    /// A line of a head or of trailers; nil where it is malformed. A folded line begins with a blank, which no name
    /// does.
    package init?(line: ArraySlice<UInt8>) {
        guard let colon = line.firstIndex(of: 0x3A), isToken(line[..<colon]) else { return nil }
        let value = trimmed(String(decoding: line[(colon + 1)...], as: UTF8.self)[...])
        self.init(String(decoding: line[..<colon], as: UTF8.self), String(value))
    }
}
