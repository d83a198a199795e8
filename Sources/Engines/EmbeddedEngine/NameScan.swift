import Database
import Platform
import Storage

/// A scan of the names in a bucket in the order of their bytes, which is that of the primary key. Names that contain
/// the delimiter after the prefix form one entry: the scan skips all of them at once, however many there are.
struct NameScan {
    let prefix: [UInt8]
    /// Empty for no delimiter.
    let delimiter: [UInt8]
    /// The first name, and the first one after the range (`end`); empty for no bound.
    var start: [UInt8] = []
    var end: [UInt8] = []

    /// Passes each entry to `take` with its row (a common prefix with the row of its first name), until `take` returns
    /// false.
    ///
    /// - Parameters:
    ///   - last: the last entry of the page before.
    ///   - columns: the columns of the row, including `name`.
    func run(
        in database: Database, _ bucket: Int64, after last: [UInt8]?, columns: String,
        _ take: (borrowing Row, UnsafeRawBufferPointer, _ isPrefix: Bool) throws -> Bool
    ) throws {
        let begin = Self.greater(prefix, start)
        // The byte 0xFF never occurs in UTF-8, so it follows every name.
        let behind = Self.successor(prefix) ?? [0xFF]
        let end = end.isEmpty || behind.lexicographicallyPrecedes(end) ? behind : end
        var next = last.map { Self.greater(self.next(after: $0) ?? behind, begin) } ?? begin
        var isOver = false
        while !isOver {
            isOver = true
            try database.scan(
                "SELECT \(columns) FROM objects WHERE bucket = :bucket AND name >= :from AND name < :end ORDER BY name",
                ["bucket": .integer(bucket), "from": .blob(next), "end": .blob(end)]
            ) { row in
                try row.withBytes("name") { name in
                    // With rows out of order the scan would never end.
                    guard !name.lexicographicallyPrecedes(next) else { throw StorageError.outOfOrder(database) }
                    guard let length = commonPrefix(of: name) else { return try take(row, name, false) }
                    let prefix = UnsafeRawBufferPointer(rebasing: name[..<length])
                    if try take(row, prefix, true), let behind = Self.successor(Array(prefix)) {
                        (next, isOver) = (behind, false)
                    }
                    return false
                }
            }
        }
    }

    /// The length of the name up to the end of the first delimiter after the prefix. Nil without one.
    private func commonPrefix(of name: UnsafeRawBufferPointer) -> Int? {
        guard !delimiter.isEmpty, name.count >= prefix.count + delimiter.count else { return nil }
        let rest = UnsafeRawBufferPointer(rebasing: name[prefix.count...])
        return delimiter.withUnsafeBytes { rest.firstIndex(of: $0) }.map { prefix.count + $0 + delimiter.count }
    }

    /// The smallest name that can follow an entry: after a common prefix the first one without that prefix.
    func next(after entry: [UInt8]) -> [UInt8]? {
        let isPrefix = entry.withUnsafeBytes { commonPrefix(of: $0) == entry.count }
        return isPrefix ? Self.successor(entry) : entry + [0]
    }

    /// The smallest byte string that is greater than all with this prefix. Nil if there is none.
    private static func successor(_ prefix: [UInt8]) -> [UInt8]? {
        var bytes = prefix
        while let last = bytes.popLast() {
            if last < 0xFF { return bytes + [last + 1] }
        }
        return nil
    }

    private static func greater(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] { a.lexicographicallyPrecedes(b) ? b : a }
}

extension StorageError {
    fileprivate static func outOfOrder(_ database: Database) -> StorageError {
        StorageError(.unknown, "The database \(database.path) is damaged: names in it are not in their order.")
    }
}

extension Database {
    /// A page of the items and prefixes below a reference, without names that are no valid references.
    func list(_ query: ListQuery, after token: PageToken?) throws -> Listing {
        var listing = Listing()
        guard let bucket = try bucket(named: query.reference.bucket) else {
            listing.isBucketMissing = true
            return listing
        }
        if query.wantsMetadata { listing.metadata = [] }
        var last: [UInt8]?
        let delimiter = query.isRecursive ? [] : [UInt8(ascii: "/")]
        try NameScan(prefix: query.reference.namesBelow, delimiter: delimiter).run(
            in: self, bucket, after: token?.entry, columns: query.wantsMetadata ? Self.metadataColumns : "name"
        ) { row, name, isPrefix in
            guard let text = String(validating: name, as: UTF8.self),
                let entry = isPrefix ? query.prefix(text) : query.item(text)
            else { return true }
            guard listing.items.count + listing.prefixes.count < query.maxResults else {
                listing.pageToken = last.map { PageToken(after: $0).text(for: query.reference) }
                return false
            }
            last = Array(name)
            if isPrefix {
                listing.prefixes.append(entry)
            } else {
                listing.items.append(entry)
                if query.wantsMetadata { listing.metadata?.append(try metadata(in: row, of: entry)) }
            }
            return true
        }
        return listing
    }

    /// A page of objects in the sense of Google Cloud Storage. `root` is the bucket.
    func list(_ query: ObjectQuery, _ root: Reference, after token: PageToken?) throws -> ObjectQuery.Page {
        var page = ObjectQuery.Page()
        guard let bucket = try bucket(named: query.bucket) else {
            if try hasDeletedBucket(query.bucket) { throw StorageError.bucketNotFound(root) }
            return page
        }
        var scan = NameScan(prefix: Array(query.prefix.utf8), delimiter: Array(query.delimiter.utf8))
        (scan.start, scan.end) = (Array(query.start.utf8), Array(query.end.utf8))
        var last: [UInt8]?
        let entry = token?.entry ?? (query.after.isEmpty ? nil : Array(query.after.utf8))
        let matchers = query.globs?.map(\.matcher)
        var (looked, work) = (0, 0)
        try scan.run(in: self, bucket, after: entry, columns: Self.metadataColumns) { row, name, isPrefix in
            // A scan with few matches ends early, so that other reads need not wait for it.
            guard page.objects.count + page.prefixes.count < query.maxResults, looked < ObjectQuery.mostLooked,
                work < ObjectQuery.mostWork
            else {
                page.pageToken = last.map { PageToken(after: $0).text(for: root, query.filter) }
                return false
            }
            (last, looked) = (Array(name), looked + 1)
            let text = String(decoding: name, as: UTF8.self)
            guard matchers?.contains(where: { $0.matches(text, &work) }) ?? true else { return true }
            if isPrefix { page.prefixes.append(text) }
            let isMarker = try isPrefix && query.includesTrailingDelimiter && row.blob("name").count == name.count
            if !isPrefix || isMarker {
                page.objects.append(try metadata(in: row, of: Reference(bucket: query.bucket, object: text)))
            }
            return true
        }
        return page
    }
}
