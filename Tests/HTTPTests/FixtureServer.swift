import Dispatch
import EventLoop
import Glibc
import HTTP
import Synchronization
import Testing

/// A server on the loopback that does to every connection what the script says, each on a thread of its own.
///
/// A script that returns or throws closes its connection.
final class FixtureServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let accepted: Mutex<Int>

    var url: String { "http://127.0.0.1:\(port)" }
    var connections: Int { accepted.withLock { $0 } }

    init(backlog: Int32 = 512, _ script: @escaping @Sendable (Peer) throws -> Void) throws {
        let (listener, port) = try Self.listen(backlog)
        (self.listener, self.port) = (listener, port)
        accepted = Mutex(0)
        startThread("fixture") { [weak self] in
            while case let socket = accept(listener, nil, nil), socket >= 0 {
                let number = self?.accepted.withLock { count in
                    count += 1
                    return count
                }
                startThread("fixture peer", stackSize: 512 << 10) {
                    let peer = Peer(socket, number: number ?? 0)
                    try? script(peer)
                }
            }
            close(listener)
        }
    }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// A port on which nobody listens, bound so that nobody else will.
    static func silentPort() throws -> (socket: Int32, port: UInt16) { try bound() }

    private static func listen(_ backlog: Int32) throws -> (Int32, UInt16) {
        let (socket, port) = try bound()
        try #require(Glibc.listen(socket, backlog) == 0)
        return (socket, port)
    }

    private static func bound() throws -> (Int32, UInt16) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        try #require(result)
        return (listener, UInt16(bigEndian: address.sin_port))
    }
}

/// The server's end of a connection. Only its thread uses it.
final class Peer: @unchecked Sendable {
    struct Gone: Error {}

    struct Request {
        var line: String
        var headers: HTTPHeaders
        var body: [UInt8] = []
    }

    /// Counts from 1.
    let number: Int
    private let socket: Int32
    private var buffer: [UInt8] = []

    init(_ socket: Int32, number: Int) {
        self.socket = socket
        self.number = number
    }

    deinit { close(socket) }

    func readRequest() throws -> Request {
        var request = try readHead()
        request.body = try readBody(request)
        return request
    }

    func readHead() throws -> Request {
        var lines: [String] = []
        while case let line = try readLine(), !line.isEmpty { lines.append(line) }
        var headers = HTTPHeaders()
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            headers.add(String(parts[0]), parts.dropFirst().first.map { String($0.drop { $0 == " " }) } ?? "")
        }
        return Request(line: try #require(lines.first), headers: headers)
    }

    func readBody(_ request: Request) throws -> [UInt8] {
        try read(Int(request.headers["Content-Length"] ?? "0") ?? 0)
    }

    func read(_ count: Int) throws -> [UInt8] {
        while buffer.count < count { try receive() }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Hands each piece on as it comes.
    func read(_ count: Int, _ take: (UnsafeRawBufferPointer) -> Void) throws {
        var left = count
        while left > 0 {
            if buffer.isEmpty { try receive() }
            let next = min(left, buffer.count)
            buffer[..<next].withUnsafeBytes(take)
            buffer.removeFirst(next)
            left -= next
        }
    }

    func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// Tells when the other end holds it up.
    func write(_ bytes: [UInt8], heldUp: Signal? = nil, sent: (Int) -> Void = { _ in }) throws {
        var done = 0
        while done < bytes.count {
            var count = send(bytes, from: done, flags: MSG_DONTWAIT)
            if count < 0, errno == EAGAIN {
                heldUp?.fire()
                count = send(bytes, from: done, flags: 0)
            }
            guard count > 0 else { throw Gone() }
            sent(count)
            done += count
        }
    }

    private func send(_ bytes: [UInt8], from start: Int, flags: Int) -> Int {
        bytes[start...].withUnsafeBytes {
            Glibc.send(socket, $0.baseAddress, min($0.count, 256 << 10), Int32(flags | MSG_NOSIGNAL))
        }
    }

    func answer(_ status: String = "200 OK", _ body: String = "", headers: [String] = []) throws {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers
        try write(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// Waits until the other end is gone.
    func waitForEnd() {
        while (try? receive()) != nil { buffer.removeAll() }
    }

    /// Takes a little memory for what comes in, so that the other end is soon held up.
    func narrow() {
        var size: Int32 = 4096
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, 4)
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, 4)
    }

    /// The close that follows is a reset.
    func breakOff() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    private func readLine() throws -> String {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end].filter { $0 != 13 }, as: UTF8.self)
            }
            try receive()
        }
    }

    private func receive() throws {
        var piece = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(socket, &piece, piece.count, 0)
        guard count > 0 else { throw Gone() }
        buffer += piece[..<count]
    }
}
