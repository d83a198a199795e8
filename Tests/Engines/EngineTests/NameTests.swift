import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog(minutes: 10)) struct NameTests {
    static let odd: [String] = [
        ".", "..", "../..", "../../etc/passwd", "a/../b", "dir", "dir/below", "dir/below/more", "a", "A", "lock", "-",
        "storage.sqlite3", "objects", "objects/1", "~", "$HOME", "a b", " ", "  ", "\0", "a\0b", "a\0", "\u{1}\u{7F}",
        "\t", "😀", "👨‍👩‍👧", "é", "e\u{301}", "\u{212B}", "\u{C5}", "A\u{30A}", "\u{301}", "a/\u{301}", "ﬁ", "fi", "ß",
        "ss", "%", "%2F", "100%", "a%2Fb", "?", "#", "*", "[x]", "\\", "a\\b", "'", "\"", "';--", "con", "NUL", "a.",
        "\u{FEFF}a", "\u{202E}a", "\u{FFFD}", "\u{FFFF}", "\u{10FFFF}", "ちかてつ.txt",
        String(repeating: "x", count: 1024), String(repeating: "é", count: 512),
        String(repeating: "../", count: 340) + "..",
        "x/" + String(repeating: "y", count: 1022),
    ]

    @Test func `Every valid name is a separate object`() async throws {
        for place in ConformanceTests.places {
            // The services have no objects of these two names.
            let names = Self.odd.filter { place == EmbeddedFixture.self || ![".", ".."].contains($0) }
            try await roundTrip(names, in: place.init())
        }
    }

    @Test func `Names of objects, folders and buckets are compared by bytes`() async throws {
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        for place in ConformanceTests.places {
            let place = try await place.init()
            for (number, name) in [composed, decomposed].enumerated() {
                for path in [name, name + "/x"] { try await place.backend.put([UInt8(number)], at: path) }
                try await place.backend.put([UInt8(number)], at: "a", in: name)
            }
            for token in [nil, "page"] as [String?] {
                var (found, next): ([Reference], String?) = ([], nil)
                repeat {
                    let page = try await place.backend.list("", token == nil ? 1000 : 1, after: next)
                    (found, next) = (found + page.items + page.prefixes, page.pageToken)
                } while next != nil
                #expect(try found.count == 4 && Set(found) == [ref(composed), ref(decomposed)])
            }
            for (number, name) in [composed, decomposed].enumerated() {
                #expect(try await place.backend.list(name).items == [ref(name + "/x")])
                #expect(try await place.backend.list("", in: name).items == [ref("a", in: name)])
                #expect(try await place.backend.data(name) == [UInt8(number)])
                #expect(try await place.backend.metadata(of: ref("a", in: name)).reference == ref("a", in: name))
            }
            try await place.backend.delete(composed)
            #expect(
                try await failure { _ = try await place.backend.metadata(of: ref(composed)) }.code == .objectNotFound)
            #expect(try await place.backend.data(decomposed) == [1])
        }
    }

    @Test func `Objects with random names are stored and read back`() async throws {
        var random = SeededGenerator(state: 300)
        var names: Set<[UInt8]> = []
        while names.count < 300 {
            let name = (0..<Int.random(in: 1...40, using: &random)).map { _ in character(&random) }
            guard let reference = try? ref(String(String.UnicodeScalarView(name))), !reference.isRoot else { continue }
            names.insert(Array(reference.fullPath.utf8))
        }
        for place in ConformanceTests.places {
            try await roundTrip(names.map { String(decoding: $0, as: UTF8.self) }, in: place.init())
        }
    }

    private func character(_ random: inout SeededGenerator) -> Unicode.Scalar {
        let range: ClosedRange<UInt32> =
            switch Int.random(in: 0..<6, using: &random) {
            case 0: 0...0x1F
            case 1: 0x300...0x36F
            case 2: 0x1F300...0x1F6FF
            case 3: 0...0x10FFFF
            default: 0x20...0x7E
            }
        return Unicode.Scalar(.random(in: range, using: &random)) ?? "/"
    }

    private func roundTrip(_ names: [String], in place: some EngineFixture) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (number, name) in names.enumerated() {
                let bytes = noise(number % 10 == 0 ? 70_000 : 8, seed: UInt64(number))
                group.addTask { _ = try await place.backend.run(.data(bytes, to: ref(name))) }
            }
            try await group.waitForAll()
        }
        let place = try await place.reopened()
        for (number, name) in names.enumerated() {
            let stored = try await place.backend.metadata(of: ref(name))
            #expect(stored.reference.fullPath.utf8.elementsEqual(name.utf8))
            let bytes = noise(number % 10 == 0 ? 70_000 : 8, seed: UInt64(number))
            #expect(try await place.bytes(of: ref(name)) == bytes, "\(name.debugDescription)")
        }
        #expect(try await place.contents().objects == Int64(names.count))
    }
}
