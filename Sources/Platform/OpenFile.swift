import Glibc

/// An open file, closed with its last owner. Every call may block, so none belongs on the loop or the cooperative pool.
package final class OpenFile: Sendable {
    package let raw: Int32

    /// How a file is opened: for reading, unless another way is named.
    package struct Flags: OptionSet, Sendable {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }

        package static let writing = Flags(rawValue: O_WRONLY)
        package static let readingAndWriting = Flags(rawValue: O_RDWR)
        package static let create = Flags(rawValue: O_CREAT)
        /// Fails where there is one already.
        package static let new = Flags(rawValue: O_CREAT | O_EXCL)
        package static let directory = Flags(rawValue: O_DIRECTORY)
        package static let noLink = Flags(rawValue: O_NOFOLLOW)
        /// Not even a pipe without a writer holds this up.
        package static let noWaiting = Flags(rawValue: O_NONBLOCK | O_NOCTTY)
        package static let append = Flags(rawValue: O_APPEND)
    }

    /// A file that is made may be read and written by its owner alone.
    package init(_ path: String, _ flags: Flags, in directory: OpenFile? = nil) throws(SystemError) {
        let (start, flags) = (directory?.raw ?? AT_FDCWD, flags.rawValue | O_CLOEXEC)
        var opened = openat(start, path, flags, 0o600)
        while opened < 0, errno == EINTR { opened = openat(start, path, flags, 0o600) }
        guard opened >= 0 else { throw .last }
        raw = opened
    }

    init(owning raw: Int32) throws(SystemError) {
        guard raw >= 0 else { throw .last }
        self.raw = raw
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

    /// Reads what comes next from a file or a pipe; no bytes at the end, or where it cannot be read.
    package static func read(_ raw: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = Glibc.read(raw, buffer.baseAddress, buffer.count)
            if count >= 0 || errno != EINTR { return max(0, count) }
        }
    }

    /// Writes behind what is there, in a file that was opened for that; returns how many bytes the disk took.
    package func append(_ bytes: ArraySlice<UInt8>) throws(SystemError) -> Int {
        while true {
            let count = bytes.withUnsafeBytes { Glibc.write(raw, $0.baseAddress, $0.count) }
            if count > 0 { return count }
            guard count < 0, errno == EINTR else { throw .last }
        }
    }

    /// The bytes from the start; so many at most.
    package func readAll(atMost count: Int) throws(SystemError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let filled = try bytes.withUnsafeMutableBufferPointer { (buffer) throws(SystemError) in
            try read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
        }
        bytes.removeSubrange(filled...)
        return bytes
    }

    /// Writes all of it.
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

    /// Returns when its bytes are on the disk.
    package func sync() throws(SystemError) { try check(fdatasync(raw)) }

    package func truncate(to size: Int64) throws(SystemError) { try check(ftruncate(raw, off_t(size))) }

    package func setPermissions(_ permissions: UInt32) throws(SystemError) { try check(fchmod(raw, permissions)) }

    package func status() throws(SystemError) -> FileStatus {
        var status = stat()
        try check(fstat(raw, &status))
        return FileStatus(status)
    }

    /// False where another process holds it. The lock goes with the last owner, and with the process.
    package func lock() -> Bool { flock(raw, LOCK_EX | LOCK_NB) == 0 }
}

// MARK: - Directories

extension OpenFile {
    /// What has this name in a directory.
    package func status(of name: String, followingLinks: Bool = false) throws(SystemError) -> FileStatus {
        var status = stat()
        try check(fstatat(raw, name, &status, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW))
        return FileStatus(status)
    }

    /// False where there is something of that name already. A directory is its owner's alone.
    package func makeDirectory(_ name: String) throws(SystemError) -> Bool { try made(mkdirat(raw, name, 0o700)) }

    /// Like the above.
    package static func makeDirectory(_ path: String) throws(SystemError) -> Bool { try made(mkdir(path, 0o700)) }

    /// False where there is no such file.
    @discardableResult
    package func remove(_ name: String) throws(SystemError) -> Bool {
        if unlinkat(raw, name, 0) == 0 { return true }
        guard errno == ENOENT else { throw .last }
        return false
    }

    /// False where it could not be removed.
    package static func remove(_ path: String) -> Bool { unlink(path) == 0 }

    /// Replaces what has the other name.
    package func rename(_ name: String, to other: String) throws(SystemError) {
        try check(renameat(raw, name, raw, other))
    }

    /// Takes a file from elsewhere in the file system.
    package func take(_ path: String, as name: String) throws(SystemError) {
        try check(renameat(AT_FDCWD, path, raw, name))
    }

    /// Returns when the names in it are on the disk.
    package func syncNames() throws(SystemError) { try check(fsync(raw)) }

    /// The same, or where nobody could do more about it: it may be written but not read, or cannot be synced at all.
    package static func syncDirectory(_ path: String, in start: OpenFile? = nil) throws(SystemError) {
        do throws(SystemError) {
            try OpenFile(path, .directory, in: start).syncNames()
        } catch  where error.code == EACCES || error.code == EINVAL {}
    }

    /// Of a name, in bytes; nil where that cannot be said.
    package var longestName: Int? {
        let longest = fpathconf(raw, Int32(_PC_NAME_MAX))
        return longest > 0 ? longest : nil
    }

    /// Hands over the names in a directory in this one, one by one, until `body` returns false. None where there is no
    /// directory, and no hidden ones.
    package func scan(_ child: String, while body: (String) throws -> Bool) rethrows {
        let opened = openat(raw, child, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard opened >= 0 else { return }
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
