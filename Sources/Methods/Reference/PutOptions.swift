import JSONText
import JSONRPC
import Storage
import Transfers

/// The params of every upload besides its bytes.
struct PutOptions: Sendable {
    let reference: Reference
    let metadata: MetadataChange
    let preconditions: Preconditions
    let start: StartOptions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        metadata =
            try params.optionalObject("metadata").map { object throws(RPCError) in try MetadataChange(object) }
            ?? .init()
        preconditions = try params.preconditions()
        start = try StartOptions(&params)
    }

    func check() throws(StorageError) { try metadata.checkMD5() }
}
