import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct RandomSourceTests {
    @Test func `A source that repeats its numbers repeats its ids`() {
        let source = RandomSource { 0x0102_0304_0506_0708 }
        #expect(source.uuid() == "01020304-0506-4708-8102-030405060708")
        #expect(source.uuid() == source.uuid())
    }

    @Test func `The secure source does not repeat itself`() {
        #expect(RandomSource.secure.uuid() != RandomSource.secure.uuid())
    }
}
