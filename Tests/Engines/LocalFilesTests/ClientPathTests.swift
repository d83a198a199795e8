import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import LocalFiles

/// What clients cannot name: devices, /proc, and descriptors of the service.
@Suite(.watchdog) struct ClientPathTests {
    private let scratch: Scratch
    private static let isDescriptor = "leads to an open descriptor of a process, or to one of its directories"
    private static func isBelow(_ place: String) -> String {
        "is below \(place), where a service neither reads nor writes for its clients"
    }

    init() throws { scratch = try Scratch() }

    private func link(_ name: String, to target: String) throws -> String {
        let path = "\(scratch.path)/\(name)"
        try #require(symlink(target, path) == 0)
        return path
    }

    private func error(_ body: () throws -> Void) throws -> StorageError {
        var found: StorageError?
        do { try body() } catch { found = error as? StorageError }
        return try #require(found, "no storage error was thrown")
    }

    @Test func `A source that leads to a descriptor or into the system is refused by name`() throws {
        let open = try OpenFile(scratch.file("open", [7]), [])
        let (linked, chained) = (
            try link("linked", to: "/dev/fd/\(open.raw)"), try link("chained", to: scratch.path + "/linked")
        )
        let table = [
            ("/dev/fd/\(open.raw)", Self.isDescriptor), ("/proc/self/fd/\(open.raw)", Self.isDescriptor),
            ("/proc/self/cwd/Package.swift", Self.isDescriptor), ("/proc/self/exe", Self.isDescriptor),
            (linked, Self.isDescriptor), (chained, Self.isDescriptor),
            ("/proc/self/status", Self.isBelow("/proc")),
            (try link("status", to: "/proc/self/status"), Self.isBelow("/proc")),
            ("/sys/kernel/mm/transparent_hugepage/enabled", Self.isBelow("/sys")),
        ]
        for (path, why) in table where access(path, F_OK) == 0 {
            #expect(try error { _ = try SourceFile.inspect(path, in: nil) } == .file(path, why))
        }
    }

    @Test func `A destination that leads to a descriptor or into the system is refused by name, and does not change`()
        throws
    {
        let open = try OpenFile(scratch.file("open", [7]), [.readingAndWriting])
        let linked = try link("linked", to: "/dev/fd/\(open.raw)")
        let table = [
            ("/dev/fd/\(open.raw)", Self.isBelow("/proc")), ("/proc/self/fd/\(open.raw)", Self.isBelow("/proc")),
            ("/dev/stdout", Self.isBelow("/dev")), ("/dev/null", Self.isBelow("/dev")),
            ("/dev/new", Self.isBelow("/dev")),
            ("/proc/self/comm", Self.isBelow("/proc")), ("/sys/new", Self.isBelow("/sys")),
            ("/proc/self/cwd/new", Self.isDescriptor), (linked, Self.isDescriptor),
            (try link("comm", to: "/proc/self/comm"), Self.isBelow("/proc")),
        ]
        for (path, why) in table {
            #expect(try error { try PartialDownload(for: path).open(for: 1) { true } } == .file(path, why))
        }
        var status = stat()
        #expect(lstat(linked, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
        #expect(try contentsOf(scratch.path + "/open") == [7])
    }

    @Test func `A directory that is allowed does not make a file of the system a client's`() throws {
        let allowed = try FileAccessPolicy(reading: ["/proc"], writing: ["/dev"])
        let read = try error { _ = try SourceFile.inspect("/proc/cpuinfo", in: allowed.reading) }
        #expect(read == .file("/proc/cpuinfo", Self.isBelow("/proc")))
        let written = try error { try PartialDownload(for: "/dev/new", in: allowed.writing).open(for: 1) { true } }
        #expect(written == .file("/dev/new", Self.isBelow("/dev")))
    }

    @Test(.enabled(if: access("/dev/shm", W_OK) == 0, "needs a file system in memory"))
    func `Files in memory are a client's`() throws {
        let path = "/dev/shm/storage-rpc-\(getpid())"
        let file = try #require(fopen(path, "w"))
        fclose(file)
        defer { unlink(path) }
        #expect(try SourceFile.inspect(path, in: nil).size == 0)
        let partial = try PartialDownload(for: path)
        try partial.open(for: 1) { true }
        #expect(try partial.finish(size: 0, Checksums(crc32c: 0)) { true })
    }

    @Test func `A pipe without a writer is refused immediately`() throws {
        let path = scratch.path + "/pipe"
        #expect(mkfifo(path, 0o600) == 0)
        let linked = try link("linked", to: path)
        for path in [path, linked] {
            let refused = try error { _ = try SourceFile.inspect(path, in: nil) }
            #expect(refused == .file(path, "is not a regular file but a pipe"))
        }
    }

    @Test(arguments: [0o000, 0o022, 0o027, 0o077] as [UInt32])
    func `A new file has the permissions that the umask of its client leaves`(mask: UInt32) throws {
        let path = scratch.path + "/file"
        var download = try Download(
            reference: Reference(url: "gs://b/a"), file: path, task: "task", caller: Caller(retryTime: .zero))
        download.newFilesMask = mask
        let partial = PartialDownload(download, in: nil)
        try partial.open(for: 1) { true }
        #expect(try partial.finish(size: 0, Checksums(crc32c: 0)) { true })
        #expect(try FileStatus(ofPath: path).permissions == 0o666 & ~mask)
    }
}
