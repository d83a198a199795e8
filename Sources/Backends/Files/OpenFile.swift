import Glibc
import Storage

/// A system call that failed.
struct SystemError: Error, Equatable {
    var code: Int32

    var reason: String { String(cString: strerror(code)) }

    static var last: SystemError { SystemError(code: errno) }
}

/// An open file, closed with its last owner. Every call may block, so none belongs on the loop or the cooperative pool.
final class OpenFile: Sendable {
    let raw: Int32

    init(_ path: String, _ flags: Int32, mode: mode_t = 0o600) throws(SystemError) {
        var opened = open(path, flags | O_CLOEXEC, mode)
        while opened < 0, errno == EINTR { opened = open(path, flags | O_CLOEXEC, mode) }
        guard opened >= 0 else { throw .last }
        raw = opened
    }

    /// A regular file that is there already, and no link; nil otherwise.
    convenience init?(existing path: String) {
        do throws(SystemError) {
            try self.init(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
            guard try status().st_mode & S_IFMT == S_IFREG else { return nil }
        } catch {
            return nil
        }
    }

    deinit { close(raw) }

    /// Reads until the buffer is full or the file ends; returns the number of bytes.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(SystemError) -> Int {
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
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) throws(SystemError) {
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
    func sync() throws(SystemError) {
        guard fdatasync(raw) == 0 else { throw .last }
    }

    func status() throws(SystemError) -> stat {
        var status = stat()
        guard fstat(raw, &status) == 0 else { throw .last }
        return status
    }
}
