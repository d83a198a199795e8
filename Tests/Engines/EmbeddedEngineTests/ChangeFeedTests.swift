import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine

/// What the engine reports of changes.
@Suite(.watchdog) struct ChangeFeedTests {
    private final class Heard: Sendable {
        let changes = Mutex<[ObjectChange]>([])
        var all: [ObjectChange] { changes.withLock { $0 } }
    }

    private func place() async throws -> (EmbeddedFixture, Heard) {
        let (place, heard) = (try await EmbeddedFixture(), Heard())
        place.backend.properties.changes?.listen { more in heard.changes.withLock { $0 += more } }
        return (place, heard)
    }

    @Test(arguments: [10, 200_000])
    func `Each change is reported once, before its answer`(size: Int) async throws {
        let (place, heard) = try await place()
        let backend = place.backend
        var expected: [ObjectChange] = []
        func expect(_ kinds: (ObjectChange.Kind, ObjectMetadata)...) {
            expected += kinds.map { ObjectChange($0, $1) }
            #expect(heard.all == expected)
        }
        let first = try await backend.put(noise(size), at: "a")
        expect((.created, first))
        let second = try await backend.put(noise(size), at: "a")
        expect((.replaced, second))
        let updated = try await backend.updateMetadata(of: ref("a"), MetadataChange())
        expect((.updated, updated))
        let linked = try await backend.addDownloadToken(to: ref("a"))
        expect((.updated, linked))
        let copy = try await backend.run(.copy(of: ref("a"), to: ref("b")))
        expect((.created, copy))
        let moved = try await backend.run(.copy(of: ref("a"), to: ref("b"), isMove: true))
        expect((.replaced, moved), (.deleted, linked))
        try await backend.delete("b")
        expect((.deleted, moved))
    }

    @Test func `A failure changes nothing, and is not reported as a change`() async throws {
        let (place, heard) = try await place()
        _ = try await failure { try await place.backend.delete("a") }
        _ = try await failure { _ = try await place.backend.run(.copy(of: ref("a"), to: ref("b"))) }
        #expect(heard.all.isEmpty)
        place.backend.properties.changes?.listen(nil)
        try await place.backend.put([1], at: "a")
        #expect(heard.all.isEmpty)
    }

    @Test func `A feed reports any number of changes`() throws {
        let feed = ChangeFeed()
        let count = Mutex(0)
        feed.listen { _ in count.withLock { $0 += 1 } }
        for _ in 0..<100_000 { feed.publish([]) }
        #expect(count.withLock { $0 } == 100_000)
    }

    @Test func `The address of download URLs is read any number of times`() async throws {
        let place = try await EmbeddedFixture()
        place.backend.urlBase = { () async throws(StorageError) in "http://127.0.0.1:1" }
        // A closure that is wrapped in each access would overflow the stack.
        for _ in 0..<200_000 { _ = place.backend.urlBase }
        let base = try #require(place.backend.urlBase)
        #expect(try await base() == "http://127.0.0.1:1")
    }

    @Test func `Concurrent writes of one name are reported in the order of their generations`() async throws {
        let (place, heard) = try await place()
        try await forEachAtOnce(Array(0..<24)) { index in
            if index % 3 == 0 {
                try await place.backend.put(noise(150_000), at: "a")
            } else {
                try await place.backend.put([UInt8(index)], at: "a")
            }
        }
        let generations = heard.all.map(\.version.generation)
        #expect(generations.count == 24 && generations == generations.sorted())
        #expect(heard.all.map(\.kind) == [.created] + Array(repeating: .replaced, count: 23))
    }
}
