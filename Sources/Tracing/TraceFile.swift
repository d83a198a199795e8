import Glibc

/// Where a trace is written: a file of its owner alone, added to and never shortened.
struct TraceFile: ~Copyable {
    private let raw: Int32
    /// A line was cut off by a disk that took no more.
    private var isMidLine = false

    /// Why nothing can be written there.
    struct Unusable: Error { let reason: String }

    /// Starts on a new line, whatever an earlier process has left there.
    init(_ path: String) throws(Unusable) {
        raw = open(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0o600)
        guard raw >= 0 else {
            throw Unusable(reason: errno == ELOOP ? "it is a symbolic link" : String(cString: strerror(errno)))
        }
        do throws(Unusable) {
            let size = try Self.makePrivate(raw)
            var last: UInt8 = 0
            isMidLine = size > 0 && pread(raw, &last, 1, size - 1) == 1 && last != 0x0A
        } catch {
            close(raw)
            throw error
        }
    }

    /// Looks at the open file, for its path may lead elsewhere by now, and returns its size. One that others own or
    /// know by another name stays as it is.
    private static func makePrivate(_ raw: Int32) throws(Unusable) -> off_t {
        var status = stat()
        guard fstat(raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Unusable(reason: "it is not a regular file")
        }
        guard status.st_uid == geteuid() else { throw Unusable(reason: "it belongs to another user") }
        guard status.st_nlink == 1 else {
            throw Unusable(reason: status.st_nlink == 0 ? "it was removed" : "it has other names, too (hard links)")
        }
        guard status.st_mode & 0o7777 == 0o600 || fchmod(raw, 0o600) == 0 else {
            throw Unusable(reason: "its permissions cannot be changed: \(String(cString: strerror(errno)))")
        }
        return status.st_size
    }

    deinit { close(raw) }

    /// Blocks. Throws where not all of it could be written.
    mutating func write(_ lines: [UInt8]) throws(Unusable) {
        let bytes = (isMidLine ? [0x0A] : []) + lines
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(raw, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else {
                let reason = String(cString: strerror(errno))
                if written > 0 { isMidLine = bytes[written - 1] != 0x0A }
                throw Unusable(reason: reason)
            }
            written += count
        }
        isMidLine = false
    }
}
