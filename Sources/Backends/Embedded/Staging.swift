import EventLoop
import Glibc
import Storage

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

    private let root: Root
    private let source: UploadSource
    private let allowed: AllowedDirectories?
    private let md5: MD5Line
    private var checksum = Checksum()
    private var writeback = Writeback()
    private var target: OpenFile?
    private var input: SourceFile?
    private var blocks: BlockRing?

    init(
        file: Int64, in root: Root, _ source: UploadSource, from allowed: AllowedDirectories?, hashing: WorkerThreads
    ) {
        self.file = file
        self.allowed = allowed
        self.root = root
        self.source = source
        md5 = MD5Line(on: hashing)
    }

    /// Goes on to the end of the range, or until it may not any more: `offset` tells.
    func copy(_ range: Range<Int64>, while mayGoOn: () -> Bool) throws(StorageError) {
        let target = try openTarget()
        let blocks = blocks ?? BlockRing(count: 8, size: Self.blockSize)
        self.blocks = blocks
        while offset < range.upperBound, mayGoOn(), let block = blocks.take() {
            let bytes = UnsafeMutableRawBufferPointer(
                rebasing: block.bytes[..<min(Self.blockSize, Int(range.upperBound - offset))])
            do throws(StorageError) {
                try read(into: bytes)
                try storing { () throws(SystemError) in try target.write(UnsafeRawBufferPointer(bytes), at: offset) }
            } catch {
                blocks.give(back: block)
                throw error
            }
            checksum.updateCRC(UnsafeRawBufferPointer(bytes))
            md5.update(block, count: bytes.count)
            offset += Int64(bytes.count)
            writeback.wrote(target, upTo: offset)
        }
    }

    /// Returns the MD5 once every byte is on the disk and the source is known to have stayed as it was.
    func finish() throws(StorageError) -> [UInt8] {
        let target = try openTarget()
        try storing { () throws(SystemError) in
            try target.sync()
            try root.syncObjects()
        }
        let digest = md5.digest()
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
        let flags = O_RDWR | (offset == 0 ? O_CREAT : 0)
        let opened = try storing { () throws(SystemError) in try root.openObject(file, flags) }
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

    private func storing<Result>(_ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
        let path = root.object(file)
        do throws(SystemError) {
            return try body()
        } catch  where error.code == ENOSPC || error.code == EDQUOT {
            throw StorageError(.quotaExceeded, "There is no room left to store the upload: \(path): \(error.reason).")
        } catch {
            throw StorageError(.unknown, "The upload cannot be stored: \(path): \(error.reason).")
        }
    }
}
