import CSystem
import Glibc

/// An open file descriptor that is closed with its last owner.
public final class Descriptor: Sendable {
    public let raw: Int32
    package let kind: Kind

    /// How to read and write without blocking the loop.
    package enum Kind: Sendable {
        /// Reading and writing never block.
        case nonBlocking
        case socket
        /// A terminal or a pipe of other processes. It is used only when it is ready, and for few bytes at a time.
        case blocking
    }

    public init(owning raw: Int32) {
        self.raw = raw
        kind = Kind(of: raw)
    }

    deinit { close(raw) }

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
        Self.outcome {
            switch kind {
            case .socket: csystem_send(raw, bytes.baseAddress, bytes.count, false)
            case .nonBlocking: Glibc.write(raw, bytes.baseAddress, bytes.count)
            case .blocking: Glibc.write(raw, bytes.baseAddress, min(bytes.count, Self.atomicWriteSize))
            }
        }
    }

    /// The number of bytes that a pipe with room accepts in one write.
    package static let atomicWriteSize = Int(PIPE_BUF)

    /// Whether `atomicWriteSize` bytes can be written without blocking; waits at most `milliseconds` for that.
    package func hasRoom(milliseconds: Int32 = 0) -> Bool {
        var request = pollfd(fd: raw, events: Int16(POLLOUT), revents: 0)
        return poll(&request, 1, milliseconds) > 0
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
    /// Nil if a signal has interrupted the call.
    init?(_ error: Int32) {
        switch error {
        case EINTR: return nil
        case EAGAIN: self = .notNow
        default: self = .broken(error)
        }
    }
}
