import CScan

/// Searches for bytes.
package enum ByteScan {
    /// The offset of the first `byte` at or after `start`.
    package static func firstIndex(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard start < bytes.count, let base = bytes.baseAddress else { return nil }
        let index = start + cscan_find(base.advanced(by: start), bytes.count - start, byte)
        return index < bytes.count ? index : nil
    }

    /// The end of the run from `start` that needs no escape in a JSON string: up to `"`, `\`, a control byte or the
    /// end.
    @inline(__always)
    static func plainRun(in bytes: UnsafeRawBufferPointer, from start: Int) -> (end: Int, isASCII: Bool) {
        guard start < bytes.count, let base = bytes.baseAddress else { return (start, true) }
        let run = cscan_plain_run(base.advanced(by: start), bytes.count - start)
        return (start + run.length, run.is_ascii)
    }

    /// The offset, at or after `start`, of the first character that ends a line outside of ASCII: U+0085, U+2028 or
    /// U+2029. The end if there is none.
    static func lineSeparator(in bytes: UnsafeRawBufferPointer, from start: Int) -> Int {
        guard start < bytes.count, let base = bytes.baseAddress else { return start }
        return start + cscan_line_separator(base.advanced(by: start), bytes.count - start)
    }
}

extension UnsafeRawBufferPointer {
    package func hasSameBytes(as other: UnsafeBufferPointer<UInt8>) -> Bool {
        guard count == other.count, let own = baseAddress, let others = other.baseAddress else {
            return count == other.count
        }
        return cscan_equal(own, others, count)
    }
}
