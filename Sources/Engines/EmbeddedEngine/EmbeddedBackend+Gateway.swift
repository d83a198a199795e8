import Checksums
import Database
import HTTPServer
import LocalFiles
import Platform
import Roots
import Storage

extension OpenObject {
    /// Blocks. The piece must be within the object.
    fileprivate func has(_ piece: IncomingBytes.Piece) throws(StorageError) -> Bool {
        let block = 256 << 10
        var (one, other) = ([UInt8](repeating: 0, count: block), [UInt8](repeating: 0, count: block))
        var offset = piece.range.lowerBound
        while offset < piece.range.upperBound {
            let count = Int(min(Int64(block), piece.range.upperBound - offset))
            try one.filling(count) { buffer throws(StorageError) in try piece.fill(buffer, at: offset) }
            try other.filling(count) { buffer throws(StorageError) in try read(into: buffer, at: offset) }
            guard one.prefix(count) == other.prefix(count) else { return false }
            offset += Int64(count)
        }
        return true
    }
}

extension [UInt8] {
    /// Fills the first bytes.
    fileprivate mutating func filling(
        _ count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(StorageError) -> Void
    ) throws(StorageError) {
        let filled = withUnsafeMutableBytes { bytes in
            Result { () throws(StorageError) in try fill(.init(rebasing: bytes.prefix(count))) }
        }
        try filled.get()
    }
}

/// Stored bytes that become those of another object: its checksum tells whether they are damaged.
package struct StoredBytes: Sendable {
    package let piece: IncomingBytes.Piece
    /// Of all of them, as they were stored.
    package let crc32c: UInt32
    /// Throws `nonMatchingChecksum` where bytes are damaged. Blocks.
    let verify: @Sendable () throws(StorageError) -> Void
}

// What the gateway needs besides the operations of every engine.
extension EmbeddedBackend {
    package var clock: TimeSource { time }

    /// The object, ready to be sent. Throws `objectNotFound`, also where the token is none that opens it.
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

    /// The object with a download token, which is made if there is none.
    package func withDownloadToken(_ reference: Reference) async throws(StorageError) -> ObjectMetadata {
        try await changing { [time, random, buckets] database in
            try buckets.check(reference, in: database)
            guard try database.downloadTokens(of: reference).isEmpty else {
                return (try database.metadata(of: reference), [])
            }
            return try database.settingDownloadTokens(of: reference, [random.uuid()], at: time.now())
        }
    }

    /// Removes a download token; the last one is replaced. One that the object does not have is ignored.
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

    /// The bytes of several objects, one after the other.
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
            crc32c = Checksum.crc32c(crc32c, followedBy: object.metadata.crc32c ?? 0, object.metadata.size)
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

    /// Throws `nonMatchingChecksum` where bytes are damaged.
    package func verify(_ bytes: StoredBytes) async throws(StorageError) {
        try await verifying.run { Result { () throws(StorageError) in try bytes.verify() } }.get()
    }

    /// Whether the body of an object can be unpacked.
    package func begin(_ body: UnpackedBody) async -> Bool { await files.run { body.begin() } }

    /// Whether an object has the bytes of a piece, at its place. Nil where this generation of the object is not there.
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
            Result { () throws(StorageError) in try opened.has(piece) }
        }.get()
    }
}
