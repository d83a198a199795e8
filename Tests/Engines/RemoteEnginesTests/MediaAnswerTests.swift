import HTTPClient
import HTTPText
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Requests for objects and listings, and how their answers are read, without a server.
@Suite(.watchdog) struct MediaAnswerTests {
    private let firebase = FirebaseDialect(version: "storage-rpc/1")
    private let gcs = GCSDialect()

    private func object(size: Int64 = 10, crc32c: UInt32? = nil, md5: [UInt8]? = nil) throws -> ObjectMetadata {
        ObjectMetadata(
            reference: try ref("a/b"), generation: 7, metageneration: 1, size: size,
            timeCreated: Timestamp(microseconds: 0), updated: Timestamp(microseconds: 0),
            checksums: Checksums(md5: md5, crc32c: crc32c),
            settable: .init())
    }

    @Test func `A request for a listing has the prefix, the page size and the page token`() throws {
        let asked = [
            (firebase.list(ListQuery(try ref(""), maxResults: 5)), "/v0/b/b/o?prefix=&delimiter=%2F&maxResults=5"),
            (
                firebase.list(ListQuery(try ref("a+b/c d"), maxResults: 1, pageToken: "x+/=")),
                "/v0/b/b/o?prefix=a%2Bb%2Fc%20d%2F&delimiter=%2F&maxResults=1&pageToken=x%2B%2F%3D"
            ),
            (
                gcs.list(ListQuery(try ref("a"), maxResults: 1000, pageToken: "t")),
                "/storage/v1/b/b/o?prefix=a%2F&delimiter=%2F&maxResults=1000"
                    + "&fields=items%28name%29%2Cprefixes%2CnextPageToken&pageToken=t"
            ),
        ]
        for (request, target) in asked { #expect(request.target == target && request.method == "GET") }
    }

    @Test(
        arguments: [
            ("{}", [], [], nil), (#"{"items":[],"prefixes":[],"nextPageToken":""}"#, [], [], nil),
            (
                #"{"prefixes":["p/c/","p/d"],"items":[{"name":"p/b"},{"name":"p/a","bucket":"b"}],"nextPageToken":"t"}"#,
                ["p/b", "p/a"], ["p/c", "p/d"], "t"
            ),
            (
                #"{"prefixes":["p//","p/x//","p/","p/e/","p/e"],"items":[{"name":"p/"},{"name":"p//a"},{"name":"p/\n"}]}"#,
                [], ["p/e"], nil
            ),
        ] as [(String, [String], [String], String?)])
    func `Invalid object names are omitted from a page`(
        text: String, items: [String], prefixes: [String], token: String?
    ) throws {
        let page = try Listing(wire: Array(text.utf8), for: ListQuery(ref("p"), maxResults: 9))
        #expect(page.items.map(\.fullPath) == items && page.prefixes.map(\.fullPath) == prefixes)
        #expect(page.pageToken == token)
    }

    @Test(arguments: [
        "", "OK", "[]", "null", #"{"items":"#, #"{"items":5}"#, #"{"items":[7]}"#, #"{"items":[{"size":1}]}"#,
        #"{"items":[{"name":7}]}"#, #"{"prefixes":"x"}"#, #"{"prefixes":["p/",3]}"#, #"{"nextPageToken":5}"#,
    ])
    func `A response that is not a listing is not an empty listing`(text: String) throws {
        let query = ListQuery(try ref(""), maxResults: 9)
        #expect(throws: GarbledAnswer.self) { try Listing(wire: Array(text.utf8), for: query) }
    }

    @Test func `A request for media has the generation and the range of the missing bytes`() throws {
        let (reference, dialects) = (try ref("a/b"), [firebase, gcs] as [any Dialect])
        let all = dialects.map { $0.media(of: reference, generation: 7, isGzip: false, from: 0, to: nil) }
        #expect(all.map(\.target) == ["/v0/b/b/o/a%2Fb?alt=media", "/storage/v1/b/b/o/a%2Fb?alt=media&generation=7"])
        #expect(all.allSatisfy { $0.headers["Range"] == nil && $0.headers["Accept-Encoding"] == "identity" })
        let rest = dialects.map { $0.media(of: reference, generation: nil, isGzip: true, from: 4, to: nil) }
        #expect(rest.map(\.target) == ["/v0/b/b/o/a%2Fb?alt=media", "/storage/v1/b/b/o/a%2Fb?alt=media"])
        #expect(rest.allSatisfy { $0.headers["Range"] == "bytes=4-" && $0.headers["Accept-Encoding"] == "gzip" })
        let part = dialects.map { $0.media(of: reference, generation: nil, isGzip: true, from: 0, to: 9) }
        #expect(part.allSatisfy { $0.headers["Range"] == "bytes=0-8" })
    }

    @Test(
        arguments: [
            (200, [:], .bytes(from: 0)), (206, ["Content-Range": "bytes 4-9/10"], .bytes(from: 4)),
            (206, ["Content-Range": "bytes 4-9/*"], .bytes(from: 4)),
            (206, ["Content-Range": "bytes 4-9/11"], .changed),
            (206, ["Content-Range": "bytes 5-9/10"], .garbled("Content-Range: bytes 5-9/10")),
            (206, ["Content-Range": "bytes */10"], .garbled("Content-Range: bytes */10")),
            (206, ["Content-Range": "bytes 4-*/10"], .garbled("Content-Range: bytes 4-*/10")),
            (206, ["Content-Range": "bytes 4-3/10"], .garbled("Content-Range: bytes 4-3/10")),
            (206, [:], .garbled("Content-Range: ")),
            (206, ["Content-Range": "bytes 4-9/10", "x-goog-generation": "8"], .changed),
            (200, ["x-goog-generation": "7", "x-goog-hash": "crc32c=AAAAAA=="], .bytes(from: 0)),
            (200, ["x-goog-hash": "crc32c=AAAAAA==,md5=x"], .changed),
            (200, ["x-goog-hash": "crc32c=AAAAAQ=="], .bytes(from: 0)),
            (200, ["x-goog-hash": "md5=AAAAAAAAAAAAAAAAAAAAAA=="], .changed),
            (204, [:], nil), (404, [:], nil), (416, [:], nil), (302, [:], nil),
        ] as [(Int, HTTPHeaders, MediaHead?)])
    func `The response head determines the range and whether the object has changed`(
        status: Int, headers: HTTPHeaders, head: MediaHead?
    )
        throws
    {
        let object = try object(crc32c: 1, md5: [UInt8](repeating: 1, count: 16))
        #expect(
            MediaHead(
                status, headers, gcs.description(in: headers, of: object.reference), of: StoredContent(object), from: 4)
                == head)
    }

    @Test func `Checksums are read from one header or from two`() throws {
        let reference = try ref("a")
        var headers: HTTPHeaders = ["x-goog-hash": "crc32c=AAAAAg==, md5=AAAAAAAAAAAAAAAAAAAAAA=="]
        #expect(gcs.description(in: headers, of: reference).checksums.crc32c == 2)
        #expect(gcs.description(in: headers, of: reference).checksums.md5 == [UInt8](repeating: 0, count: 16))
        headers = ["x-goog-hash": "md5=AAAAAAAAAAAAAAAAAAAAAA=="]
        headers.add("x-goog-hash", "crc32c=AAAAAw==")
        #expect(
            gcs.description(in: headers, of: reference).checksums.crc32c == 3
                && gcs.description(in: headers, of: reference).checksums.md5?.count == 16)
        headers = ["x-goog-hash": "crc32c=AAAA, md5=?"]
        #expect(gcs.description(in: headers, of: reference) == MediaDescription())
    }
}
