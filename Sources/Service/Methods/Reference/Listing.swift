import JSONRPC
import JSONText
import Storage
import Transfers

/// `reference/list`: one page of the objects and prefixes below a reference.
struct List: ReferenceMethod {
    static let name = "reference/list"

    let reference: Reference
    let maxResults: Int64?
    let pageToken: String?
    let isExact: Bool
    let wantsMetadata: Bool
    let isRecursive: Bool

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        maxResults = try params.optionalInteger("maxResults")
        pageToken = try params.optionalString("pageToken")
        isExact = try params.optionalBool("exact") ?? false
        wantsMetadata = try params.optionalBool("metadata") ?? false
        isRecursive = try params.optionalBool("recursive") ?? false
    }

    /// An estimate for a page of long names, and for one of much metadata.
    private var pageBytes: Int { wantsMetadata ? 16 << 20 : 4 << 20 }

    func run(in request: Request<ConnectionContext>) async throws -> EncodedJSON {
        try await request.roomToAnswer(expecting: pageBytes)
        var listing = try await request.transfers.list(
            reference, maxResults: maxResults, pageToken: pageToken, isExact: isExact, wantsMetadata: wantsMetadata,
            isRecursive: isRecursive, for: request.client)
        // The default bucket needs no object to be there.
        if reference.bucket.hasSameBytes(as: request.context.service.configuration.defaultBucket) {
            listing.isBucketMissing = false
        }
        return await listing.encoded()
    }
}

/// `reference/listAll`: all objects and prefixes below a reference.
struct ListAll: ReferenceMethod {
    static let name = "reference/listAll"

    let reference: Reference
    let isExact: Bool
    let isRecursive: Bool

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        isExact = try params.optionalBool("exact") ?? false
        isRecursive = try params.optionalBool("recursive") ?? false
    }

    /// An estimate for the most results.
    private static let answerBytes = 16 << 20

    func run(in request: Request<ConnectionContext>) async throws -> EncodedJSON {
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
}
