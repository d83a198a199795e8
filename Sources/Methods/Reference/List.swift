import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/list`: one page of the objects and prefixes directly below a reference.
struct List: ReferenceMethod {
    static let name = "reference/list"

    let reference: Reference
    let maxResults: Int64?
    let pageToken: String?
    let isExact: Bool

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        maxResults = try params.optionalInteger("maxResults")
        pageToken = try params.optionalString("pageToken")
        isExact = try params.optionalBool("exact") ?? false
    }

    /// An estimate for a page of long names.
    private static let pageBytes = 4 << 20

    func run(in request: Request<ConnectionContext>) async throws -> EncodedJSON {
        let context = request.context
        try await request.roomToAnswer(expecting: Self.pageBytes)
        return try await context.transfers.list(
            reference, maxResults: maxResults, pageToken: pageToken, isExact: isExact, for: request.client
        ).encoded()
    }
}
