import Platform

struct OutgoingResponse: Sendable {
    enum Outcome: Sendable {
        case done
        /// The socket has no room.
        case blocked
        /// The slice is sent; other connections have their turn.
        case pausing
        /// The client has disconnected, or the file is shorter than promised.
        case broken
    }

    /// The number of bytes sent in one turn.
    static let slice = 4 << 20

    private let bytes: [UInt8]
    private var sent = 0
    private let body: [UInt8]
    private let file: ServedFile?
    private let unpacked: UnpackedBody?
    private var fileSent: Int64 = 0
    /// Used instead of `file` where its checksum is known.
    private var verified: VerifiedFile?

    /// A small body is copied behind the head, to save a system call.
    private static let small = 64 << 10

    init(head: [UInt8], _ body: HTTPServerResponse.Body) {
        unpacked = if case .unpacked(let body) = body { body } else { nil }
        switch body {
        case .none, .unopened, .unpacked: (bytes, self.body, file) = (head, [], nil)
        case .bytes(let body) where body.count <= Self.small: (bytes, self.body, file) = (head + body, [], nil)
        case .bytes(let body): (bytes, self.body, file) = (head, body, nil)
        case .file(let piece):
            verified = VerifiedFile(piece)
            let isSmall = piece.count <= Self.small && verified == nil
            let cached = isSmall ? piece.cached(behind: head) : nil
            (bytes, self.body, file) = (cached ?? head, [], cached == nil ? piece : nil)
        }
    }

    /// Whether sending may block on the disk or compute for long.
    var mayBlock: Bool { file != nil || unpacked != nil }

    var bytesSent: Int64 { Int64(sent) + fileSent + (verified?.sent ?? 0) + (unpacked?.sent ?? 0) }

    /// Sends a slice. Never blocks on the client.
    mutating func send(to socket: Int32) -> Outcome {
        var budget = Self.slice
        if let outcome = sendBytes(to: socket, &budget) { return outcome }
        if let outcome = verified?.send(to: socket, budget) { return outcome }
        if let unpacked { return unpacked.send(to: socket, budget) }
        guard let file else { return .done }
        while fileSent < file.count {
            guard budget > 0 else { return .pausing }
            let wanted = min(Int64(budget), file.count - fileSent)
            let outcome = Socket.send(
                file: file.descriptor, from: file.offset + fileSent, Int(wanted), to: socket)
            if outcome == .notNow { return .blocked }
            guard case .bytes(let count) = outcome, count > 0 else { return .broken }
            fileSent += Int64(count)
            budget -= count
        }
        return .done
    }

    /// Sends the head and a body in memory. Returns nil when they are sent.
    private mutating func sendBytes(to socket: Int32, _ budget: inout Int) -> Outcome? {
        let total = bytes.count + body.count
        while sent < total {
            guard budget > 0 else { return .pausing }
            let isHead = sent < bytes.count
            let (part, from) = isHead ? (bytes, sent) : (body, sent - bytes.count)
            let more = isHead && !body.isEmpty || mayBlock
            let outcome = part.withUnsafeBytes { part in
                let rest = UnsafeRawBufferPointer(rebasing: part[from...].prefix(budget))
                return Socket.send(rest, to: socket, more: more)
            }
            guard case .bytes(let count) = outcome else { return outcome == .notNow ? .blocked : .broken }
            sent += count
            budget -= count
        }
        return nil
    }
}

extension ServedFile {
    /// Returns the head and the whole range, if they are in the page cache.
    fileprivate func cached(behind head: [UInt8]) -> [UInt8]? {
        let all = [UInt8](unsafeUninitializedCapacity: head.count + Int(count)) { buffer, filled in
            filled = buffer.initialize(fromContentsOf: head)
            let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
            let piece = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(Int(count)))
            filled += Socket.readCached(descriptor, into: piece, at: offset)
        }
        return all.count == head.count + Int(count) ? all : nil
    }
}
