/// The request for one page of a listing.
public struct ListQuery: Hashable, Sendable {
    public var reference: Reference
    /// From 1 to `Listing.mostResults`.
    public var maxResults: Int
    public var pageToken: String?
    /// Includes names that are not paths, as exact references.
    public var isExact: Bool
    /// The page has the metadata of its items.
    public var wantsMetadata: Bool
    /// Summaries suffice in place of metadata that the engine's list does not have.
    public var takesSummaries = false
    /// Lists the items below the reference at any depth, without prefixes. Otherwise lists only those directly below
    /// it.
    public var isRecursive: Bool

    public init(
        _ reference: Reference, maxResults: Int = Listing.mostResults, pageToken: String? = nil, isExact: Bool = false,
        wantsMetadata: Bool = false, isRecursive: Bool = false
    ) {
        (self.reference, self.maxResults, self.pageToken, self.isExact) = (reference, maxResults, pageToken, isExact)
        (self.wantsMetadata, self.isRecursive) = (wantsMetadata, isRecursive)
    }

    /// The reference to an object of that name; nil if the listing leaves it out.
    public func item(_ name: String) -> Reference? {
        guard reference.isAbove(name) else { return nil }
        do throws(StorageError) {
            let item = try reference.sibling(name)
            return isExact || !item.isExact ? item : nil
        } catch {
            return nil
        }
    }

    /// The reference to a prefix, with or without its slash; nil if the listing leaves it out.
    public func prefix(_ prefix: String) -> Reference? {
        let slash = UInt8(ascii: "/")
        let name = prefix.utf8.last == slash ? String(decoding: prefix.utf8.dropLast(), as: UTF8.self) : prefix
        guard !prefix.isEmpty, name.utf8.count >= reference.prefix.utf8.count else { return nil }
        if let folder = item(name), !folder.isExact { return folder }
        return item(name + "/")
    }
}

/// One page of the items and prefixes below a reference, ordered together by the bytes of their names.
public struct Listing: Equatable, Sendable {
    /// The maximum number of results of a page, and the default, as in Google Cloud Storage.
    public static let mostResults = 1000

    /// Throws `invalidArgument` for a number of results that a page cannot have.
    public static func checked(maxResults: Int64) throws(StorageError) -> Int {
        guard (1...Int64(mostResults)).contains(maxResults) else {
            throw .invalidArgument("maxResults", "maxResults must be between 1 and \(mostResults), not \(maxResults).")
        }
        return Int(maxResults)
    }

    public var prefixes: [Reference]
    public var items: [Reference]
    /// The metadata of the items, in their order; nil if the query did not ask for it.
    public var metadata: [ObjectMetadata]?
    /// The sizes and the checksums of the items, as the engine's list has them, in their order. Nil unless the query takes
    /// them, and for an engine with other lists.
    public var summaries: [FolderObject]?
    /// The token of the next page; nil on the last page.
    public var pageToken: String?
    /// The bucket does not exist: it was never created, and no object was ever stored in it.
    public var isBucketMissing = false
    /// How far the clock of the server that keeps the times of the objects is ahead of this machine's, at the most: an object
    /// that was stored before a moment does not look newer.
    public var clockLead = Duration.zero
    /// The number of writes of this service that had ended before the list was asked for, for `delete(together:after:for:)`.
    public var endedWrites = 0

    public init(prefixes: [Reference] = [], items: [Reference] = [], pageToken: String? = nil) {
        (self.prefixes, self.items, self.pageToken) = (prefixes, items, pageToken)
    }
}
