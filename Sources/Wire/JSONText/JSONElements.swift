/// The elements of an array, parsed one by one. The whole text is checked first.
public struct JSONElements: Sendable {
    private let text: ArraySlice<UInt8>
    private let maxDepth: Int
    private var position: Int
    public private(set) var count: Int

    /// Checks `text` without building values. Nil if it is no array.
    public init?(_ text: ArraySlice<UInt8>, maxDepth: Int = 512, maxValues: Int = .max) throws(JSONSyntaxError) {
        let outline = text.withUnsafeBytes { bytes in
            Result { () throws(JSONSyntaxError) in
                var parser = JSONParser<Outline>(JSONScanner(bytes: bytes), maxDepth: maxDepth, maxValues: maxValues)
                return try parser.document()
            }
        }
        guard let count = try outline.get().elements else { return nil }
        (self.text, self.maxDepth, self.count) = (text, maxDepth, count)
        position = text.withUnsafeBytes { $0.firstIndex(of: UInt8(ascii: "[")) ?? 0 }
    }

    /// The next element, its size in bytes, and whether an object in it repeats a name; nil after the last element.
    public mutating func next() -> (element: JSON, bytes: Int, repeatsName: Bool)? {
        guard count > 0 else { return nil }
        let start = position + 1
        return text.withUnsafeBytes { bytes in
            var parser = JSONParser<JSON>(
                JSONScanner(bytes: bytes, position: start), maxDepth: maxDepth, maxValues: .max)
            guard let element = try? parser.value() else { return nil }
            // A comma or the end follows.
            position = parser.scanner.endOfSpace
            count -= 1
            return (element, position - start, parser.repeatsName)
        }
    }
}

extension JSONScanner {
    fileprivate var endOfSpace: Int {
        var scanner = self
        scanner.skipSpace()
        return scanner.position
    }
}

/// The structure of a value without its content.
private struct Outline: JSONOutput {
    /// The number of elements; nil if the value is no array.
    var elements: Int?

    static func constant(_ json: JSON) -> Outline { Outline(elements: json.array?.count) }
    static func number(_ range: Range<Int>, in scanner: borrowing JSONScanner) -> Outline { Outline() }
    static func string(_ token: JSONStringToken, in scanner: borrowing JSONScanner) -> Outline { Outline() }
    static func key(_ token: JSONStringToken, in scanner: borrowing JSONScanner) {}

    struct Container: JSONContainer {
        let isObject: Bool
        private var count = 0

        init() { isObject = false }
        init(key: Void, isInSmallText: Bool) { isObject = true }

        var repeatsName: Bool { false }

        mutating func add(_ value: consuming Outline) { count += 1 }
        mutating func expect(_ key: Void) {}
        consuming func closed() -> Outline { Outline(elements: isObject ? nil : count) }
    }
}
