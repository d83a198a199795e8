import Database
import Storage

// A listing scans names in the order of the primary key. A name with a further slash is a prefix: the scan continues
// behind all names with that prefix, however many there are.
extension Database {
    func list(_ query: ListQuery, after token: PageToken?) throws -> Listing {
        let reference = query.reference
        let found = try bucket(named: reference.bucket)
        guard let bucket = found else {
            var nothing = Listing()
            nothing.isBucketMissing = true
            return nothing
        }
        let below = reference.namesBelow
        // The byte 0xFF never occurs in UTF-8.
        let end = below.isEmpty ? [0xFF] : below.dropLast() + [UInt8(ascii: "/") + 1]
        var page = ListingPage(query)
        var start: [UInt8]? = token?.next(below: below) ?? below
        while let from = start {
            start = nil
            try scan(
                "SELECT name FROM objects WHERE bucket = :bucket AND name >= :from AND name < :end ORDER BY name",
                ["bucket": .integer(bucket), "from": .blob(from), "end": .blob(end)]
            ) { row in
                try row.withBytes("name") { name in
                    // With rows out of order a listing would never end.
                    guard !name.lexicographicallyPrecedes(from) else { throw StorageError.outOfOrder(self) }
                    switch page.take(name) {
                    case .nextName: return true
                    case .nameFrom(let name): start = name
                    case .end: break
                    }
                    return false
                }
            }
        }
        var listing = page.listing
        if query.wantsMetadata { listing.metadata = try listing.items.map { try metadata(of: $0) } }
        return listing
    }
}

extension StorageError {
    fileprivate static func outOfOrder(_ database: Database) -> StorageError {
        StorageError(.unknown, "The database \(database.path) is damaged: names in it are not in their order.")
    }
}

private struct ListingPage {
    enum Next {
        case nextName
        case nameFrom([UInt8])
        case end
    }

    private(set) var listing = Listing()
    private let query: ListQuery
    private let below: Int
    private var room: Int
    private var last: [UInt8]?

    init(_ query: ListQuery) {
        self.query = query
        room = query.maxResults
        below = query.reference.namesBelow.count
    }

    mutating func take(_ name: UnsafeRawBufferPointer) -> Next {
        guard name.count >= below else { return .nextName }
        guard let slash = name[below...].firstIndex(of: UInt8(ascii: "/")) else {
            return add(name, to: \.items) ? .nextName : .end
        }
        let prefix = name[...slash]
        guard add(.init(rebasing: prefix), to: \.prefixes) else { return .end }
        return .nameFrom(prefix.dropLast() + [UInt8(ascii: "/") + 1])
    }

    /// Returns false when the page is full. Skips names that are not valid references.
    private mutating func add(_ name: UnsafeRawBufferPointer, to list: WritableKeyPath<Listing, [Reference]>) -> Bool {
        guard let text = String(validating: name, as: UTF8.self),
            let entry = list == \.items ? query.item(text) : query.prefix(text)
        else { return true }
        guard room > 0 else {
            listing.pageToken = last.map { PageToken(after: $0).text(for: query.reference) }
            return false
        }
        room -= 1
        last = Array(name)
        listing[keyPath: list].append(entry)
        return true
    }
}
