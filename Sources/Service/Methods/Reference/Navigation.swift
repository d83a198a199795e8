import JSONText
import JSONRPC
import Storage

/// `storage/reference`: returns a reference to a path of a bucket, to an object by its exact name, or to the target of
/// a URL.
struct MakeReference: ServiceMethod, PromptMethod {
    static let name = "storage/reference"
    var uses: [Use] { [] }

    let bucket: String?
    let path: String?
    let object: String?
    let url: String?

    init(_ params: inout Params) throws(RPCError) {
        bucket = try params.optionalString("bucket")
        path = try params.optionalString("path")
        object = try params.optionalString("object")
        url = try params.optionalString("url")
        guard url == nil || path == nil else { throw .invalidParam("path", "goes with bucket, not with url") }
        guard object == nil || path ?? url == nil else { throw .invalidParam("object", "goes with bucket alone") }
    }

    func run(in request: Request<ConnectionContext>) throws -> Reference {
        guard let url else {
            let bucket = bucket ?? request.context.defaultBucket
            if let object { return try Reference(bucket: bucket, object: object) }
            return try Reference(bucket: bucket, path: path ?? "")
        }
        let reference: Reference
        do throws(StorageError) { reference = try Reference(url: url) } catch { throw error.naming("url") }
        if let bucket { try reference.check(bucket: bucket) }
        return reference
    }
}

/// `reference/child`: returns the reference at a path below this one.
struct Child: ServiceMethod, PromptMethod {
    static let name = "reference/child"
    var uses: [Use] { [] }

    let reference: Reference
    let path: String

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        path = try params.string("path")
    }

    func run(in request: Request<ConnectionContext>) throws -> Reference { try reference.child(path) }
}

/// `reference/parent`: returns the reference one level up; null at the root.
struct Parent: ServiceMethod, PromptMethod {
    static let name = "reference/parent"
    var uses: [Use] { [] }

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) throws -> JSON { reference.parent?.result ?? .null }
}

/// `reference/root`: returns the root of the bucket.
struct Root: ServiceMethod, PromptMethod {
    static let name = "reference/root"
    var uses: [Use] { [] }

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) throws -> Reference { reference.root }
}
