import Checksums
import Platform
import Storage
import Synchronization

/// How far a download's file was, once: a later process goes on from there.
struct LandingMark: Codable {
    var generation: Int64
    /// Of the name.
    var number: Int
    var inode: UInt64
    /// In bytes, like the one below of all before it.
    var offset: Int64
    var crc32c: UInt32
}

/// Where a download's file is, for those who ask on other threads.
package final class LandingBookmark: Sendable {
    private let mark = Mutex<LandingMark?>(nil)

    /// Where a later process may go on.
    package var bookmark: Bookmark? { mark.withLock { $0 }.flatMap { try? $0.text }.map(Bookmark.init) }

    func place(_ mark: LandingMark?) { self.mark.withLock { $0 = mark } }
}

/// The file that a download arrives in, beside the one that it becomes: that one is replaced in one moment, when
/// all bytes are on the disk and have the checksum that they should have.
///
/// For one thread at a time, which may block. A link at the target is itself replaced, not what it leads to; a target
/// that is no file, or leads to none, is refused. While it is parked its file is anybody's: whatever is in it is read
/// again before it goes on, so that bytes which were changed meanwhile do not pass for those that arrived.
package final class LandingFile {
    private static let rereadSize = 1 << 20

    /// All bytes before it have arrived.
    package private(set) var offset: Int64 = 0
    private var target: LandingPlace
    private var generation: Int64?
    private let task: String
    private var temporary: Temporary?
    /// What an earlier process has left, until that has been looked at.
    private var restored: LandingMark?
    package let mark = LandingBookmark()
    private var file: OpenFile?
    private var checksum = Checksum()
    private var writeback = Writeback()

    private struct Temporary {
        let name: String
        let number: Int
        let inode: UInt64
    }

    package init(_ download: Download, in allowed: AllowedDirectories?) {
        target = LandingPlace(path: download.file, in: allowed)
        task = download.task
        guard download.isRestored else { return }
        restored = download.bookmark.flatMap { try? LandingMark(text: $0.text) }
        if let number = restored?.number, !(0..<1 << 20).contains(number) { restored = nil }
        let number = restored?.number ?? 0
        temporary = Temporary(
            name: target.temporaryName(for: task, number: number), number: number, inode: restored?.inode ?? 0)
        generation = restored?.generation
        offset = max(0, restored?.offset ?? 0)
        mark.place(restored)
    }

    /// Goes on where it was parked, or from the first byte where it has none of this generation. Returns early once
    /// it may not go on any more. Throws what `LandingPlace` throws.
    package func open(for generation: Int64, while mayGoOn: () -> Bool) throws(StorageError) {
        if generation != self.generation { discard() }
        self.generation = generation
        guard file == nil else { return }
        try target.open()
        try target.check()
        if try !reopen(while: mayGoOn) { try create() }
    }

    /// Writes all of it behind what is there.
    package func append(_ bytes: UnsafeRawBufferPointer) throws(StorageError) {
        let file = try opened()
        try target.writing { () throws(SystemError) in try file.write(bytes, at: offset) }
        checksum.updateCRC(bytes)
        offset += Int64(bytes.count)
        writeback.wrote(file, upTo: offset)
        placeMark()
    }

    /// Puts the file in its place; false where `mayCommit` says no at the last moment. A checksum that is not known
    /// is not compared; the MD5 only where the CRC32C is not known, as it takes reading them all. Bytes that are not
    /// what they should be are thrown away with `nonMatchingChecksum`.
    package func finish(
        size: Int64, crc32c: UInt32?, md5: [UInt8]? = nil, if mayCommit: () -> Bool
    ) throws(StorageError) -> Bool {
        let file = try opened()
        if let flaw = try flaw(in: file, size, crc32c, md5) {
            discard()
            throw Self.damaged(target.path, size, flaw)
        }
        try target.writing { () throws(SystemError) in
            // Somebody may have put more behind it while it was parked.
            try file.truncate(to: size)
            try file.sync()
        }
        do throws(StorageError) {
            try target.open()
        } catch {
            // The way to what has arrived is lost with the directory.
            discard()
            throw error
        }
        try target.check()
        guard let temporary, mayCommit() else { return false }
        try target.take(temporary.name, file)
        self.temporary = nil
        defer { discard() }
        try target.syncDirectory()
        return true
    }

    /// Holds no descriptor while it does not move.
    package func park() {
        file = nil
        target.close()
    }

    /// Leaves nothing behind but what is in its place already.
    package func discard() {
        if let temporary { target.remove(temporary.name) }
        park()
        temporary = nil
        restored = nil
        generation = nil
        offset = 0
        placeMark()
    }

    private func placeMark() {
        let now = generation.flatMap { generation in
            temporary.map {
                LandingMark(
                    generation: generation, number: $0.number, inode: $0.inode, offset: offset, crc32c: checksum.crc32c)
            }
        }
        mark.place(now)
    }

    private func opened() throws(StorageError) -> OpenFile {
        guard let file else { throw StorageError(.internalError, "The file \(target.path) was not opened.") }
        return file
    }

    private func flaw(in file: OpenFile, _ size: Int64, _ crc32c: UInt32?, _ md5: [UInt8]?) throws(StorageError)
        -> String?
    {
        guard offset == size else { return "there are \(offset) of them" }
        if let crc32c { return crc32c == checksum.crc32c ? nil : "their CRC32C is another" }
        guard let md5 else { return nil }
        var checksum = Checksum()
        _ = try read(file, while: { true }) { checksum.updateMD5($0) }
        return md5 == checksum.md5 ? nil : "their MD5 is another"
    }

    private static func damaged(_ path: String, _ size: Int64, _ how: String) -> StorageError {
        var error = StorageError(
            .nonMatchingChecksum,
            "File \(path) was not written: the \(size) bytes did not arrive as they were sent: \(how).")
        error.file = path
        return error
    }
}

// MARK: - Opening

extension LandingFile {
    private func create() throws(StorageError) {
        let (number, opened) = try newFile(after: temporary.map(\.number))
        let status = try target.writing { () throws(SystemError) in try opened.status() }
        temporary = Temporary(
            name: target.temporaryName(for: task, number: number), number: number, inode: status.inode)
        restored = nil
        checksum = Checksum()
        (file, offset, writeback) = (opened, 0, Writeback())
    }

    /// Somebody may have put something else in the place of an earlier one.
    private func newFile(after last: Int?) throws(StorageError) -> (number: Int, OpenFile) {
        let first = last.map { $0 + 1 } ?? 0
        for number in first..<first + 16 {
            do throws(SystemError) {
                let name = target.temporaryName(for: task, number: number)
                return (number, try target.openTemporary(name, [.readingAndWriting, .new]))
            } catch  where error == .exists {
                continue
            } catch {
                throw target.unwritable(error)
            }
        }
        throw target.unwritable(.exists)
    }

    /// False where what was parked is not there any more.
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
            // Gone, or another one in its place.
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

    /// Hands on what has arrived, and tells where the file ends before that; nil where it may not go on.
    private func read(
        _ file: OpenFile, while mayGoOn: () -> Bool, _ take: (UnsafeRawBufferPointer) -> Void
    ) throws(StorageError) -> Int64? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.rereadSize, alignment: 4096)
        defer { buffer.deallocate() }
        var place: Int64 = 0
        while place < offset {
            guard mayGoOn() else { return nil }
            let piece = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(offset - place, Int64(buffer.count)))))
            let count = try target.writing { () throws(SystemError) in try file.read(into: piece, at: place) }
            take(UnsafeRawBufferPointer(rebasing: piece[..<count]))
            place += Int64(count)
            if count < piece.count { break }
        }
        return place
    }
}
