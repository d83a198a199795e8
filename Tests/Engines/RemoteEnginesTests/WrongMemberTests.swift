import HTTPClient
import HTTPText
import JSONText
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Members of answers that are not what they have to be.
@Suite(.watchdog(minutes: 10)) struct WrongMemberTests {
    private static let members: [(name: String, kind: String, values: [String])] =
        [
            ("generation", "a number", ["\"x\"", "1.5", "{}", "true"]),
            ("size", "a size", ["\"x\"", "-1", "[1]", "1.5"]),
            ("metageneration", "a number", ["\"\"", "[]"]), ("timeCreated", "a time", ["\"today\"", "7"]),
            ("updated", "a time", ["\"\"", "{}"]), ("md5Hash", "a checksum", ["7", "\"AAAA\"", "\"!\""]),
            ("crc32c", "a checksum", ["\"x\"", "[]", "\"AAAAAAA=\""]), ("metadata", "an object", ["\"x\"", "[]", "7"]),
        ] + ContentProperty.allCases.map { ($0.rawValue, "a text", ["7", "[]", "false"]) }

    @Test func `Metadata with a member of another type is no metadata, and the member is named`() throws {
        for (name, kind, values) in Self.members {
            for value in values {
                let rest = name == "generation" ? "" : #""generation":"1","#
                let text = "{\(rest)\"\(name)\":\(value)}"
                let error = #expect(throws: GarbledAnswer.self, "\(text)") {
                    try ObjectMetadata(wire: Array(text.utf8), ref("a"))
                }
                #expect(error?.what == "\(name) is not \(kind)", "\(text)")
            }
            guard name != "generation" else { continue }
            let size = name == "size" ? #""crc32c":"AAAAAA==""# : #""size":"1""#
            let null = #"{"generation":"1",\#(size),"\#(name)":null}"#
            #expect(try ObjectMetadata(wire: Array(null.utf8), ref("a")).generation == 1)
        }
    }

    @Test(arguments: [
        (#"{"items":5}"#, "items is not a list"), (#"{"items":[7]}"#, "an item has no name"),
        (#"{"items":[{"name":["a"]}]}"#, "an item has no name"),
        (#"{"prefixes":"x"}"#, "prefixes is not a list of texts"),
        (#"{"prefixes":["a/",5]}"#, "prefixes is not a list of texts"),
        (#"{"nextPageToken":5}"#, "nextPageToken is not a text"),
    ])
    func `A list with a member of another type is an error, and not an empty list`(body: String, what: String)
        async throws
    {
        for type in RemoteStopTests.places {
            let place = try await type.init()
            try place.fixture.put([1], "b", "a", by: type.dialect)
            place.fixture.faults = [.init(.first(.list), .answer(200, body: body))]
            let error = try await failure { _ = try await place.backend.list("") }
            #expect(error.code == .unknown && error.httpStatus == 200 && !error.retryable)
            #expect(error.message.contains(what), "\(error.message)")
        }
    }

    private static let others: [(body: String, what: String)] = [
        (#"{"name":"other","bucket":"b","generation":"1","size":"1"}"#, #"another object, with the name "other""#),
        (#"{"name":"a","bucket":"other","generation":"1","size":"1"}"#, #"another object, with the bucket "other""#),
        (#"{"name":7,"generation":"1","size":"1"}"#, "name is not a text"),
        (#"{"name":"a","generation":"1"}"#, "no size"),
        (#"{"name":"a","generation":"1","crc32c":"AAAAAQ=="}"#, "no size"),
        (#"{"name":"a","generation":"1","crc32c":"AAAAAA==","md5Hash":"AAAAAAAAAAAAAAAAAAAAAA=="}"#, "no size"),
    ]

    @Test(arguments: others.indices)
    func `Metadata of another object, or without a size, are an error`(index: Int) async throws {
        let (body, what) = Self.others[index]
        for type in RemoteStopTests.places {
            let place = try await type.init()
            try place.fixture.put([1], "b", "a", by: type.dialect)
            let caller = Caller(retryTime: .seconds(600))
            func expectError(_ kind: StorageFixture.Kind, _ deed: () async throws -> Void) async throws {
                place.fixture.faults = [.init(.first(kind), .answerAfterHandling(200, body: body))]
                let error = try await failure { try await deed() }
                #expect(error.code == .unknown && error.httpStatus == 200 && !error.retryable, "\(kind)")
                #expect(error.message.contains(what), "\(kind): \(error.message)")
            }
            try await expectError(.getMetadata) { _ = try await place.backend.metadata(of: ref("a"), for: caller) }
            try await expectError(.patch) {
                _ = try await place.backend.updateMetadata(of: ref("a"), .init(), if: .init(), for: caller)
            }
        }
    }

    @Test(arguments: others.indices.prefix(2), [1, 600_000])
    func `An upload that is answered with another object is an error`(index: Int, size: Int) async throws {
        let (body, what) = Self.others[index]
        // The last answer of a session of Firebase has a header, too.
        for type in RemoteStopTests.places where size == 1 || type.dialect == .gcs {
            let place = try await type.init()
            let kinds: [StorageFixture.Kind] = size == 1 ? [.multipart] : [.finalize]
            place.fixture.faults = kinds.map { .init(.first($0), .answerAfterHandling(200, body: body)) }
            let error = try await failure { _ = try await place.backend.run(.data(noise(size), to: ref("a"))) }
            #expect(error.code == .unknown && error.message.contains(what), "\(type) \(error.message)")
        }
    }

    @Test(arguments: [
        (#"{"items":[{"name":""}]}"#, "an item has no name"),
        (#"{"items":[{"name":"other"}]}"#, #"the item "other" is not below gs://b/p"#),
        (#"{"items":[{"name":"p"}]}"#, #"the item "p" is not below gs://b/p"#),
        (#"{"items":[{"name":"p/a","bucket":"other"}]}"#, "an item is in another bucket"),
        (#"{"prefixes":["q/"]}"#, #"the prefix "q/" is not below gs://b/p"#),
    ])
    func `A list with entries of another folder is an error`(body: String, what: String) async throws {
        for type in RemoteStopTests.places {
            let place = try await type.init()
            place.fixture.faults = [.init(.first(.list), .answer(200, body: body))]
            let error = try await failure { _ = try await place.backend.list("p") }
            #expect(error.code == .unknown && error.httpStatus == 200 && !error.retryable)
            #expect(error.message.contains(what), "\(error.message)")
        }
    }

    @Test func `So are items with metadata of another type`() async throws {
        let place = try await GCSFixture()
        let body = #"{"items":[{"name":"a","generation":"1","size":"many"}]}"#
        place.fixture.faults = [.init(.first(.list), .answer(200, body: body))]
        let query = ListQuery(try ref(""), maxResults: 9, wantsMetadata: true)
        let error = try await failure { _ = try await place.backend.list(query, for: Caller(retryTime: .seconds(600))) }
        #expect(error.code == .unknown && error.message.contains("size is not a size"))
    }

    @Test func `A session whose granularity is not a number is refused`() async throws {
        let place = try await FirebaseFixture()
        for text in ["x", "0", "-1", ""] {
            let headers: HTTPHeaders = [
                "X-Goog-Upload-URL": place.fixture.url + "/x", "X-Goog-Upload-Status": "active",
                "X-Goog-Upload-Chunk-Granularity": text,
            ]
            place.fixture.faults = [.init(.first(.start), .answer(200, headers: headers))]
            let error = try await failure { _ = try await place.backend.run(.data(noise(600_000), to: ref("a"))) }
            #expect(error.message.contains("X-Goog-Upload-Chunk-Granularity: \(text)"))
        }
    }

    @Test func `Download tokens that are not texts do not count as missing`() async throws {
        let place = try await FirebaseFixture()
        place.fixture.faults = [
            .init(.first(.getMetadata), .answer(200, body: #"{"generation":"1","size":"1","downloadTokens":["t"]}"#))
        ]
        let error = try await failure {
            _ = try await place.backend.downloadURL(of: ref("a"), expiresIn: nil, for: Caller(retryTime: .seconds(600)))
        }
        #expect(error.message.contains("downloadTokens is not a text"))
    }
}
