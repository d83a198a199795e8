import Database
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

@Suite(.watchdog(minutes: 10)) struct ListingTests {
    /// The entries directly below a prefix, prefixes with their slash, computed in a simple and slow manner.
    private func model(_ names: Set<String>, below prefix: String) -> [String] {
        let entries = names.compactMap { name -> [UInt8]? in
            guard name.utf8.starts(with: prefix.utf8), name.utf8.count > prefix.utf8.count else { return nil }
            let rest = name.utf8.dropFirst(prefix.utf8.count)
            let segment = rest.prefix { $0 != UInt8(ascii: "/") }
            return Array(prefix.utf8) + segment + (segment.count < rest.count ? [UInt8(ascii: "/")] : [])
        }
        return Set(entries).sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) }
    }

    private func entries(_ page: Listing) -> [String] {
        let all = page.items.map(\.fullPath) + page.prefixes.map { $0.fullPath + "/" }
        return all.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private func same(_ a: some Sequence<String>, _ b: some Sequence<String>) -> Bool {
        a.elementsEqual(b) { $0.utf8.elementsEqual($1.utf8) }
    }

    private func fill(_ place: some EngineFixture, _ names: some Sequence<String>) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for name in names { group.addTask { _ = try await place.backend.put([], at: name) } }
            try await group.waitForAll()
        }
    }

    private func randomName(_ random: inout SeededGenerator) -> String? {
        let pieces = ["a", "b", "/", "/", "0", "!", "é", "e\u{301}", ".", "..", "\u{FFFF}", "\u{10FFFF}", "a/b", " "]
        let name = (0..<Int.random(in: 1...7, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
        guard let reference = try? ref(name.joined()), !reference.isRoot else { return nil }
        // The services have no objects of these two names.
        guard reference.fullPath != ".", reference.fullPath != ".." else { return nil }
        return reference.fullPath
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `Pages of any size equal those of a model`(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        let names = Set((0..<60).compactMap { _ in randomName(&random) })
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await fill(place, names)
            let folders = Set(
                names.flatMap { name in sequence(first: try? ref(name)) { $0?.parent }.compactMap { $0 } })
            for folder in folders {
                let expected = model(names, below: folder.isRoot ? "" : folder.fullPath + "/")
                for size in [1, 2, 7, 1000] {
                    var found: [String] = []
                    var token: String?
                    repeat {
                        let page = try await place.backend.list(folder.fullPath, size, after: token)
                        found += entries(page)
                        token = page.pageToken
                        let count = page.items.count + page.prefixes.count
                        #expect(token == nil ? count <= size : count == size)
                    } while token != nil
                    #expect(same(found, expected), "\(folder.fullPath.debugDescription) in pages of \(size)")
                }
            }
        }
    }

    @Test func `Items and prefixes share one order and one page size`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await fill(place, ["p/a", "p/b", "p/b!", "p/b/1", "p/b/2", "p/b0", "p/c/x/y", "pp", "p0", "p"])
            let first = try await place.backend.list("p", 3)
            #expect(try first.items == [ref("p/a"), ref("p/b"), ref("p/b!")] && first.prefixes == [])
            let second = try await place.backend.list("p", 3, after: first.pageToken)
            #expect(try second.items == [ref("p/b0")] && second.prefixes == [ref("p/b"), ref("p/c")])
            #expect(second.pageToken == nil)
            let root = try await place.backend.list("")
            #expect(try root.items == [ref("p"), ref("p0"), ref("pp")] && root.prefixes == [ref("p")])
        }
    }

    @Test func `A page has the metadata of its items on request`() async throws {
        let caller = Caller(retryTime: .seconds(600))
        for place in ConformanceTests.places {
            let place = try await place.init()
            var metadata = SettableMetadata()
            metadata.content = [.contentType: "text/x"]
            metadata.custom = ["by": "me"]
            for index in 0..<12 {
                _ = try await place.backend.run(.data(noise(index), to: ref("p/\(index)"), metadata))
            }
            try await place.backend.put([1], at: "p/below/it")
            var query = ListQuery(try ref("p"), maxResults: 1000, wantsMetadata: true)
            let page = try await place.backend.list(query, for: caller)
            var expected: [ObjectMetadata] = []
            for item in page.items { expected.append(try await place.backend.metadata(of: item, for: caller)) }
            #expect(page.items.count == 12 && page.metadata == expected)
            #expect(expected.allSatisfy { $0.settable.custom == ["by": "me"] })
            query.maxResults = 5
            let first = try await place.backend.list(query, for: caller)
            #expect(first.metadata == Array(expected.prefix(5)) && first.pageToken != nil)
            query.wantsMetadata = false
            #expect(try await place.backend.list(query, for: caller).metadata == nil)
        }
    }

    /// Of a bucket that may be missing.
    private func isEmpty(_ listing: Listing) -> Bool {
        listing.items.isEmpty && listing.prefixes.isEmpty && listing.pageToken == nil
    }

    @Test func `A listing without objects is empty`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            #expect(try await isEmpty(place.backend.list("")))
            try await place.backend.put([], at: "a/b")
            #expect(try await place.backend.list("a/b") == Listing())
            #expect(try await place.backend.list("x") == Listing())
            #expect(try await isEmpty(place.backend.list("", in: "other")))
            try await place.backend.delete("a/b")
            #expect(try await place.backend.list("") == Listing())
        }
    }

    @Test func `A page token continues after the last entry, despite additions and deletions`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await fill(place, ["b", "d/1", "d/2", "f"])
            let page = try await place.backend.list("", 2)
            #expect(try page.items == [ref("b")] && page.prefixes == [ref("d")])
            for name in ["b", "d/1", "d/2"] { try await place.backend.delete(name) }
            try await fill(place, ["a", "c", "d", "d/0", "d/9", "d0", "e"])
            let next = try await place.backend.list("", after: page.pageToken)
            #expect(try next.items == [ref("d0"), ref("e"), ref("f")] && next.prefixes == [])
            let again = try await place.backend.list("", after: page.pageToken)
            #expect(again == next)
        }
    }

    @Test func `A last page that is exactly full has no page token`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await fill(place, ["a", "b", "c/1", "c/2"])
            #expect(try await place.backend.list("", 3).pageToken == nil)
            #expect(try await place.backend.list("c", 2).pageToken == nil)
            #expect(try await place.backend.list("c", 1).pageToken != nil)
        }
    }

    @Test func `An object that exists throughout is listed once despite additions and deletions`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            let kept = (0..<40).map { "k/\(10 + $0)" + ($0 % 3 == 0 ? "/x" : "") }
            try await fill(place, kept)
            let isDone = ProgressRecorder()
            async let changes: Void = {
                var round = 0
                while isDone.counts.isEmpty {
                    round += 1
                    try await place.backend.put([], at: "k/\(10 + round % 40)-")
                    try await place.backend.delete("k/\(10 + round % 40)-")
                }
            }()
            for size in [1, 3, 8, 1, 3, 8] {
                var found: [String] = []
                var token: String?
                repeat {
                    let page = try await place.backend.list("k", size, after: token)
                    found += entries(page)
                    token = page.pageToken
                } while token != nil
                #expect(same(found.filter { !$0.hasSuffix("-") }, model(Set(kept), below: "k/")))
            }
            isDone.take(Progress(completedUnitCount: 0, totalUnitCount: 0))
            try await changes
        }
    }

    @Test func `An invalid page token and one of another listing are refused`() async throws {
        for place in ConformanceTests.places {
            let place = try await place.init()
            try await fill(place, ["a/1", "a/2", "b/1", "b/2"])
            let token = try #require(try await place.backend.list("a", 1).pageToken)
            let foreign = [("b", "b"), ("", "b"), ("a", "c"), ("a/1", "b")]
            for (path, bucket) in foreign {
                let error = try await failure { _ = try await place.backend.list(path, after: token, in: bucket) }
                #expect(error.code == .invalidArgument && error.param == "pageToken")
            }
            for text in ["", "a", "a/1", token + "x", String(token.dropLast()), "AAAAAAAA", "\0", "=", "é"] {
                let error = try await failure { _ = try await place.backend.list("a", after: text) }
                #expect(error.code == .invalidArgument && error.param == "pageToken", "\(text)")
            }
        }
    }
}

@Suite(.watchdog(minutes: 10)) struct OddNameListingTests {
    @Test func `A listing omits invalid object names and contains their prefixes`() async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put([], at: "x/seed")
        let long = [UInt8](repeating: 0x79, count: 2000)
        let names: [[UInt8]] = [
            [], Array("/".utf8), Array("//".utf8), Array("x/".utf8), Array("x//foo".utf8), Array("x/bar//".utf8),
            Array("x/baz//qux".utf8), Array("x/cr\r".utf8), Array("x/lf\n/y".utf8), Array("x/".utf8) + [0xFF],
            Array("x/".utf8) + [0xC3], Array("x/".utf8) + [0xC3, 0x2F, 0x61], Array("x/".utf8) + long, [0xFF, 0xFE],
            [0xFF],
        ]
        try await place.backend.store.write { database in
            for name in names {
                try database.run(
                    """
                    INSERT INTO objects (bucket, name, generation, metageneration, size, timeCreated, updated, md5, crc32c,
                    downloadTokens) SELECT bucket, :name, generation, metageneration, size, timeCreated, updated, md5,
                    crc32c, downloadTokens FROM objects WHERE name = :seed
                    """, ["name": .blob(name), "seed": .blob(Array("x/seed".utf8))])
            }
        }
        for size in [1, 2, 1000] {
            var found: [Reference] = []
            var token: String?
            repeat {
                let page = try await place.backend.list("x", size, after: token)
                found += page.prefixes + page.items
                token = page.pageToken
            } while token != nil
            #expect(try found == [ref("x/bar"), ref("x/baz"), ref("x/seed")])
        }
        #expect(try await place.backend.list("") == Listing(prefixes: [ref("x")]))
        #expect(try await place.backend.list("x/bar") == Listing())
        #expect(try await place.backend.list("x/baz") == Listing())
    }
}
