import TestSupport
import Testing

@testable import HTTPText

@Suite(.watchdog) struct HTTPDateTests {
    private let known = HTTPDate(secondsSince1970: 784_111_777)

    @Test func `All three date formats are read, and the first one is written`() {
        #expect(known.description == "Sun, 06 Nov 1994 08:49:37 GMT")
        let forms = ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"]
        for form in forms { #expect(HTTPDate(form) == known, "\(form)") }
        #expect(HTTPDate("Wed Nov 16 08:49:37 1994") == HTTPDate(secondsSince1970: 784_975_777))
    }

    @Test(arguments: [
        "", "now", "784111777", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Son, 06 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 08:49:37 GMT ", " Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 29 Feb 1900 00:00:00 GMT",
        "Sun, 06 Nov 0000 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun, 06 Nov 1994 08:49:-7 GMT", "Sun, é", "Sun",
    ]) func `Other texts are not dates`(text: String) {
        #expect(HTTPDate(text) == nil)
    }

    @Test func `A year of two digits is at most fifty years ahead`() {
        let now = HTTPDate(secondsSince1970: 1_792_000_000)  // 2026
        #expect(HTTPDate("Tuesday, 06-Nov-76 00:00:00 GMT", now: now)?.description.contains("2076") == true)
        #expect(HTTPDate("Sunday, 06-Nov-77 00:00:00 GMT", now: now)?.description.contains("1977") == true)
        #expect(HTTPDate("Monday, 06-Nov-00 00:00:00 GMT", now: now)?.description.contains("2000") == true)
    }

    @Test func `Every written date is read as the same time`() {
        var random = SeededGenerator(state: 7)
        for _ in 0..<2000 {
            let date = HTTPDate(secondsSince1970: .random(in: -62_135_596_800...253_402_300_799, using: &random))
            #expect(HTTPDate(date.description) == date)
        }
        for (moment, text) in [
            (Int64(-62_135_596_800), "Mon, 01 Jan 0001 00:00:00 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (.max, "Fri, 31 Dec 9999 23:59:59 GMT"), (.min, "Mon, 01 Jan 0001 00:00:00 GMT"),
        ] {
            #expect(HTTPDate(secondsSince1970: moment).description == text)
        }
    }
}
