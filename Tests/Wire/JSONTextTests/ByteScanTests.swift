import TestSupport
import Testing

@testable import JSONText

@Suite(.watchdog) struct ByteScanTests {
    private static let bytes =
        Array("plain \"\\\u{1F}\u{7F}é\n\u{85}\u{2028}\u{2029}".utf8) + [0x00, 0x80, 0xFF, 0x21, 0x23, 0x5B, 0x5D]

    /// The lengths around those of words and vectors, with a byte that may stop the search at every place, or nothing.
    @Test func `A run ends where the plain loop ends it`() {
        var random = SeededGenerator(state: 1)
        for count in Array(0...70) + Array(126...168) {
            for offset in [0, 1, 15] where offset <= count {
                for place in 0...count {
                    var text = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                    if place < count { text[place] = Self.bytes.randomElement(using: &random) ?? 0 }
                    check(text, from: offset)
                }
            }
        }
    }

    @Test(arguments: UInt64(1)...4)
    func `Random bytes are searched like the plain loop does`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        for count in 0...200 {
            for stops in [2, 10, 100] {
                check(
                    (0..<count).map { _ in
                        Int.random(in: 0..<stops, using: &random) > 0
                            ? UInt8.random(in: 0x61...0xC0, using: &random)
                            : Self.bytes.randomElement(using: &random) ?? 0
                    }, from: 0)
            }
        }
    }

    /// Memory of its own size for each text, so that the address sanitizer sees what is read beyond it.
    private func check(_ text: [UInt8], from start: Int) {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: text)
        let bytes = UnsafeRawBufferPointer(memory)
        let end = text[start...].firstIndex { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }
        let run = ByteScan.plainRun(in: bytes, from: start)
        if run.end != end ?? text.count || run.isASCII != text[start..<run.end].allSatisfy({ $0 < 0x80 }) {
            Issue.record("\(text) from \(start): \(run)")
        }
        let separators = [[0xC2, 0x85], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9]] as [[UInt8]]
        let separator = text[start...].indices.first { index in separators.contains { text[index...].starts(with: $0) }
        }
        if ByteScan.lineSeparator(in: bytes, from: start) != separator ?? max(start, text.count) {
            Issue.record("separator in \(text) from \(start)")
        }
        for byte in [UInt8(ascii: "\n"), 0x80]
        where ByteScan.firstIndex(of: byte, in: bytes, from: start) != text[start...].firstIndex(of: byte) {
            Issue.record("\(byte) in \(text) from \(start)")
        }
    }
}
