import Checksums
import Database
import HTTPServer
import LocalFiles
import Platform
import Roots
import Storage

/// Stored bytes that become the bytes of another object. Their checksum reveals damage.
package struct StoredBytes: Sendable {
    package let piece: IncomingBytes.Piece
    /// The CRC32C of all bytes when they were stored.
    package let crc32c: UInt32
    /// Throws `nonMatchingChecksum` if bytes are damaged. Blocks.
    let verify: @Sendable () throws(StorageError) -> Void
}

// Operations for the gateway, besides those of every engine.
extension EmbeddedBackend {
    package var clock: TimeSource { time }

    /// The object as an HTTP resource. Throws `objectNotFound`, also if the token does not open it.
    package func resource(
        of reference: Reference, openTo token: String? = nil
    ) async throws(StorageError) -> (metadata: ObjectMetadata, resource: ServedResource) {
        guard let token else {
            let object = try await open(reference)
            return (object.metadata, object.resource)
        }
        guard let object = try await servable(bucket: reference.bucket, name: reference.object, token: token) else {
            throw .objectNotFound(reference)
        }
        return (object.metadata, object.resource)
    }

    /// Adds a download token.
    package func addDownloadToken(to reference: Reference) async throws(StorageError) -> ObjectMetadata {
        try await changing { [time, random, buckets] database in
            try buckets.check(reference, in: database)
            let tokens = try database.downloadTokens(of: reference) + [random.uuid()]
            return try database.settingDownloadTokens(of: reference, tokens, at: time.now())
        }
    }

    /// The metadata of an object with a download token, which is created if it has none.
    package func withDownloadToken(_ reference: Reference) async throws(StorageError) -> ObjectMetadata {
        try await changing { [time, random, buckets] database in
            try buckets.check(reference, in: database)
            guard try database.downloadTokens(of: reference).isEmpty else {
                return (try database.metadata(of: reference), [])
            }
            return try database.settingDownloadTokens(of: reference, [random.uuid()], at: time.now())
        }
    }

    /// Removes a download token, and replaces the last one. A token that the object does not have is ignored.
    package func removeDownloadToken(
        _ token: String, of reference: Reference
    ) async throws(StorageError) -> ObjectMetadata {
        try await changing { [time, random, buckets] database in
            try buckets.check(reference, in: database)
            let tokens = try database.downloadTokens(of: reference)
            let left = tokens.filter { $0 != token }
            guard left.count < tokens.count else { return (try database.metadata(of: reference), []) }
            return try database.settingDownloadTokens(
                of: reference, left.isEmpty ? [random.uuid()] : left, at: time.now())
        }
    }

    /// The concatenated bytes of several objects.
    package func bytes(
        of references: [Reference]
    ) async throws(StorageError) -> (bytes: StoredBytes, objects: [ObjectMetadata]) {
        var objects: [OpenObject] = []
        for reference in references { objects.append(try await open(reference)) }
        var starts: [Int64] = []
        var (size, crc32c): (Int64, UInt32) = (0, 0)
        for object in objects {
            starts.append(size)
            size = size.addingSaturated(object.metadata.size)
            crc32c = Checksum.crc32c(crc32c, followedBy: object.metadata.checksums.crc32c ?? 0, object.metadata.size)
        }
        let parts = zip(starts, objects).map { (start: $0, object: $1) }
        let piece = IncomingBytes.Piece(0..<size) { buffer, offset throws(StorageError) in
            for part in parts {
                let range =
                    max(
                        offset, part.start)..<max(
                        max(offset, part.start),
                        min(
                            offset.addingSaturated(Int64(buffer.count)),
                            part.start.addingSaturated(part.object.metadata.size)))
                guard !range.isEmpty else { continue }
                let place = Int(range.lowerBound - offset)..<Int(range.upperBound - offset)
                try part.object.read(
                    into: UnsafeMutableRawBufferPointer(rebasing: buffer[place]), at: range.lowerBound - part.start)
            }
        }
        let bytes = StoredBytes(piece: piece, crc32c: crc32c) { [objects] () throws(StorageError) in
            for object in objects { try object.verify() }
        }
        return (bytes, objects.map(\.metadata))
    }

    /// Throws `nonMatchingChecksum` if bytes are damaged.
    package func verify(_ bytes: StoredBytes) async throws(StorageError) {
        try await verifying.run { Result { () throws(StorageError) in try bytes.verify() } }.get()
    }

    /// Starts to unpack the body of an object; false if it cannot be unpacked.
    package func begin(_ body: UnpackedBody) async -> Bool { await files.run { body.begin() } }

    /// Whether an object contains the bytes of a piece at the piece's offset. Nil if this generation does not exist.
    package func has(_ piece: IncomingBytes.Piece, _ object: ObjectMetadata) async throws(StorageError) -> Bool? {
        let opened: OpenObject
        do throws(StorageError) {
            opened = try await open(object.reference)
        } catch  where error.code == .objectNotFound {
            return nil
        }
        guard opened.metadata.generation == object.generation else { return nil }
        guard piece.range.upperBound <= opened.metadata.size else { return false }
        return try await files.run {
            Result { () throws(StorageError) in try piece.firstDifference(from: opened.read(into:at:)) == nil }
        }.get()
    }
}
