import Platform
import Glibc
import Testing

/// A client that sends raw bytes.
final class TestClient: Sendable {
    struct Answer: Sendable, Equatable {
        var status: Int
        var fields: [String]
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }

        func field(_ name: String) -> String? {
            fields.first { $0.hasPrefix("\(name): ") }.map { String($0.dropFirst(name.count + 2)) }
        }
    }

    struct Refused: Error {}

    private let raw: Int32
    private static let threads = WorkerThreads("clients", limit: 256)
    /// Used by one reader at a time.
    private nonisolated(unsafe) var buffer: [UInt8] = []

    /// `isNarrow` makes the receive buffer as small as the system allows.
    init(_ port: Int, isNarrow: Bool = false) throws {
        raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var size: Int32 = 4096
        if isNarrow { setsockopt(raw, SOL_SOCKET, SO_RCVBUF, &size, 4) }
        var on: Int32 = 1
        setsockopt(raw, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
        var limit = timeval(tv_sec: 120, tv_usec: 0)
        setsockopt(raw, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = try #require(UInt16(exactly: port)).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(raw, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard result == 0 else { throw Refused() }
    }

    deinit { close(raw) }

    func send(_ text: String) async { await send(Array(text.utf8)) }

    /// Returns when the socket has accepted all bytes, or the peer is gone.
    func send(_ bytes: [UInt8]) async {
        await Self.threads.run { [raw] in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.send(raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }
    }

    func get(_ path: String, _ method: String = "GET", _ fields: String...) async {
        let lines = ["\(method) \(path) HTTP/1.1", "Host: localhost"] + fields
        await send(lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    /// The next answer; nil at the end of the stream.
    func answer(hasBody: Bool = true) async -> Answer? {
        await Self.threads.run { [self] in
            var lines: [String] = []
            while case let line = line(), line != "" {
                guard let line else { return nil }
                lines.append(line)
            }
            let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
            var answer = Answer(status: status ?? 0, fields: Array(lines.dropFirst()), body: [])
            let length = hasBody ? answer.field("Content-Length").flatMap { Int($0) } ?? 0 : 0
            while buffer.count < length { guard fill() else { return nil } }
            answer.body = Array(buffer.prefix(length))
            buffer.removeFirst(length)
            return answer
        }
    }

    /// The next `count` bytes; fewer at the end of the stream.
    func bytes(_ count: Int) async -> [UInt8] {
        await Self.threads.run { [self] in
            while buffer.count < count, fill() {}
            let taken = buffer.prefix(count)
            buffer.removeFirst(taken.count)
            return Array(taken)
        }
    }

    /// Whether the stream has ended.
    func isOver() async -> Bool { await bytes(1).isEmpty }

    func endSending() { shutdown(raw, Int32(SHUT_WR)) }

    /// Resets the connection.
    func reset() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
        var nowhere = sockaddr()
        nowhere.sa_family = sa_family_t(AF_UNSPEC)
        connect(raw, &nowhere, socklen_t(MemoryLayout<sockaddr>.size))
    }

    private func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 0x0A) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end].filter { $0 != 0x0D }, as: UTF8.self)
            }
            guard fill() else { return nil }
        }
    }

    private func fill() -> Bool {
        let count = withUnsafeTemporaryAllocation(byteCount: 256 << 10, alignment: 1) { piece in
            let count = recv(raw, piece.baseAddress, piece.count, 0)
            if count > 0 { buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: piece[..<count])) }
            return count
        }
        if count < 0, errno == EAGAIN { Issue.record("nothing came for a long time") }
        return count > 0
    }
}
