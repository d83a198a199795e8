import JSONRPC
import JSONText
import Storage
import Transfers

/// A method about one reference. Its storage errors name the reference, unless a param is at fault.
protocol ReferenceMethod: ServiceMethod {
    var reference: Reference { get }
}

extension ReferenceMethod {
    func failure(_ error: any Error) -> any Error { reference.named(in: error) }
}

extension Reference {
    @inline(never) fileprivate func named(in error: any Error) -> any Error {
        guard let error = error as? StorageError, error.param == nil else { return error }
        return error.orAbout(self)
    }
}

/// `reference/getMetadata`: returns the metadata of an object.
struct GetMetadata: ReferenceMethod, RecallingMethod {
    static let name = "reference/getMetadata"
    var uses: [Use] { [.reading(reference)] }

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) async throws -> ObjectMetadata {
        try await request.transfers.metadata(of: reference, for: request.client)
    }

    func knownResult(in request: Request<ConnectionContext>) throws -> ObjectMetadata? {
        try request.transfers.knownMetadata(of: reference)?.get()
    }
}

/// `reference/exists`: returns whether an object exists.
struct Exists: ReferenceMethod, RecallingMethod {
    static let name = "reference/exists"
    var uses: [Use] { [.reading(reference)] }

    let reference: Reference

    init(_ params: inout Params) throws(RPCError) { reference = try params.reference("reference") }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        ["exists": .bool(try await request.transfers.exists(reference, for: request.client))]
    }

    func knownResult(in request: Request<ConnectionContext>) -> JSON? {
        request.transfers.knownMetadata(of: reference).map { answer in
            if case .success = answer { ["exists": true] } else { ["exists": false] }
        }
    }
}

/// `reference/updateMetadata`: sets properties, removes those that are null, and keeps those that are absent.
struct UpdateMetadata: ReferenceMethod {
    static let name = "reference/updateMetadata"
    var uses: [Use] { [.changing(reference)] }

    let reference: Reference
    let change: MetadataChange
    let preconditions: Preconditions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        change = try MetadataChange(params.object("metadata", in: params.require("metadata")))
        preconditions = try params.preconditions()
    }

    func run(in request: Request<ConnectionContext>) async throws -> ObjectMetadata {
        try await request.transfers.updateMetadata(of: reference, change, if: preconditions, for: request.client)
    }
}

/// `reference/delete`: removes an object.
struct Delete: ReferenceMethod {
    static let name = "reference/delete"
    var uses: [Use] { [.changing(reference)] }

    let reference: Reference
    let preconditions: Preconditions

    init(_ params: inout Params) throws(RPCError) {
        reference = try params.reference("reference")
        preconditions = try params.preconditions()
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        try await request.transfers.delete(reference, if: preconditions, for: request.client)
        return .null
    }
}
