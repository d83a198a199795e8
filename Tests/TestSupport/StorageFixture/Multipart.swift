import Foundation

/// A body of two parts: what is said about the bytes, and the bytes.
struct Multipart {
    let metadata: [UInt8]
    let contentType: String
    let content: [UInt8]

    private static let lineEnd = Data("\r\n".utf8)
    private static let headEnd = Data("\r\n\r\n".utf8)

    /// Throws the text of the refusal.
    init(_ body: [UInt8], contentType: String) throws(Refusal) {
        let parts = try Self.parts(Data(body), Self.boundary(contentType))
        guard parts.count == 2 else { throw Refusal(text: "The body has \(parts.count) parts, not 2.") }
        metadata = Array(parts[0].content)
        self.contentType = parts[1].type
        content = Array(parts[1].content)
    }

    struct Refusal: Error { var text: String }

    private static func boundary(_ contentType: String) throws(Refusal) -> String {
        let refusal = Refusal(text: "Bad content type. \(contentType)")
        guard contentType.lowercased().hasPrefix("multipart/related;"),
            let start = contentType.range(of: "boundary=")
        else { throw refusal }
        var boundary = contentType[start.upperBound...]
        if boundary.hasPrefix("\"") {
            boundary = boundary.dropFirst().prefix { $0 != "\"" }
        } else {
            boundary = boundary.prefix { $0 != ";" && $0 != " " }
        }
        guard !boundary.isEmpty else { throw refusal }
        return String(boundary)
    }

    private static func parts(_ body: Data, _ boundary: String) throws(Refusal) -> [(type: String, content: Data)] {
        let broken = Refusal(text: "Malformed multipart body.")
        guard body.starts(with: Data("--\(boundary)\r\n".utf8)) else { throw broken }
        let separator = Data("\r\n--\(boundary)".utf8)
        var parts: [(String, Data)] = []
        var start = boundary.utf8.count + 2
        while true {
            let rest = body[start...]
            if rest == Data("--".utf8) || rest == Data("--\r\n".utf8) { return parts }
            guard rest.starts(with: lineEnd), let end = body.range(of: separator, in: start + 2..<body.endIndex),
                let head = body.range(of: headEnd, in: start..<end.lowerBound),
                let type = contentType(String(decoding: body[start..<head.lowerBound], as: UTF8.self))
            else { throw broken }
            parts.append((type, body[head.upperBound..<end.lowerBound]))
            start = end.upperBound
        }
    }

    private static func contentType(_ head: String) -> String? {
        for line in head.split(separator: "\r\n") where line.lowercased().hasPrefix("content-type:") {
            return line.dropFirst("content-type:".count).trimmingCharacters(in: .whitespaces)
        }
        return nil
    }
}
