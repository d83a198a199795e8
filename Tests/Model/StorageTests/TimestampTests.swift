import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.000Z"), (999, "1970-01-01T00:00:00.000Z"),
        (1000, "1970-01-01T00:00:00.001Z"), (999_999, "1970-01-01T00:00:00.999Z"),
        (1_000_000, "1970-01-01T00:00:01.000Z"), (1_456_863_361_673_999, "2016-03-01T20:16:01.673Z"),
        (86_399_999_999, "1970-01-01T23:59:59.999Z"), (86_400_000_000, "1970-01-02T00:00:00.000Z"),
        (951_782_400_000_000, "2000-02-29T00:00:00.000Z"), (951_868_800_000_000, "2000-03-01T00:00:00.000Z"),
        (1_709_164_800_000_000, "2024-02-29T00:00:00.000Z"), (1_735_689_599_999_999, "2024-12-31T23:59:59.999Z"),
        (4_107_542_399_000_000, "2100-02-28T23:59:59.000Z"), (4_107_542_400_000_000, "2100-03-01T00:00:00.000Z"),
        (2_147_483_648_000_000, "2038-01-19T03:14:08.000Z"), (253_402_300_799_999_999, "9999-12-31T23:59:59.999Z"),
        (-1, "1969-12-31T23:59:59.999Z"), (-1000, "1969-12-31T23:59:59.999Z"), (-1001, "1969-12-31T23:59:59.998Z"),
        (-2_203_891_200_000_000, "1900-03-01T00:00:00.000Z"), (-2_203_977_600_000_000, "1900-02-28T00:00:00.000Z"),
        (-11_671_084_800_000_000, "1600-02-28T00:00:00.000Z"), (-11_670_998_400_000_000, "1600-02-29T00:00:00.000Z"),
        (-62_135_596_800_000_000, "0001-01-01T00:00:00.000Z"),
    ])
    func `A timestamp is written in UTC with milliseconds`(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).rfc3339 == text)
    }

    @Test func `Each day of eight hundred years follows the previous one`() {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        var (year, month, day) = (1970, 1, 1)
        for number in Int64(0)..<292_194 {
            let expected = "\(year)-\(month < 10 ? "0" : "")\(month)-\(day < 10 ? "0" : "")\(day)T12:00:00.000Z"
            let text = Timestamp(microseconds: number * 86_400_000_000 + 43_200_000_000).rfc3339
            guard text == expected else { return #expect(text == expected) }
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            day += 1
            if day > lengths[month - 1] + (month == 2 && isLeap ? 1 : 0) { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
        #expect(year == 2770)
    }

    @Test(arguments: [Int64.max, .min, .max - 1])
    func `The extreme timestamps can be written`(microseconds: Int64) {
        #expect(Timestamp(microseconds: microseconds).rfc3339.hasSuffix("Z"))
    }

    @Test func `Advancing a timestamp stops at the maximum`() {
        let moment = Timestamp(microseconds: 5)
        #expect(moment.advanced(by: .zero) == moment)
        #expect(moment.advanced(by: .milliseconds(1500)).microseconds == 1_500_005)
        #expect(moment.advanced(by: .nanoseconds(1999)).microseconds == 6)
        #expect(moment.advanced(by: .seconds(-1)).microseconds == -999_995)
        for seconds in [Int64.max, Int64.max / 1_000_000] {
            #expect(Timestamp(microseconds: 1_000_000).advanced(by: .seconds(seconds)).microseconds == .max)
            #expect(Timestamp(microseconds: -1_000_000).advanced(by: .seconds(-seconds)).microseconds == .min)
        }
    }

    @Test(
        arguments: [
            (Int64.min, "0000-01-01T00:00:00.000Z"), (-62_167_219_200_000_001, "0000-01-01T00:00:00.000Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999Z"), (.max, "9999-12-31T23:59:59.999Z"),
        ] as [(Int64, String)])
    func `Years out of range are clamped`(microseconds: Int64, text: String) {
        #expect(Timestamp(microseconds: microseconds).rfc3339 == text)
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2000-02-29T23:59:59Z", 951_868_799),
            ("2024-03-01T00:00:00+05:30", 1_709_231_400),
            ("1969-12-31t23:59:59.999z", -0.001), ("2100-03-01 00:00:00-01:00", 4_107_546_000),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] as [(String, Double)])
    func `Timestamps are parsed`(text: String, seconds: Double) {
        #expect(Timestamp(rfc3339: text) == Timestamp(microseconds: Int64(seconds * 1_000_000)))
    }

    @Test(arguments: [
        "", "2024-03-01", "2024-13-01T00:00:00Z", "2024-03-01T24:00:00Z", "2024-03-01T00:00:00",
        "2024-03-01T00:00:00+5",
        "2024-03-01T00:00:00Zjunk", "+024-03-01T00:00:00Z", "2024-03-01T00:00:00.Z9",
    ])
    func `Invalid timestamps are refused`(text: String) { #expect(Timestamp(rfc3339: text) == nil) }
}
