import JSONRPC
import JSONText
import Platform
import Storage
import Transfers

/// `reference/list`: returns one page of the objects and prefixes below a reference.
struct List: ReferenceMethod, RecallingMethod {
    static let name = "reference/list"
    var uses: [Use] { [.readingAll(reference)] }

    let query: ListQuery
    var reference: Reference { query.reference }

    init(_ params: inout Params) throws(RPCError) {
        query = ListQuery(
            try params.reference("reference"),
            maxResults: try params.optionalInteger("maxResults").map { Int($0) } ?? Listing.mostResults,
            pageToken: try params.optionalString("pageToken"),
            isExact: try params.optionalBool("exact") ?? false,
            wantsMetadata: try params.optionalBool("metadata") ?? false,
            isRecursive: try params.optionalBool("recursive") ?? false)
    }

    /// The estimated size of a page with long names, and of one with much metadata.
    private var pageBytes: Int { query.wantsMetadata ? 16 << 20 : 4 << 20 }

    func run(in request: Request<ConnectionContext>) async throws -> SegmentedBytes {
        try await request.roomToAnswer(expecting: pageBytes)
        return await shown(try await request.transfers.list(query, for: request.client), in: request).encoded()
    }

    func knownResult(in request: Request<ConnectionContext>) -> SegmentedBytes? {
        request.transfers.knownList(query).flatMap { shown($0, in: request).encodedIfShort() }
    }

    /// Shows the default bucket as existing even before an object is stored.
    @Loop private func shown(_ listing: Listing, in request: Request<ConnectionContext>) -> Listing {
        guard reference.bucket.hasSameBytes(as: request.context.defaultBucket) else { return listing }
        var listing = listing
        listing.isBucketMissing = false
        return listing
    }
}

/// `reference/listAll`: returns all objects and prefixes below a reference.
struct ListAll: ReferenceMethod, RecallingMethod {
    static let name = "reference/listAll"
    var uses: [Use] { [.readingAll(reference)] }

    let reference: Reference
    let isExact: Bool
    let isRecursive: Bool

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        isExact = try params.optionalBool("exact") ?? false
        isRecursive = try params.optionalBool("recursive") ?? false
    }

    /// The estimated size of an answer with the maximum number of results.
    private static let answerBytes = 16 << 20

    func run(in request: Request<ConnectionContext>) async throws -> SegmentedBytes {
        try await request.roomToAnswer(expecting: Self.answerBytes)
        let listing = try await request.transfers.listAll(
            reference, isExact: isExact, isRecursive: isRecursive, for: request.client)
        let most = request.context.service.configuration.limits.connection.unreadBytes / 2
        guard listing.encodedBytes <= most else {
            let what = "names that take more than \(most) bytes, half of --max-unread-bytes"
            throw StorageError(.quotaExceeded, "\(reference.url) has \(what); reference/list takes any number.")
        }
        return await listing.encoded()
    }

    func knownResult(in request: Request<ConnectionContext>) -> SegmentedBytes? {
        request.transfers.knownListAll(reference, isExact: isExact, isRecursive: isRecursive)?.encodedIfShort()
    }
}
