import CSystem
import Glibc

// What of files only Linux has: places without access, links in /proc, and hints for the disk.
extension OpenFile {
    /// A place in the file system, for whoever wants to look at it before it is read or written.
    package convenience init(
        placeAt path: String, isDirectory: Bool = false, noMagicLinks: Bool
    ) throws(SystemError) {
        try self.init(owning: csystem_open_path(path, isDirectory ? O_DIRECTORY : 0, noMagicLinks))
    }

    /// A place in a directory: a link itself, not what it leads to.
    package convenience init(placeOf name: [UInt8], in directory: OpenFile) throws(SystemError) {
        try self.init(owning: csystem_open_name(directory.raw, name.map { CChar(bitPattern: $0) } + [0]))
    }

    /// Leads to this file, wherever that is by now, as long as it is open.
    package var pathInProc: String { "/proc/self/fd/\(raw)" }

    /// Where it is, for people, and for those who need a path without links; nil where it cannot be said.
    package var location: String? { locationBytes.map { String(decoding: $0, as: UTF8.self) } }

    package var locationBytes: [UInt8]? { linkDestination(pathInProc, in: AT_FDCWD) }

    /// What this link leads to; nil where it is none.
    package var linkTarget: [UInt8]? { linkDestination("", in: raw) }

    /// Nil where the file system does not tell files of one inode apart.
    package var inodeGeneration: UInt32? {
        var generation: UInt32 = 0
        return csystem_inode_generation(raw, &generation) ? generation : nil
    }

    /// Says that all bytes from there on will be read in order: the disk reads further ahead then.
    package func expectReading(from offset: Int64 = 0) {
        posix_fadvise(raw, off_t(offset), 0, POSIX_FADV_SEQUENTIAL)
    }

    /// Starts writing back a range, so that a later sync has little left to do.
    package func startWriteback(_ offset: Int64, _ length: Int64) { csystem_start_writeback(raw, offset, length) }

    /// Waits until a range is written back, and lets its pages go: the next ones need not be found elsewhere.
    package func dropWritten(_ offset: Int64, _ length: Int64) { csystem_drop_written(raw, offset, length) }

    /// Gives a file the blocks for so many bytes; its size stays.
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
