import Checksums
import Platform
import FoundationEssentials
import HTTPClient
import LocalFiles
import Storage
import Synchronization

/// Reads the bytes of one upload, and computes their CRC32C on the way.
final class UploadReader: Sendable {
    private struct Passed {
        var checksum = Checksum()
        /// The checksum covers all bytes before this offset.
        var end: Int64 = 0

        /// Ignores bytes that it has counted already, and bytes after a gap.
        mutating func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64) {
            let known = end - offset
            guard known >= 0, known < bytes.count else { return }
            checksum.updateCRC(UnsafeRawBufferPointer(rebasing: bytes[Int(known)...]))
            end = offset + Int64(bytes.count)
        }
    }

    /// Fetches a range of the object that is copied.
    typealias Fetch = @Sendable (Range<Int64>) async throws(StorageError) -> [UInt8]

    private let source: UploadSource
    private let allowed: AllowedDirectories?
    private let threads: WorkerThreads
    /// Nil where no object is copied.
    private let fetch: Fetch?
    private let passed = Mutex(Passed())
    private let fault = Mutex<StorageError?>(nil)

    init(_ upload: Upload, at backend: RemoteBackend, fetch: Fetch? = nil) {
        (source, threads, self.fetch) = (upload.source, backend.files, fetch)
        allowed = upload.isSpooled ? nil : backend.allowed.reading
    }

    /// Restores the CRC32C of the first `end` bytes from an earlier process.
    func know(_ crc32c: UInt32, upTo end: Int64) {
        passed.withLock { $0 = Passed(checksum: Checksum(crc32c: crc32c), end: end) }
    }

    var known: (crc32c: UInt32, end: Int64) { passed.withLock { ($0.checksum.crc32c, $0.end) } }

    /// The error that ended reading a body.
    var failure: StorageError? { fault.withLock { $0 } }

    /// Small sources only.
    func whole() async throws(StorageError) -> [UInt8] {
        switch source {
        case .data(let bytes): return bytes
        case .file(let path, let identity):
            return try await onThread { [allowed] () throws(StorageError) in
                try SourceFile(path, identity, in: allowed).readWhole()
            }
        case .incoming: throw .onlyEmbedded
        case .object: return try await fetched(0..<source.size)
        }
    }

    /// The bytes of the range. Checks that a file is unchanged before it returns the last bytes; those of an object are in
    /// memory.
    func body(_ range: Range<Int64>) async throws(StorageError) -> HTTPBody {
        switch source {
        case .data(let bytes): return range.isEmpty ? .none : .source(PartOfData(bytes: bytes, range: range))
        case .file(let path, let identity):
            let file = try await onThread { [allowed] () throws(StorageError) in
                try SourceFile(path, identity, in: allowed)
            }
            return range.isEmpty ? .none : .source(reader(of: file, range))
        case .incoming: throw .onlyEmbedded
        case .object: return range.isEmpty ? .none : .bytes(try await fetched(range))
        }
    }

    /// The CRC32C of all bytes. Reads those that were not sent in order, unless the service knows that of the object.
    func crc32c() async throws(StorageError) -> UInt32 {
        if let known = source.copy?.found?.crc32c { return known }
        try await readRest()
        return passed.withLock { $0.checksum.crc32c }
    }

    func md5() async throws(StorageError) -> [UInt8] {
        if source.copy != nil { return try await md5OfObject() }
        return try await onThread { [source, allowed] () throws(StorageError) in
            var checksum = Checksum()
            try source.read(from: 0, in: allowed) { bytes, _ in checksum.updateMD5(bytes) }
            return checksum.md5
        }
    }

    private func readRest() async throws(StorageError) {
        let start = passed.withLock { $0.end }
        guard start < source.size else { return }
        guard source.copy == nil else { return try await forEachPiece(from: start) { _ in } }
        try await onThread { [self] () throws(StorageError) in
            try source.read(from: start, in: allowed) { bytes, offset in passed.withLock { $0.take(bytes, at: offset) }
            }
        }
    }

    private func md5OfObject() async throws(StorageError) -> [UInt8] {
        if let known = source.copy?.found?.md5 { return known }
        var checksum = Checksum()
        try await forEachPiece(from: 0) { piece in piece.withUnsafeBytes { checksum.updateMD5($0) } }
        return checksum.md5
    }

    private func forEachPiece(from start: Int64, _ body: ([UInt8]) -> Void) async throws(StorageError) {
        var offset = start
        while offset < source.size {
            let end = min(offset.addingSaturated(RemoteCopy.largestPiece), source.size)
            body(try await fetched(offset..<end))
            offset = end
        }
    }

    private func fetched(_ range: Range<Int64>) async throws(StorageError) -> [UInt8] {
        guard let fetch else { throw StorageError(.internalError, "Nothing fetches the object that is copied.") }
        if range.isEmpty { return [] }
        let bytes = try await fetch(range)
        passed.withLock { passed in bytes.withUnsafeBytes { passed.take($0, at: range.lowerBound) } }
        return bytes
    }

    private func reader(of file: SourceFile, _ range: Range<Int64>) -> ReadAhead {
        ReadAhead(count: Int64(range.count), on: threads) { [self] buffer, offset in
            let offset = range.lowerBound + offset
            do throws(StorageError) {
                try file.read(into: buffer, at: offset)
                if offset + Int64(buffer.count) == source.size { try file.checkUnchanged() }
            } catch {
                fault.withLock { $0 = error }
                throw error
            }
            passed.withLock { $0.take(UnsafeRawBufferPointer(buffer), at: offset) }
        }
    }

    private func onThread<Value: Sendable>(
        _ body: @escaping @Sendable () throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        try await threads.run { Result { () throws(StorageError) in try body() } }.get()
    }
}

private struct PartOfData: HTTPBodySource {
    let bytes: [UInt8]
    let range: Range<Int64>

    var count: Int64 { Int64(range.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, wake: HTTPWaker) -> HTTPBodyRead {
        bytes.withUnsafeBytes { all in
            let rest = all[Int(range.lowerBound + offset)..<Int(range.upperBound)]
            let next = UnsafeRawBufferPointer(rebasing: rest.prefix(buffer.count))
            buffer.copyMemory(from: next)
            return .bytes(next.count)
        }
    }
}

extension UploadSource {
    /// Passes all bytes from an offset on to `take`, in pieces. Blocks.
    fileprivate func read(
        from start: Int64, in allowed: AllowedDirectories?, _ take: (UnsafeRawBufferPointer, _ offset: Int64) -> Void
    ) throws(StorageError) {
        switch self {
        case .data(let bytes):
            bytes.withUnsafeBytes { take(UnsafeRawBufferPointer(rebasing: $0[Int(start)...]), start) }
        case .file(let path, let identity):
            let file = try SourceFile(path, identity, in: allowed)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
            defer { buffer.deallocate() }
            var offset = start
            while offset < identity.size {
                let piece = UnsafeMutableRawBufferPointer(
                    rebasing: buffer.prefix(Int(min(Int64(buffer.count), identity.size - offset))))
                try file.read(into: piece, at: offset)
                take(UnsafeRawBufferPointer(piece), offset)
                offset += Int64(piece.count)
            }
            try file.checkUnchanged()
        case .incoming, .object: throw .onlyEmbedded
        }
    }
}

extension StorageError {
    /// Only the embedded engine takes bytes that come from other clients.
    fileprivate static var onlyEmbedded: StorageError {
        StorageError(.internalError, "A remote engine reads these bytes in another way.")
    }
}
