import CSystem
import Glibc
import Metrics

/// An open file, closed with its last owner. Every call may block, so it must not run on the loop.
package final class OpenFile: Sendable {
    package let raw: Int32

    /// How to open a file; without a flag, for reading.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }

        package static let writing = Flags(rawValue: O_WRONLY)
        package static let readingAndWriting = Flags(rawValue: O_RDWR)
        package static let create = Flags(rawValue: O_CREAT)
        /// Creates a file; fails if it exists.
        package static let new = Flags(rawValue: O_CREAT | O_EXCL)
        package static let directory = Flags(rawValue: O_DIRECTORY)
        package static let noLink = Flags(rawValue: O_NOFOLLOW)
        /// Opens a pipe even without a writer.
        package static let noWaiting = Flags(rawValue: O_NONBLOCK | O_NOCTTY)
        package static let append = Flags(rawValue: O_APPEND)
        package static let truncate = Flags(rawValue: O_TRUNC)
    }

    /// A new file can be read and written only by its owner.
    package init(_ path: String, _ flags: Flags, in directory: OpenFile? = nil) throws(SystemError) {
        let (start, flags) = (directory?.raw ?? AT_FDCWD, flags.rawValue | O_CLOEXEC)
        raw = try DescriptorLimit.opened(mustKeep: flags & O_EXCL != 0) { openat(start, path, flags, 0o600) }
    }

    init(owning opened: @autoclosure () -> Int32) throws(SystemError) {
        raw = try DescriptorLimit.opened(opened)
    }

    deinit { close(raw) }

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
        try Self.read(raw, into: buffer, at: offset)
    }

    package static func read(
        _ raw: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(SystemError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = pread(raw, rest.baseAddress, rest.count, Int(offset) + filled)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last }
            if count == 0 { break }
            filled += count
        }
        return filled
    }

    /// Appends to a file that was opened for appending; returns the number of bytes written.
    package func append(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        while true {
            let count = bytes.withUnsafeBytes { Glibc.write(raw, $0.baseAddress, $0.count) }
            if count > 0 { return count }
            guard count < 0, errno == EINTR else { throw .last }
        }
    }

    /// Reads at most `count` bytes from the start.
    package func readAll(atMost count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBufferPointer { (buffer) throws(SystemError) in
            try read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        bytes.removeSubrange(filled...)
        return bytes
    }

    /// Writes all bytes.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = pwrite(raw, rest.baseAddress, rest.count, Int(offset) + written)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw count == 0 ? .inputOutput : .last }
            written += count
        }
    }

    package func write(_ bytes: [UInt8], at offset: Int64) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
            try write(UnsafeRawBufferPointer(bytes), at: offset)
        }
    }

    /// Returns when the file's bytes are on the disk; at once if the process syncs nothing.
    package func sync() throws(SystemError) {
        guard Durability.ofProcess == .full else { return }
        try ProcessMetrics.syncs.time { () throws(SystemError) in try check(csystem_sync(raw)) }
    }

    package func truncate(to size: Int64) throws(SystemError) { try check(ftruncate(raw, off_t(size))) }

    package func setPermissions(_ permissions: UInt32) throws(SystemError) { try check(fchmod(raw, permissions)) }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try check(fstat(raw, &status))
        return FileStatus(status)
    }

    /// Takes an exclusive lock; returns false if another process holds a lock. It ends with the last owner, and with
    /// the process.
    package func lock() -> Bool { flock(raw, LOCK_EX | LOCK_NB) == 0 }

    /// Takes a shared lock, which several processes may hold; returns false if another process holds an exclusive lock.
    package func lockShared() -> Bool { flock(raw, LOCK_SH | LOCK_NB) == 0 }

    package func unlock() { flock(raw, LOCK_UN) }
}

// MARK: - Directories

extension OpenFile {
    /// The status of a file in this directory.
    package func status(of name: String, followingLinks: Bool = false) throws(SystemError) -> FileStatus {
        var status = stat()
        // A `String` that is passed directly would be copied.
        try check(name.withCString { fstatat(raw, $0, &status, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) })
        return FileStatus(status)
    }

    /// Creates a directory that only its owner may use. Returns false if the name exists.
    package func makeDirectory(_ name: String) throws(SystemError) -> Bool { try made(mkdirat(raw, name, 0o700)) }

    package static func makeDirectory(_ path: String) throws(SystemError) -> Bool { try made(mkdir(path, 0o700)) }

    /// Creates a directory with the user's umask; it inherits the group if the file system says so. Returns false if
    /// the name exists.
    package func makePublicDirectory(_ name: String, mask: UInt32) throws(SystemError) -> Bool {
        guard try makeDirectory(name) else { return false }
        let new = try OpenFile(name, [.directory, .noLink], in: self)
        try new.setPermissions(0o777 & ~mask | new.status().permissions & 0o6000)
        return true
    }

    /// Removes a file of this directory. Returns false if it does not exist.
    @discardableResult
    package func remove(_ name: String) throws(SystemError) -> Bool {
        if unlinkat(raw, name, 0) == 0 { return true }
        guard errno == ENOENT else { throw .last }
        return false
    }

    /// Removes an empty subdirectory.
    package func removeDirectory(_ name: String) throws(SystemError) {
        try check(unlinkat(raw, name, AT_REMOVEDIR))
    }

    /// Removes a file. Returns false if that fails.
    package static func remove(_ path: String) -> Bool { unlink(path) == 0 }

    package static func removeDirectory(_ path: String) { rmdir(path) }

    /// Creates a directory with a unique name that only its owner may use; returns its path.
    package static func makeTemporaryDirectory(_ prefix: String) throws(SystemError) -> String {
        var path = Array("\(prefix)XXXXXX".utf8CString)
        guard mkdtemp(&path) != nil else { throw .last }
        return String(decoding: path.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Renames a file in this directory; a file with the other name is replaced.
    package func rename(_ name: String, to other: String) throws(SystemError) {
        try check(renameat(raw, name, raw, other))
    }

    /// Moves a file into this directory.
    package func take(_ path: String, as name: String) throws(SystemError) {
        try check(renameat(AT_FDCWD, path, raw, name))
    }

    /// Moves a file into this directory, durably. After a failed sync the file is where it was: a later sync may leave out
    /// its new name, and another move names it again.
    package func takeDurably(_ path: String, as name: String) throws(SystemError) {
        try take(path, as: name)
        do throws(SystemError) { try syncNames() } catch {
            _ = renameat(raw, name, AT_FDCWD, path)
            throw error
        }
    }

    /// Gives the file a second name (a hard link).
    package static func link(_ path: String, to other: String) throws(SystemError) {
        guard Glibc.link(path, other) == 0 else { throw .last }
    }

    /// Returns when everything written to files of the same file system is on the disk.
    package func syncFileSystem() throws(SystemError) { try check(csystem_sync_file_system(raw)) }

    /// Writes the names in this directory to the disk, unless the process syncs nothing.
    package func syncNames() throws(SystemError) {
        guard Durability.ofProcess == .full else { return }
        try check(fsync(raw))
    }

    /// Syncs the names in a directory by its path; ignores directories that cannot be read or synced.
    package static func syncDirectory(_ path: String, in start: OpenFile? = nil) throws(SystemError) {
        do throws(SystemError) {
            try OpenFile(path, .directory, in: start).syncNames()
        } catch  where error.code == EACCES || error.code == EINVAL {}
    }

    /// Syncs the names in this directory, which may be open for inspection only; ignores directories that cannot be read
    /// or synced.
    package func syncNamesIfPossible() throws(SystemError) {
        do throws(SystemError) { try syncNames() } catch {
            guard error.code != EBADF else { return try Self.syncDirectory(".", in: self) }
            guard error.code == EINVAL else { throw error }
        }
    }

    /// The maximum size of a name in bytes. Nil if it is unknown.
    package var longestName: Int? {
        let longest = fpathconf(raw, Int32(_PC_NAME_MAX))
        return longest > 0 ? longest : nil
    }

    package struct Entry { package let name: String, isUTF8: Bool }

    /// The entries of a directory, ordered by the bytes of their names.
    package static func entries(of path: String) throws(SystemError) -> [Entry] {
        guard let directory = opendir(path) else { throw .last }
        defer { closedir(directory) }
        var entries: [Entry] = []
        while let entry = readdir(directory) {
            let bytes = withUnsafeBytes(of: entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            let name = String(decoding: bytes, as: UTF8.self)
            if name != ".", name != ".." { entries.append(Entry(name: name, isUTF8: name.utf8.elementsEqual(bytes))) }
        }
        return entries.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Creates a directory with the user's umask.
    package static func makePublicDirectory(_ path: String, mask: UInt32) throws(SystemError) {
        if try made(mkdir(path, 0o700)) { try check(chmod(path, 0o777 & ~mask)) }
    }

    /// Passes the names in a subdirectory, except hidden ones, to `body` until it returns false. Passes none if the
    /// subdirectory does not exist.
    package func scan(_ child: String, while body: (String) throws -> Bool) rethrows {
        let opened = try? DescriptorLimit.opened {
            openat(raw, child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        guard let opened else { return }
        guard let entries = fdopendir(opened) else {
            close(opened)
            return
        }
        defer { closedir(entries) }
        while let entry = readdir(entries) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if !name.hasPrefix("."), try !body(name) { return }
        }
    }
}

private func check(_ result: Int32) throws(SystemError) {
    guard result == 0 else { throw .last }
}

private func made(_ result: Int32) throws(SystemError) -> Bool {
    if result == 0 { return true }
    guard errno == EEXIST else { throw .last }
    return false
}

/// Changes of paths that need no open file.
package enum FileSystem {
    /// The bytes that programs of users can still write to the file system of a path, and all of its bytes. Nil if they
    /// cannot be read. Blocks.
    package static func room(at path: String) -> (free: Int64, size: Int64)? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        func bytes(_ blocks: UInt) -> Int64 {
            Int64(clamping: blocks.multipliedReportingOverflow(by: status.f_frsize).partialValue)
        }
        return (bytes(status.f_bavail), bytes(status.f_blocks))
    }

    /// Renames a file or a directory, which may replace an empty directory.
    package static func rename(_ path: String, to other: String) throws(SystemError) {
        try check(Glibc.rename(path, other))
    }
}
