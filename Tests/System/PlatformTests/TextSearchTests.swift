import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct TextSearchTests {
    @Test func `A text is found where its bytes begin first`() {
        let text = "aab://aabc"
        #expect(text.firstRange(of: "aabc").map { text[..<$0.lowerBound] } == "aab://")
        #expect(text.firstRange(of: "://").map { text[$0.upperBound...] } == "aabc")
        #expect(text.firstRange(of: "abcd") == nil && "".firstRange(of: "a") == nil)
        #expect([1, 1, 2].firstRange(of: [1, 2]) == 1..<3)
        // "é" as one scalar is not "e" with an accent.
        #expect("caf\u{E9}".firstRange(of: "e\u{301}") == nil && !"e\u{301}".has("\u{E9}"))
        #expect("e\u{301}".has("e"))
    }

    @Test func `Bytes are found where they begin first`() {
        func index(of part: [UInt8], in bytes: [UInt8]) -> Int? {
            bytes.withUnsafeBytes { bytes in part.withUnsafeBytes { bytes.firstIndex(of: $0) } }
        }
        #expect(index(of: [1, 2], in: [1, 1, 2, 1, 2]) == 1 && index(of: [2], in: [2]) == 0)
        #expect(
            index(of: [1, 2], in: [1]) == nil && index(of: [1], in: []) == nil && index(of: [0, 2], in: [0, 1]) == nil)
    }

    @Test func `Every occurrence is replaced once, from the left`() {
        #expect("a%2Fb%2F".replacing("%2F", with: "/") == "a/b/")
        #expect("aaa".replacing("aa", with: "b") == "ba")
        #expect("".replacing("a", with: "b") == "" && "a".replacing("a", with: "") == "")
        #expect("{n}x{n}".parts(between: "{n}") == ["", "x", ""])
    }
}
