import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/list`: one page of what is directly below a reference.
struct List: RPCMethod {
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

    func run(in request: Request<Session>) async throws -> JSON {
        let session = request.context
        try await request.roomToAnswer()
        return try await session.transfers.list(
            reference, maxResults: maxResults, pageToken: pageToken, isExact: isExact, tokens: session.tokens
        ).json
    }
}
