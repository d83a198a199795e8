import Roots
import Storage

/// A list of objects as Google Cloud Storage has it: all names, any delimiter, whole objects.
package struct ObjectQuery: Sendable {
    package var bucket: String
    package var prefix = ""
    /// Names that have it behind the prefix are shown as one prefix.
    package var delimiter = ""
    /// The first name, and the one behind the last; empty for none.
    package var start = ""
    package var end = ""
    /// Objects and prefixes that match none of them are left out. Nil for no pattern.
    package var globs: [Glob]?
    /// An object whose name is a prefix of the list is listed, too.
    package var includesTrailingDelimiter = false
    /// The entry before the first one, an object or a prefix; empty for none. A page token is used instead of it.
    package var after = ""
    /// At least 1, objects and prefixes together.
    package var maxResults = 1000
    package var pageToken: String?

    /// The entries that one page looks at: a page without a match may be followed by others.
    static let mostLooked = 20_000
    /// The work of matching for one page, as `Glob.Match` counts it, before its last entry.
    static let mostWork = 5_000_000

    package init(bucket: String) { self.bucket = bucket }

    /// A page token is one for this prefix and this delimiter.
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
