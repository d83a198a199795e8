import JSONText
import JSONRPC
import Storage

/// `reference/child`: the reference below this one by a path.
struct Child: PromptMethod {
    static let name = "reference/child"

    let reference: Reference
    let path: String

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        path = try params.string("path")
    }

    func run(in request: Request<ConnectionContext>) throws -> JSON { try reference.child(path).json }
}

/// `reference/parent`: one level up; null at the root.
struct Parent: PromptMethod {
    static let name = "reference/parent"

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) throws -> JSON { reference.parent?.json ?? .null }
}

/// `reference/root`: the top of the bucket.
struct Root: PromptMethod {
    static let name = "reference/root"

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) throws -> JSON { reference.root.json }
}
