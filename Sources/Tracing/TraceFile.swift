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
        var status = stat()
        guard fstat(raw, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            close(raw)
            throw Unusable(reason: "it is not a regular file")
        }
        var last: UInt8 = 0
        isMidLine = status.st_size > 0 && pread(raw, &last, 1, status.st_size - 1) == 1 && last != 0x0A
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
