import EventLoop
import Glibc

/// A response on its way: what of it the socket has not taken yet.
struct Outgoing: Sendable {
    enum Outcome: Sendable {
        case done
        /// The socket has no room.
        case blocked
        /// It would take more, but others have their turn.
        case pausing
        /// The peer has gone, or the file is shorter than was promised.
        case broken
    }

    /// As much as is sent at a stretch.
    static let slice = 4 << 20

    private let bytes: [UInt8]
    private var sent = 0
    private let body: [UInt8]
    private let file: ServedFile?
    private var fileSent: Int64 = 0

    init(head: [UInt8], _ body: HTTPServerResponse.Body) {
        var (bytes, rest): ([UInt8], [UInt8]) = (head, [])
        file = if case .file(let file) = body, file.count > 0 { file } else { nil }
        if case .bytes(let body) = body {
            // One system call for both is worth a small copy.
            if body.count <= 64 << 10 { bytes += body } else { rest = body }
        }
        (self.bytes, self.body) = (bytes, rest)
    }

    /// Files may have to be waited for; bytes never.
    var mayBlock: Bool { file != nil }

    /// Sends a slice. Never waits for the peer.
    mutating func send(to socket: Int32) -> Outcome {
        var budget = Self.slice
        if let outcome = sendBytes(to: socket, &budget) { return outcome }
        guard let file else { return .done }
        while fileSent < file.count {
            guard budget > 0 else { return .pausing }
            var offset = off_t(file.offset + fileSent)
            let count = sendfile(socket, file.descriptor, &offset, Int(min(Int64(budget), file.count - fileSent)))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN { return .blocked }
            guard count > 0 else { return .broken }
            fileSent += Int64(count)
            budget -= count
        }
        return .done
    }

    /// The head, and a body that is in memory. Nil once they are sent.
    private mutating func sendBytes(to socket: Int32, _ budget: inout Int) -> Outcome? {
        let total = bytes.count + body.count
        while sent < total {
            guard budget > 0 else { return .pausing }
            let isHead = sent < bytes.count
            let (part, from) = isHead ? (bytes, sent) : (body, sent - bytes.count)
            let more: Int = isHead && !body.isEmpty || file != nil ? MSG_MORE : 0
            let count = part.withUnsafeBytes { part in
                let rest = UnsafeRawBufferPointer(rebasing: part[from...].prefix(budget))
                return Glibc.send(
                    socket, rest.baseAddress, rest.count,
                    Int32(MSG_DONTWAIT | MSG_NOSIGNAL | more))
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return errno == EAGAIN ? .blocked : .broken }
            sent += count
            budget -= count
        }
        return nil
    }
}
