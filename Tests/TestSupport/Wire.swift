import Platform
import Glibc
import JSONRPC
import Synchronization

/// A client's end of a connection: writes and reads when the test says so, and never otherwise.
package final class Wire: Sendable {
    private let raw: Int32
    private let threads = WorkerThreads("client", limit: 2)
    /// Touched on a thread of `threads` by one reader at a time.
    private nonisolated(unsafe) var buffer: [UInt8] = []

    private let server: Mutex<Descriptor?>

    /// A socket that takes immediately from the service what it takes by default, as little as the system allows, or up to
    /// 4 MiB.
    package init(isNarrow: Bool = false, isWide: Bool = false) {
        var ends: [Int32] = [-1, -1]
        socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var size: Int32 = isNarrow ? 4096 : 4 << 20
        if isNarrow || isWide { setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, 4) }
        raw = ends[0]
        server = Mutex(Descriptor(owning: ends[1]))
    }

    deinit { close(raw) }

    /// The service's end of the same socket, given away once: it closes with its owner.
    package func takeServer() -> Descriptor? {
        server.withLock { server in
            defer { server = nil }
            return server
        }
    }

    /// Returns when the socket has taken all of it; the number of bytes that it took.
    @discardableResult
    package func send(_ text: String) async -> Int {
        let bytes = Array(text.utf8)
        return await threads.run { [raw] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { break }
                sent += count
            }
            return sent
        }
    }

    package func sendLine(_ text: String) async { await send(text + "\n") }

    /// Says that nothing more will be sent.
    package func endSending() { shutdown(raw, Int32(SHUT_WR)) }
    /// Is gone, in both directions.
    package func vanish() { shutdown(raw, Int32(SHUT_RDWR)) }

    /// The next line, without its end; nil at the end of the stream.
    package func line() async -> String? {
        await threads.run { [self] in
            var searched = 0
            while true {
                if let end = buffer[searched...].firstIndex(of: 0x0A) {
                    defer { buffer.removeSubrange(...end) }
                    return String(decoding: buffer[..<end], as: UTF8.self)
                }
                searched = buffer.count
                guard fill() else { return nil }
            }
        }
    }

    package func lines(_ count: Int) async -> [String] {
        var lines: [String] = []
        while lines.count < count, let line = await line() { lines.append(line) }
        return lines
    }

    /// The next so many bytes; fewer at the end of the stream.
    package func bytes(_ count: Int) async -> String {
        await threads.run { [self] in
            while buffer.count < count, fill() {}
            let taken = buffer.prefix(count)
            defer { buffer.removeFirst(taken.count) }
            return String(decoding: taken, as: UTF8.self)
        }
    }

    private func fill() -> Bool {
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(raw, &chunk, chunk.count, 0)
        if count > 0 { buffer += chunk[..<count] }
        if count < 0, errno == EAGAIN { buffer += "nothing came for a long time\n".utf8 }
        return !(count == 0 || count < 0 && errno != EAGAIN)
    }
}
