import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/downloadURL`: returns a URL that gives access to the object without credentials.
struct DownloadURL: ReferenceMethod {
    static let name = "reference/downloadURL"
    var uses: [Use] { [.changing(reference)] }

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

/// `reference/revokeDownloadURL`: revokes all earlier URLs of the object, and returns a new one.
struct RevokeDownloadURL: ReferenceMethod {
    static let name = "reference/revokeDownloadURL"
    var uses: [Use] { [.changing(reference)] }

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let url = try await request.transfers.revokeDownloadURL(of: reference, for: request.client)
        return ["url": .string(url)]
    }
}
