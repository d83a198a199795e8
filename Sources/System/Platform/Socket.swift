import CSystem
import Glibc

/// Calls on TCP sockets that never wait for the peer.
package enum Socket {
    /// Sends as many bytes as fit. With `more` the system may delay a segment that is not full.
    package static func send(_ bytes: UnsafeRawBufferPointer, to socket: Int32, more: Bool) -> Descriptor.Outcome {
        Descriptor.outcome { csystem_send(socket, bytes.baseAddress, bytes.count, more) }
    }

    /// Sends a range of a file; may wait for the disk.
    package static func send(
        file: Int32, from offset: Int64, _ count: Int, to socket: Int32
    ) -> Descriptor.Outcome {
        Descriptor.outcome { csystem_send_file(socket, file, offset, count) }
    }

    /// Reads the bytes of a file that are cached, without waiting for the disk.
    package static func readCached(_ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        max(0, csystem_read_cached(file, buffer.baseAddress, buffer.count, offset))
    }

    /// The port of this end of a connection; nil if it has none.
    package static func port(of socket: Int32) -> Int? {
        SocketAddress(of: socket, by: getsockname).map { Int($0.port) }
    }
}

extension Descriptor {
    convenience init(socketOf family: Int32, blocks: Bool) throws(SystemError) {
        let raw = csystem_socket(family, blocks)
        guard raw >= 0 else { throw .last }
        self.init(owning: raw)
    }

    /// Sends small segments without delay.
    package func sendAtOnce() { setOption(raw, Int32(IPPROTO_TCP), TCP_NODELAY) }

    /// Limits how long connecting or sending may block; zero removes the limit. After it the call fails with `wouldBlock`.
    func limitBlocking(to limit: Duration) {
        let (seconds, attoseconds) = limit.components
        var time = timeval(tv_sec: Int(seconds), tv_usec: Int(attoseconds / 1_000_000_000_000))
        setsockopt(raw, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    /// Closes the sending direction.
    package func endWriting() { shutdown(raw, Int32(SHUT_WR)) }

    /// The number of sent bytes that the peer has not acknowledged.
    package var queued: Int32 { csystem_unacknowledged(raw) }

    /// Whether the peer has ended its direction and all that it sent has been read.
    package var isAtEnd: Bool {
        var byte: UInt8 = 0
        return recv(raw, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    /// Discards unsent bytes: closing the socket then resets the connection.
    package func forgetUnsent() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Repeats a call that a signal interrupts.
    static func outcome(_ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            if count >= 0 { return .bytes(count) }
            if let outcome = Outcome(errno) { return outcome }
        }
    }
}
