import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/downloadURL`: a URL that anybody may fetch the object from.
struct DownloadURL: ReferenceMethod {
    static let name = "reference/downloadURL"

    let reference: Reference
    let expiresIn: Int64?

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        expiresIn = try params.optionalInteger("expiresIn")
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let url = try await request.transfers.downloadURL(of: reference, expiresIn: expiresIn, for: request.client)
        return ["url": .string(url)]
    }
}

/// `reference/revokeDownloadURL`: makes the URLs that were given before worthless, and gives a new one.
struct RevokeDownloadURL: ReferenceMethod {
    static let name = "reference/revokeDownloadURL"

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let url = try await request.transfers.revokeDownloadURL(of: reference, for: request.client)
        return ["url": .string(url)]
    }
}
