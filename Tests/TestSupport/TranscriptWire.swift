import Testing
import JSONText
import Foundation
import Glibc
import JSONRPC

package enum WireFraming: Sendable { case lines, headers }

/// A client's end of a connection: sends messages, and reads them one by one. Blocks; it needs a thread of its own.
package final class WireClient {
    package struct Silence: Error { package var description: String }

    private let input: Int32
    private let output: Int32
    private let framing: WireFraming
    private var buffer: [UInt8] = []
    private var start = 0

    /// Owns both, which may be one and the same socket: the end that it reads from, and the one that it writes to.
    package init(reading input: Int32, writing output: Int32, framing: WireFraming = .lines) {
        (self.input, self.output, self.framing) = (input, output, framing)
    }

    /// A connection to the socket at a path.
    package convenience init(connectingTo path: String, framing: WireFraming = .lines) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
        let failure = withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { connect(descriptor, $0.baseAddress, socklen_t(bytes.count)) }
        }
        guard failure == 0 else { throw Silence(description: "\(path): \(String(cString: strerror(errno)))") }
        self.init(reading: descriptor, writing: descriptor, framing: framing)
    }

    deinit {
        close(input)
        if output != input { endInput() }
    }

    private var inputIsOver = false

    /// The service receives the end of the input.
    package func endInput() {
        guard !inputIsOver else { return }
        inputIsOver = true
        if output == input { shutdown(output, Int32(SHUT_WR)) } else { close(output) }
    }

    package func send(_ message: String) {
        switch framing {
        case .lines: send(bytes: Array((message + "\n").utf8))
        case .headers: send(bytes: Array("Content-Length: \(message.utf8.count)\r\n\r\n\(message)".utf8))
        }
    }

    package func send(bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// Nil at the end of the connection.
    package func next() throws -> JSON? {
        switch framing {
        case .lines: return try line().map(Self.parse)
        case .headers:
            guard let header = try line() else { return nil }
            let length = String(decoding: header, as: UTF8.self).split(separator: " ").last.flatMap { Int($0) }
            guard let length, try line()?.isEmpty == true else { throw Silence(description: "a header is broken") }
            while buffer.count - start < length { guard try fill() else { return nil } }
            defer { start += length }
            return try Self.parse(buffer[start..<start + length])
        }
    }

    private func line() throws -> ArraySlice<UInt8>? {
        var searched = start
        while true {
            if let end = buffer[searched...].firstIndex(of: 0x0A) {
                defer { start = end + 1 }
                return buffer[start..<end].last == 0x0D ? buffer[start..<end - 1] : buffer[start..<end]
            }
            buffer.removeFirst(start)
            start = 0
            searched = buffer.count
            guard try fill() else { return nil }
        }
    }

    private func fill() throws -> Bool {
        try blockUntilReadable(input)
        // A raw buffer: an array that grows by one element at a time takes seconds under the thread sanitizer.
        return withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { bytes in
            let count = read(input, bytes.baseAddress, bytes.count)
            buffer += bytes[..<max(count, 0)]
            return count > 0
        }
    }

    private static func parse(_ bytes: ArraySlice<UInt8>) throws -> JSON {
        try bytes.withUnsafeBytes { try JSON(parsing: $0) }
    }
}

extension JSON {
    /// For what tests write down themselves.
    package init(parsing text: String) throws {
        self = try Array(text.utf8).withUnsafeBytes { try JSON(parsing: $0) }
    }
}
