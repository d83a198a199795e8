import Checksums
import Database
import HTTPText
import LocalFiles
import Platform
import Roots
import Storage
import Synchronization

/// Uploads in parts, within their bounds.
///
/// A part is a file and a row, which are durable when the part is acknowledged, so it survives the process. Only these
/// functions see it, and it belongs to the upload until that is complete, aborted or expired. The object is stored by
/// an ordinary upload whose source is the parts.
package struct Multiparts: Sendable {
    private let backend: EmbeddedBackend
    private let uses: UsedUploads
    private let bounds: SessionBounds

    init(_ backend: EmbeddedBackend, _ uses: UsedUploads, _ bounds: SessionBounds) {
        (self.backend, self.uses, self.bounds) = (backend, uses, bounds)
    }

    /// Starts an upload. At the maximum number the longest idle one is removed; throws `quotaExceeded` if none is idle.
    package func start(_ reference: Reference, metadata: String) async throws(StorageError) -> Multipart {
        let upload = Multipart(
            id: backend.random.uuid(), reference: reference, metadata: metadata, began: backend.time.now())
        let used = uses.ids
        let garbage = try await backend.store.write { database in
            let (expired, idle) = try bounds.displaced(
                among: database.multipartsByUse(used: used), by: 1, at: upload.began)
            let files = try (expired + idle).flatMap { try database.removeMultipart($0) }
            try database.insert(upload)
            return files
        }
        remove(garbage)
        return upload
    }

    /// Removes expired uploads.
    package func expire() async throws(StorageError) {
        let (now, used) = (backend.time.now(), uses.ids)
        let expired = { @Sendable [bounds] (database: Database) in
            bounds.expired(among: try database.multipartsByUse(used: used), at: now)
        }
        guard try await !backend.store.read({ try expired($0).isEmpty }) else { return }
        remove(
            try await backend.store.write(mayUseReserve: true) { database in
                try expired(database).flatMap { try database.removeMultipart($0) }
            })
    }

    /// Nil for an unknown upload, one of another object, and an expired one.
    package func upload(_ id: String, of reference: Reference) async throws(StorageError) -> Multipart? {
        let found = try await backend.store.read { try $0.multipart(id, of: reference) }
        guard let found, !bounds.hasExpired(found.began, at: backend.time.now()) else { return nil }
        return found
    }

    /// The uploads of a bucket with a prefix, ordered by name and id, that follow the given one.
    package func list(
        in bucket: String, _ prefix: String, after last: (name: String, id: String), most: Int
    ) async throws(StorageError) -> [Multipart] {
        try await backend.store.read { try $0.multiparts(in: bucket, prefix, after: last, most: most) }
    }

    /// The parts with greater numbers, in order.
    package func parts(
        of upload: Multipart, after number: Int = 0, most: Int = .max
    ) async throws(StorageError) -> [MultipartPart] {
        try await backend.store.read { try $0.parts(of: upload.id, after: number, most: most) }
    }

    /// Removes an upload; false if it no longer exists.
    @discardableResult package func remove(_ upload: Multipart) async throws(StorageError) -> Bool {
        let files = try await backend.store.write(mayUseReserve: true) { database -> [Int64]? in
            guard try database.multipart(upload.id, of: upload.reference) != nil else { return nil }
            return try database.removeMultipart(upload.id)
        }
        remove(files ?? [])
        return files != nil
    }

    /// The end of a complete upload.
    package struct End: Sendable {
        /// The generation of the object.
        package let generation: Int64
        /// A digest of the parts that the client has selected.
        package let selection: [UInt8]

        package init(generation: Int64, selection: [UInt8]) {
            (self.generation, self.selection) = (generation, selection)
        }
    }

    /// The maximum number of ends; beyond it the oldest ones are forgotten.
    static let mostEnds: Int64 = 1024

    /// Nil for an upload that is not complete, or was forgotten.
    package func end(of id: String, to reference: Reference) async throws(StorageError) -> End? {
        try await backend.store.read { try $0.end(of: id, to: reference) }
    }

    /// Removes the parts of an upload whose object is stored, and keeps its end.
    package func complete(_ upload: Multipart, _ end: End) async throws(StorageError) {
        let now = backend.time.now()
        remove(
            try await backend.store.write(mayUseReserve: true) { database in
                guard try database.multipart(upload.id, of: upload.reference) != nil else { return [] }
                return try database.complete(upload.id, end, at: now)
            })
    }

    /// Protects the upload from expiry while `body` runs; its client can still abort it. Nil if another use is `alone`,
    /// or if this one has to be and another is running. One that has to be alone waits for another such one.
    @Loop package func using<Answer>(
        _ upload: String, alone: Bool = false, _ body: @Loop () async throws -> Answer
    ) async throws -> Answer? {
        while alone, uses.isAlone(upload) { try await uses.left.wait() }
        guard uses.begin(upload, alone: alone) else { return nil }
        defer { uses.end(upload) }
        return try await body()
    }

    /// Creates a file for the bytes of a part.
    package func makePart() async throws(StorageError) -> PartFile {
        while true {
            let number = try await withCheckedContinuation { waiter in
                backend.reserved.take { waiter.resume(returning: $0) }
            }.get()
            let opened = await backend.files.run { [backend] in
                Result { () throws(StorageError) in try backend.objectFiles.empty(number) }
            }
            if let file = try opened.get() {
                return PartFile(number, file, backend)
            }
            // Another program has removed or replaced the file.
            backend.reserved.forget()
        }
    }

    /// Stores the bytes of the file as a part. Nil if the upload no longer exists; the file is then removed.
    package func store(
        _ file: PartFile, as number: Int, of upload: Multipart, declared: [String: String] = [:]
    ) async throws(StorageError) -> MultipartPart? {
        let part = MultipartPart(
            number: number, size: file.size, md5: file.checksum.md5, crc32c: file.checksum.crc32c,
            declared: declared, stored: backend.time.now(), file: file.number)
        let replaced: Int64??
        do throws(StorageError) {
            try await file.sync()
            replaced = try await backend.store.write { database -> Int64?? in
                guard try database.multipart(upload.id, of: upload.reference) != nil else { return nil }
                return .some(try database.put(part, of: upload))
            }
        } catch {
            file.discard()
            throw error
        }
        guard let replaced else {
            file.discard()
            return nil
        }
        if let replaced { remove([replaced]) }
        return part
    }

    /// The concatenated bytes of the parts. Reading fails once a part is replaced or removed.
    package func bytes(of parts: [MultipartPart], of upload: Multipart) -> StoredBytes {
        var starts: [Int64] = []
        var (size, crc32c): (Int64, UInt32) = (0, 0)
        for part in parts {
            starts.append(size)
            size = size.addingSaturated(part.size)
            crc32c = Checksum.crc32c(crc32c, followedBy: part.crc32c, part.size)
        }
        let reader = PartReader(parts, starts, backend.objectFiles)
        let piece = IncomingBytes.Piece(0..<size) { buffer, offset throws(StorageError) in
            try reader.fill(buffer, at: offset)
        }
        return StoredBytes(piece: piece, crc32c: crc32c) { [complain = backend.complain] () throws(StorageError) in
            do throws(StorageError) {
                try reader.verify(for: upload.reference)
            } catch {
                complain(error.message)
                throw error
            }
        }
    }

    private func remove(_ files: [Int64]) { for file in files { backend.remove(file) } }
}

/// The uploads that are answering their clients, which do not expire and are not removed in favour of others.
final class UsedUploads: Sendable {
    private let counts = Mutex<[String: Int]>([:])
    private static let alone = Int.max
    /// Woken when a use ends.
    let left = Waiters()

    var ids: Set<String> { counts.withLock { Set($0.keys) } }

    func isAlone(_ id: String) -> Bool { counts.withLock { $0[id] == Self.alone } }

    func begin(_ id: String, alone: Bool) -> Bool {
        counts.withLock { counts in
            let count = counts[id] ?? 0
            guard count != Self.alone, !alone || count == 0 else { return false }
            counts[id] = alone ? Self.alone : count + 1
            return true
        }
    }

    @Loop func end(_ id: String) {
        counts.withLock { counts in
            guard let count = counts[id], count > 1, count != Self.alone else { return counts[id] = nil }
            counts[id] = count - 1
        }
        left.wakeAll()
    }
}

/// The file of a part that is being received. It takes one write at a time.
package final class PartFile: Sendable {
    let number: Int64
    private let file: OpenFile
    private let backend: EmbeddedBackend
    private let state = Mutex(State())

    private struct State {
        var size: Int64 = 0
        var checksum = Checksum()
    }

    init(_ number: Int64, _ file: OpenFile, _ backend: EmbeddedBackend) {
        (self.number, self.file, self.backend) = (number, file, backend)
    }

    /// The size in bytes.
    package var size: Int64 { state.withLock { $0.size } }
    var checksum: Checksum { state.withLock { $0.checksum } }
    package var md5: [UInt8] { checksum.md5 }
    package var crc32c: UInt32 { checksum.crc32c }

    /// Writes the next bytes.
    package func append(_ bytes: [UInt8]) async throws(StorageError) {
        try await writing { [self] () throws(SystemError) in
            try file.write(bytes, at: state.withLock { $0.size })
            state.withLock { state in
                bytes.withUnsafeBytes { bytes in
                    state.checksum.updateCRC(bytes)
                    state.checksum.updateMD5(bytes)
                }
                state.size += Int64(bytes.count)
            }
        }
    }

    /// Removes the file.
    package func discard() { backend.remove(number) }

    fileprivate func sync() async throws(StorageError) {
        try await writing { [file] () throws(SystemError) in try file.sync() }
    }

    private func writing(_ body: @escaping @Sendable () throws(SystemError) -> Void) async throws(StorageError) {
        let path = backend.objectFiles.path(of: number)
        try await backend.files.run { Result { () throws(StorageError) in try storing(path, body) } }.get()
    }
}

/// Reads the files of parts one after the other, with one open file at a time.
private final class PartReader: Sendable {
    private let parts: [MultipartPart]
    private let starts: [Int64]
    private let files: ObjectFiles
    private let open = Mutex<Open?>(nil)

    private struct Open {
        let index: Int
        let file: OpenFile
    }

    init(_ parts: [MultipartPart], _ starts: [Int64], _ files: ObjectFiles) {
        (self.parts, self.starts, self.files) = (parts, starts, files)
    }

    func fill(_ buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
        var filled = 0
        var index = index(at: offset)
        while filled < buffer.count {
            guard index < parts.count else { throw Self.gone }
            let place = offset + Int64(filled) - starts[index]
            let count = Int(min(Int64(buffer.count - filled), parts[index].size - place))
            if count > 0 {
                let target = UnsafeMutableRawBufferPointer(rebasing: buffer[filled..<filled + count])
                guard (try? file(at: index).read(into: target, at: place)) == count else { throw Self.gone }
                filled += count
            }
            index += 1
        }
    }

    /// Throws `nonMatchingChecksum` for the first damaged part.
    func verify(for reference: Reference) throws(StorageError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlockCache.blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        for (part, start) in zip(parts, starts) {
            var (checksum, offset) = (Checksum(), Int64(0))
            while offset < part.size {
                let piece = UnsafeMutableRawBufferPointer(
                    rebasing: buffer.prefix(Int(min(Int64(buffer.count), part.size - offset))))
                try fill(piece, at: start + offset)
                checksum.updateCRC(UnsafeRawBufferPointer(piece))
                offset += Int64(piece.count)
            }
            guard checksum.crc32c == part.crc32c else {
                throw StorageError(
                    .nonMatchingChecksum,
                    "The part \(part.number) of an upload to gs://\(reference.bucket)/\(reference.object.escaped) is damaged: "
                        + "its bytes do not have its CRC32C."
                ).about(reference)
            }
        }
    }

    /// The index of the last part that begins at or before an offset.
    private func index(at offset: Int64) -> Int {
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= offset { low = middle } else { high = middle }
        }
        return low
    }

    private func file(at index: Int) throws(SystemError) -> OpenFile {
        if let open = open.withLock({ $0 }), open.index == index { return open.file }
        let file = try files.open(parts[index].file, [])
        open.withLock { $0 = Open(index: index, file: file) }
        return file
    }

    private static let gone = StorageError(.unknown, "A part of the upload is not there any more, or is damaged.")
        .with(\.httpStatus, 503)
}
