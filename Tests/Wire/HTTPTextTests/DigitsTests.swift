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
            "bytes 0-1", "bytes 0-1/2/3", "bytes 2-0/2", "bytes 0-2/2", "bytes 0-x/2", "bytes 0-1/", "bytes *-1/2",
            "bytes 0-9223372036854775807/*", "bytes", "",
        ])
    func `A Content-Range with another syntax is refused`(field: String) {
        #expect(ContentRange(field) == nil)
    }

    @Test func `A Content-Range has the bytes and the size as far as they are known`() {
        func members(_ field: String) -> [Int64?]? { ContentRange(field).map { [$0.first, $0.last, $0.size] } }
        #expect(members("bytes 2-4/5") == [2, 4, 5])
        #expect(members("Bytes 2-4/*") == [2, 4, nil])
        #expect(members("bytes 0-*/*") == [0, nil, nil])
        #expect(members("bytes 0-*/7") == [0, nil, 7])
        #expect(members("bytes */7") == [nil, nil, 7])
        #expect(members("bytes 3-2/3") == [3, 2, 3])
    }
}
