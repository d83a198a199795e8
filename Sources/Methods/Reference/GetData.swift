import FoundationEssentials
import JSONText
import JSONRPC
import Storage
import Transfers

/// `reference/getData`: all bytes of an object, if they are not too many.
struct GetData: RPCMethod {
    static let name = "reference/getData"

    let reference: Reference
    let maxSize: Int64

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        maxSize = try params.integer("maxSize")
    }

    func run(in request: Request<Session>) async throws -> JSON {
        let session = request.context
        return try await session.transfers.data(
            of: reference, maxSize: maxSize, usable: session.service.configuration.maxDataBytes,
            tokens: session.tokens, mayBegin: request.roomToAnswer
        ) { ["data": .string(Data($0).base64EncodedString())] }
    }
}
