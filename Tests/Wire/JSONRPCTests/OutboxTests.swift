import TestSupport
import Testing

@testable import JSONRPC

@Suite(.watchdog) struct OutboxTests {
    /// Accepts up to `room` bytes.
    private struct Reader {
        var text = ""
        var room = Int.max

        mutating func take(from outbox: inout Outbox, atMost limit: Int = 1 << 60) {
            outbox.flush(atMost: limit) { bytes in
                let count = min(room, bytes.count)
                text += String(decoding: bytes[..<count], as: UTF8.self)
                room -= count
                return count
            }
        }
    }

    private var outbox = Outbox()

    private static func blocked() -> (Outbox, Reader) {
        var (outbox, reader) = (Outbox(), Reader(room: 0))
        outbox.put { $0 += "old ".utf8 }
        reader.take(from: &outbox)
        reader.room = .max
        return (outbox, reader)
    }

    private enum Item {
        case fact(String)
        case sample(String, key: String)
    }

    private func put(_ items: [Item], into outbox: inout Outbox) {
        for item in items {
            switch item {
            case .fact(let text): outbox.put { $0 += "\(text) ".utf8 }
            case .sample(let text, let key): outbox.put(Array("\(text) ".utf8), sample: key)
            }
        }
    }

    private static let stories: [([Item], blocked: String, open: String)] = [
        ([.fact("f1"), .fact("f2")], "f1 f2 ", "f1 f2 "),
        ([.sample("s1", key: "k"), .sample("s2", key: "k")], "s2 ", "s1 s2 "),
        ([.sample("s1", key: "k"), .sample("x1", key: "l"), .sample("s2", key: "k")], "s2 x1 ", "s1 x1 s2 "),
        ([.sample("s1", key: "k"), .fact("f"), .sample("s2", key: "k")], "s1 f s2 ", "s1 f s2 "),
        ([.sample("s1", key: "k"), .sample("s2", key: "k"), .fact("f")], "s2 f ", "s1 s2 f "),
    ]

    @Test func `A sample does not overtake an older one of its key`() {
        var (outbox, reader) = Self.blocked()
        outbox.put(Array("s1 ".utf8), sample: "k")
        reader.room = 2
        reader.take(from: &outbox, atMost: 2)
        #expect(reader.text == "ol" && !outbox.isBlocked)
        outbox.put(Array("s2 ".utf8), sample: "k")
        reader.room = .max
        reader.take(from: &outbox)
        #expect(reader.text == "old s2 ")
    }

    @Test func `Samples are replaced only for a slow reader, and never overtake a fact`() {
        for story in Self.stories {
            var (outbox, reader) = Self.blocked()
            put(story.0, into: &outbox)
            reader.take(from: &outbox)
            #expect(reader.text == "old " + story.blocked)
            #expect(outbox.unsent == 0 && !outbox.isBlocked)

            (outbox, reader) = (Outbox(), Reader())
            put(story.0, into: &outbox)
            reader.take(from: &outbox)
            #expect(reader.text == story.open)
        }
    }

    @Test func `Too many samples of a group become one word about it, until the reader continues`() {
        var (outbox, reader) = Self.blocked()
        var made = 0
        func put(_ text: String, _ key: String, of group: String) {
            outbox.put(sample: { key }, of: group, most: 3, missed: { Array("missed-\(group) ".utf8) }) {
                made += 1
                return Array("\(text) ".utf8)
            }
        }
        put("a1", "a", of: "g")
        put("b1", "b", of: "g")
        put("x1", "x", of: "h")
        put("a2", "a", of: "g")
        put("y1", "y", of: "h")
        put("z1", "z", of: "h")
        #expect(made == 4, "the message of a group with too many is not made")
        put("b2", "b", of: "g")
        reader.take(from: &outbox)
        #expect(reader.text == "old a2 b2 missed-h ")
        put("z2", "z", of: "h")
        reader.take(from: &outbox)
        #expect(reader.text == "old a2 b2 missed-h z2 ")
    }

    @Test func `A million samples for a slow reader take a few bytes`() {
        var (outbox, reader) = Self.blocked()
        for number in 0..<1_000_000 {
            outbox.put(Array("\(number) ".utf8), sample: "\(number % 3)")
        }
        #expect(outbox.unsent == 4)
        reader.take(from: &outbox)
        #expect(reader.text == "old 999999 999997 999998 ")
    }

    @Test(arguments: [1, 3, 7, 1000])
    func `Bytes are written in order, whatever the size of each write`(room: Int) {
        var (outbox, reader) = (Outbox(), Reader())
        var expected = ""
        for number in 0..<2000 {
            expected += "message \(number) "
            put([.fact("message \(number)")], into: &outbox)
            reader.room = room
            reader.take(from: &outbox)
        }
        while outbox.unsent > 0 {
            reader.room = room
            reader.take(from: &outbox)
        }
        #expect(reader.text == expected)
    }

    @Test func `Bytes that were not written are offered again`() throws {
        struct Broken: Error {}
        var outbox = Outbox()
        outbox.put { $0 += "abc".utf8 }
        #expect(throws: Broken.self) { try outbox.flush { _ in throw Broken() } }
        #expect(outbox.unsent == 3)
        var reader = Reader()
        reader.take(from: &outbox)
        #expect(reader.text == "abc")
    }
}
