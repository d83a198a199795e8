/// A first-in, first-out queue. Each operation at its ends takes constant time.
public struct Queue<Element> {
    private var elements: [Element?] = []
    /// The index of the first element that has not been removed.
    private var first = 0

    public init() {}

    public var count: Int { elements.count - first }
    public var isEmpty: Bool { count == 0 }

    public mutating func append(_ element: Element) { elements.append(element) }

    public mutating func popFirst() -> Element? {
        guard first < elements.count else { return nil }
        let element = exchange(&elements[first], with: nil)
        first += 1
        if first * 2 > elements.count {
            elements.removeFirst(first)
            first = 0
        }
        return element
    }

    /// Removes the first element that matches; returns false if none does.
    public mutating func removeFirst(where matches: (Element) -> Bool) -> Bool {
        guard let index = elements.firstIndex(where: { $0.map(matches) ?? false }) else { return false }
        elements.remove(at: index)
        return true
    }
}

extension Queue: Sendable where Element: Sendable {}
