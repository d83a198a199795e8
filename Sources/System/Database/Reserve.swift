import Platform

/// Disk space that a database allocates ahead, so that on a full disk changes that free room still succeed.
///
/// Changes go to the log first. The beginning of the log keeps its blocks, and the log starts over there after a
/// checkpoint. A checkpoint needs no room either: new pages are allocated before the change that adds them is
/// committed. Only changes that free room may use the spare blocks behind them. A separate file, which is truncated
/// when needed, reserves the room for the files that SQLite creates for the first connection.
///
/// There is no such guarantee on file systems that cannot allocate blocks ahead, or that copy on write.
final class Reserve {
    /// Enough for any change of a few rows.
    private static let logBytes: Int64 = 1 << 20
    static let spareBytes: Int64 = 256 << 10
    private static let openingBytes: Int64 = 256 << 10
    /// The amount allocated at once where there is room.
    private static let step: Int64 = 1 << 20
    /// `stat` includes the file system's own blocks of a large file.
    private static let tolerance: Int64 = 64 << 10

    /// Stays open as long as any connection of this process: closing it would release SQLite's locks.
    private let file: OpenFile
    private let log: OpenFile
    private let opening: OpenFile
    /// Of the database file, after the last transaction: nobody else changes it.
    private var (size, allocated): (Int64, Int64) = (0, 0)
    /// The log and the room for the first connection have their blocks, which they keep.
    private var isComplete = false

    /// Returns nil where a file cannot be opened; then there is no reserve.
    init?(_ path: String) {
        do throws(SystemError) {
            file = try OpenFile(path, [.readingAndWriting, .noLink])
            log = try OpenFile(path + "-wal", [.readingAndWriting, .noLink])
            opening = try OpenFile(Self.openingPath(path), [.readingAndWriting, .create, .noLink])
        } catch {
            return nil
        }
    }

    /// Frees the room for the first connection. Returns false where none was reserved.
    static func release(_ path: String) -> Bool { OpenFile.remove(openingPath(path)) }

    private static func openingPath(_ path: String) -> String { path + "-reserve" }

    /// Allocates blocks for a file of `bytes` bytes. Returns the error where there is no room.
    func grow(to bytes: Int64, mayUseSpare: Bool) -> SystemError? {
        let wanted = bytes + Self.tolerance + (mayUseSpare ? 0 : Self.spareBytes)
        if let limit = CurrentProcess.fileSizeLimit, limit < wanted { return .tooLarge }
        if allocated >= wanted || allocate(file, wanted + Self.step) == nil { return nil }
        return allocate(file, wanted).flatMap { $0.isFull ? $0 : nil }
    }

    /// Looks at the file after a transaction. Returns whether all is there that was allocated ahead.
    func isWhole(for bytes: Int64) -> Bool {
        look()
        return isComplete && allocated >= bytes + Self.tolerance + Self.spareBytes
    }

    /// Allocates the used reserve again, as far as there is room. Returns whether the file is larger than necessary.
    func refill(_ bytes: Int64) -> Bool {
        if !isWhole(for: bytes) { allocateAll(bytes) }
        return size > bytes + 2 * Self.spareBytes
    }

    private func allocateAll(_ bytes: Int64) {
        if !has(log, Self.logBytes), allocate(log, Self.logBytes) != nil, !has(log, Self.openingBytes) {
            try? opening.truncate(to: 0)
            _ = allocate(log, Self.openingBytes)
        }
        let wanted = bytes + Self.tolerance + Self.spareBytes
        if allocated < wanted { _ = allocate(file, wanted) }
        if !has(opening, Self.openingBytes), allocate(opening, Self.openingBytes) == nil {
            // The size makes a copy of the file allocate the blocks as well.
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
