import Checksums
import Platform
import Storage
import Synchronization

/// The point from which a later process continues a download.
struct DownloadCheckpoint: Codable {
    var generation: Int64
    /// The number in the file's name.
    var number: Int
    var inode: UInt64
    var offset: Int64
    /// The CRC32C of the bytes before `offset`.
    var crc32c: UInt32
}

/// The newest checkpoint of a download, for other threads.
package final class LatestCheckpoint: Sendable {
    private let checkpoint = Mutex<DownloadCheckpoint?>(nil)

    package var bookmark: Bookmark? { checkpoint.withLock { $0 }.flatMap { try? $0.text }.map(Bookmark.init) }

    func set(_ checkpoint: DownloadCheckpoint?) { self.checkpoint.withLock { $0 = checkpoint } }
}

/// The file that a download is written to, in the directory of its destination. A rename replaces the destination once
/// all bytes are on the disk and match their checksum.
///
/// A partial download is used by one thread at a time, which may block. A symbolic link at the destination is replaced
/// itself, not its target; a destination that is not a file is refused. Other programs may change the partial file while
/// it is parked, so its bytes are read and compared before the download continues.
package final class PartialDownload {
    private static let rereadSize = 1 << 20

    package private(set) var offset: Int64 = 0
    private var target: DestinationFile
    private var generation: Int64?
    private let task: String
    private let record: (@Sendable () async throws(StorageError) -> Void)?
    private var temporary: Temporary?
    /// The checkpoint of an earlier process, until it has been verified.
    private var restored: DownloadCheckpoint?
    package let checkpoint = LatestCheckpoint()
    private var file: OpenFile?
    private var checksum = Checksum()
    private var writeback = Writeback()
    /// No file was at the destination when the unnamed file was opened.
    private var isNew = false

    private struct Temporary {
        let name: String
        let number: Int
        let inode: UInt64
    }

    package init(_ download: Download, in allowed: AllowedDirectories?) {
        target = DestinationFile(
            path: download.file, below: (download.tree as? DirectoryTree)?.directories,
            in: AllowedDirectories.narrowed(allowed, to: download.confinement?.writing, .writing),
            newFilesMask: download.newFilesMask,
            keepsExisting: download.keepsExisting)
        (task, record) = (download.task, download.record)
        guard download.isRestored else { return }
        restored = download.bookmark.flatMap { try? DownloadCheckpoint(text: $0.text) }
        if let number = restored?.number, !(0..<1 << 20).contains(number) { restored = nil }
        let number = restored?.number ?? 0
        temporary = Temporary(
            name: target.temporaryName(for: task, number: number), number: number, inode: restored?.inode ?? 0)
        target.ownInode = restored?.inode ?? 0
        generation = restored?.generation
        offset = max(0, restored?.offset ?? 0)
        checkpoint.set(restored)
    }

    /// A destination that was changed after this moment is kept; nil if every file may be replaced.
    package var keepsNewer: Beginning? {
        get { target.keepsNewer }
        set { target.keepsNewer = newValue }
    }

    /// The last error was about a newer destination.
    package var isSuperseded: Bool { target.isNewer }

    /// Checks the destination if the download has no bytes yet, and returns whether that is so. Throws the errors of
    /// `DestinationFile`.
    package func prepare() throws(StorageError) -> Bool {
        guard generation == nil, temporary == nil else { return false }
        try target.open()
        try target.check()
        return true
    }

    /// Continues the parked file, or starts over if it has no bytes of this generation. Returns early once `mayGoOn`
    /// returns false. Throws the errors of `DestinationFile`.
    ///
    /// - Parameter isShort: the file gets a name only when it is complete, so it needs no record. Its bytes do not
    ///   survive a pause.
    package func open(
        for generation: Int64, isShort: Bool = false, while mayGoOn: () -> Bool
    ) throws(StorageError) {
        if generation != self.generation {
            if let temporary {
                try target.open()
                try target.recognize(temporary.name)
            }
            discard()
        }
        self.generation = generation
        guard file == nil else { return }
        try target.open()
        let exists = try target.check()
        if isShort, temporary == nil, let unnamed = target.openUnnamed() {
            isNew = !exists
            return begin(unnamed)
        }
        if try !reopen(while: mayGoOn) { try create() }
    }

    package func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        let file = try opened()
        try target.writing { () throws(SystemError) in try file.write(bytes, at: offset) }
        checksum.updateCRC(bytes)
        offset += Int64(bytes.count)
        try flushing { () throws(SystemError) in try writeback.wrote(file, upTo: offset) }
        saveCheckpoint()
    }

    /// Renames the file to its destination; returns false if `mayCommit` refuses at the last moment. An unknown
    /// checksum is not compared. An MD5 is compared only if the CRC32C is unknown, because it requires reading the whole
    /// file. Deletes wrong bytes and throws `nonMatchingChecksum`.
    package func finish(
        size: Int64, _ checksums: Checksums, if mayCommit: () -> Bool
    ) throws(StorageError) -> Bool {
        let file = try opened()
        if let flaw = try flaw(in: file, size, checksums.fastest) {
            discard()
            throw Self.damaged(target.path, size, flaw)
        }
        // Another program may have appended to the file while it was parked.
        if temporary != nil { try target.writing { () throws(SystemError) in try file.truncate(to: size) } }
        try flushing { () throws(SystemError) in try file.sync() }
        do throws(StorageError) {
            try target.open()
        } catch {
            // The partial file cannot be reached without its directory.
            discard()
            throw error
        }
        // A name that was free is tried without a look.
        if temporary != nil || !isNew, try target.check() { try giveName(to: file) }
        guard mayCommit() else { return false }
        var isLinked = false
        if temporary == nil { isLinked = try target.link(file) }
        if !isLinked {
            try giveName(to: file)
            // Another program may have written the destination meanwhile.
            if keepsNewer != nil || isNew { try target.check() }
            if let temporary { try target.take(temporary.name, file, inode: temporary.inode) }
        }
        temporary = nil
        defer { discard() }
        // The task over a folder syncs the directories of the files that needed no record.
        if !isLinked || !target.isInTree { try target.syncDirectory() }
        return true
    }

    /// Runs a call that writes the file to the disk. After its failure the system counts bytes as written that the disk
    /// may lack, so the download starts over.
    private func flushing(_ body: () throws(SystemError) -> Void) throws(StorageError) {
        do throws(SystemError) { try body() } catch {
            discard()
            throw target.unwritable(error)
        }
    }

    /// Closes the descriptors of a download that does not run.
    package func park() {
        file = nil
        target.close()
    }

    package func discard() {
        if let temporary { target.remove(temporary.name) }
        park()
        temporary = nil
        restored = nil
        generation = nil
        offset = 0
        saveCheckpoint()
    }

    private func saveCheckpoint() {
        let now = generation.flatMap { generation in
            temporary.map {
                DownloadCheckpoint(
                    generation: generation, number: $0.number, inode: $0.inode, offset: offset, crc32c: checksum.crc32c)
            }
        }
        checkpoint.set(now)
    }

    private func opened() throws(StorageError) -> OpenFile {
        guard let file else { throw StorageError(.internalError, "The file \(target.path) was not opened.") }
        return file
    }

    private func flaw(in file: OpenFile, _ size: Int64, _ expected: Checksums) throws(StorageError) -> String? {
        guard offset == size else { return "there are \(offset) of them" }
        var checksum = checksum
        if expected.crc32c == nil, !expected.isEmpty {
            checksum = Checksum()
            _ = try read(file, while: { true }) { checksum.update($0, like: expected) }
        }
        return expected.flaw(in: Checksums(checksum, like: expected))
    }

    private static func damaged(_ path: String, _ size: Int64, _ how: String) -> StorageError {
        StorageError(
            .nonMatchingChecksum,
            "File \(path) was not written: the \(size) bytes did not arrive as they were sent: \(how)."
        ).with(\.file, path)
    }

    private func create() throws(StorageError) {
        begin(try named { name throws(SystemError) in try target.openTemporary(name, [.readingAndWriting, .new]) })
    }

    private func begin(_ new: OpenFile) {
        restored = nil
        checksum = Checksum()
        (file, offset, writeback) = (new, 0, Writeback())
    }

    /// Gives an unnamed file a name, so that it can replace another file.
    private func giveName(to file: OpenFile) throws(StorageError) {
        guard temporary == nil else { return }
        _ = try named { name throws(SystemError) in
            guard try target.link(file, as: name) else { throw .exists }
            return file
        }
    }

    /// Creates a file under an unused name: another program may have created a file with an earlier one.
    private func named(_ make: (String) throws(SystemError) -> OpenFile) throws(StorageError) -> OpenFile {
        if let record {
            try Loop.wait { () async throws(StorageError) in try await record() }
        }
        let first = temporary.map { $0.number + 1 } ?? 0
        for number in first..<first + 16 {
            do throws(SystemError) {
                let name = target.temporaryName(for: task, number: number)
                let file = try make(name)
                temporary = Temporary(name: name, number: number, inode: try file.status().inode)
                return file
            } catch  where error == .exists {
                continue
            } catch {
                throw target.unwritable(error)
            }
        }
        throw target.unwritable(.exists)
    }

    /// Returns false if the parked file is missing.
    private func reopen(while mayGoOn: () -> Bool) throws(StorageError) -> Bool {
        guard let temporary, let opened = try openAgain(temporary.name) else { return false }
        let status = try target.writing { () throws(SystemError) in try opened.status() }
        guard status.kind == .regular, status.inode == temporary.inode else { return false }
        if status.size < offset { (offset, writeback) = (status.size, Writeback()) }
        guard try reread(opened, while: mayGoOn) else { return true }
        if let restored, restored.offset != offset || restored.crc32c != checksum.crc32c {
            target.remove(temporary.name)
            return false
        }
        restored = nil
        file = opened
        return true
    }

    private func openAgain(_ name: String) throws(StorageError) -> OpenFile? {
        do throws(SystemError) {
            return try target.openTemporary(name, [.readingAndWriting, .noWaiting])
        } catch {
            // The file was removed or replaced.
            if error == .notFound || error == .link { return nil }
            throw target.unwritable(error)
        }
    }

    private func reread(_ file: OpenFile, while mayGoOn: () -> Bool) throws(StorageError) -> Bool {
        var checksum = Checksum()
        guard let end = try read(file, while: mayGoOn, { checksum.updateCRC($0) }) else { return false }
        self.checksum = checksum
        offset = end
        return true
    }

    /// Passes the bytes on the disk to `take` and returns the file's end; nil if it may not continue. The bytes of an
    /// earlier process, whose last sync may have failed, are written again.
    private func read(
        _ file: OpenFile, while mayGoOn: () -> Bool, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(StorageError) -> Int64? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.rereadSize, alignment: 4096)
        defer { buffer.deallocate() }
        var verified: Int64 = 0
        while verified < offset {
            guard mayGoOn() else { return nil }
            let piece = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(offset - verified, Int64(buffer.count)))))
            let count = try target.writing { () throws(SystemError) in try file.read(into: piece, at: verified) }
            let bytes = UnsafeRawBufferPointer(rebasing: piece[..<count])
            if restored != nil {
                try target.writing { () throws(SystemError) in try file.write(bytes, at: verified) }
            }
            take(bytes)
            verified += Int64(count)
            if count < piece.count { break }
        }
        return verified
    }
}
