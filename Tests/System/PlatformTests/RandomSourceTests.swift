import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct RandomSourceTests {
    @Test func `A source with repeated numbers gives repeated UUIDs`() {
        let source = RandomSource { 0x0102_0304_0506_0708 }
        #expect(source.uuid() == "01020304-0506-4708-8102-030405060708")
        #expect(source.uuid() == source.uuid())
    }

    @Test(arguments: [0, 1, 77, 1 << 48 - 1, 1 << 48 + 5]) func `A UUID ends with its number`(number: Int64) {
        let source = RandomSource { 0x0102_0304_0506_0708 }
        let uuid = source.uuid(withNumber: number), digits = String(number & (1 << 48 - 1), radix: 16)
        #expect(uuid.hasPrefix("01020304-0506-8708-8102-") && uuid.utf8.count == 36 && uuid.hasSuffix(digits))
        #expect(RandomSource.number(inUUID: uuid) == number & (1 << 48 - 1))
    }

    @Test(arguments: ["", "task", "01020304-0506-4708-8102-030405060708", "01020304-0506-8708-8102-03040506070g"])
    func `Any other text has no number`(text: String) { #expect(RandomSource.number(inUUID: text) == nil) }

    @Test func `The secure source gives different UUIDs`() {
        #expect(RandomSource.secure.uuid() != RandomSource.secure.uuid())
    }
}
