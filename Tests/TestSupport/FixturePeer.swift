import CSystem
import Glibc
import HTTPClient
import HTTPText

/// The server's end of a connection. Only its thread uses it.
package final class FixturePeer: @unchecked Sendable {
    /// The other end is gone, or spoke nothing that can be read.
    package struct Gone: Error {
        package init() {}
    }

    package struct Request: Sendable {
        package var line: String
        package var headers: HTTPHeaders
        package var body: [UInt8] = []
    }

    /// Counts from 1.
    package let number: Int
    private let socket: Int32
    private let sockets: OpenSockets
    private var buffer: [UInt8] = []

    init(_ socket: Int32, number: Int, among sockets: OpenSockets) {
        self.socket = socket
        self.number = number
        self.sockets = sockets
        sockets.opened(socket)
    }

    deinit { sockets.close(socket) }

    package func readRequest() throws -> Request {
        var request = try readHead()
        request.body = try readBody(request)
        return request
    }

    package func readHead() throws -> Request {
        var lines: [String] = []
        while case let line = try readLine(), !line.isEmpty { lines.append(line) }
        var headers = HTTPHeaders()
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            headers.add(String(parts[0]), parts.dropFirst().first.map { String($0.drop { $0 == " " }) } ?? "")
        }
        guard let first = lines.first else { throw Gone() }
        return Request(line: first, headers: headers)
    }

    package func readBody(_ request: Request) throws -> [UInt8] {
        try read(Int(request.headers["Content-Length"] ?? "0") ?? 0)
    }

    package func read(_ count: Int) throws -> [UInt8] {
        while buffer.count < count { try receive() }
        defer { buffer.removeFirst(count) }
        return Array(buffer[..<count])
    }

    /// Hands each piece on as it comes.
    package func read(_ count: Int, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        var left = count
        while left > 0 {
            if buffer.isEmpty { try receive() }
            let next = min(left, buffer.count)
            try buffer[..<next].withUnsafeBytes(take)
            buffer.removeFirst(next)
            left -= next
        }
    }

    package func write(_ text: String) throws { try write(Array(text.utf8)) }

    /// Tells when the other end holds it up.
    package func write(_ bytes: [UInt8], heldUp: Signal? = nil, sent: (Int) -> Void = { _ in }) throws {
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

    package func answer(_ status: String = "200 OK", _ body: String = "", headers: [String] = []) throws {
        let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers
        try write(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// Waits until the other end is gone.
    package func waitForEnd() {
        while (try? receive()) != nil { buffer.removeAll() }
    }

    /// Waits, reading nothing; throws if the other end leaves before.
    package func wait(for signal: Signal) throws {
        let hasLeft: Int16 = 0x2000  // POLLRDHUP, which is not imported.
        var ends = [
            pollfd(fd: signal.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: socket, events: hasLeft, revents: 0),
        ]
        while poll(&ends, 2, -1) < 0, errno == EINTR {}
        if ends[0].revents == 0 { throw Gone() }
    }

    /// Takes a little memory for what comes in, so that the other end is soon held up.
    package func narrow() {
        var size: Int32 = 4096
        setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &size, 4)
        setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, 4)
    }

    /// Waits until the system of the other end has acknowledged all that was written.
    package func waitForAcknowledgement() {
        while csystem_unacknowledged(socket) > 0 { sched_yield() }
    }

    /// The close that follows is a reset.
    package func breakOff() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// The client reads the end of the connection, but may still send.
    ///
    /// After a reset, libcurl fails where its next call is a `send`: only after a `recv` does it try again by itself.
    package func endAnswers() { shutdown(socket, Int32(SHUT_WR)) }

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
