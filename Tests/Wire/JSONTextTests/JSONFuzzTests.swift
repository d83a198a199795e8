import JSONText
import TestSupport
import Testing

@Suite(.watchdog) struct JSONFuzzTests {
    private static let seeds = [
        #"{"jsonrpc":"2.0","id":9007199254740993,"method":"a/b","params":{"x":[1,-0.5e+3,null,true,false],"y":"é\n😀"}}"#,
        #"[[[{"a":{"b":["\uD83D\uDE00\u0000\\\"/"]}}]], 0, "", {}, [], "a longer string than sixteen bytes"]"#,
    ]
    private static let splinters = ["\"", "\\", "\\u", "{", "}", "[", "]", ",", ":", "1e", "-", "\0", " ", "\\uD83D"]

    @Test(arguments: UInt64(1)...4)
    func `Mutated texts never crash, and round-trip when accepted`(seed: UInt64) throws {
        var random = SeededGenerator(state: seed)
        var accepted = 0
        for round in 0..<1500 {
            var text = Array(Self.seeds[round % Self.seeds.count].utf8)
            for _ in 0..<Int.random(in: 1...3, using: &random) { mutate(&text, using: &random) }
            guard let json = try? parse(text) else { continue }
            accepted += 1
            #expect(try parse(written(json)) == json, "\(String(decoding: text, as: UTF8.self))")
        }
        #expect(accepted > 50)
    }

    private func mutate(_ text: inout [UInt8], using random: inout SeededGenerator) {
        let place = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: text[place] = UInt8.random(in: 0...255, using: &random)
        case 1: text.remove(at: place)
        case 2: text.insert(contentsOf: (Self.splinters.randomElement(using: &random) ?? "").utf8, at: place)
        case 3: text.swapAt(place, Int.random(in: 0..<text.count, using: &random))
        default: text.removeLast(min(text.count - 1, Int.random(in: 0...4, using: &random)))
        }
    }
}
