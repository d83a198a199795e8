import CSystem
import Glibc

/// An open file descriptor that is closed with its last owner.
public final class Descriptor: Sendable {
    public let raw: Int32
    package let kind: Kind

    /// How to read and write without ever blocking the loop.
    package enum Kind: Sendable {
        /// The descriptor says by itself when it has no bytes or no room.
        case nonBlocking
        case socket
        /// A terminal or a pipe that is shared with others: only after the poller has said so, and few bytes at a time.
        case blocking
    }

    public init(owning raw: Int32) {
        self.raw = raw
        kind = Kind(of: raw)
    }

    deinit { close(raw) }

    /// A descriptor of our own for one that was inherited. Its flags are shared with whoever else has it, so
    /// a pipe is opened anew to be made non-blocking; where that cannot be, it is used with care.
    public static func takingOver(_ inherited: Int32, _ access: Int32) -> Descriptor? {
        let copy = fcntl(inherited, F_DUPFD_CLOEXEC, 3)
        guard copy >= 0 else { return nil }
        guard Kind(of: copy) == .blocking else { return Descriptor(owning: copy) }
        let reopened = open("/proc/self/fd/\(inherited)", access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard reopened >= 0 else { return Descriptor(owning: copy) }
        close(copy)
        return Descriptor(owning: reopened)
    }

    package enum Outcome: Equatable { case bytes(Int), notNow, end, broken(Int32) }

    package func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        while true {
            let count =
                kind == .socket
                ? recv(raw, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
                : Glibc.read(raw, buffer.baseAddress, buffer.count)
            if count > 0 { return .bytes(count) }
            if count == 0 { return .end }
            if let outcome = Outcome(errno) { return outcome }
        }
    }

    package func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        while true {
            let count =
                kind == .socket
                ? send(raw, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                : Glibc.write(raw, bytes.baseAddress, kind == .blocking ? min(bytes.count, Int(PIPE_BUF)) : bytes.count)
            if count >= 0 { return .bytes(count) }
            if let outcome = Outcome(errno) { return outcome }
        }
    }

    /// Room for at least `PIPE_BUF` bytes, asked without waiting.
    package var hasRoom: Bool {
        var request = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, 0) > 0
    }
}

extension Descriptor.Kind {
    init(of raw: Int32) {
        var status = stat()
        let isKnown = fstat(raw, &status) == 0
        if isKnown, status.st_mode & S_IFMT == S_IFSOCK {
            self = .socket
        } else if isKnown, status.st_mode & S_IFMT == S_IFREG || fcntl(raw, F_GETFL) & O_NONBLOCK != 0 {
            self = .nonBlocking
        } else {
            self = .blocking
        }
    }
}

extension Descriptor.Outcome {
    /// Nil where the call was only interrupted.
    init?(_ error: Int32) {
        switch error {
        case EINTR: return nil
        case EAGAIN: self = .notNow
        default: self = .broken(error)
        }
    }
}
