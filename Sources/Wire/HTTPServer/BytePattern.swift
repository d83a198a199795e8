/// Finds a sequence of bytes with the algorithm of Horspool, which reads only some of the text.
struct BytePattern: Sendable {
    let bytes: [UInt8]
    /// How far the pattern may move, by the byte of the text at the pattern's end.
    private let steps: [Int]

    /// `bytes` must not be empty.
    init(_ bytes: [UInt8]) {
        var steps = [Int](repeating: bytes.count, count: 256)
        for (index, byte) in bytes.dropLast().enumerated() { steps[Int(byte)] = bytes.count - 1 - index }
        (self.bytes, self.steps) = (bytes, steps)
    }

    func firstIndex(in text: [UInt8], from start: Int) -> Int? {
        text.withUnsafeBufferPointer { text in
            let last = bytes.count - 1
            var end = start + last
            while end < text.count {
                if text[end] == bytes[last], text[(end - last)..<end].elementsEqual(bytes[..<last]) {
                    return end - last
                }
                end += steps[Int(text[end])]
            }
            return nil
        }
    }
}
