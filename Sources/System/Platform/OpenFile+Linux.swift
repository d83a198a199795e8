import CSystem
import Glibc

// Functions of files that only Linux has: paths opened for inspection, links in /proc, and hints for the disk.
extension OpenFile {
    /// Opens a path for inspection only, before the file is read or written. A relative path begins at `directory`, or
    /// at the working directory.
    package convenience init(
        placeAt path: String, isDirectory: Bool = false, in directory: OpenFile? = nil, noMagicLinks: Bool
    ) throws(SystemError) {
        let flags = isDirectory ? O_DIRECTORY : 0
        try self.init(owning: csystem_open_path(directory?.raw ?? AT_FDCWD, path, flags, noMagicLinks))
    }

    /// Opens a directory for reading; fails for links of /proc.
    package convenience init(directoryAt path: String) throws(SystemError) {
        try self.init(owning: csystem_open_directory(path))
    }

    /// Opens a name in a directory for inspection only; does not follow a link.
    package convenience init(placeOf name: [UInt8], in directory: OpenFile) throws(SystemError) {
        try self.init(owning: csystem_open_name(directory.raw, name.map { CChar(bitPattern: $0) } + [0]))
    }

    /// Opens a directory by its name in another one for inspection only; fails for a link.
    package convenience init(placeOfDirectory name: String, in directory: OpenFile) throws(SystemError) {
        try self.init(owning: csystem_open_path(directory.raw, name, O_DIRECTORY | O_NOFOLLOW, false))
    }

    /// A path that opens this file while it is open, even if it is renamed.
    package var pathInProc: String { path(ofDescriptor: raw) }

    /// The current path, without links. Nil if the system does not know it.
    package var location: String? { locationBytes.map { String(decoding: $0, as: UTF8.self) } }

    package var locationBytes: [UInt8]? { linkDestination(pathInProc, in: AT_FDCWD) }

    /// The target of this link. Nil if the file is no link.
    package var linkTarget: [UInt8]? { linkDestination("", in: raw) }

    /// Creates an unnamed file for reading and writing, on the disk of the directory.
    package convenience init(unnamedIn directory: OpenFile) throws(SystemError) {
        try self.init(owning: csystem_open_unnamed(directory.raw))
    }

    /// Gives an unnamed file a name in this directory. Returns false if the name exists.
    package func link(_ file: OpenFile, as name: String) throws(SystemError) -> Bool {
        if linkat(AT_FDCWD, file.pathInProc, raw, name, AT_SYMLINK_FOLLOW) == 0 { return true }
        guard errno == EEXIST else { throw .last }
        return false
    }

    /// Nil if the file system has no generations of inodes.
    package var inodeGeneration: UInt32? {
        var generation: UInt32 = 0
        return csystem_inode_generation(raw, &generation) ? generation : nil
    }

    /// Tells the system that the bytes from the offset on will be read in order.
    package func expectReading(from offset: Int64 = 0) { csystem_expect_reading(raw, offset) }

    /// Starts to write a range to the disk, so that a later sync is short. Throws if bytes could not be written: a later
    /// sync may not report that again.
    package func startWriteback(_ offset: Int64, _ length: Int64) throws(SystemError) {
        guard csystem_start_writeback(raw, offset, length) == 0 else { throw .last }
    }

    /// Waits until a range is on the disk, and removes it from the page cache. Throws as `startWriteback` does.
    package func dropWritten(_ offset: Int64, _ length: Int64) throws(SystemError) {
        guard csystem_drop_written(raw, offset, length) == 0 else { throw .last }
    }

    /// Allocates blocks for a number of bytes without a change of the file's size.
    package func allocate(_ bytes: Int64) throws(SystemError) {
        while csystem_allocate(raw, bytes) != 0 {
            if errno != EINTR { throw .last }
        }
    }
}

private func linkDestination(_ path: String, in directory: Int32) -> [UInt8]? {
    var count = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, filled in
        count = buffer.withMemoryRebound(to: CChar.self) { bytes in
            bytes.baseAddress.map { readlinkat(directory, path, $0, bytes.count) } ?? -1
        }
        filled = max(0, count)
    }
    return count < 0 ? nil : bytes
}
