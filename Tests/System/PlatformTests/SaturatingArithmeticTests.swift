import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct SaturatingArithmeticTests {
    private let edges: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]

    @Test func `A sum or difference that no integer holds is the nearest one`() {
        for one in edges {
            for other in edges {
                let (sum, difference) = (Int128(one) + Int128(other), Int128(one) - Int128(other))
                #expect(one.addingSaturated(other) == Int64(clamping: sum))
                #expect(one.subtractingSaturated(other) == Int64(clamping: difference))
            }
        }
    }

    @Test func `A number that no integer holds becomes the nearest one`() {
        let numbers: [(Double, Int64)] = [
            (.infinity, .max), (-.infinity, .min), (.nan, 0), (1e300, .max), (-1e19, .min), (0x1p63, .max),
            (-0x1p63, .min), (2.9, 2), (-2.9, -2), (0, 0),
        ]
        for (number, integer) in numbers { #expect(Int64(saturating: number) == integer) }
    }
}
