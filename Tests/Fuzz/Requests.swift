import HTTPText
import Storage

@testable import HTTPServer

/// Requests to the server of download URLs, however they are cut; and what their conditions, ranges and dates come to.
@Sendable func fuzzRequests(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let (size, seed) = (Int64(feed.byte()), feed.byte())
    let whole = events(of: [UnsafeRawBufferPointer(rebasing: feed.rest)])
    for seed in [seed, 0] { expect(events(of: feed.pieces(seed)) == whole, "cut another way, it means the same") }
    for case .request(let request) in whole {
        check(request)
        checkConditions(on: request, size)
    }
}

private func events(of pieces: [UnsafeRawBufferPointer]) -> [RequestParser.Event] {
    var limits = HTTPServerLimits()
    (limits.lineBytes, limits.headBytes, limits.headers) = (256, 600, 8)
    var parser = RequestParser(limits: limits, hosts: AcceptedHosts(andAlso: ["files.example"]))
    var events: [RequestParser.Event] = []
    for piece in pieces {
        parser.append(piece)
        while case let event = parser.next(), event != .incomplete {
            events.append(event)
            if case .refused(let status) = event {
                expect((400..<600).contains(status), "a refusal has a status of refusals")
                return events
            }
        }
    }
    return events
}

private func check(_ request: HTTPServerRequest) {
    expect(request.path.hasPrefix("/"), "a path begins with a slash")
    expect(request.path.utf8.allSatisfy { 0x21...0x7E ~= $0 && $0 != 0x3F }, "a path is escaped")
    expect(request.headers.all("Transfer-Encoding").isEmpty, "a request has no body")
    expect(request.headers.fields.count <= 8, "headers are as many as allowed")
    for field in request.headers.fields {
        expect(isToken(field.name.utf8), "a name is a token")
        expect(
            field.value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }, "a value has no control character")
    }
    for segment in request.path.split(separator: "/").compactMap({ percentDecoded($0) }) {
        expect(percentDecoded(segment.escaped) == segment, "a segment that is escaped is the same segment")
    }
    for item in request.queryItems { _ = (item.name, item.value) }
    for text in request.headers.fields.map(\.value) { checkDate(text) }
}

private func checkConditions(on request: HTTPServerRequest, _ size: Int64) {
    let resource = ServedResource(
        size: size, etag: EntityTag("a"), lastModified: HTTPDate(secondsSince1970: 784_111_777)
    ) { _ in HTTPServerResponse.Body.none }
    let outcome = ConditionalOutcome(request, resource, at: HTTPDate(secondsSince1970: 1_784_111_777))
    if let range = outcome.range(resource) {
        expect(range.lowerBound >= 0 && range.upperBound <= size, "a range is within the resource: \(range) of \(size)")
        expect(!range.isEmpty || size == 0, "a part is not empty")
    }
    func has(_ names: String...) -> Bool { names.contains { !request.headers.all($0).isEmpty } }
    switch outcome {
    case .preconditionFailed: expect(has("If-Match", "If-Unmodified-Since"), "only conditions fail")
    case .notModified: expect(has("If-None-Match", "If-Modified-Since"), "only conditions find it unchanged")
    case .part, .unsatisfiable: expect(has("Range") && request.method == .get, "only a GET with a range has a part")
    case .whole: break
    }
    for field in outcome.headers(resource).fields {
        expect(!field.value.contains("\n"), "an answer's header is a line")
    }
}

private func checkDate(_ text: String) {
    guard let date = HTTPDate(text) else { return }
    expect(HTTPDate(date.description) == date, "\(date) reads back")
}
