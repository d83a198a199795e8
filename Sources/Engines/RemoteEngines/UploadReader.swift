import Checksums
import Platform
import HTTPClient
import LocalFiles
import Storage
import Synchronization

/// Reads the bytes of one upload, and computes their CRC32C on the way.
final class UploadReader: Sendable {
    private struct Passed {
        /// Includes an MD5 only if the bytes can be read only once.
        var checksum = Checksum()
        /// The checksum covers the bytes before this offset.
        var end: Int64 = 0

        /// Adds bytes, except those already counted and those after a gap.
        mutating func take(_ bytes: UnsafeRawBufferPointer, at offset: Int64, withMD5: Bool = false) {
            let known = end - offset
            guard known >= 0, known < bytes.count else { return }
            let new = UnsafeRawBufferPointer(rebasing: bytes[Int(known)...])
            checksum.updateCRC(new)
            if withMD5 { checksum.updateMD5(new) }
            end = offset + Int64(bytes.count)
        }
    }

    /// Fetches a range of the source of a copy.
    typealias Fetch = @Sendable (Range<Int64>) async throws(StorageError) -> [UInt8]

    private let present: Mutex<Upload>
    /// The upload with the bytes of the present step.
    var upload: Upload { present.withLock { $0 } }
    private var source: UploadSource { upload.source }
    private let allowed: AllowedDirectories?
    private let threads: WorkerThreads
    /// Nil unless the upload is a copy.
    private let fetch: Fetch?
    private let passed = Mutex(Passed())
    /// The checksums of the bytes that the server has, for a source that can be read only once.
    private let received = Mutex(Passed())
    private let fault = Mutex<StorageError?>(nil)
    private let partsAhead = PartsAhead()

    init(_ upload: Upload, at backend: RemoteBackend, fetch: Fetch? = nil) {
        present = Mutex(upload)
        (threads, self.fetch) = (backend.files, fetch)
        allowed = upload.isSpooled ? .own : backend.allowed.reading
    }

    /// The checksums of the first `end` bytes, for the next process. They include an MD5 only if the bytes can be read
    /// only once.
    struct Known {
        var crc32c: UInt32
        var md5State: [UInt8]?
        var end: Int64
    }

    /// Restores the checksums of an earlier process.
    func know(_ known: Known) {
        var restored = Passed(checksum: Checksum(crc32c: known.crc32c), end: known.end)
        if isIncoming {
            guard let state = known.md5State,
                let checksum = Checksum(md5State: state, crc32c: known.crc32c, after: known.end)
            else { return }
            restored.checksum = checksum
        }
        passed.withLock { [restored] in $0 = restored }
        received.withLock { [restored] in $0 = restored }
    }

    var known: Known {
        let all = isIncoming ? received.withLock { $0 } : passed.withLock { $0 }
        return Known(
            crc32c: all.checksum.crc32c, md5State: isIncoming ? all.checksum.md5State : nil, end: all.end)
    }

    /// The upload's client sends the bytes, which can be read only once.
    private var isIncoming: Bool { if case .incoming = source { true } else { false } }

    /// All bytes can be read at any time.
    var isComplete: Bool {
        switch source {
        case .data, .file: true
        case .incoming, .object: false
        }
    }

    /// Reads the bytes that come with the next step.
    func take(_ bytes: IncomingBytes?) { present.withLock { $0 = $0.with(bytes) } }

    /// Records that the server has all bytes before an offset.
    func note(receivedUpTo offset: Int64) {
        let now = passed.withLock { $0 }
        if isIncoming, now.end == offset { received.withLock { $0 = now } }
    }

    /// Resets the checksums for a new session without bytes.
    func beginAnew() {
        guard isIncoming else { return }
        passed.withLock { $0 = Passed() }
        received.withLock { $0 = Passed() }
    }

    /// The checksums of the first `size` bytes, if no more have been passed. Nil if an earlier process has passed some.
    func checksum(of size: Int64?) -> Checksum? {
        passed.withLock { $0.end == size ? $0.checksum : nil }
    }

    /// The error that ended reading a body.
    var failure: StorageError? { fault.withLock { $0 } }

    /// All bytes of a small source.
    func whole() async throws(StorageError) -> [UInt8] {
        switch source {
        case .data(let bytes): return bytes
        case .file(let path, let identity):
            return try await onThread { [allowed] () throws(StorageError) in
                try SourceFile(path, identity, in: allowed).readWhole()
            }
        case .incoming: throw .notWhole
        case .object: return try await fetched(0..<size())
        }
    }

    /// The bytes of the range. A file is checked to be unchanged before its last bytes are returned; bytes of an object
    /// are read into memory.
    func body(_ range: Range<Int64>) async throws(StorageError) -> HTTPBody {
        switch source {
        case .data(let bytes): return range.isEmpty ? .none : .source(PartOfData(bytes: bytes, range: range))
        case .file(let path, let identity):
            let file = try await onThread { [allowed] () throws(StorageError) in
                try SourceFile(path, identity, in: allowed)
            }
            return range.isEmpty ? .none : .source(reader(of: file, range))
        case .incoming(let bytes): return range.isEmpty ? .none : .bytes(try await piece(range, of: bytes))
        case .object: return range.isEmpty ? .none : .bytes(try await fetched(range))
        }
    }

    /// In bytes: parts up to this size are read once, into memory; larger ones are read twice.
    private static let largestPartInMemory = 16 << 20

    /// The bytes of a part, and their MD5. The next part of a file is read while this one is being sent.
    func part(_ range: Range<Int64>) async throws(StorageError) -> (HTTPBody, md5: [UInt8]) {
        if case .file(let path, let identity) = source, range.count <= Self.largestPartInMemory {
            let ahead = try await partsAhead.take(range)
            let part = if let ahead { ahead } else { try await whole(range, path, identity) }
            let next = range.upperBound..<min(identity.size, range.upperBound.addingSaturated(Int64(range.count)))
            if !next.isEmpty, !Task.isCancelled {
                partsAhead.read(next) { [self] () async throws(StorageError) in try await whole(next, path, identity) }
            }
            return (.bytes(part.bytes), part.md5)
        }
        let body = try await body(range)
        return try await onThread { [source, allowed] () throws(StorageError) in
            var checksum = Checksum()
            switch body {
            case .none: break
            case .bytes(let bytes): bytes.withUnsafeBytes { checksum.updateMD5($0) }
            case .source: try source.read(range, in: allowed) { bytes, _ in checksum.updateMD5(bytes) }
            }
            return (body, checksum.md5)
        }
    }

    /// Gives back memory. The next part is read when it is sent.
    func park() { partsAhead.drop() }

    private func whole(
        _ range: Range<Int64>, _ path: String, _ identity: FileIdentity
    ) async throws(StorageError) -> PartsAhead.Part {
        try await onThread { [self] () throws(StorageError) in
            let bytes = try read(range, path, identity)
            var checksum = Checksum()
            bytes.withUnsafeBytes { checksum.updateMD5($0) }
            return (bytes, checksum.md5)
        }
    }

    /// Reads a range of a file into memory. Blocks.
    private func read(_ range: Range<Int64>, _ path: String, _ identity: FileIdentity) throws(StorageError) -> [UInt8] {
        let file = try SourceFile(path, identity, in: allowed)
        let bytes = try [UInt8](count: range.count) { buffer throws(StorageError) in
            try file.read(into: buffer, at: range.lowerBound)
        }
        if range.upperBound == identity.size { try file.checkUnchanged() }
        passed.withLock { passed in bytes.withUnsafeBytes { passed.take($0, at: range.lowerBound) } }
        return bytes
    }

    /// Also counts bytes before the range that the server already has but that were not passed through here.
    private func piece(_ range: Range<Int64>, of incoming: IncomingBytes) async throws(StorageError) -> [UInt8] {
        try await onThread { [self] () throws(StorageError) in
            let start = passed.withLock { $0.end }
            if start < range.lowerBound, let piece = incoming.piece?.range, piece.contains(start) {
                let missed = try incoming.bytes(start..<range.lowerBound)
                passed.withLock { passed in missed.withUnsafeBytes { passed.take($0, at: start, withMD5: true) } }
            }
            let bytes = try incoming.bytes(range)
            passed.withLock { passed in bytes.withUnsafeBytes { passed.take($0, at: range.lowerBound, withMD5: true) } }
            return bytes
        }
    }

    /// The CRC32C of an object of this size. Reads the bytes that were not sent in order, unless the service knows the
    /// source's CRC32C. Nil if bytes that can be read only once were passed by an earlier process.
    func crc32c(of size: Int64?) async throws(StorageError) -> UInt32? {
        if isIncoming { return checksum(of: size)?.crc32c }
        if let known = source.copy?.found?.checksums.crc32c { return known }
        try await readRest()
        return passed.withLock { $0.checksum.crc32c }
    }

    func md5(of size: Int64?) async throws(StorageError) -> [UInt8]? {
        if isIncoming { return checksum(of: size)?.md5 }
        if source.copy != nil { return try await md5OfObject() }
        return try await onThread { [source, allowed] () throws(StorageError) in
            var checksum = Checksum()
            try source.read(from: 0, in: allowed) { bytes, _ in checksum.updateMD5(bytes) }
            return checksum.md5
        }
    }

    private func readRest() async throws(StorageError) {
        let start = passed.withLock { $0.end }
        guard try start < size() else { return }
        guard source.copy == nil else { return try await forEachPiece(from: start) { _ in } }
        try await onThread { [self] () throws(StorageError) in
            try source.read(from: start, in: allowed) { bytes, offset in passed.withLock { $0.take(bytes, at: offset) }
            }
        }
    }

    private func md5OfObject() async throws(StorageError) -> [UInt8] {
        if let known = source.copy?.found?.checksums.md5 { return known }
        var checksum = Checksum()
        try await forEachPiece(from: 0) { piece in piece.withUnsafeBytes { checksum.updateMD5($0) } }
        return checksum.md5
    }

    /// Throws for bytes that come in pieces, and for an object that was not looked at.
    private func size() throws(StorageError) -> Int64 {
        guard let size = source.size else { throw .notWhole }
        return size
    }

    private func forEachPiece(from start: Int64, _ body: ([UInt8]) -> Void) async throws(StorageError) {
        let size = try size()
        var offset = start
        while offset < size {
            let end = min(offset.addingSaturated(RemoteCopy.largestPiece), size)
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

/// The part of a file that is being read before it is asked for.
private final class PartsAhead: Sendable {
    typealias Part = (bytes: [UInt8], md5: [UInt8])

    private let part = Mutex<(range: Range<Int64>, Task<Result<Part, StorageError>, Never>)?>(nil)

    func read(_ range: Range<Int64>, _ work: @escaping @Sendable () async throws(StorageError) -> Part) {
        let task = Task { () async -> Result<Part, StorageError> in
            do throws(StorageError) { return .success(try await work()) } catch { return .failure(error) }
        }
        part.withLock { $0 = (range, task) }
    }

    /// The part, if it is being read or has been.
    func take(_ range: Range<Int64>) async throws(StorageError) -> Part? {
        let part = part.withLock { part in
            defer { part = nil }
            return part
        }
        guard let part, part.range == range else { return nil }
        return try await part.1.value.get()
    }

    func drop() { part.withLock { $0 = nil } }
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
        try read(start..<max(start, size ?? start), in: allowed, take)
    }

    /// Passes the bytes of a range to `take`, in pieces. Blocks.
    fileprivate func read(
        _ range: Range<Int64>, in allowed: AllowedDirectories?,
        _ take: (UnsafeRawBufferPointer, _ offset: Int64) -> Void
    ) throws(StorageError) {
        switch self {
        case .data(let bytes):
            bytes.withUnsafeBytes {
                take(
                    UnsafeRawBufferPointer(rebasing: $0[Int(range.lowerBound)..<Int(range.upperBound)]),
                    range.lowerBound)
            }
        case .file(let path, let identity):
            let file = try SourceFile(path, identity, in: allowed)
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 4096)
            defer { buffer.deallocate() }
            var offset = range.lowerBound
            while offset < range.upperBound {
                let piece = UnsafeMutableRawBufferPointer(
                    rebasing: buffer.prefix(Int(min(Int64(buffer.count), range.upperBound - offset))))
                try file.read(into: piece, at: offset)
                take(UnsafeRawBufferPointer(piece), offset)
                offset += Int64(piece.count)
            }
            try file.checkUnchanged()
        case .incoming, .object: throw .notWhole
        }
    }
}

extension IncomingBytes {
    /// The bytes of a range of the present piece. Blocks.
    fileprivate func bytes(_ range: Range<Int64>) throws(StorageError) -> [UInt8] {
        try [UInt8](count: range.count) { buffer throws(StorageError) in
            try read(into: buffer, at: range.lowerBound)
        }
    }
}

extension StorageError {
    fileprivate static var notWhole: StorageError {
        StorageError(.internalError, "These bytes come in pieces.")
    }
}
