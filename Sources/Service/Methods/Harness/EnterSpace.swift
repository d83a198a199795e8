import Harness
import JSONRPC
import JSONText
import Storage

/// `harness/space`: moves the connection to a new space or to an existing one.
struct EnterSpace: HarnessMethod {
    static let name = "harness/space"
    private static let longestName = 64

    let space: String?
    let options: SpaceOptions

    init(_ params: inout Params) throws(RPCError) {
        space = try params.optionalString("space")
        if let space, !Self.isName(space) {
            throw .invalidParam("space", "must be 1 to \(Self.longestName) of A-Z, a-z, 0-9, \".\", \"_\" and \"-\"")
        }
        var options = SpaceOptions()
        if let seed = try params.optionalInteger("seed") { options.seed = UInt64(bitPattern: seed) }
        if let value = params.take("buckets") {
            guard let names = value.array else { throw params.mistyped("buckets", "an array of names", value) }
            options.buckets = []
            for name in names {
                let bucket = try params.string("buckets", in: name)
                do { _ = try Reference(bucket: bucket, path: "") } catch { throw error.naming("buckets").rpcError }
                options.buckets?.insert(bucket)
            }
        }
        options.quota = try params.optionalInteger("quota", from: 0).map(Int64.init)
        options.isKept = try params.optionalBool("keep") ?? false
        options.hasGateway = try params.optionalBool("gateway") ?? false
        self.options = options
    }

    static func isName(_ text: String) -> Bool {
        (1...longestName).contains(text.utf8.count) && text != "." && text != ".."
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || [0x2D, 0x2E, 0x5F].contains(byte)
            }
    }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        guard request.context.isFree else {
            throw StorageError.invalidArgument(
                "space", "This connection has begun tasks or has observers; a space is entered before.")
        }
        let context = request.context
        let entered = try await context.alone { try await request.space.enter(space, options, context) }
        return .object(
            .init(present: [
                "space": .string(entered.space.name), "socket": .string(entered.space.socket),
                "isNew": .bool(entered.isNew), "gateway": entered.space.gatewayAddress.map(JSON.string),
            ]))
    }
}

/// `harness/save`: saves the objects as a snapshot for `harness/reset`.
struct SaveSpace: HarnessMethod {
    static let name = "harness/save"

    let snapshot: String

    init(_ params: inout Params) throws(RPCError) { snapshot = try params.snapshot() }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        let saved = try await request.context.alone {
            try await request.harness.settle()
            try Task.checkCancellation()
            return try await request.space.save(snapshot)
        }
        return ["snapshot": .string(snapshot), "objects": JSON(saved.objects), "bytes": JSON(saved.bytes)]
    }
}

/// `harness/reset`: resets the space to a snapshot or to no objects.
struct ResetSpace: HarnessMethod {
    static let name = "harness/reset"

    let snapshot: String?

    init(_ params: inout Params) throws(RPCError) { snapshot = try params.optionalString("snapshot") }

    func run(in request: Request<ConnectionContext>) async throws -> JSON {
        try await request.context.alone { try await request.space.reset(to: snapshot) }
        return [:]
    }
}

extension Params {
    fileprivate mutating func snapshot() throws(RPCError) -> String {
        let name = try string("snapshot")
        guard !name.isEmpty else { throw .invalidParam("snapshot", "must not be empty") }
        return name
    }
}
