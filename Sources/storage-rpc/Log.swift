import Glibc

/// How much is written to stderr.
enum LogLevel: String, CaseIterable, Comparable {
    case debug, info, warning, error, off

    static func < (a: LogLevel, b: LogLevel) -> Bool { a.rank < b.rank }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

/// Lines on stderr, never anywhere else. Where nobody reads stderr they are lost; they hold nothing up.
struct Log: Sendable {
    let level: LogLevel

    func write(_ level: LogLevel, _ message: String) {
        guard level >= self.level else { return }
        var room = pollfd(fd: STDERR_FILENO, events: Int16(POLLOUT), revents: 0)
        guard poll(&room, 1, 0) > 0 else { return }
        let line = "storage-rpc[\(getpid())] \(level.rawValue): \(message)\n"
        _ = Glibc.write(STDERR_FILENO, line, min(line.utf8.count, Int(PIPE_BUF)))
    }
}
