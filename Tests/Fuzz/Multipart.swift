import HTTPText

@testable import HTTPServer

/// A Content-Type on the first line, and a multipart body: however it is cut, it has the same parts.
@Sendable func fuzzMultipart(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let seed = feed.byte()
    guard let boundary = MultipartBoundary(contentType: feed.line()) else { return }
    expect(1...70 ~= boundary.text.utf8.count, "a boundary has a length of boundaries")
    let whole = readParts(of: [UnsafeRawBufferPointer(rebasing: feed.rest)], boundary)
    for seed in [seed, 0] {
        expect(readParts(of: feed.pieces(seed), boundary) == whole, "cut another way, it has the same parts")
    }
    for part in whole.parts {
        for field in part.headers.fields { expect(isToken(field.name.utf8), "a name is a token") }
    }
    checkWrapping(whole.parts, boundary)
}

private struct Part: Equatable {
    var headers: HTTPHeaders
    var content: [UInt8] = []
}

private struct Parts: Equatable {
    var parts: [Part] = []
    /// Nil where the body is complete.
    var error: MultipartParser.Malformed?
}

private func readParts(of pieces: [UnsafeRawBufferPointer], _ boundary: MultipartBoundary) -> Parts {
    var parser = MultipartParser(boundary)
    var (parts, rest, isWithinPart, isFinished) = (Parts(), pieces[...], false, false)
    do throws(MultipartParser.Malformed) {
        while true {
            switch try parser.next() {
            case .incomplete:
                expect(!isFinished, "a body that has ended lacks no bytes")
                isFinished = rest.isEmpty
                if let piece = rest.popFirst() { parser.append(Array(piece)) } else { parser.finish() }
            case .part(let headers):
                expect(!isWithinPart && headers.fields.count <= MultipartParser.maxHeaders, "parts follow each other")
                isWithinPart = true
                parts.parts.append(Part(headers: headers))
            case .bytes(let bytes):
                expect(isWithinPart && !bytes.isEmpty, "content is that of a part")
                parts.parts[parts.parts.count - 1].content += bytes
            case .endOfPart:
                expect(isWithinPart, "only parts end")
                isWithinPart = false
            case .end:
                expect(!isWithinPart, "a body ends after its parts")
                return parts
            }
        }
    } catch {
        parts.error = error
        return parts
    }
}

/// Contents without the delimiter come back from a body that is made of them.
private func checkWrapping(_ parts: [Part], _ boundary: MultipartBoundary) {
    let delimiter = BytePattern(Array("--\(boundary.text)".utf8))
    let plain = parts.filter { delimiter.firstIndex(in: $0.content, from: 0) == nil }
    for lineEnd in ["\r\n", "\n"] {
        var body: [UInt8] = []
        for part in plain {
            body += Array("--\(boundary.text)\(lineEnd)A: b\(lineEnd)\(lineEnd)".utf8) + part.content
            body += Array(lineEnd.utf8)
        }
        body += Array("--\(boundary.text)--".utf8)
        let again = body.withUnsafeBytes { body in readParts(of: [body], boundary) }
        expect(again.parts.map(\.content) == plain.map(\.content), "parts are read again")
    }
}
