import Platform
import Glibc

/// Hands bytes on between this process's stdin and stdout and a service's socket.
enum StreamProxy {
    /// Ends the process when the service ends the connection, or nobody reads stdout any more. The end of stdin is handed
    /// on: what is pending is answered first.
    static func run(through socket: Int32) throws -> Never {
        // The service that was started is not waited for.
        signal(SIGCHLD, SIG_IGN)
        try startThread("relay") {
            if copy(from: STDIN_FILENO, to: socket) { shutdown(socket, Int32(SHUT_WR)) }
        }
        _ = copy(from: socket, to: STDOUT_FILENO)
        exit(0)
    }

    /// True at the end of `source`, false where nobody takes the bytes.
    private static func copy(from source: Int32, to target: Int32) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count = read(source, buffer.baseAddress, buffer.count)
            if count < 0, wait(for: source, POLLIN) { continue }
            guard count > 0 else { return true }
            var rest = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            while !rest.isEmpty {
                let written = write(target, rest.baseAddress, rest.count)
                if written < 0, wait(for: target, POLLOUT) { continue }
                guard written > 0 else { return false }
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            }
        }
    }

    /// False where the call has failed for good. Whoever shares stdin or stdout may have made them non-blocking.
    private static func wait(for descriptor: Int32, _ events: Int32) -> Bool {
        guard errno == EAGAIN || errno == EINTR else { return false }
        var ready = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        return errno == EINTR || poll(&ready, 1, -1) > 0 || errno == EINTR
    }
}
