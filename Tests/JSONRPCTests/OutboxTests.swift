import Testing

@testable import JSONRPC

@Suite struct OutboxTests {
    /// Takes up to `room` bytes, then no more.
    private struct Reader {
        var text = ""
        var room = Int.max

        mutating func take(from outbox: inout Outbox) {
            outbox.flush { bytes in
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
        outbox.put(factsAbout: []) { $0 += "old ".utf8 }
        reader.take(from: &outbox)
        reader.room = .max
        return (outbox, reader)
    }

    private enum Item {
        case reply(String)
        case replyAbout(String, String)
        case fact(String, String)
        case sample(String, of: String, key: String)
    }

    private func put(_ items: [Item], into outbox: inout Outbox) {
        for item in items {
            switch item {
            case .reply(let text): outbox.put(factsAbout: []) { $0 += "\(text) ".utf8 }
            case .replyAbout(let text, let subject): outbox.put(factsAbout: [subject]) { $0 += "\(text) ".utf8 }
            case .fact(let text, let subject): outbox.put(Array("\(text) ".utf8), factAbout: subject)
            case .sample(let text, let subject, let key):
                outbox.put(Array("\(text) ".utf8), sample: key, of: subject)
            }
        }
    }

    private static let stories: [([Item], blocked: String, open: String)] = [
        ([.reply("r1"), .fact("f1", "t"), .reply("r2")], "r1 f1 r2 ", "r1 f1 r2 "),
        ([.sample("s1", of: "t", key: "k"), .sample("s2", of: "t", key: "k")], "s2 ", "s1 s2 "),
        (
            [.sample("s1", of: "t", key: "k"), .sample("x1", of: "t", key: "l"), .sample("s2", of: "t", key: "k")],
            "s2 x1 ", "s1 x1 s2 "
        ),
        (
            [.sample("s1", of: "t", key: "k"), .fact("f", "t"), .sample("s2", of: "t", key: "k")], "s1 f s2 ",
            "s1 f s2 "
        ),
        ([.sample("s1", of: "t", key: "k"), .fact("f", "u"), .sample("s2", of: "t", key: "k")], "f s2 ", "s1 f s2 "),
        ([.sample("s1", of: "t", key: "k"), .reply("r"), .sample("s2", of: "t", key: "k")], "r s2 ", "s1 r s2 "),
        (
            [.sample("s1", of: "t", key: "k"), .replyAbout("r", "t"), .sample("s2", of: "t", key: "k")],
            "s1 r s2 ", "s1 r s2 "
        ),
        (
            [.sample("a1", of: "t", key: "k"), .sample("b1", of: "u", key: "l"), .fact("f", "u")],
            "b1 f a1 ", "a1 b1 f "
        ),
    ]

    @Test func `Samples give way only while somebody reads slowly, and never pass a fact`() {
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

    @Test func `A million samples for a slow reader are a few bytes`() {
        var (outbox, reader) = Self.blocked()
        for number in 0..<1_000_000 {
            outbox.put(Array("\(number) ".utf8), sample: "\(number % 3)", of: "t")
        }
        #expect(outbox.unsent == 4)
        reader.take(from: &outbox)
        #expect(reader.text == "old 999999 999997 999998 ")
    }

    @Test(arguments: [1, 3, 7, 1000])
    func `Bytes go out in order, however few at a time`(room: Int) {
        var (outbox, reader) = (Outbox(), Reader())
        var expected = ""
        for number in 0..<2000 {
            expected += "message \(number) "
            put([.reply("message \(number)")], into: &outbox)
            reader.room = room
            reader.take(from: &outbox)
        }
        while outbox.unsent > 0 {
            reader.room = room
            reader.take(from: &outbox)
        }
        #expect(reader.text == expected)
    }

    @Test func `What was offered and not taken is offered again`() throws {
        struct Broken: Error {}
        var outbox = Outbox()
        outbox.put(factsAbout: []) { $0 += "abc".utf8 }
        #expect(throws: Broken.self) { try outbox.flush { _ in throw Broken() } }
        #expect(outbox.unsent == 3)
        var reader = Reader()
        reader.take(from: &outbox)
        #expect(reader.text == "abc")
    }
}
