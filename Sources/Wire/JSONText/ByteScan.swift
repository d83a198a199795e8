/// Searches that look at 16 bytes a step.
///
/// A word is tested for all its bytes at once: `word - ones & ~word & highs` has the high bit of every byte that was
/// zero. A borrow can set a bit above a true one, never below, so the lowest bit set is always right.
package enum ByteScan {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highs: UInt64 = 0x8080_8080_8080_8080

    /// The offset of the first `byte` at or after `start`.
    package static func firstIndex(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        let pattern = ones &* UInt64(byte)
        let end = first(in: bytes, from: start) { word in
            let match = word ^ pattern
            return (match &- ones) & ~match & highs
        }
        return end < bytes.count ? end : nil
    }

    /// The run from `start` that needs no escape in a JSON string: up to `"`, `\`, a control byte or the end.
    ///
    /// `isASCII` is never true by mistake; it may be false because of a byte shortly after the run.
    static func plainRun(in bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isASCII: Bool) {
        var seen: UInt64 = 0
        let end = first(in: bytes, from: start) { word in
            seen |= word
            // Flipping one bit puts the quote beside the controls: both are below 0x21 then, and nothing else is.
            let low = word ^ (ones &* 0x02)
            let backslash = word ^ (ones &* 0x5C)
            return ((low &- (ones &* 0x21)) & ~low | (backslash &- ones) & ~backslash) & highs
        }
        return (end, seen & highs == 0)
    }

    @inline(__always)
    private static func first(
        in bytes: UnsafeRawBufferPointer, from start: Int, where hits: (UInt64) -> UInt64
    ) -> Int {
        var index = start
        while bytes.count - index >= 16 {
            let low = hits(word(in: bytes, at: index))
            let high = hits(word(in: bytes, at: index + 8))
            if low | high != 0 {
                return index + (low != 0 ? low.trailingZeroBitCount : 64 + high.trailingZeroBitCount) / 8
            }
            index += 16
        }
        while bytes.count - index >= 8 {
            let word = hits(word(in: bytes, at: index))
            if word != 0 { return index + word.trailingZeroBitCount / 8 }
            index += 8
        }
        guard index < bytes.count else { return index }
        // The last few bytes as one word; what pads it to the end counts as a hit, which is the end then.
        let rest = hits(lastWord(of: bytes, from: index)) | highs << UInt64((bytes.count - index) * 8)
        return index + rest.trailingZeroBitCount / 8
    }

    @inline(__always)
    private static func lastWord(of bytes: UnsafeRawBufferPointer, from index: Int) -> UInt64 {
        var word: UInt64 = 0
        for offset in index..<bytes.count {
            word |= UInt64(bytes[offset]) &<< UInt64((offset - index) * 8)
        }
        return word
    }

    @inline(__always)
    private static func word(in bytes: UnsafeRawBufferPointer, at index: Int) -> UInt64 {
        UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
}
