import HTTPText
import Storage

/// The objects of all buckets, and the clock that gives them their generations.
struct StoredObjects: Sendable {
    /// By bucket and name as bytes: two names that look the same are two names.
    private var objects: [[UInt8]: StoredObject] = [:]
    /// In order.
    private var keys: [[UInt8]] = []
    /// Microseconds. It stands still until something changes, unless it runs.
    private var clock: Int64 = 1_760_000_000_000_000
    /// When a clock that runs was read last.
    private var clockWasRead: ContinuousClock.Instant?
    private var tokens = 0

    /// What its clock says.
    var date: String { HTTPDate(secondsSince1970: now / 1_000_000).description }

    private var now: Int64 {
        let elapsed = clockWasRead.map { ContinuousClock.now - $0 } ?? .zero
        return clock + elapsed.components.seconds * 1_000_000 + elapsed.components.attoseconds / 1_000_000_000_000
    }

    /// Lets the clock run, as the clock of a service that is used in real time does.
    mutating func runClock() { clockWasRead = .now }

    subscript(bucket: String, name: String) -> StoredObject? {
        get { objects[Self.key(bucket, name)] }
        set {
            let key = Self.key(bucket, name)
            let place = place(of: key)
            if objects[key] != nil { keys.remove(at: place) }
            if newValue != nil { keys.insert(key, at: place) }
            objects[key] = newValue
        }
    }

    var all: [StoredObject] { keys.compactMap { objects[$0] } }

    func all(in bucket: String, prefix: String) -> [StoredObject] {
        let start = Self.key(bucket, prefix)
        return keys[place(of: start)...].prefix { $0.starts(with: start) }.compactMap { objects[$0] }
    }

    /// Of the first one that is not before it.
    private func place(of key: [UInt8]) -> Int {
        var (low, high) = (0, keys.count)
        while low < high {
            let middle = (low + high) / 2
            if keys[middle].lexicographicallyPrecedes(key) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    mutating func tick() -> Int64 {
        clock = now + 1_234_567
        if clockWasRead != nil { clockWasRead = .now }
        return clock
    }

    mutating func newToken() -> String {
        tokens += 1
        let digits = String(tokens, radix: 16)
        return "7f3c1a52-90de-4b6f-8a1e-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    private static func key(_ bucket: String, _ name: String) -> [UInt8] { Array("\(bucket)/\(name)".utf8) }
}

/// One page of names.
struct ObjectPage {
    private(set) var items: [StoredObject] = []
    private(set) var prefixes: [String] = []
    /// The last one of this page, if there are more.
    private(set) var last: [UInt8]?
    let bucket: String
    let prefix: String

    struct Query {
        var prefix: String
        var delimiter: String
        var maxResults: Int
        var after: [UInt8]?
        /// Leaves out names that have empty segments or end with a slash.
        var skipsEmptySegments: Bool
    }

    /// Items and prefixes count alike, in one order.
    init(_ objects: [StoredObject], _ query: Query, in bucket: String) {
        (self.bucket, prefix) = (bucket, query.prefix)
        var count = 0
        var previous = query.after
        for object in objects {
            guard let (key, isPrefix) = Self.entry(object, query) else { continue }
            if let previous, !previous.lexicographicallyPrecedes(key) { continue }
            guard count < query.maxResults else {
                last = previous
                return
            }
            if isPrefix { prefixes.append(String(decoding: key, as: UTF8.self)) } else { items.append(object) }
            previous = key
            count += 1
        }
    }

    private static func entry(_ object: StoredObject, _ query: Query) -> (key: [UInt8], isPrefix: Bool)? {
        let name = Array(object.name.utf8)
        guard name.starts(with: query.prefix.utf8) else { return nil }
        let rest = name.dropFirst(query.prefix.utf8.count)
        let end = query.delimiter.isEmpty ? nil : rest.firstRange(of: Array(query.delimiter.utf8))
        if query.skipsEmptySegments {
            let seen = end.map { rest[..<$0.lowerBound] } ?? rest
            guard seen.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy({ !$0.isEmpty })
            else { return nil }
        }
        return end.map { (Array(name[..<$0.upperBound]), true) } ?? (name, false)
    }
}
