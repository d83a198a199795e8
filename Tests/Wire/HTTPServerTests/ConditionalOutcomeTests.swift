import HTTPText
import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Suite(.watchdog) struct ConditionalOutcomeTests {
    private static let modified = HTTPDate(secondsSince1970: 784_111_777)
    private static let same = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let before = "Sun, 06 Nov 1994 08:49:36 GMT"
    private static let after = "Sun, 06 Nov 1994 08:49:38 GMT"

    private static func resource(_ size: Int64 = 100, _ tag: EntityTag? = EntityTag("a")) -> ServedResource {
        ServedResource(
            size: size, etag: tag, lastModified: modified, contentType: "text/plain",
            headers: ["Cache-Control": "private", "X-Meta": "1"]
        ) { range in .bytes([UInt8](repeating: 1, count: range.count)) }
    }

    private static func outcome(
        _ headers: HTTPHeaders, _ method: HTTPServerRequest.Method = .get,
        of resource: ServedResource = resource(),
        at now: HTTPDate = HTTPDate(secondsSince1970: 800_000_000)
    ) -> ConditionalOutcome {
        ConditionalOutcome(HTTPServerRequest("/", method: method, headers: headers), resource, at: now)
    }

    @Test(arguments: [
        ("bytes=0-0", ConditionalOutcome.part(0..<1)), ("bytes=0-99", .part(0..<100)), ("bytes=0-", .part(0..<100)),
        ("bytes=99-", .part(99..<100)), ("bytes=10-19", .part(10..<20)), ("bytes=90-200", .part(90..<100)),
        ("bytes=-1", .part(99..<100)), ("bytes=-100", .part(0..<100)), ("bytes=-1000", .part(0..<100)),
        ("bytes=-99999999999999999999", .part(0..<100)), ("bytes=5-99999999999999999999", .part(5..<100)),
        ("Bytes=1-2", .part(1..<3)), ("bytes= 1-2 ", .part(1..<3)), ("bytes=001-002", .whole),
        ("bytes=100-", .unsatisfiable), ("bytes=100-100", .unsatisfiable), ("bytes=-0", .unsatisfiable),
        ("bytes=99999999999999999999-", .unsatisfiable),
        ("bytes=9223372036854775807-9223372036854775807", .unsatisfiable),
        ("bytes=2-1", .whole), ("bytes=-", .whole), ("bytes=", .whole), ("bytes", .whole), ("", .whole),
        ("bytes=0-0,5-6", .whole), ("bytes=0-0,", .whole), ("bytes=a-b", .whole), ("bytes=0x0-1", .whole),
        ("bytes=+0-1", .whole), ("bytes=--1", .whole), ("bytes=1-2-3", .whole), ("bytes=1 - 2", .whole),
        ("bytes =1-2", .whole), ("items=0-5", .whole), ("bytes=٠-١", .whole), ("0-5", .whole),
    ]) func `One range is served, and an unsupported Range header is ignored`(
        range: String, is: ConditionalOutcome
    ) {
        #expect(Self.outcome(["Range": range]) == `is`)
        #expect(Self.outcome(["Range": range], .head) == .whole, "ranges are for GET")
    }

    @Test func `An empty resource has no ranges`() {
        let empty = Self.resource(0)
        #expect(Self.outcome(["Range": "bytes=0-"], of: empty) == .unsatisfiable)
        #expect(Self.outcome(["Range": "bytes=-5"], of: empty) == .whole)
        #expect(Self.outcome(HTTPHeaders([.init("Range", "bytes=0-1"), .init("Range", "bytes=2-3")])) == .whole)
    }

    /// Runs the test with the strong tag `"a"`, and with the weak one.
    static let conditions: [(HTTPHeaders, ConditionalOutcome, ConditionalOutcome)] = [
        (["If-None-Match": "\"a\""], .notModified, .notModified),
        (["If-None-Match": "W/\"a\""], .notModified, .notModified),
        (["If-None-Match": "*"], .notModified, .notModified),
        (["If-None-Match": "\"b\", \"c,d\" ,W/\"a\""], .notModified, .notModified),
        (["If-None-Match": ", ,\"a\","], .notModified, .notModified), (["If-None-Match": "\"b\""], .whole, .whole),
        (["If-None-Match": "\"a,\""], .whole, .whole), (["If-None-Match": "a"], .whole, .whole),
        (["If-None-Match": "\"a"], .whole, .whole), (["If-None-Match": "w/\"a\""], .whole, .whole),
        (["If-None-Match": "\"a\" \"b\""], .whole, .whole), (["If-None-Match": "*, \"a\""], .whole, .whole),
        (["If-None-Match": ""], .whole, .whole),
        (["If-None-Match": "\"b\"", "If-Modified-Since": same], .whole, .whole),
        (["If-Modified-Since": same], .notModified, .notModified),
        (["If-Modified-Since": after], .notModified, .notModified), (["If-Modified-Since": before], .whole, .whole),
        (["If-Modified-Since": "yesterday"], .whole, .whole),
        (["If-Match": "\"a\""], .whole, .preconditionFailed), (["If-Match": "*"], .whole, .whole),
        (["If-Match": "\"b\", \"a\""], .whole, .preconditionFailed),
        (["If-Match": "W/\"a\""], .preconditionFailed, .preconditionFailed),
        (["If-Match": "\"b\""], .preconditionFailed, .preconditionFailed),
        (["If-Match": "a"], .preconditionFailed, .preconditionFailed),
        (["If-Match": "*", "If-Unmodified-Since": before], .whole, .whole),
        (["If-Unmodified-Since": same], .whole, .whole), (["If-Unmodified-Since": after], .whole, .whole),
        (["If-Unmodified-Since": before], .preconditionFailed, .preconditionFailed),
        (["If-Unmodified-Since": "never"], .whole, .whole),
        (["If-Match": "*", "If-None-Match": "\"a\""], .notModified, .notModified),
        (["If-None-Match": "\"a\"", "Range": "bytes=0-1"], .notModified, .notModified),
        (["If-Match": "\"b\"", "Range": "bytes=200-"], .preconditionFailed, .preconditionFailed),
        (["If-Range": "\"a\"", "Range": "bytes=0-1"], .part(0..<2), .whole),
        (["If-Range": "W/\"a\"", "Range": "bytes=0-1"], .whole, .whole),
        (["If-Range": "\"b\"", "Range": "bytes=200-"], .whole, .whole),
        (["If-Range": "\"a\", \"b\"", "Range": "bytes=0-1"], .whole, .whole),
        (["If-Range": same, "Range": "bytes=0-1"], .part(0..<2), .part(0..<2)),
        (["If-Range": after, "Range": "bytes=0-1"], .whole, .whole),
        (["If-Range": "", "Range": "bytes=0-1"], .whole, .whole), (["If-Range": "\"a\""], .whole, .whole),
    ]

    @Test(arguments: conditions)
    func `Preconditions are evaluated in the order of RFC 9110`(
        headers: HTTPHeaders, strong: ConditionalOutcome, weak: ConditionalOutcome
    ) {
        #expect(Self.outcome(headers) == strong)
        #expect(Self.outcome(headers, of: Self.resource(100, EntityTag("a", isWeak: true))) == weak)
    }

    @Test func `A date within the current second does not identify the bytes`() {
        let headers: HTTPHeaders = ["If-Range": Self.same, "Range": "bytes=0-1"]
        #expect(Self.outcome(headers, at: Self.modified) == .whole)
        #expect(Self.outcome(headers, at: HTTPDate(secondsSince1970: 784_111_778)) == .part(0..<2))
    }

    @Test func `Lists of entity tags may span several header fields`() {
        let lines = HTTPHeaders([.init("If-None-Match", "\"x\""), .init("if-none-match", "\"a\"")])
        #expect(Self.outcome(lines) == .notModified)
    }

    @Test func `A resource without tag and date matches only an asterisk`() {
        var bare = Self.resource(100, nil)
        bare.lastModified = nil
        #expect(Self.outcome(["If-None-Match": "\"a\""], of: bare) == .whole)
        #expect(Self.outcome(["If-Match": "\"a\""], of: bare) == .preconditionFailed)
        #expect(Self.outcome(["If-Match": "*", "If-Modified-Since": Self.same], of: bare) == .whole)
        #expect(Self.outcome(["If-Range": Self.same, "Range": "bytes=0-1"], of: bare) == .whole)
    }

    @Test func `A tag has no quotation mark, blank or control character`() {
        for text in ["a\"b", "a b", "a\r\n", "\u{7F}", "\0"] { #expect(EntityTag(text) == nil) }
        #expect(EntityTag("é!,")?.description == "\"é!,\"")
        #expect(EntityTag("", isWeak: true)?.description == "W/\"\"")
    }

    @Test func `Each status has its header fields`() async {
        func fields(_ headers: HTTPHeaders, _ method: HTTPServerRequest.Method = .get) async -> [String] {
            let request = HTTPServerRequest("/", method: method, headers: headers)
            let response = await respond(to: request, with: Self.resource(), at: TimeSource.system.httpDate)
            let count = response.body.count ?? -1
            return ["\(response.status) \(count)"] + response.headers.fields.map { "\($0.name): \($0.value)" }.sorted()
        }
        let etag = "ETag: \"a\"", date = "Last-Modified: \(Self.same)", type = "Content-Type: text/plain"
        let accept = "Accept-Ranges: bytes", cache = "Cache-Control: private", meta = "X-Meta: 1"
        #expect(await fields([:]) == ["200 100", accept, cache, type, etag, date, meta])
        #expect(await fields([:], .head) == ["200 100", accept, cache, type, etag, date, meta])
        #expect(
            await fields(["Range": "bytes=10-"])
                == ["206 90", accept, cache, "Content-Range: bytes 10-99/100", type, etag, date, meta])
        #expect(await fields(["Range": "bytes=100-"]) == ["416 0", accept, "Content-Range: bytes */100"])
        #expect(await fields(["If-None-Match": "*"]) == ["304 0", cache, etag, date])
        #expect(await fields(["If-Match": "\"b\""]) == ["412 0"])
    }

    @Test func `Only a GET opens the resource, and one that cannot be opened is a 404`() async {
        var resource = Self.resource()
        resource.open = { range in range == 10..<20 ? HTTPServerResponse.Body.none : nil }
        #expect(await respond(to: HTTPServerRequest("/"), with: resource, at: TimeSource.system.httpDate).status == 404)
        #expect(
            await respond(to: HTTPServerRequest("/", method: .head), with: resource, at: TimeSource.system.httpDate)
                .status == 200)
        let part = HTTPServerRequest("/", headers: ["Range": "bytes=10-19"])
        #expect(await respond(to: part, with: resource, at: TimeSource.system.httpDate).status == 206)
    }
}
