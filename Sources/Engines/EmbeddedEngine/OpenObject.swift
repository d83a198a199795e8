import Checksums
import Database
import HTTPServer
import Platform
import Roots
import Storage

/// One generation of an object. Its bytes stay readable after it was overwritten or deleted.
///
/// Bytes that are known to be damaged are refused: bytes in memory are verified here, and a file that was found damaged
/// is not opened. Any other file is verified when all of it is read.
struct OpenObject: Sendable {
    enum Body: Sendable {
        case bytes([UInt8])
        case file(OpenFile, number: Int64, path: String)
    }

    let metadata: ObjectMetadata
    let body: Body
    private let checked: CheckedBodies

    /// Throws `nonMatchingChecksum` for damaged bytes, and for a file of another size.
    init(metadata: ObjectMetadata, body: Body, _ checked: CheckedBodies) throws(StorageError) {
        (self.metadata, self.body, self.checked) = (metadata, body, checked)
        switch body {
        case .bytes(let bytes): try verify(bytes)
        case .file(let file, let number, _):
            try checked.check(metadata, inFile: number)
            let size = try reading { () throws(SystemError) in try file.status() }.size
            guard size == metadata.size else { throw damaged("there are \(size) of them") }
        }
    }

    /// Fills the buffer. `offset` and the buffer must be within the object. Blocks for bytes in a file.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(StorageError) {
        let count: Int
        switch body {
        case .bytes(let bytes):
            count = max(0, min(buffer.count, bytes.count - Int(offset)))
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0.dropFirst(Int(offset)).prefix(count))) }
        case .file(let file, _, _):
            count = try reading { () throws(SystemError) in try file.read(into: buffer, at: offset) }
        }
        guard count == buffer.count else {
            throw damaged("they end after \(offset.addingSaturated(Int64(count))) bytes")
        }
    }

    /// Tells the kernel to read ahead from the offset.
    func expectReading(from offset: Int64) {
        guard case .file(let file, _, _) = body else { return }
        file.expectReading(from: offset)
    }

    /// Returns all bytes, verified. Blocks for bytes in a file.
    func readWhole() throws(StorageError) -> [UInt8] {
        switch body {
        case .bytes(let bytes): return bytes
        case .file(let file, _, _):
            let bytes = try readWhole(file)
            try verify(bytes)
            return bytes
        }
    }

    /// Throws `nonMatchingChecksum` if the bytes are damaged. A file that was found intact is not read again until its
    /// time of change differs. Blocks for bytes in a file.
    func verify() throws(StorageError) {
        guard case .file(let file, _, _) = body else { return }
        let status = try reading { () throws(SystemError) in try file.status() }
        if checked.isIntact(checkedBody, status) { return }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: BlockCache.blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        var (checksum, offset) = (Checksum(), Int64(0))
        while offset < metadata.size {
            let piece = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(Int64(buffer.count), metadata.size - offset))))
            try read(into: piece, at: offset)
            checksum.updateCRC(UnsafeRawBufferPointer(piece))
            offset += Int64(piece.count)
        }
        guard checksum.crc32c == metadata.checksums.crc32c else { throw damaged("their CRC32C is another") }
        checked.foundIntact(checkedBody, status)
    }

    /// Reads a part, or all bytes for nil. Verifies them only if they are all bytes. Blocks for bytes in a file.
    func readBytes(_ part: BytePart?) throws(StorageError) -> [UInt8] {
        guard let range = try part?.range(in: metadata.size), range.count < metadata.size else {
            return try readWhole()
        }
        return try read(range)
    }

    /// Reads a range without verifying it. Blocks for bytes in a file.
    func read(_ range: Range<Int64>) throws(StorageError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: range.count)
        let outcome = bytes.withUnsafeMutableBytes { buffer in
            Result { () throws(StorageError) in try read(into: buffer, at: range.lowerBound) }
        }
        try outcome.get()
        return bytes
    }

    private func verify(_ bytes: [UInt8]) throws(StorageError) {
        guard bytes.count == metadata.size else { throw damaged("there are \(bytes.count) of them") }
        var checksum = Checksum()
        bytes.withUnsafeBytes { checksum.updateCRC($0) }
        guard checksum.crc32c == metadata.checksums.crc32c else { throw damaged("their CRC32C is another") }
    }

    private func readWhole(_ file: OpenFile) throws(StorageError) -> [UInt8] {
        let size = Int(metadata.size)
        var outcome = Result<Int, SystemError>.success(0)
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            outcome = Result { () throws(SystemError) in try file.read(into: .init(buffer), at: 0) }
            if case .success(let filled) = outcome { count = filled }
        }
        _ = try reading { () throws(SystemError) in try outcome.get() }
        return bytes
    }

    private func reading<Result>(_ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            guard case .file(_, _, let path) = self.body else {
                throw Self.unreadable(metadata.reference, error.reason)
            }
            throw Self.unreadable(metadata.reference, "\(path): \(error.reason)")
        }
    }

    /// Records that the object is damaged.
    private func damaged(_ how: String) -> StorageError {
        report(.wrongBytes)
        return .damagedBytes(of: metadata, how)
    }

    func report(_ fault: ServedFile.Fault) { checked.report(fault, of: metadata, in: checkedBody) }

    private var checkedBody: CheckedBodies.Body {
        switch body {
        case .bytes: .row(generation: metadata.generation)
        case .file(_, let number, _): metadata.checkedBody(file: number)
        }
    }

    static func unreadable(_ reference: Reference, _ why: String) -> StorageError {
        StorageError(.unknown, "The bytes of object \(reference.object) cannot be read: \(why).").about(reference)
    }
}

extension ObjectMetadata {
    func checkedBody(file: Int64) -> CheckedBodies.Body { .file(file, size: size, crc32c: checksums.crc32c ?? 0) }
}

extension StorageError {
    static func damagedBytes(of object: ObjectMetadata, _ how: String) -> StorageError {
        StorageError(
            .nonMatchingChecksum, "The \(object.size) bytes of object \(object.reference.object) are damaged: \(how)."
        ).about(object.reference)
    }
}

extension EmbeddedBackend {
    private enum Opened {
        case object(OpenObject)
        /// The file of this generation is missing.
        case gone(Int64)
    }

    /// Opens an object. Throws an error of `check` before reading bytes, `objectNotFound`, or why the bytes cannot be
    /// read.
    func open(
        _ reference: Reference, if check: @escaping @Sendable (Database, ObjectMetadata) throws -> Void = { _, _ in }
    ) async throws(StorageError) -> OpenObject {
        try await withCheckedContinuation { waiter in
            open(reference, if: check) { waiter.resume(returning: $0) }
        }.get()
    }

    /// Opens an object, and calls `finish` on a thread that must not be blocked for long. An object that is overwritten
    /// or deleted after its row was read is looked up again.
    func open(
        _ reference: Reference, if check: @escaping @Sendable (Database, ObjectMetadata) throws -> Void = { _, _ in },
        missed: Int64? = nil, then finish: @escaping @Sendable (Result<OpenObject, StorageError>) -> Void
    ) {
        store.read { [self] database in
            try buckets.check(reference, in: database)
            let metadata = try database.metadata(of: reference)
            try check(database, metadata)
            return try open(metadata, database.body(of: reference), missed: missed)
        } then: { [self] opened in
            switch opened {
            case .success(.object(let object)): finish(.success(object))
            case .success(.gone(let generation)): open(reference, if: check, missed: generation, then: finish)
            case .failure(let error): finish(.failure(error))
            }
        }
    }

    /// Throws why the bytes of an object cannot be read. For the transaction that reads its row: no other one can have
    /// removed the file.
    func checkCanBeRead(_ metadata: ObjectMetadata, _ body: StoredBody) throws(StorageError) {
        _ = try open(metadata, body, missed: metadata.generation)
    }

    private func open(_ metadata: ObjectMetadata, _ body: StoredBody, missed: Int64?) throws(StorageError) -> Opened {
        switch body {
        case .bytes(let bytes): return .object(try OpenObject(metadata: metadata, body: .bytes(bytes), checked))
        case .file(let id):
            let (file, path): (OpenFile, String)
            do throws(SystemError) {
                (file, path) = (try objectFiles.open(id, []), objectFiles.path(of: id))
            } catch {
                if error == .notFound, missed != metadata.generation { return .gone(metadata.generation) }
                throw OpenObject.unreadable(metadata.reference, "\(objectFiles.path(of: id)): \(error.reason)")
            }
            return .object(try OpenObject(metadata: metadata, body: .file(file, number: id, path: path), checked))
        }
    }

    package func piece(
        _ range: Range<Int64>, of object: ObjectMetadata, task: String, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        let reference = object.reference
        return try await withCheckedContinuation { waiter in
            open(reference) { _, now in
                guard now.generation != object.generation else { return }
                throw StorageError.replacedWhileRead(reference, by: now.version)
            } then: { [reading] opened in
                reading.submit {
                    waiter.resume(
                        returning: opened.flatMap { object in
                            Result { () throws(StorageError) in try object.read(range) }
                        })
                }
            }
        }.get()
    }

    package func verifyStored(_ object: ObjectMetadata) async {
        guard let opened = try? await open(object.reference), opened.metadata.generation == object.generation else {
            return
        }
        _ = await verifying.run { Result { () throws(StorageError) in try opened.verify() } }
    }

    package func data(
        of reference: Reference, part: BytePart?, known: ObjectMetadata?, maxSize: Int64, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        try await withCheckedContinuation { waiter in
            open(reference) { _, metadata in
                let count = try part?.range(in: metadata.size).count ?? Int(clamping: metadata.size)
                guard count <= maxSize else { throw StorageError.sizeExceeded(reference, Int64(count), maxSize) }
            } then: { [reading] object in
                reading.submit {
                    waiter.resume(
                        returning: object.flatMap { object in
                            Result { () throws(StorageError) in try object.readBytes(part) }
                        })
                }
            }
        }.get()
    }
}
