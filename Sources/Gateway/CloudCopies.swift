import EmbeddedEngine
import HTTPServer
import JSONText
import Platform
import Storage
import Transfers

/// Objects made of others: copy, rewrite, compose; and what an object has below it.
@Loop struct CloudCopies {
    private static let mostSources = 32

    let service: GatewayService
    let request: GatewayRequest
    /// `b`, the bucket, `o`, the object, and what is to be done.
    let path: [String]

    func answer() async throws -> HTTPServerResponse {
        let object = try Reference(bucket: path[1], object: path[3])
        switch (path[4], path.count) {
        case ("acl", _):
            throw GatewayError.badRequest("Cannot use ACL API: the bucket has uniform bucket-level access.")
        case ("compose", 5): return try await compose(object)
        case ("copyTo", 9), ("rewriteTo", 9), ("moveTo", 7):
            let isMove = path[4] == "moveTo"
            guard isMove ? path[5] == "o" : path[5] == "b" && path[7] == "o" else { throw GatewayError.notFound }
            let to =
                try isMove
                ? Reference(bucket: path[1], object: path[6]) : Reference(bucket: path[6], object: path[8])
            return try await copy(object, to)
        default: throw GatewayError.notFound
        }
    }

    private func copy(_ source: Reference, _ target: Reference) async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        let (piece, objects) = try await service.engine.bytes(of: [source])
        let old = objects[0]
        if let generation = try request.integer("sourceGeneration"), generation != old.generation {
            throw StorageError.objectNotFound(source)
        }
        try Preconditions(
            generation: request.integer("ifSourceGenerationMatch"),
            metageneration: request.integer("ifSourceMetagenerationMatch")
        ).check(old.version, at: source)
        try ResourceMembers.object.check(json)
        let isSame = !ResourceMembers.object.takesAny(of: json)
        let tokens = try await service.engine.details(of: source).downloadTokens
        let change = isSame ? old.settable.asChange : try MetadataChange(resource: json)
        var details = try await store(piece, at: target, change, of: old.settable)
        // They are custom metadata for Google.
        if isSame { details = try await service.engine.setDownloadTokens(of: target, to: tokens) }
        if path[4] == "moveTo" {
            try await service.backend.delete(source, if: Preconditions(), for: service.caller)
        }
        guard path[4] == "rewriteTo" else { return .json(details.cloud(request.base)) }
        let size = "\(details.metadata.size)"
        return .json([
            "kind": "storage#rewriteResponse", "totalBytesRewritten": .string(size), "objectSize": .string(size),
            "done": true, "resource": details.cloud(request.base),
        ])
    }

    private func compose(_ target: Reference) async throws -> HTTPServerResponse {
        let json = try JSON.object(await request.wholeBody())
        try ResourceMembers.composition.check(json)
        let sources = json["sourceObjects"]?.array ?? []
        guard (1...Self.mostSources).contains(sources.count) else {
            throw GatewayError.badRequest("sourceObjects has 1 to \(Self.mostSources) objects, not \(sources.count).")
        }
        var references: [Reference] = []
        for source in sources {
            try ResourceMembers.source.check(source)
            guard let name = source["name"]?.string else { throw GatewayError.badRequest("A source has no name.") }
            references.append(try Reference(bucket: target.bucket, object: name))
        }
        let (piece, objects) = try await service.engine.bytes(of: references)
        for (source, object) in zip(sources, objects) {
            let wanted = source["generation"]?.string.flatMap { Int64($0) }
            let match = source["objectPreconditions"]?["ifGenerationMatch"]?.string.flatMap { Int64($0) }
            guard wanted ?? match ?? object.generation == object.generation else {
                throw GatewayError(412, "The source \(object.reference.object) has another generation.")
            }
        }
        let change = try MetadataChange(resource: json["destination"] ?? [:])
        let details = try await store(piece, at: target, change, of: objects[0].settable)
        return .json(details.cloud(request.base))
    }

    /// As an upload like any other. Without a type the object has that of its source.
    private func store(
        _ piece: IncomingBytes.Piece, at target: Reference, _ change: MetadataChange, of source: SettableMetadata
    ) async throws -> ObjectDetails {
        var change = change
        // That of an object that the client has read before.
        change.md5Hash = nil
        if change.content[.contentType] == nil { change.content[.contentType] = source.content[.contentType] }
        let upload = try await service.transfers.upload(
            size: Int64(piece.range.count), to: target, change, if: request.preconditions(), isSession: false)
        _ = try await upload.send(piece, isLast: true).stored
        return try await service.engine.details(of: target)
    }
}

extension SettableMetadata {
    fileprivate var asChange: MetadataChange {
        var change = MetadataChange()
        for (property, value) in content { change.content[property] = value }
        var entries: ByteKeyedDictionary<String?> = [:]
        for (key, value) in custom { entries[key] = .some(value) }
        change.custom = .merge(entries)
        return change
    }
}
