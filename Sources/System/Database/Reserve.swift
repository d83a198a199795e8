import Platform

/// Disk space that a database allocates ahead, so that changes that free room succeed even on a full disk.
///
/// Changes go to the log first. The beginning of the log keeps its blocks, and after a checkpoint the log starts over
/// there. A checkpoint needs no room: new pages are allocated before the change that adds them is committed. Only
/// changes that free room may use the spare blocks after them. A separate file, which is truncated when needed,
/// reserves the room for the files that SQLite creates for the first connection.
///
/// File systems that cannot allocate blocks ahead, or that copy on write, give no such guarantee.
final class Reserve {
    /// Enough for any change of a few rows.
    private static let logBytes: Int64 = 1 << 20
    static let spareBytes: Int64 = 256 << 10
    private static let openingBytes: Int64 = 256 << 10
    /// The number of bytes that are allocated at once if there is room.
    private static let step: Int64 = 1 << 20
    /// The file system's own blocks of a large file, which `stat` includes.
    private static let tolerance: Int64 = 64 << 10

    /// Stays open as long as any connection of this process, since closing it would release SQLite's locks.
    private let file: OpenFile
    private let log: OpenFile
    private let opening: OpenFile
    /// The size and the allocated bytes of the database file after the last transaction. Only this process changes the
    /// file.
    private var (size, allocated): (Int64, Int64) = (0, 0)
    /// The log and the room for the first connection are allocated.
    private var isComplete = false
    /// The last refill has found the file larger than necessary.
    private var isTooLarge = false

    /// Nil if a file cannot be opened: the database then has no reserve.
    init?(_ path: String) {
        do throws(SystemError) {
            file = try OpenFile(path, [.readingAndWriting, .noLink])
            log = try OpenFile(path + "-wal", [.readingAndWriting, .noLink])
            opening = try OpenFile(Self.openingPath(path), [.readingAndWriting, .create, .noLink])
        } catch {
            return nil
        }
    }

    /// Frees the room for the first connection. Returns false if none was reserved.
    static func release(_ path: String) -> Bool { OpenFile.remove(openingPath(path)) }

    private static func openingPath(_ path: String) -> String { path + "-reserve" }

    /// Allocates blocks for a file of `bytes` bytes. Returns the error if there is no room.
    func grow(to bytes: Int64, mayUseSpare: Bool) -> SystemError? {
        let wanted = bytes + Self.tolerance + (mayUseSpare ? 0 : Self.spareBytes)
        if let limit = CurrentProcess.fileSizeLimit, limit < wanted { return .tooLarge }
        if allocated >= wanted || allocate(file, wanted + Self.step) == nil { return nil }
        return allocate(file, wanted).flatMap { $0.isFull ? $0 : nil }
    }

    /// Whether all reserved blocks of a file of `bytes` bytes were allocated at the last check, and nothing is left to
    /// do.
    func hasRoom(for bytes: Int64) -> Bool { isComplete && !isTooLarge && has(bytes) }

    /// Checks the file after a transaction, whose checkpoint may have freed blocks behind its end. Returns whether all
    /// reserved blocks are allocated.
    func isWhole(for bytes: Int64) -> Bool {
        look()
        return isComplete && has(bytes)
    }

    private func has(_ bytes: Int64) -> Bool { allocated >= bytes + Self.tolerance + Self.spareBytes }

    /// Allocates used parts of the reserve again, as far as there is room. Returns whether the file is larger than
    /// necessary.
    func refill(_ bytes: Int64) -> Bool {
        if !isWhole(for: bytes) { allocateAll(bytes) }
        isTooLarge = size > bytes + 2 * Self.spareBytes
        return isTooLarge
    }

    private func allocateAll(_ bytes: Int64) {
        if !has(log, Self.logBytes), allocate(log, Self.logBytes) != nil, !has(log, Self.openingBytes) {
            try? opening.truncate(to: 0)
            _ = allocate(log, Self.openingBytes)
        }
        let wanted = bytes + Self.tolerance + Self.spareBytes
        if allocated < wanted { _ = allocate(file, wanted) }
        if !has(opening, Self.openingBytes), allocate(opening, Self.openingBytes) == nil {
            // With this size a copy of the file allocates the blocks, too.
            try? opening.truncate(to: Self.openingBytes)
        }
        isComplete = has(log, Self.logBytes) && has(opening, Self.openingBytes)
        look()
    }

    private func look() {
        guard let status = try? file.status() else { return }
        (size, allocated) = (status.size, status.allocated)
    }

    private func has(_ file: OpenFile, _ bytes: Int64) -> Bool { ((try? file.status().allocated) ?? 0) >= bytes }

    private func allocate(_ file: OpenFile, _ bytes: Int64) -> SystemError? {
        do throws(SystemError) { try file.allocate(bytes) } catch { return error }
        return nil
    }
}
