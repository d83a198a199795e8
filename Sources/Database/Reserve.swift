import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Room on the disk that a database has before it needs it, so that a full disk never refuses what frees room.
///
/// Changes go to the log first. The beginning of the log keeps its blocks for good, and after a checkpoint the log
/// starts over there. A checkpoint needs no room either: pages get their blocks before the change is committed that
/// adds them. Behind them are some spare blocks, which only changes that free room may use. What SQLite makes anew for
/// the first connection has its room in a file of its own, which is emptied for that.
///
/// Where the file system cannot allocate blocks ahead, or writes what is changed elsewhere, there is no such guarantee.
final class Reserve {
    /// Any one change of a few rows fits.
    private static let logBytes: Int64 = 1 << 20
    static let spareBytes: Int64 = 256 << 10
    private static let openingBytes: Int64 = 256 << 10
    /// Asked for at once where there is room.
    private static let step: Int64 = 1 << 20
    /// The file system counts its own blocks of large files among theirs.
    private static let tolerance: Int64 = 64 << 10

    /// Must stay open as long as any connection of this process: closing it drops SQLite's locks.
    private let file: Int32
    private let log: Int32
    private let opening: Int32

    /// Nil where a file cannot be opened: then nothing is kept in reserve.
    init?(_ path: String) {
        func opened(_ path: String, _ flags: Int32 = 0) -> Int32 {
            open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
        }
        (file, log, opening) = (opened(path), opened(path + "-wal"), opened(Self.openingPath(path), O_CREAT))
        if [file, log, opening].contains(where: { $0 < 0 }) { return nil }
    }

    deinit {
        for file in [file, log, opening] where file >= 0 { close(file) }
    }

    /// Makes room for the first connection; false where none was kept.
    static func release(_ path: String) -> Bool { unlink(openingPath(path)) == 0 }

    private static func openingPath(_ path: String) -> String { path + "-reserve" }

    /// Gives blocks to a file that will have so many bytes. Returns the system's error where there is no room.
    func grow(to bytes: Int64, mayUseSpare: Bool) -> Int32? {
        let wanted = bytes + Self.tolerance + (mayUseSpare ? 0 : Self.spareBytes)
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur < wanted { return EFBIG }
        if has(file, wanted) || allocate(file, wanted + Self.step) == 0 { return nil }
        let failure = allocate(file, wanted)
        return [ENOSPC, EDQUOT].contains(failure) ? failure : nil
    }

    /// Gets back, as far as there is room, what was used. Returns whether the file is larger than it has to be.
    func refill(_ bytes: Int64) -> Bool {
        let wanted = bytes + Self.tolerance + Self.spareBytes
        if !has(log, Self.logBytes), allocate(log, Self.logBytes) != 0, !has(log, Self.openingBytes) {
            ftruncate(opening, 0)
            _ = allocate(log, Self.openingBytes)
        }
        if !has(file, wanted) { _ = allocate(file, wanted) }
        if !has(opening, Self.openingBytes), allocate(opening, Self.openingBytes) == 0 {
            // So that copies have it as well.
            ftruncate(opening, off_t(Self.openingBytes))
        }
        var status = stat()
        return fstat(file, &status) == 0 && Int64(status.st_size) > bytes + 2 * Self.spareBytes
    }

    private func has(_ file: Int32, _ bytes: Int64) -> Bool {
        var status = stat()
        return fstat(file, &status) == 0 && Int64(status.st_blocks) * 512 >= bytes
    }

    private func allocate(_ file: Int32, _ bytes: Int64) -> Int32 {
        while csystem_allocate(file, bytes) != 0 {
            if errno != EINTR { return errno }
        }
        return 0
    }
}
