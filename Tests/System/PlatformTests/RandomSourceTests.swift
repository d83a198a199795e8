import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct RandomSourceTests {
    @Test func `A source with repeated numbers gives repeated UUIDs`() {
        let source = RandomSource { 0x0102_0304_0506_0708 }
        #expect(source.uuid() == "01020304-0506-4708-8102-030405060708")
        #expect(source.uuid() == source.uuid())
    }

    @Test func `The secure source gives different UUIDs`() {
        #expect(RandomSource.secure.uuid() != RandomSource.secure.uuid())
    }
}
