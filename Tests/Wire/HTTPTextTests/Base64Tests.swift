import TestSupport
import Testing

@testable import HTTPText

@Suite(.watchdog) struct Base64Tests {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    @Test func `Random bytes are encoded like the plain loop does, and come back the same`() {
        var random = SeededGenerator(state: 1)
        for count in 0...200 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            #expect(bytes.base64 == Self.encoded(bytes))
            #expect(bytes.withUnsafeBytes(\.base64Bytes) == Array(bytes.base64.utf8))
            #expect([UInt8](base64: bytes.base64) == bytes)
        }
    }

    /// Each text has one character that belongs to none, or to another text.
    @Test func `A text is decoded if it is the one way to write its bytes`() {
        var random = SeededGenerator(state: 2)
        for count in 1...200 {
            for _ in 0..<20 {
                var text = Array((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }.base64.utf8)
                text[Int.random(in: 0..<text.count, using: &random)] = UInt8.random(in: 0...127, using: &random)
                let other = String(decoding: text, as: UTF8.self)
                if let bytes = [UInt8](base64: other) {
                    #expect(Self.encoded(bytes) == other)
                } else {
                    #expect(!text.allSatisfy(Self.alphabet.contains), "\(other)")
                }
            }
        }
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        let bits = bytes.flatMap { byte in (0..<8).map { byte >> (7 - $0) & 1 } }
        let sextets = stride(from: 0, to: bits.count, by: 6).map { start in
            (0..<6).reduce(0) { $0 << 1 | (start + $1 < bits.count ? Int(bits[start + $1]) : 0) }
        }
        let text = String(decoding: sextets.map { alphabet[$0] }, as: UTF8.self)
        return text + String(repeating: "=", count: (4 - sextets.count % 4) % 4)
    }

    @Test func `Bytes of any number and value come back the same`() {
        for count in 0..<300 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 31 + count) }
            #expect([UInt8](base64: bytes.base64) == bytes)
        }
    }

    @Test(
        arguments: [
            "a", "aG", "aGk", "aGk==", "aGl=", "aGk=aGk=", "a===", "====", "=", "aG=k", "aGk=\n", "aG k", "aGk-",
            "aG_k",
            "aGé", "\u{0}aGk", "aB==", "aGkaG",
        ])
    func `Other texts are refused`(text: String) { #expect([UInt8](base64: text) == nil) }
}
