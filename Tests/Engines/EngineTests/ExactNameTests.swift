import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

/// Objects whose names are not paths, as consoles and other tools create them.
@Suite(.watchdog(minutes: 10)) struct ExactNameTests {
    private let names = ["folder/", "a//b", "/", "//", "/x", "folder/sub//", "folder"]

    private func exact(_ name: String) throws -> Reference { try Reference(bucket: "b", object: name) }

    private let caller = Caller(retryTime: .seconds(600))

    private func fill(_ place: some EngineFixture) async throws {
        for name in names { _ = try await place.backend.run(.data(Array(name.utf8), to: exact(name))) }
    }

    @Test func `Operations on an exact name read and write only that object`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            let scratch = try Scratch()
            try await fill(place)
            for name in names {
                let (reference, bytes) = (try exact(name), Array(name.utf8))
                #expect(try await place.backend.data(of: reference, maxSize: 100, for: caller) == bytes)
                let session = place.backend.beginDownload(
                    Download(reference: reference, file: scratch.path + "/file", task: "t", caller: caller))
                guard case .completed(let stored) = await session.fetch({ _ in }) else {
                    return #expect(Bool(false), "\(name) could not be downloaded")
                }
                #expect(try contentsOf(scratch.path + "/file") == bytes && stored.reference == reference)
                var change = MetadataChange()
                change.content = [.cacheControl: name]
                let updated = try await place.backend.updateMetadata(of: reference, change)
                #expect(updated.reference == reference && updated.settable.content[.cacheControl] == name)
                #expect(try await place.backend.metadata(of: reference) == updated)
            }
        }
    }

    @Test func `Deleting an exact name deletes only that object`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await fill(place)
            for (index, name) in names.enumerated() {
                try await place.backend.delete(exact(name), if: .init(), for: caller)
                let error = try await failure { _ = try await place.backend.metadata(of: exact(name)) }
                #expect(try error.isObjectNotFound(exact(name)))
                #expect(try await place.contents().objects == Int64(names.count - index - 1))
            }
        }
    }

    @Test func `A download URL of an exact name contains that name`() async throws {
        for place in ConformanceTests.places where place != GCSGatewayFixture.self && place != S3GatewayFixture.self {
            let place = try await place.init()
            if let embedded = place as? EmbeddedFixture {
                embedded.backend.urlBase = { () async throws(StorageError) in "http://h" }
            }
            try await fill(place)
            let url = try await place.backend.downloadURL(of: exact("folder/"), expiresIn: nil, for: caller)
            #expect(url.contains("/v0/b/b/o/folder%2F?alt=media&token="))
        }
    }

    /// Firebase Storage itself omits such names.
    @Test func `Exact listings contain all names, other listings only paths`() async throws {
        for place in ConformanceTests.places where place != FirebaseGatewayFixture.self {
            let place = try await place.init()
            try await fill(place)
            let expected: [(folder: Reference, prefixes: [Reference], items: [Reference])] = [
                (try ref(""), try [exact("/"), ref("a"), ref("folder")], try [ref("folder")]),
                (try ref("a"), [try exact("a//")], []),
                (try exact("a//"), [], [try exact("a//b")]),
                (try ref("folder"), [try ref("folder/sub")], [try exact("folder/")]),
                (try ref("folder/sub"), [try exact("folder/sub//")], []),
                (try exact("folder/sub//"), [], [try exact("folder/sub//")]),
                (try exact("/"), [try exact("//")], try [exact("/"), exact("/x")]),
            ]
            for (folder, prefixes, items) in expected {
                for size in [1, 2, 1000] {
                    let found = try await entries(ListQuery(folder, maxResults: size, isExact: true), in: place)
                    #expect(found.prefixes == prefixes && found.items == items, "\(folder.url) in pages of \(size)")
                }
            }
            #expect(
                try await place.backend.list("")
                    == Listing(prefixes: [ref("a"), ref("folder")], items: [ref("folder")]))
            #expect(try await place.backend.list("a") == Listing())
            #expect(try await place.backend.list("folder") == Listing(prefixes: [ref("folder/sub")]))
        }
    }

    private func entries(_ query: ListQuery, in place: some EngineFixture) async throws -> Listing {
        var (query, all) = (query, Listing())
        repeat {
            let page = try await place.backend.list(query, for: caller)
            all.prefixes += page.prefixes
            all.items += page.items
            query.pageToken = page.pageToken
        } while query.pageToken != nil
        return all
    }
}
