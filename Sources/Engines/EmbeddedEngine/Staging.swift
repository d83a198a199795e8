import Checksums
import Platform
import LocalFiles
import Roots
import Storage
import Synchronization

/// The point from which a later process continues an upload.
struct UploadCheckpoint: Codable, Equatable {
    var file: Int64
    /// The checksums cover the bytes before this offset.
    var offset: Int64
    var crc32c: UInt32
    var md5: [UInt8]
}

/// The newest checkpoint of a staging file, for other threads.
final class StagingProgress: Sendable {
    let md5: BackgroundMD5
    private let checkpoint: Mutex<UploadCheckpoint?>
    private let hasCheckpoint: Atomic<Bool>

    init(_ md5: BackgroundMD5, _ checkpoint: UploadCheckpoint? = nil) {
        self.md5 = md5
        self.checkpoint = Mutex(checkpoint)
        hasCheckpoint = Atomic(checkpoint != nil)
    }

    /// Saves a checkpoint once the MD5 of the bytes so far has been computed.
    func saveCheckpoint(file: Int64, offset: Int64, crc32c: UInt32) {
        hasCheckpoint.store(true, ordering: .relaxed)
        md5.state { [self] state in
            checkpoint.withLock { $0 = UploadCheckpoint(file: file, offset: offset, crc32c: crc32c, md5: state) }
        }
    }

    /// The last saved checkpoint, without blocking a thread. Nil before the first chunk has ended.
    func lastCheckpoint() async -> UploadCheckpoint? {
        guard hasCheckpoint.load(ordering: .relaxed) else { return nil }
        await withCheckedContinuation { waiter in md5.state { _ in waiter.resume() } }
        return checkpoint.withLock { $0 }
    }
}

/// The file of an upload before it is committed as an object, with its running checksums.
///
/// One thread reads, writes and computes the CRC32C; another computes the slower MD5, a few buffers later. Writeback
/// starts early, so that the final sync is short.
final class Staging {
    let file: Int64
    /// The number of bytes that are written, and submitted to the MD5.
    private(set) var offset: Int64 = 0
    var crc32c: UInt32 { checksum.crc32c }

    private var path: String { files.path(of: file) }
    private let files: ObjectFiles
    private let source: UploadSource
    private let allowed: AllowedDirectories?
    let progress: StagingProgress
    private var checksum: Checksum
    private var writeback = Writeback()
    /// A sync of the file has failed: the disk may lack some of its bytes, although the system counts them as written.
    private var isDoubtful = false
    /// A sync of the directory has failed: a later one may leave out the name of the file.
    private var mayLackName = false
    private var target: OpenFile?
    private var input: SourceFile?
    private let blocks: HashBufferPool
    /// An earlier process has created the file, and its name may not be durable.
    private let isRestored: Bool

    /// `target` is an empty file.
    init(
        file: Int64, _ target: OpenFile, in files: ObjectFiles, _ source: UploadSource,
        from allowed: AllowedDirectories?, hashing: MD5Threads, blocks: BlockCache
    ) {
        (self.file, self.target, self.allowed, self.files, self.source) = (file, target, allowed, files, source)
        isRestored = false
        checksum = Checksum()
        progress = StagingProgress(BackgroundMD5(on: hashing))
        self.blocks = HashBufferPool(blocks)
    }

    /// Continues the file of an earlier process, whose last sync may have failed. Nil if its bytes do not match the
    /// checkpoint, or if `mayGoOn` returns false.
    init?(
        _ checkpoint: UploadCheckpoint, in files: ObjectFiles, _ source: UploadSource,
        from allowed: AllowedDirectories?, hashing: MD5Threads, blocks: BlockCache, while mayGoOn: () -> Bool
    ) throws(StorageError) {
        guard let checksum = Checksum(md5State: checkpoint.md5, crc32c: checkpoint.crc32c, after: checkpoint.offset),
            let target = try files.existing(checkpoint.file),
            try checkpoint.rewrite(target, files.path(of: checkpoint.file), while: mayGoOn)
        else { return nil }
        file = checkpoint.file
        offset = checkpoint.offset
        isRestored = true
        (self.files, self.source, self.allowed, self.checksum) = (files, source, allowed, checksum)
        progress = StagingProgress(BackgroundMD5(on: hashing, after: checksum), checkpoint)
        self.blocks = HashBufferPool(blocks)
    }

    /// Continues a file of this process at its last checkpoint. The bytes behind it are removed, as the client may send
    /// others. Nil if the file is missing, or has lost bytes or its name since a failed sync.
    ///
    /// - Parameter checkpoint: the last checkpoint of the file; nil to begin at the first byte.
    init?(_ former: Staging, backTo checkpoint: UploadCheckpoint?, hashing: MD5Threads) throws(StorageError) {
        let checksum = checkpoint.flatMap { Checksum(md5State: $0.md5, crc32c: $0.crc32c, after: $0.offset) }
        guard checkpoint == nil || checksum != nil, !former.mayLackName,
            let target = try former.files.existing(former.file)
        else { return nil }
        if former.isDoubtful, let checkpoint {
            guard try checkpoint.rewrite(target, former.path, while: { true }) else { return nil }
        }
        (file, offset, isRestored) = (former.file, checkpoint?.offset ?? 0, former.isRestored)
        (files, source, allowed, blocks) = (former.files, former.source, former.allowed, former.blocks)
        self.checksum = checksum ?? Checksum()
        progress = StagingProgress(BackgroundMD5(on: hashing, after: self.checksum), checkpoint)
        try storing(path) { [offset] () throws(SystemError) in try target.truncate(to: offset) }
    }

    /// Excludes the stream of a cancelled upload from those that others wait for.
    deinit { progress.md5.park() }

    func saveCheckpoint() { progress.saveCheckpoint(file: file, offset: offset, crc32c: crc32c) }

    /// Copies up to the end of the range, or until `mayGoOn` returns false; then `offset` is a multiple of the
    /// granularity, where a client that sends the bytes can continue.
    ///
    /// - Parameter source: the source of the upload with the bytes of the present step.
    func copy(_ range: Range<Int64>, of source: UploadSource, while mayGoOn: () -> Bool) throws(StorageError) {
        let target = try openTarget()
        try openInput()
        let granularity = ChunkSizes.granularity
        while offset < range.upperBound, offset % granularity != 0 && offset != range.lowerBound || mayGoOn() {
            let block = blocks.take()
            let count = min(range.upperBound - offset, granularity - offset % granularity)
            let bytes = block.prefix(min(block.bytes.count, Int(count)))
            do throws(StorageError) {
                try read(into: bytes, of: source)
                try storing(path) { () throws(SystemError) in
                    try target.write(UnsafeRawBufferPointer(bytes), at: offset)
                }
            } catch {
                blocks.give(back: block)
                throw error
            }
            checksum.updateCRC(UnsafeRawBufferPointer(bytes))
            progress.md5.update(block, count: bytes.count, of: blocks)
            offset += Int64(bytes.count)
            try flushing { () throws(SystemError) in try writeback.wrote(target, upTo: offset) }
        }
    }

    /// The offset of the first byte of the piece that the file has otherwise; nil if it has all of them.
    func firstDifference(from piece: IncomingBytes.Piece) throws(StorageError) -> Int64? {
        let target = try openTarget()
        return try piece.firstDifference { buffer, place throws(StorageError) in
            let read = try storing(path) { () throws(SystemError) in try target.read(into: buffer, at: place) }
            guard read == buffer.count else {
                throw StorageError(.internalError, "The file of the upload has fewer bytes than it has received.")
            }
        }
    }

    /// Syncs the file, checks that the source has not changed, and returns the MD5.
    func finish() throws(StorageError) -> [UInt8] {
        let target = try openTarget()
        progress.md5.hashRest()
        // A failed step of this process or an earlier one may have written more.
        if case .incoming = source { try storing(path) { () throws(SystemError) in try target.truncate(to: offset) } }
        try flushing { () throws(SystemError) in try target.sync() }
        if isRestored {
            do throws(StorageError) { try storing(files.path) { () throws(SystemError) in try files.sync() } } catch {
                mayLackName = true
                throw error
            }
        }
        let digest = progress.md5.digest()
        try input?.checkUnchanged()
        park()
        return digest
    }

    /// Closes the descriptors of an upload that does not run, and frees its buffers.
    func park() {
        (target, input) = (nil, nil)
        progress.md5.park()
    }

    /// Runs a call that writes the file to the disk. After its failure the disk may lack bytes that the system counts as
    /// written, so the next attempt writes them again.
    private func flushing(_ body: () throws(SystemError) -> Void) throws(StorageError) {
        do throws(StorageError) { try storing(path, body) } catch {
            isDoubtful = true
            throw error
        }
    }

    private func openTarget() throws(StorageError) -> OpenFile {
        if let target { return target }
        let opened = try storing(path) { () throws(SystemError) in try files.open(file, .readingAndWriting) }
        target = opened
        return opened
    }

    private func openInput() throws(StorageError) {
        guard input == nil, case .file(let path, let identity) = source else { return }
        input = try SourceFile(path, identity, in: allowed)
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer, of source: UploadSource) throws(StorageError) {
        switch source {
        case .data(let bytes):
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[Int(offset)...].prefix(buffer.count))) }
        case .file: try input?.read(into: buffer, at: offset)
        case .incoming(let bytes): try bytes.read(into: buffer, at: offset)
        case .object: throw StorageError(.internalError, "No bytes of a copy are read.")
        }
    }
}

extension UploadCheckpoint {
    private static let blockSize = 512 << 10

    /// Writes the bytes of the file again, so that the next sync includes them. Returns false if they are not those of the
    /// checkpoint, or if `mayGoOn` returns false.
    fileprivate func rewrite(
        _ file: OpenFile, _ path: String, while mayGoOn: () -> Bool
    ) throws(StorageError) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        var checksum = Checksum()
        var place: Int64 = 0
        while place < offset {
            guard mayGoOn() else { return false }
            let piece = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<Int(min(Int64(buffer.count), offset - place))])
            let isWhole = try storing(path) { () throws(SystemError) in
                guard try file.read(into: piece, at: place) == piece.count else { return false }
                try file.write(UnsafeRawBufferPointer(piece), at: place)
                return true
            }
            guard isWhole else { return false }
            checksum.updateCRC(UnsafeRawBufferPointer(piece))
            place += Int64(piece.count)
        }
        return checksum.crc32c == crc32c
    }
}
