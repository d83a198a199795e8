import Database
import Roots
import Storage

/// A list of objects as Google Cloud Storage has it: all names, any delimiter, whole objects.
package struct ObjectScan: Sendable {
    package var bucket: String
    package var prefix = ""
    /// Names that have it behind the prefix are shown as one prefix.
    package var delimiter = ""
    /// The first name, and the one behind the last; empty for none.
    package var start = ""
    package var end = ""
    /// At least 1, objects and prefixes together.
    package var maxResults = 1000
    package var pageToken: String?

    package init(bucket: String) { self.bucket = bucket }

    /// A page token is one for this prefix and this delimiter.
    fileprivate var filter: [UInt8] { Array(prefix.utf8) + [0] + delimiter.utf8 }

    package struct Page: Sendable {
        package var objects: [ObjectMetadata] = []
        package var prefixes: [String] = []
        package var pageToken: String?
    }
}

extension EmbeddedBackend {
    /// Throws `invalidArgument` for a page token of another listing.
    package func scan(_ scan: ObjectScan) async throws(StorageError) -> ObjectScan.Page {
        let listing = try Reference(bucket: scan.bucket, path: "")
        var token: PageToken?
        if let pageToken = scan.pageToken { token = try PageToken(pageToken, of: listing, scan.filter) }
        return try await store.read { [token] database in
            var scanner = ObjectScanner(scan, listing)
            try scanner.run(in: database, after: token)
            return scanner.page
        }
    }
}

private struct ObjectScanner {
    private(set) var page = ObjectScan.Page()
    private let scan: ObjectScan
    private let listing: Reference
    private let prefix: [UInt8]
    private let delimiter: [UInt8]

    init(_ scan: ObjectScan, _ listing: Reference) {
        (self.scan, self.listing) = (scan, listing)
        (prefix, delimiter) = (Array(scan.prefix.utf8), Array(scan.delimiter.utf8))
    }

    mutating func run(in database: Database, after token: PageToken?) throws {
        guard let bucket = try database.bucket(named: scan.bucket) else { return }
        var last: [UInt8]?
        // The smallest name that may come next.
        var next: [UInt8]? = token.map { isPrefix($0.entry) ? behind($0.entry) : $0.entry + [0] } ?? begin
        while let from = next {
            guard let name = try database.name(in: bucket, from: max(from, begin)), isListed(name) else { return }
            guard page.objects.count + page.prefixes.count < scan.maxResults else {
                page.pageToken = last.map { PageToken(after: $0).text(for: listing, scan.filter) }
                return
            }
            if let common = commonPrefix(of: name) {
                page.prefixes.append(String(decoding: common, as: UTF8.self))
                (last, next) = (common, behind(common))
            } else {
                let object = try Reference(bucket: scan.bucket, object: String(decoding: name, as: UTF8.self))
                page.objects.append(try database.metadata(of: object))
                (last, next) = (name, name + [0])
            }
        }
    }

    private var begin: [UInt8] { max(prefix, Array(scan.start.utf8)) }

    private func max(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] { a.lexicographicallyPrecedes(b) ? b : a }

    private func isListed(_ name: [UInt8]) -> Bool {
        name.starts(with: prefix) && (scan.end.isEmpty || name.lexicographicallyPrecedes(Array(scan.end.utf8)))
    }

    /// The name up to the first delimiter behind the prefix.
    private func commonPrefix(of name: [UInt8]) -> [UInt8]? {
        guard !delimiter.isEmpty, name.count >= prefix.count + delimiter.count else { return nil }
        for start in prefix.count...name.count - delimiter.count
        where name[start..<start + delimiter.count].elementsEqual(delimiter) {
            return Array(name[..<(start + delimiter.count)])
        }
        return nil
    }

    private func isPrefix(_ entry: [UInt8]) -> Bool { commonPrefix(of: entry).map { $0 == entry } ?? false }

    /// The smallest name that does not begin so; nil where there is none.
    private func behind(_ prefix: [UInt8]) -> [UInt8]? {
        var bytes = prefix
        while let last = bytes.popLast() {
            if last < 0xFF { return bytes + [last + 1] }
        }
        return nil
    }
}

extension Database {
    fileprivate func name(in bucket: Int64, from start: [UInt8]) throws -> [UInt8]? {
        try first(
            "SELECT name FROM objects WHERE bucket = :bucket AND name >= :from ORDER BY name LIMIT 1",
            ["bucket": .integer(bucket), "from": .blob(start)]
        ) { try $0.blob("name") }
    }
}
