import HTTPText
import TestSupport
import Testing

@Suite(.watchdog) struct DigitsTests {
    @Test func `Numbers are digits without a zero before them`() {
        for (text, value) in [("0", 0), ("7", 7), ("10", 10), ("9223372036854775807", Int64.max)] {
            #expect(Int64(digits: text) == value && Int64(clampingDigits: text) == value)
        }
        for text in ["", "+1", "-1", "01", "00", " 1", "1 ", "1_0", "0x1", "1.0", "1e3", "٣", "a"] {
            #expect(Int64(digits: text) == nil && Int64(clampingDigits: text) == nil, "\(text)")
        }
        #expect(Int64(digits: "9223372036854775808") == nil)
        #expect(Int64(clampingDigits: "9223372036854775808") == .max)
    }

    @Test(
        arguments: [
            "bytes +0-1/2", "bytes 0-1/02", "bytes 00-1/2", "bytes  0-1/2", "bytes 0-1/2 ", " bytes 0-1/2", "0-1/2",
            "bytes 0-1", "bytes 0-1/2/3", "bytes 1-0/2", "bytes 0-2/2", "bytes */2", "bytes 0-x/2", "bytes 0-1/",
        ])
    func `A Content-Range with another syntax has no first byte`(field: String) {
        #expect(ContentRange(field) == nil)
    }

    @Test func `A Content-Range tells the first byte, and the size if it is known`() {
        let known = ContentRange("bytes 2-4/5"), unknown = ContentRange("Bytes 2-4/*")
        #expect(known?.first == 2 && known?.isOf(5) == true && known?.isOf(6) == false)
        #expect(unknown?.first == 2 && unknown?.isOf(6) == true)
    }
}
