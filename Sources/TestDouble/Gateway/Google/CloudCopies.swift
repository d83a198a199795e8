import EmbeddedEngine
import HTTPServer
import JSONText
import Platform
import Storage
import Transfers

/// Objects made of others: copy, rewrite, compose, move.
@Loop struct CloudCopies: Answering {
    private static let mostSources = 32

    let call: Call

    func copy() async throws -> JSON {
        let json = try await call.json()
        let change = try ResourceMembers.object.takesAny(of: json) ? MetadataChange(resource: json) : nil
        let target = try Reference(bucket: call.names[2], object: call.names[3])
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
        let (source, target) = try (call.object, Reference(bucket: bucket, object: call.names[2]))
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
            try ResourceMembers.source.check(source)
            guard let name = try source.text("name"), !name.isEmpty else {
                throw GatewayError.badRequest("A source has no name.")
            }
            return try (Reference(bucket: target.bucket, object: name), Preconditions(composing: source))
        }
        let (bytes, objects) = try await service.readingStored { try await service.engine.bytes(of: wanted.map(\.0)) }
        for ((reference, conditions), object) in zip(wanted, objects) {
            try conditions.check(object.version, at: reference)
        }
        let change = try MetadataChange(resource: json["destination"] ?? .null)
        return .json(
            try await service.compose(bytes, at: target, change, if: request.preconditions()).cloud(request.base))
    }
}

extension Preconditions {
    /// Of a source of `compose`.
    fileprivate init(composing source: JSON) throws(GatewayError) {
        let conditions = source["objectPreconditions"] ?? .null
        self.init(
            generation: try conditions.integer("ifGenerationMatch"), named: try source.integer("generation"))
    }
}

extension GatewayService {
    /// Copies or moves the version of an object that is there now. Without a change the copy has its metadata and its
    /// download tokens. Checksums in the resource are those of an object that the client has read before.
    func copy(
        _ source: Reference, if sourceConditions: Preconditions, to target: Reference, _ change: MetadataChange?,
        isMove: Bool = false, if conditions: Preconditions
    ) async throws -> ObjectMetadata {
        var change = change
        change?.md5Hash = nil
        change?.crc32c = nil
        if change?.isAboutKeptAlone == false { change?.makeNoDownloadToken() }
        let copied = CopyRequest(
            of: source, if: sourceConditions, isMove: isMove, keepsMetadata: change?.isAboutKeptAlone ?? true,
            keepsDownloadTokens: true)
        var copy = UploadRequest(.object(copied), to: target, change ?? .init(), if: conditions, for: .gateway)
        copy.isAwaited = true
        let task = try await transfers.upload(copy)
        do {
            return try await readingStored { try await stored(by: task) }
        } catch {
            _ = try? await task.cancel()
            throw error
        }
    }

    /// As an upload, but that an object without a type in its resource has none. Checksums in the resource are those of an
    /// object that the client has read before.
    func compose(
        _ bytes: StoredBytes, at target: Reference, _ change: MetadataChange, if conditions: Preconditions
    ) async throws -> ObjectMetadata {
        var change = change
        (change.md5Hash, change.crc32c) = (nil, nil)
        change.makeNoDownloadToken()
        change.replacesAll = true
        return try await store(bytes, at: target, change, if: conditions)
    }

    /// As an upload like any other. Damaged bytes make no object.
    func store(
        _ bytes: StoredBytes, at target: Reference, _ change: MetadataChange, if conditions: Preconditions
    ) async throws -> ObjectMetadata {
        let size = Int64(bytes.piece.range.count)
        let upload = try await transfers.begin(
            UploadRequest(.incoming(size: size), to: target, change, if: conditions, for: .gateway), isSession: false)
        do {
            return try await upload.send(bytes.piece, isLast: true, .init(crc32c: bytes.crc32c)).stored
        } catch {
            _ = try? await upload.task?.cancel()
            if (error as? StorageError)?.code == .nonMatchingChecksum {
                try await readingStored { try await engine.verify(bytes) }
            }
            throw error
        }
    }
}
