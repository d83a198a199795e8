/// Values of content properties. It is a dictionary that searches its few entries, because to hash a property costs more.
public struct ContentValues<Value> {
    private var entries: [Element] = []

    public init() {}

    public subscript(property: ContentProperty) -> Value? {
        get { entries.first { $0.key == property }?.value }
        set {
            let place = entries.firstIndex { $0.key == property }
            switch (place, newValue) {
            case (let place?, let value?): entries[place].value = value
            case (let place?, nil): entries.remove(at: place)
            case (nil, let value?): entries.append((property, value))
            case (nil, nil): break
            }
        }
    }

    public func filter(_ isIncluded: (Element) throws -> Bool) rethrows -> Self {
        if try entries.allSatisfy(isIncluded) { return self }
        var filtered = self
        try filtered.entries.removeAll { try !isIncluded($0) }
        return filtered
    }

    public func mapValues<Mapped>(_ map: (Value) throws -> Mapped) rethrows -> ContentValues<Mapped> {
        var mapped = ContentValues<Mapped>()
        mapped.entries = try entries.map { ($0.key, try map($0.value)) }
        return mapped
    }
}

extension ContentValues: Sequence {
    public typealias Element = (key: ContentProperty, value: Value)

    public var count: Int { entries.count }
    public var isEmpty: Bool { entries.isEmpty }
    public func makeIterator() -> IndexingIterator<[Element]> { entries.makeIterator() }
}

extension ContentValues: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (ContentProperty, Value)...) {
        for (property, value) in elements { self[property] = value }
    }
}

extension ContentValues: Sendable where Value: Sendable {}

extension ContentValues: Equatable where Value: Equatable {
    public static func == (a: Self, b: Self) -> Bool {
        a.count == b.count && a.allSatisfy { b[$0.key] == $0.value }
    }
}

/// An object whose members have the names of the properties.
extension ContentValues: Codable where Value: Codable {
    public init(from decoder: any Decoder) throws {
        self.init()
        for (property, value) in try [ContentProperty: Value](from: decoder) { self[property] = value }
    }

    public func encode(to encoder: any Encoder) throws {
        try Dictionary(uniqueKeysWithValues: entries.map { ($0.key, $0.value) }).encode(to: encoder)
    }
}
