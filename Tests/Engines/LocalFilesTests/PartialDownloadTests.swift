import Checksums
import Glibc
import Platform
import Storage
import Synchronization
import TestSupport
import Testing

@testable import LocalFiles
@testable import Roots

@Suite(.watchdog) struct PartialDownloadTests {
    private let scratch: Scratch
    private let bytes = noise(3 << 20)
    private var target: String { scratch.path + "/file" }
    private var crc32c: UInt32 { Checksum(of: bytes).crc32c }

    init() throws { scratch = try Scratch() }

    /// A download that was parked after `count` bytes, and the path of its partial file.
    private func parked(at count: Int = 1_500_000) throws -> (partial: PartialDownload, path: String) {
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1) { true }
        try append(partial, to: count)
        partial.park()
        let name = try #require(names(in: scratch.path).first { $0.hasSuffix(".part") })
        return (partial, scratch.path + "/" + name)
    }

    private func append(_ partial: PartialDownload, to end: Int) throws {
        let start = Int(partial.offset)
        try bytes.withUnsafeBytes { try partial.append(.init(rebasing: $0[start..<end])) }
    }

    private func complete(_ partial: PartialDownload) throws -> Bool {
        try partial.open(for: 1) { true }
        try append(partial, to: bytes.count)
        return try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { true }
    }

    private func error(_ body: () throws -> Void) throws -> StorageError {
        var found: StorageError?
        do { try body() } catch { found = error as? StorageError }
        return try #require(found, "no storage error was thrown")
    }

    @Test func `A newer file is kept until a client resumes the download, except the one that it has stored itself`()
        throws
    {
        let hourAgo = Beginning(TimeSource.system.now().advanced(by: .seconds(-3600)))
        let (partial, path) = try parked()
        let other = try scratch.file("file", [1])
        partial.keepsNewer = hourAgo
        #expect(try error { try partial.open(for: 1) { true } }.message == StorageError.newerFile(at: target).message)
        #expect(partial.isSuperseded)
        partial.keepsNewer = nil
        #expect(!partial.isSuperseded, "the next error is about something else")
        #expect(unlink(other) == 0)
        // A process that ends between the rename and the record of the end leaves its own file.
        var times = [timespec(tv_sec: 1, tv_nsec: 0), timespec(tv_sec: 1, tv_nsec: 0)]
        #expect(utimensat(AT_FDCWD, path, &times, 0) == 0 && rename(path, target) == 0)
        let caller = Caller(retryTime: .zero)
        var download = Download(reference: try ref("a"), file: target, task: "task", caller: caller)
        (download.isRestored, download.bookmark) = (true, partial.checkpoint.bookmark)
        let next = PartialDownload(download, in: nil)
        next.keepsNewer = hourAgo
        #expect(try complete(next) && !next.isSuperseded)
        #expect(try contentsOf(target) == bytes)
    }

    @Test(arguments: [true, false])
    func `With keepsExisting a file that appears before the last moment is kept`(isShort: Bool) throws {
        var download = Download(reference: try ref("a"), file: target, task: "task", caller: Caller(retryTime: .zero))
        download.keepsExisting = true
        let partial = PartialDownload(download, in: nil)
        try partial.open(for: 1, isShort: isShort) { true }
        try append(partial, to: bytes.count)
        let failure = try error {
            _ = try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) {
                (try? scratch.file("file", [1])) != nil
            }
        }
        #expect(failure.code == .preconditionFailed && failure.message.contains(target))
        partial.discard()
        #expect(try contentsOf(target) == [1] && names(in: scratch.path) == ["file"])
        #expect(unlink(target) == 0)
        #expect(try complete(PartialDownload(download, in: nil)))
        #expect(try contentsOf(target) == bytes && names(in: scratch.path) == ["file"])
    }

    @Test(arguments: [Leftover.bothNames, .bothNamesAndNoCheckpoint, .destination, .bothNamesOfAnOlderGeneration])
    func `With keepsExisting a download replaces the file that an earlier process has put there for it`(
        leftover: Leftover
    ) throws {
        let (partial, path) = try parked()
        var download = Download(reference: try ref("a"), file: target, task: "task", caller: Caller(retryTime: .zero))
        (download.keepsExisting, download.isRestored) = (true, true)
        if leftover != .bothNamesAndNoCheckpoint { download.bookmark = partial.checkpoint.bookmark }
        #expect(link(path, target) == 0)
        if leftover == .destination { #expect(unlink(path) == 0) }
        let next = PartialDownload(download, in: nil)
        let generation: Int64 = leftover == .bothNamesOfAnOlderGeneration ? 2 : 1
        try next.open(for: generation) { true }
        try append(next, to: bytes.count)
        #expect(try next.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { true })
        #expect(try contentsOf(target) == bytes && names(in: scratch.path) == ["file"])
    }

    enum Leftover: Sendable { case bothNames, bothNamesAndNoCheckpoint, destination, bothNamesOfAnOlderGeneration }

    @Test func `With keepsExisting a partial file that is left beside the file of another program is removed`() throws {
        let (partial, _) = try parked()
        var download = Download(reference: try ref("a"), file: target, task: "task", caller: Caller(retryTime: .zero))
        (download.keepsExisting, download.isRestored, download.bookmark) = (true, true, partial.checkpoint.bookmark)
        _ = try scratch.file("file", [1])
        let next = PartialDownload(download, in: nil)
        #expect(try error { try next.open(for: 1) { true } }.code == .preconditionFailed)
        next.discard()
        #expect(try contentsOf(target) == [1] && names(in: scratch.path) == ["file"])
    }

    @Test func `A short download has no name before it is complete`() throws {
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1, isShort: true) { true }
        try append(partial, to: 1000)
        #expect(try names(in: scratch.path) == [] && partial.checkpoint.bookmark == nil)
        try append(partial, to: bytes.count)
        #expect(try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { true })
        #expect(try contentsOf(target) == bytes && names(in: scratch.path) == ["file"])
    }

    @Test(arguments: [NewNeighbour.file, .link, .directory])
    func `What appears at the destination of a short download is replaced like what was there before`(
        _ appears: NewNeighbour
    ) throws {
        let other = try scratch.file("other", [7])
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1, isShort: true) { true }
        try append(partial, to: bytes.count)
        let isMade =
            switch appears {
            case .file: try chmod(scratch.file("file", [1]), 0o640) == 0
            case .link: symlink(other, target) == 0
            case .directory: mkdir(target, 0o700) == 0
            }
        try #require(isMade)
        let finish = { try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { true } }
        if appears == .directory {
            #expect(try error { _ = try finish() } == .file(target, "is not a regular file but a directory"))
            try #require(rmdir(target) == 0)
        }
        #expect(try finish())
        #expect(try contentsOf(target) == bytes && contentsOf(other) == [7])
        #expect(try names(in: scratch.path) == ["file", "other"])
        var status = stat()
        try #require(lstat(target, &status) == 0)
        let expected = appears == .file ? 0o640 : 0o666 & ~NewFiles.mask.load(ordering: .relaxed)
        #expect(status.st_mode & 0o777 == expected)
    }

    enum NewNeighbour: Sendable { case file, link, directory }

    @Test(.disabled(if: geteuid() == 0, "everything is readable to root"))
    func `A directory that may not be read can be written to`() throws {
        #expect(chmod(scratch.path, 0o300) == 0)
        defer { chmod(scratch.path, 0o700) }
        #expect(try complete(PartialDownload(for: target)))
        #expect(try contentsOf(target) == bytes)
    }

    @Test func `A short download that was parked starts over`() throws {
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1, isShort: true) { true }
        try append(partial, to: 1000)
        partial.park()
        try partial.open(for: 1, isShort: true) { true }
        #expect(partial.offset == 0)
        try append(partial, to: bytes.count)
        #expect(try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { true })
        #expect(try contentsOf(target) == bytes)
    }

    @Test(arguments: [false, true])
    func `A short download is recorded before it gets a name beside the file it replaces`(comesLate: Bool) throws {
        if !comesLate { _ = try scratch.file("file", [1]) }
        let recorded = Mutex<[[String]]>([])
        var download = try Download(
            reference: ref("a"), file: target, task: "task", caller: Caller(retryTime: .zero))
        download.record = { [scratch] in
            let names = (try? names(in: scratch.path)) ?? []
            recorded.withLock { $0.append(names) }
        }
        let partial = PartialDownload(download, in: nil)
        try partial.open(for: 1, isShort: true) { true }
        try append(partial, to: bytes.count)
        #expect(recorded.withLock { $0 }.isEmpty)
        #expect(
            try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) {
                if comesLate { _ = try? scratch.file("file", [1]) }
                return true
            })
        #expect(recorded.withLock { $0 } == [["file"]])
        #expect(try contentsOf(target) == bytes && names(in: scratch.path) == ["file"])
    }

    @Test func `A download that cannot be recorded leaves no file`() throws {
        var download = try Download(
            reference: ref("a"), file: target, task: "task", caller: Caller(retryTime: .zero))
        download.record = { () async throws(StorageError) in throw StorageError(.quotaExceeded, "full") }
        let partial = PartialDownload(download, in: nil)
        #expect(try error { try partial.open(for: 1) { true } }.code == .quotaExceeded)
        #expect(try names(in: scratch.path) == [])
    }

    @Test func `A parked download continues after its last byte`() throws {
        let (partial, _) = try parked()
        try partial.open(for: 1) { true }
        #expect(partial.offset == 1_500_000)
        #expect(try complete(partial))
        #expect(try contentsOf(target) == bytes && names(in: scratch.path) == ["file"])
    }

    @Test func `Another generation starts over and leaves one file`() throws {
        let (partial, path) = try parked()
        try partial.open(for: 2) { true }
        #expect(partial.offset == 0)
        #expect(try contentsOf(path) == [] && names(in: scratch.path).count == 1)
    }

    @Test(arguments: [0, 700_000, 1_499_999])
    func `Changed bytes of a parked download are detected`(place: Int) throws {
        _ = try scratch.file("file", [1, 2, 3])
        let (partial, path) = try parked()
        let file = open(path, O_WRONLY)
        #expect(pwrite(file, [bytes[place] ^ 1], 1, place) == 1)
        close(file)
        let error = try error { _ = try complete(partial) }
        #expect(error.code == .nonMatchingChecksum && error.file == target)
        #expect(try contentsOf(target) == [1, 2, 3] && names(in: scratch.path) == ["file"])
        #expect(try complete(partial))
        #expect(try contentsOf(target) == bytes)
    }

    @Test(arguments: [0, 1, 1_048_576, 1_499_999, 1_500_001, 9_000_000])
    func `A partial file that was cut or extended continues from the received bytes`(size: Int) throws {
        let (partial, path) = try parked()
        #expect(truncate(path, size) == 0)
        try partial.open(for: 1) { true }
        #expect(partial.offset == min(size, 1_500_000))
        if size <= 1_500_000 {
            #expect(try complete(partial))
            #expect(try contentsOf(target) == bytes)
        }
    }

    @Test func `Bytes behind the last received one are not kept`() throws {
        let (partial, path) = try parked()
        #expect(truncate(path, 9_000_000) == 0)
        #expect(try complete(partial))
        #expect(try contentsOf(target) == bytes)
    }

    @Test func `A partial file that was removed starts over`() throws {
        let (partial, path) = try parked()
        #expect(unlink(path) == 0)
        #expect(try complete(partial))
        #expect(try contentsOf(target) == bytes && names(in: scratch.path) == ["file"])
    }

    @Test func `A file in place of the partial file is neither followed nor changed`() throws {
        let other = try scratch.file("other", [7])
        for makeImpostor in [{ symlink(other, $0) }, { link(other, $0) }, { mkfifo($0, 0o600) }] {
            let (partial, path) = try parked()
            #expect(unlink(path) == 0 && makeImpostor(path) == 0)
            #expect(try complete(partial))
            #expect(try contentsOf(target) == bytes && contentsOf(other) == [7])
            #expect(access(path, F_OK) == 0 && unlink(path) == 0)
        }
    }

    enum Failure: CaseIterable { case sync, syncWithoutName, writeback }

    @Test(arguments: Failure.allCases)
    func `After bytes could not be written to the disk a download starts over`(failure: Failure) throws {
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1, isShort: failure == .syncWithoutName) { true }
        try append(partial, to: bytes.count)
        // The one can be cut but not synced, the other takes bytes but has no disk.
        try redirect(descriptorsOf: scratch.path + "/", to: failure == .sync ? "/proc/self/comm" : "/dev/null")
        let error = try error {
            if failure == .writeback {
                for _ in 0..<3 { try bytes.withUnsafeBytes { try partial.append($0) } }
            } else {
                _ = try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { true }
            }
        }
        #expect(error.code == .unknown && error.message.contains("cannot be written"))
        #expect(try partial.offset == 0 && partial.checkpoint.bookmark == nil && names(in: scratch.path) == [])
        #expect(try complete(partial))
        #expect(try contentsOf(target) == bytes)
    }

    @Test func `The next process writes received bytes again, as their sync may have failed`() throws {
        let bytes = [UInt8](repeating: 0, count: 1_500_000)
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1) { true }
        try bytes.withUnsafeBytes { try partial.append($0) }
        partial.park()
        let path = try scratch.path + "/" + #require(names(in: scratch.path).first)
        try lose(bytesOf: path, bytes.count)
        var download = Download(reference: try ref("a"), file: target, task: "task", caller: Caller(retryTime: .zero))
        (download.isRestored, download.bookmark) = (true, partial.checkpoint.bookmark)
        let next = PartialDownload(download, in: nil)
        try next.open(for: 1) { true }
        #expect(try next.offset == bytes.count && takenBlocks(of: path) > 0)
        #expect(try next.finish(size: Int64(bytes.count), Checksums(crc32c: Checksum(of: bytes).crc32c)) { true })
        #expect(try contentsOf(target) == bytes)
    }

    @Test func `Reading received bytes again can be cancelled`() throws {
        let (partial, _) = try parked()
        try partial.open(for: 1) { false }
        #expect(partial.offset == 1_500_000)
        #expect(try complete(partial))
        #expect(try contentsOf(target) == bytes)
    }

    @Test func `A download without permission to commit replaces nothing, and can commit later`() throws {
        _ = try scratch.file("file", [1, 2, 3])
        let (partial, _) = try parked(at: 3 << 20)
        try partial.open(for: 1) { true }
        #expect(try !partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { false })
        #expect(try contentsOf(target) == [1, 2, 3])
        partial.park()
        #expect(try complete(partial))
        #expect(try contentsOf(target) == bytes && names(in: scratch.path) == ["file"])
    }

    @Test func `Missing bytes are an error, with and without a checksum`() throws {
        for checksum in [crc32c, nil] {
            let (partial, _) = try parked()
            try partial.open(for: 1) { true }
            let error = try error { _ = try partial.finish(size: 3 << 20, Checksums(crc32c: checksum)) { true } }
            #expect(error.code == .nonMatchingChecksum && error.message.contains("1500000"))
            #expect(try names(in: scratch.path) == [])
        }
    }

    @Test func `A partial file is private until it replaces its destination`() throws {
        let (partial, path) = try parked()
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let usual = try scratch.file("usual", [])
        var expected = stat()
        #expect(stat(usual, &expected) == 0)
        NewFiles.mask.store(0o666 & ~expected.st_mode, ordering: .relaxed)
        #expect(try complete(partial))
        #expect(stat(target, &status) == 0)
        #expect(status.st_mode == expected.st_mode)
    }

    @Test func `A file that is replaced keeps its permissions`() throws {
        let (partial, _) = try parked()
        _ = try scratch.file("file", [1])
        #expect(chmod(target, 0o640) == 0)
        #expect(try complete(partial))
        var status = stat()
        #expect(stat(target, &status) == 0 && status.st_mode & 0o777 == 0o640)
    }

    @Test(arguments: [("x", 255), ("é", 127), ("😀", 63), ("e\u{301}", 85)])
    func `A destination with a name of maximum length can be downloaded`(letter: String, count: Int) throws {
        let target = scratch.path + "/" + String(repeating: letter, count: count)
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1) { true }
        #expect(try names(in: scratch.path).first?.hasPrefix("." + letter) == true)
        #expect(try partial.finish(size: 0, Checksums(crc32c: 0)) { true })
        #expect(try contentsOf(target) == [] && names(in: scratch.path).count == 1)
    }

    @Test func `A symbolic link is replaced, and its target is not changed`() throws {
        let other = try scratch.file("other", [7])
        for leadsTo in [other, scratch.path + "/nowhere"] {
            #expect(symlink(leadsTo, target) == 0)
            #expect(try complete(PartialDownload(for: target)))
            var status = stat()
            #expect(lstat(target, &status) == 0 && status.st_mode & S_IFMT == S_IFREG)
            #expect(try contentsOf(target) == bytes && contentsOf(other) == [7])
            #expect(unlink(target) == 0 && access(scratch.path + "/nowhere", F_OK) != 0)
        }
    }

    @Test func `An invalid destination is an error with the reason`() throws {
        let file = try scratch.file("plain", [1])
        let (directory, fifo, link) = (scratch.path + "/dir", scratch.path + "/fifo", scratch.path + "/link")
        #expect(mkdir(directory, 0o700) == 0 && mkfifo(fifo, 0o600) == 0 && symlink(directory, link) == 0)
        let before = try names(in: scratch.path)
        let isDirectory = "is not a regular file but a directory"
        let table = [
            (directory, isDirectory), (directory + "/", isDirectory), (directory + "/.", isDirectory),
            (directory + "/..", isDirectory), ("/", isDirectory), (link, isDirectory),
            (fifo, "is not a regular file but a pipe"),
            (
                scratch.path + "/no/file",
                "cannot be written: the directory \(scratch.path)/no does not exist"
            ),
            (file + "/below", "cannot be written: Not a directory"),
            ("relative", "cannot be written: it needs an absolute path"),
            ("", "cannot be written: it needs an absolute path"),
            (scratch.path + "/a\0b", "cannot be written: it needs an absolute path"),
            (scratch.path + "/" + String(repeating: "x", count: 256), "cannot be written: File name too long"),
        ]
        for (path, why) in table {
            #expect(try error { try PartialDownload(for: path).open(for: 1) { true } } == .file(path, why))
        }
        #expect(try names(in: scratch.path) == before)
    }

    @Test func `A directory at the destination is not replaced`() throws {
        let (partial, _) = try parked(at: 3 << 20)
        try partial.open(for: 1) { true }
        #expect(mkdir(target, 0o700) == 0)
        let error = try error { _ = try partial.finish(size: 3 << 20, Checksums(crc32c: crc32c)) { true } }
        #expect(error == .file(target, "is not a regular file but a directory"))
        #expect(rmdir(target) == 0)
        #expect(try partial.finish(size: 3 << 20, Checksums(crc32c: crc32c)) { true })
        #expect(try contentsOf(target) == bytes)
    }

    @Test(.disabled(if: geteuid() == 0, "nothing is forbidden to root"))
    func `A directory without write permission is an error with the reason`() throws {
        #expect(chmod(scratch.path, 0o500) == 0)
        defer { chmod(scratch.path, 0o700) }
        let error = try error { try PartialDownload(for: target).open(for: 1) { true } }
        #expect(error == .file(target, "cannot be written: Permission denied"))
    }

    @Test(.enabled(if: SmallDisk.isPossible, "needs to mount"))
    func `A full or read-only disk is an error, and the download can continue with space`() throws {
        let disk = try #require(SmallDisk(bytes: 2 << 20))
        let target = disk.path + "/file"
        let partial = try PartialDownload(for: target)
        try partial.open(for: 1) { true }
        let full = StorageError.file(target, "cannot be written: No space left on device")
            .with(\.code, .quotaExceeded)
        #expect(try error { try append(partial, to: bytes.count) } == full)
        #expect(try names(in: disk.path).count == 1)
        disk.change(bytes: 8 << 20)
        try append(partial, to: bytes.count)
        #expect(try partial.finish(size: Int64(bytes.count), Checksums(crc32c: crc32c)) { true })
        #expect(try contentsOf(target) == bytes)
        disk.change(bytes: 8 << 20, isReadOnly: true)
        let error = try error { try PartialDownload(for: target).open(for: 1) { true } }
        #expect(error == .file(target, "cannot be written: Read-only file system"))
    }
}

/// A small disk in memory.
private final class SmallDisk {
    let path: String
    private let scratch: Scratch

    init?(bytes: Int) {
        do { scratch = try Scratch() } catch { return nil }
        path = scratch.path + "/disk"
        guard mkdir(path, 0o700) == 0, mount("tmpfs", path, "tmpfs", 0, "size=\(bytes)") == 0 else { return nil }
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }

    static var isPossible: Bool { SmallDisk(bytes: 4096) != nil }

    func change(bytes: Int, isReadOnly: Bool = false) {
        let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
        #expect(mount("tmpfs", path, "tmpfs", flags, "size=\(bytes)") == 0)
    }
}

extension PartialDownload {
    convenience init(for path: String, in allowed: AllowedDirectories? = nil) throws {
        self.init(
            Download(reference: try ref("a"), file: path, task: "task", caller: Caller(retryTime: .zero)), in: allowed)
    }
}
