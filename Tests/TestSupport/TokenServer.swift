import Glibc
import HTTPClient
import HTTPText
import Platform
import Synchronization
import Testing

/// A server on the loopback that answers every request as the test says, and remembers them.
package final class TokenServer: Sendable {
    package struct Request: Sendable {
        package var line = ""
        package var headers = HTTPHeaders()
        package var body = ""

        /// The fields of a form, unescaped.
        package var form: [String: String] {
            let pairs = body.split(separator: "&").map { $0.split(separator: "=", maxSplits: 1).map(String.init) }
            return Dictionary(pairs.map { ($0[0], Self.unescaped($0[1])) }) { first, _ in first }
        }

        private static func unescaped(_ text: String) -> String {
            var bytes: [UInt8] = []
            var rest = Array(text.utf8)[...]
            while let byte = rest.popFirst() {
                let isEscape = byte == UInt8(ascii: "%")
                bytes.append(isEscape ? UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0 : byte)
                if isEscape { rest = rest.dropFirst(2) }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    package struct Answer: Sendable {
        package var status: String
        package var body: String
        package var headers: [String]

        package init(status: String = "200 OK", body: String = "", headers: [String] = []) {
            (self.status, self.body, self.headers) = (status, body, headers)
        }
    }

    package let port: UInt16
    private let listener: Int32
    private let seen = Mutex<[Request]>([])

    package var url: String { "http://127.0.0.1:\(port)/token" }
    package var requests: [Request] { seen.withLock { $0 } }

    /// - Parameter answer: its param also has the number of requests before; runs on the connection's own thread.
    package init(_ answer: @escaping @Sendable (Request, Int) -> Answer) throws {
        let (listener, port) = try FixtureServer.silentPort()
        (self.listener, self.port) = (listener, port)
        try #require(listen(listener, 64) == 0)
        startTestThread("fixture") { [weak self] in
            while case let peer = accepted(listener), peer >= 0 {
                let note: @Sendable (Request) -> Int? = { [weak self] request in
                    self?.seen.withLock { seen in
                        seen.append(request)
                        return seen.count - 1
                    }
                }
                startTestThread("fixture peer", stackSize: 512 << 10) { serve(peer, note, answer) }
            }
            close(listener)
        }
    }

    package convenience init(always answer: Answer) throws { try self.init { _, _ in answer } }

    deinit { shutdown(listener, Int32(SHUT_RDWR)) }

    /// An address without a listener, and without another one as long as the socket is open.
    package static func silent() throws -> (socket: Int32, url: String) {
        let (socket, port) = try FixtureServer.silentPort()
        return (socket, "http://127.0.0.1:\(port)/token")
    }
}

private func accepted(_ listener: Int32) -> Int32 {
    let peer = accept(listener, nil, nil)
    if peer >= 0 { _ = fcntl(peer, F_SETFD, FD_CLOEXEC) }
    return peer
}

/// Answers one request after the other, until the other end has gone.
private func serve(
    _ peer: Int32, _ note: (TokenServer.Request) -> Int?, _ answer: (TokenServer.Request, Int) -> TokenServer.Answer
) {
    defer { close(peer) }
    var reader = Reader(peer: peer)
    while let request = reader.next(), let number = note(request) {
        let answer = answer(request, number)
        let head = ["HTTP/1.1 \(answer.status)", "Content-Length: \(answer.body.utf8.count)"] + answer.headers
        let bytes = Array((head.joined(separator: "\r\n") + "\r\n\r\n" + answer.body).utf8)
        guard send(peer, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else { return }
    }
}

private struct Reader {
    let peer: Int32
    private var buffer: [UInt8] = []

    init(peer: Int32) { self.peer = peer }

    mutating func next() -> TokenServer.Request? {
        var lines: [String] = []
        while let line = line(), !line.isEmpty { lines.append(line) }
        guard let first = lines.first else { return nil }
        var request = TokenServer.Request(line: first)
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            request.headers.add(String(parts[0]), String(parts[1].drop { $0 == " " }))
        }
        let count = request.headers["Content-Length"].flatMap { Int($0) } ?? 0
        while buffer.count < count { if !receive() { return nil } }
        request.body = String(decoding: buffer.prefix(count), as: UTF8.self)
        buffer.removeFirst(count)
        return request
    }

    private mutating func line() -> String? {
        while true {
            if let end = buffer.firstIndex(of: 10) {
                defer { buffer.removeFirst(end + 1) }
                return String(decoding: buffer[..<end].filter { $0 != 13 }, as: UTF8.self)
            }
            if !receive() { return nil }
        }
    }

    private mutating func receive() -> Bool {
        var piece = [UInt8](repeating: 0, count: 16 << 10)
        let count = recv(peer, &piece, piece.count, 0)
        if count > 0 { buffer += piece[..<count] }
        return count > 0
    }
}
