import CSystem
import Glibc

/// A system call that failed.
package struct SystemError: Error, Equatable {
    package var code: Int32

    package init(code: Int32) { self.code = code }

    package var reason: String { String(cString: strerror(code)) }

    package static var last: SystemError { SystemError(code: errno) }
}

/// An open file, closed with its last owner. Every call may block, so none belongs on the loop or the cooperative pool.
package final class OpenFile: Sendable {
    package let raw: Int32

    /// A file that is made may be read and written by its owner alone.
    package init(_ path: String, _ flags: Int32, in directory: OpenFile? = nil) throws(SystemError) {
        let start = directory?.raw ?? AT_FDCWD
        var opened = openat(start, path, flags | O_CLOEXEC, 0o600)
        while opened < 0, errno == EINTR { opened = openat(start, path, flags | O_CLOEXEC, 0o600) }
        guard opened >= 0 else { throw .last }
        raw = opened
    }

    /// A place in the file system, for whoever wants to look at it before it is read or written.
    package init(placeAt path: String, _ flags: Int32, noMagicLinks: Bool) throws(SystemError) {
        raw = csystem_open_path(path, flags, noMagicLinks)
        guard raw >= 0 else { throw .last }
    }

    /// A place in a directory: a link itself, not what it leads to.
    package init(placeOf name: [UInt8], in directory: OpenFile) throws(SystemError) {
        raw = csystem_open_name(directory.raw, name.map { CChar(bitPattern: $0) } + [0])
        guard raw >= 0 else { throw .last }
    }

    deinit { close(raw) }

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    package func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
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

    /// Writes all of it.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[written...])
            let count = pwrite(raw, rest.baseAddress, rest.count, Int(offset) + written)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw count == 0 ? SystemError(code: EIO) : .last }
            written += count
        }
    }

    /// Returns when its bytes are on the disk.
    package func sync() throws(SystemError) {
        guard fdatasync(raw) == 0 else { throw .last }
    }

    /// Leads to this file, wherever that is by now, as long as it is open.
    package var pathInProc: String { "/proc/self/fd/\(raw)" }

    /// Where that is, for people, and for those who need a path without links; nil where it cannot be said.
    package var location: String? { destination(ofLink: pathInProc).map { String(decoding: $0, as: UTF8.self) } }

    /// Returns when the names in it are on the disk, or where nobody could do more about it: it may be written but
    /// not read, or cannot be synced at all.
    package static func syncDirectory(_ path: String, in start: OpenFile? = nil) throws(SystemError) {
        do throws(SystemError) {
            let directory = try OpenFile(path, O_RDONLY | O_DIRECTORY, in: start)
            guard fsync(directory.raw) == 0 else { throw .last }
        } catch  where error.code == EACCES || error.code == EINVAL {}
    }

    package func status() throws(SystemError) -> stat {
        var status = stat()
        guard fstat(raw, &status) == 0 else { throw .last }
        return status
    }

    /// Nil where the file system does not tell files of one inode apart.
    package var inodeGeneration: UInt32? {
        var generation: UInt32 = 0
        return csystem_inode_generation(raw, &generation) ? generation : nil
    }

    /// What has this name in a directory.
    package func status(of name: String, _ flags: Int32) throws(SystemError) -> stat {
        var status = stat()
        guard fstatat(raw, name, &status, flags) == 0 else { throw .last }
        return status
    }
}

extension OpenFile {
    /// What this link leads to; nil where it is none.
    package var linkTarget: [UInt8]? { linkDestination("", in: raw) }
}

/// Nil where there is no link.
package func destination(ofLink path: String) -> [UInt8]? { linkDestination(path, in: AT_FDCWD) }

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
