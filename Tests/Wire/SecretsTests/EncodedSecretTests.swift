import Foundation
import Secrets
import TestSupport
import Testing

/// Secrets that come back in hex or in Base64.
@Suite(.watchdog) struct EncodedSecretTests {
    private static func hex(_ text: String) -> String {
        text.utf8.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    private static func base64(_ text: String, isForURLs: Bool, isPadded: Bool) -> String {
        let common = Data(text.utf8).base64EncodedString()
        let text =
            isForURLs
            ? common.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_") : common
        return isPadded ? text : text.replacingOccurrences(of: "=", with: "")
    }

    private static func secret(_ random: inout SeededGenerator) -> String {
        (0..<Int.random(in: 6...60, using: &random)).map { _ in
            "abcXYZ0189-_.~+/=?>}".randomElement(using: &random).map { String($0) } ?? ""
        }.joined()
    }

    @Test(arguments: 0..<300 as Range<UInt64>)
    func `All of an encoded text with a secret in it is hidden`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        let secret = Self.secret(&random)
        let before = String("Bearer: ".prefix(Int.random(in: 0...8, using: &random)))
        let after = String("\n and so on".prefix(Int.random(in: 0...11, using: &random)))
        let encoded: [String] =
            [Self.hex(before + secret + after), Self.hex(secret).uppercased()]
            + [true, false].flatMap { isForURLs in
                [true, false].map { Self.base64(before + secret + after, isForURLs: isForURLs, isPadded: $0) }
            }
        for text in encoded {
            #expect("said <\(text)>, sorry".hidingSecrets([secret]) == "said <(…)>, sorry", "\(secret) as \(text)")
            #expect("said \(text)".repeats([secret]))
        }
    }

    @Test func `Long pieces of an encoded secret are hidden, and what is encoded once more for a URL or JSON`() {
        let secret = "Kq7-Lx2Mz9b_04~Zt4mW9+/x"
        let base64 = Self.base64("Bearer \(secret)", isForURLs: false, isPadded: true)
        #expect("so \(base64.dropFirst(9).prefix(14)) is".hidingSecrets([secret]) == "so (…) is")
        let percent = base64.replacingOccurrences(of: "+", with: "%2B").replacingOccurrences(of: "=", with: "%3D")
        #expect("?a=\(percent)&b".hidingSecrets([secret]) == "?a=(…)&b")
        #expect(#""\#(base64.replacingOccurrences(of: "/", with: "\\/"))""#.hidingSecrets([secret]) == #""(…)""#)
        #expect("so \(Self.hex(secret).prefix(20)) is".hidingSecrets([secret]) == "so (…) is")
    }

    @Test func `Other texts do not change`() {
        let text = "The server answered 404: deadbeef0123456789 QmVhcmVyIGFub3RoZXI= /a/b+c"
        #expect(text.hidingSecrets(["Kq7-Lx2Mz9b_04~Zt4mW9", "ab", "short"]) == text)
    }
}
