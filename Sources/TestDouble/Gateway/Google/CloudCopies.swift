import EmbeddedEngine
import HTTPServer
import JSONText
import Platform
import Storage
import Transfers

/// Copies, rewrites, compositions and moves of objects.
@Loop struct CloudCopies: Answering {
    private static let mostSources = 32

    let call: Call

    func copy() async throws -> JSON {
        let json = try await call.json()
        let change = try ResourceMembers.object.servesAny(of: json) ? MetadataChange(resource: json) : nil
        let target = try Reference.named(call.names[3], in: call.names[2])
        return try await service.copy(
            call.object, if: request.sourcePreconditions(), to: target, change, if: request.preconditions()
        ).cloud(request.base)
    }

    func rewrite() async throws -> HTTPServerResponse {
        let stored = try await copy()
        let size = stored["size"] ?? "0"
        return .json([
            "kind": "storage#rewriteResponse", "totalBytesRewritten": size, "objectSize": size, "done": true,
            "resource": stored,
        ])
    }

    func move() async throws -> HTTPServerResponse {
        let (source, target) = try (call.object, Reference.named(call.names[2], in: bucket))
        guard try await JSON.object(request.wholeBody()).object?.isEmpty != false else {
            throw GatewayError.badRequest("A move changes no metadata.")
        }
        guard source != target else {
            throw GatewayError.badRequest("The object \(source.object) cannot be moved onto itself.")
        }
        let moved = try await service.copy(
            source, if: request.sourcePreconditions(), to: target, nil, isMove: true, if: request.preconditions())
        return .json(moved.cloud(request.base))
    }

    func compose() async throws -> HTTPServerResponse {
        let (target, json) = try (call.object, await call.json())
        let sources = json["sourceObjects"]?.array ?? []
        guard (1...Self.mostSources).contains(sources.count) else {
            throw GatewayError.badRequest("sourceObjects has 1 to \(Self.mostSources) objects, not \(sources.count).")
        }
        let wanted = try sources.map { source in
            guard let name = try source.text("name"), !name.isEmpty else {
                throw GatewayError.badRequest("A source has no name.")
            }
            return try (Reference.named(name, in: target.bucket), Preconditions(composing: source))
        }
        let (bytes, objects) = try await service.readingStored { try await service.engine.bytes(of: wanted.map(\.0)) }
        for ((reference, conditions), object) in zip(wanted, objects) {
            try conditions.check(object.version, at: reference)
        }
        var change = try MetadataChange(resource: json["destination"] ?? .null)
        change.kept.componentCount = objects.reduce(0) {
            $0.addingSaturated($1.settable.kept?.componentCount ?? 1)
        }
        return .json(
            try await service.compose(bytes, at: target, change, if: request.preconditions()).cloud(request.base))
    }
}

extension Preconditions {
    /// The preconditions for a source of `compose`.
    fileprivate init(composing source: JSON) throws(GatewayError) {
        let conditions = source["objectPreconditions"] ?? .null
        self.init(
            generation: try conditions.integer("ifGenerationMatch"), named: try source.integer("generation"))
    }
}
