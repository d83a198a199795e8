import Roots
import Storage

/// A list of objects in the sense of Google Cloud Storage: with all names, any delimiter, and whole objects.
package struct ObjectQuery: Sendable {
    package var bucket: String
    package var prefix = ""
    /// Names that contain the delimiter after the prefix are listed as one prefix.
    package var delimiter = ""
    /// The first name, and the first one after the range (`end`); empty for no bound.
    package var start = ""
    package var end = ""
    /// Only objects and prefixes that match one of these patterns are listed. Nil for all.
    package var globs: [Glob]?
    /// Also lists an object whose name is a prefix of the list.
    package var includesTrailingDelimiter = false
    /// The entry before the first one, an object or a prefix; empty for none. A page token takes precedence.
    package var after = ""
    /// The maximum number of objects and prefixes together, at least 1.
    package var maxResults = 1000
    package var pageToken: String?

    /// The maximum number of entries that a page examines: a page without a match may be followed by others.
    static let mostLooked = 20_000
    /// The work of matching, as `Glob.Match` counts it, after which a page ends.
    static let mostWork = 5_000_000

    package init(bucket: String) { self.bucket = bucket }

    /// Binds page tokens to this prefix and this delimiter.
    var filter: [UInt8] { Array(prefix.utf8) + [0] + delimiter.utf8 }

    package struct Page: Sendable {
        package var objects: [ObjectMetadata] = []
        package var prefixes: [String] = []
        package var pageToken: String?

        package init() {}
    }
}

extension EmbeddedBackend {
    /// Throws `invalidArgument` for a page token of another listing.
    package func list(_ query: ObjectQuery) async throws(StorageError) -> ObjectQuery.Page {
        let root = try Reference(bucket: query.bucket, path: "")
        var token: PageToken?
        if let pageToken = query.pageToken { token = try PageToken(pageToken, of: root, query.filter) }
        return try await store.read { [token, buckets] database in
            try buckets.check(root, in: database)
            return try database.list(query, root, after: token)
        }
    }
}
