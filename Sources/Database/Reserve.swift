import Platform

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
    private let file: OpenFile
    private let log: OpenFile
    private let opening: OpenFile

    /// Nil where a file cannot be opened: then nothing is kept in reserve.
    init?(_ path: String) {
        do throws(SystemError) {
            file = try OpenFile(path, [.readingAndWriting, .noLink])
            log = try OpenFile(path + "-wal", [.readingAndWriting, .noLink])
            opening = try OpenFile(Self.openingPath(path), [.readingAndWriting, .create, .noLink])
        } catch {
            return nil
        }
    }

    /// Makes room for the first connection; false where none was kept.
    static func release(_ path: String) -> Bool { OpenFile.remove(openingPath(path)) }

    private static func openingPath(_ path: String) -> String { path + "-reserve" }

    /// Gives blocks to a file that will have so many bytes. Returns the system's error where there is no room.
    func grow(to bytes: Int64, mayUseSpare: Bool) -> SystemError? {
        let wanted = bytes + Self.tolerance + (mayUseSpare ? 0 : Self.spareBytes)
        if let limit = CurrentProcess.fileSizeLimit, limit < wanted { return .tooLarge }
        if has(file, wanted) || allocate(file, wanted + Self.step) == nil { return nil }
        return allocate(file, wanted).flatMap { $0.isFull ? $0 : nil }
    }

    /// Gets back, as far as there is room, what was used. Returns whether the file is larger than it has to be.
    func refill(_ bytes: Int64) -> Bool {
        let wanted = bytes + Self.tolerance + Self.spareBytes
        if !has(log, Self.logBytes), allocate(log, Self.logBytes) != nil, !has(log, Self.openingBytes) {
            try? opening.truncate(to: 0)
            _ = allocate(log, Self.openingBytes)
        }
        if !has(file, wanted) { _ = allocate(file, wanted) }
        if !has(opening, Self.openingBytes), allocate(opening, Self.openingBytes) == nil {
            // So that copies have it as well.
            try? opening.truncate(to: Self.openingBytes)
        }
        return ((try? file.status().size) ?? 0) > bytes + 2 * Self.spareBytes
    }

    private func has(_ file: OpenFile, _ bytes: Int64) -> Bool { ((try? file.status().allocated) ?? 0) >= bytes }

    private func allocate(_ file: OpenFile, _ bytes: Int64) -> SystemError? {
        do throws(SystemError) { try file.allocate(bytes) } catch { return error }
        return nil
    }
}
