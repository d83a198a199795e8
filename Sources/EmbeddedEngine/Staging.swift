import Checksums
import Platform
import LocalFiles
import Roots
import Storage
import Synchronization

/// Where an upload's file was, once: a later process goes on from there.
struct UploadCheckpoint: Codable, Equatable {
    var file: Int64
    /// In bytes, like the two below of all before it.
    var offset: Int64
    var crc32c: UInt32
    var md5: [UInt8]
}

/// How far the hash of a staging file is, for those who ask on other threads.
final class StagingProgress: Sendable {
    let md5: BackgroundMD5
    private let checkpoint: Mutex<UploadCheckpoint?>

    init(_ md5: BackgroundMD5, _ checkpoint: UploadCheckpoint? = nil) {
        self.md5 = md5
        self.checkpoint = Mutex(checkpoint)
    }

    /// Where a later process may go on, as soon as it is known.
    func saveCheckpoint(file: Int64, offset: Int64, crc32c: UInt32) {
        md5.state { [self] state in
            checkpoint.withLock { $0 = UploadCheckpoint(file: file, offset: offset, crc32c: crc32c, md5: state) }
        }
    }

    /// The last one that was placed; waits for it, on no thread.
    func lastCheckpoint() async -> UploadCheckpoint? {
        await withCheckedContinuation { waiter in md5.state { _ in waiter.resume() } }
        return checkpoint.withLock { $0 }
    }
}

/// The file that an upload is written to before it is an object, and the checksums of what is in it so far.
///
/// One thread reads, writes and computes the CRC; another computes the MD5, the slowest of them, a few blocks
/// behind. The system is told early to write back, so that the sync at the end finds little to do.
final class Staging {
    private static let blockSize = 512 << 10

    let file: Int64
    /// All bytes before it are in the file and on their way into the MD5.
    private(set) var offset: Int64 = 0
    var crc32c: UInt32 { checksum.crc32c }

    private var path: String { files.path(of: file) }
    private let files: ObjectFiles
    private let source: UploadSource
    private let allowed: AllowedDirectories?
    let progress: StagingProgress
    private var checksum: Checksum
    private var writeback = Writeback()
    private var target: OpenFile?
    private var input: SourceFile?
    private var blocks: HashBufferPool?

    init(
        file: Int64, in files: ObjectFiles, _ source: UploadSource, from allowed: AllowedDirectories?,
        hashing: WorkerThreads
    ) {
        self.file = file
        self.allowed = allowed
        self.files = files
        self.source = source
        checksum = Checksum()
        progress = StagingProgress(BackgroundMD5(on: hashing))
    }

    /// Goes on where an earlier process was. Nil where the file does not have the bytes that it had then, or where
    /// it may not go on any more.
    init?(
        _ checkpoint: UploadCheckpoint, in files: ObjectFiles, _ source: UploadSource,
        from allowed: AllowedDirectories?,
        hashing: WorkerThreads, while mayGoOn: () -> Bool
    ) throws(StorageError) {
        guard let checksum = Checksum(md5State: checkpoint.md5, crc32c: checkpoint.crc32c, after: checkpoint.offset),
            let target = files.existing(checkpoint.file),
            try Self.crc32c(of: target, checkpoint.offset, files.path(of: checkpoint.file), mayGoOn)
                == checkpoint.crc32c
        else { return nil }
        file = checkpoint.file
        offset = checkpoint.offset
        self.files = files
        self.source = source
        self.allowed = allowed
        self.checksum = checksum
        progress = StagingProgress(BackgroundMD5(on: hashing, after: checksum), checkpoint)
    }

    func saveCheckpoint() { progress.saveCheckpoint(file: file, offset: offset, crc32c: crc32c) }

    /// Goes on to the end of the range, or until it may not any more: `offset` tells.
    func copy(_ range: Range<Int64>, while mayGoOn: () -> Bool) throws(StorageError) {
        let target = try openTarget()
        let blocks = blocks ?? HashBufferPool(count: 8, size: Self.blockSize)
        self.blocks = blocks
        while offset < range.upperBound, mayGoOn(), let block = blocks.take() {
            let bytes = UnsafeMutableRawBufferPointer(
                rebasing: block.bytes[..<min(Self.blockSize, Int(range.upperBound - offset))])
            do throws(StorageError) {
                try read(into: bytes)
                try storing(path) { () throws(SystemError) in
                    try target.write(UnsafeRawBufferPointer(bytes), at: offset)
                }
            } catch {
                blocks.give(back: block)
                throw error
            }
            checksum.updateCRC(UnsafeRawBufferPointer(bytes))
            progress.md5.update(block, count: bytes.count)
            offset += Int64(bytes.count)
            writeback.wrote(target, upTo: offset)
        }
    }

    /// Returns the MD5 once every byte is on the disk and the source is known to have stayed as it was.
    func finish() throws(StorageError) -> [UInt8] {
        let target = try openTarget()
        try storing(path) { () throws(SystemError) in
            try target.sync()
            try files.sync()
        }
        let digest = progress.md5.digest()
        try input?.checkUnchanged()
        park()
        return digest
    }

    /// Holds neither descriptors nor memory while it does not move.
    func park() {
        target = nil
        input = nil
        blocks = nil
    }

    private func openTarget() throws(StorageError) -> OpenFile {
        if let target { return target }
        if case .file(let path, let identity) = source { input = try SourceFile(path, identity, in: allowed) }
        let opened = try storing(path) { () throws(SystemError) in try files.open(file, .readingAndWriting) }
        target = opened
        return opened
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) throws(StorageError) {
        switch source {
        case .data(let bytes):
            bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[Int(offset)...].prefix(buffer.count))) }
        case .file: try input?.read(into: buffer, at: offset)
        }
    }

    /// Nil where the file is shorter.
    private static func crc32c(
        of file: OpenFile, _ count: Int64, _ path: String, _ mayGoOn: () -> Bool
    ) throws(StorageError) -> UInt32? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: blockSize, alignment: 4096)
        defer { buffer.deallocate() }
        var checksum = Checksum()
        var offset: Int64 = 0
        while offset < count {
            guard mayGoOn() else { return nil }
            let piece = UnsafeMutableRawBufferPointer(
                rebasing: buffer[..<Int(min(Int64(blockSize), count - offset))])
            let read = try storing(path) { () throws(SystemError) in try file.read(into: piece, at: offset) }
            guard read == piece.count else { return nil }
            checksum.updateCRC(UnsafeRawBufferPointer(piece))
            offset += Int64(read)
        }
        return checksum.crc32c
    }
}
