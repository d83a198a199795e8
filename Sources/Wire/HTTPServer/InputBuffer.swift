/// Received bytes that are not parsed yet.
struct InputBuffer {
    /// The reason why the next bytes are no line.
    enum Fault: Error { case malformed, lineTooLong, outOfBudget }

    private var bytes: [UInt8] = []
    /// The start of the current line, and the end of the scanned bytes.
    private var start = 0
    private var scanned = 0

    var isEmpty: Bool { start == bytes.count }

    mutating func append(_ more: UnsafeRawBufferPointer) { bytes.append(contentsOf: more) }

    /// Returns the next line without its end; nil where it is incomplete.
    ///
    /// A line ends with CR LF only, and has no control character but the tab. It has at most `limit` bytes without its
    /// end, and uses up the budget with it.
    mutating func nextLine(atMost limit: Int, budget: inout Int) throws(Fault) -> ArraySlice<UInt8>? {
        while scanned < bytes.count {
            let byte = bytes[scanned]
            let followsCR = scanned > start && bytes[scanned - 1] == 0x0D
            guard budget > 0 else { throw .outOfBudget }
            scanned += 1
            budget -= 1
            if followsCR != (byte == 0x0A) { throw .malformed }
            if followsCR {
                defer { start = scanned }
                return bytes[start..<scanned - 2]
            }
            if byte == 0x0D { continue }
            guard byte >= 0x20 && byte != 0x7F || byte == 0x09 else { throw .malformed }
            guard scanned - start <= limit else { throw .lineTooLong }
        }
        return nil
    }

    /// Moves up to `limit` bytes to the end of `piece`, and returns their number. Not within a line.
    mutating func move(atMost limit: Int, into piece: inout [UInt8]) -> Int {
        let end = min(bytes.count, start + limit)
        let count = end - start
        piece.append(contentsOf: bytes[start..<end])
        (start, scanned) = (end, end)
        return count
    }

    /// Frees the memory of parsed bytes.
    mutating func forgetParsed() {
        if isEmpty { bytes = [] } else { bytes.removeFirst(start) }
        scanned -= start
        start = 0
    }
}
