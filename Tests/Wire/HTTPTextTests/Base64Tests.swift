import TestSupport
import Testing

@testable import HTTPText

@Suite(.watchdog) struct Base64Tests {
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
