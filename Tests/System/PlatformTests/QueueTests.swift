import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct QueueTests {
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `Elements are removed in the order in which they were appended`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        var queue = Queue<Int>()
        var expected: [Int] = []
        for number in 0..<2000 {
            switch random.next(upperBound: 5 as UInt) {
            case 0, 1, 2:
                queue.append(number)
                expected.append(number)
            case 3: #expect(queue.popFirst() == (expected.isEmpty ? nil : expected.removeFirst()))
            default:
                let wanted = expected.randomElement(using: &random)
                #expect(queue.removeFirst { $0 == wanted } == (wanted != nil))
                expected.removeAll { $0 == wanted }
            }
            #expect(queue.count == expected.count && queue.isEmpty == expected.isEmpty)
        }
        while let element = queue.popFirst() { #expect(element == expected.removeFirst()) }
        #expect(expected.isEmpty)
    }
}
