import JSONRPC
import JSONText
import Storage
import Transfers

/// `storage/observe`: notifies this connection of changes of objects at and below a reference.
struct ObserveObjects: ReferenceMethod, PromptMethod {
    static let name = "storage/observe"
    var uses: [Use] { [.readingAll(reference)] }

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        ["handle": .string(try request.transfers.observe(reference, request.context.observers))]
    }
}

/// `storage/removeObserver`: ends the notifications of one observer.
struct RemoveObjectObserver: ServiceMethod, PromptMethod {
    static let name = "storage/removeObserver"
    var uses: [Use] { [] }

    let handle: String

    init(_ params: inout Params) throws(RPCError) { handle = try params.string("handle") }

    func run(in request: Request<ConnectionContext>) throws -> JSON {
        ["removed": .bool(request.transfers.removeObserver(handle, request.context.observers))]
    }
}
