import CSystem
import Glibc

/// Calls on the sockets of connections over TCP that never wait for the peer.
package enum Socket {
    /// Sends what there is room for. With `more` the system may wait for what follows.
    package static func send(_ bytes: UnsafeRawBufferPointer, to socket: Int32, more: Bool) -> Descriptor.Outcome {
        let flags = MSG_DONTWAIT | MSG_NOSIGNAL | (more ? MSG_MORE : 0)
        return Descriptor.outcome { Glibc.send(socket, bytes.baseAddress, bytes.count, Int32(flags)) }
    }

    /// Sends a piece of a file, which may have to be waited for.
    package static func send(
        file: Int32, from offset: Int64, _ count: Int, to socket: Int32
    ) -> Descriptor.Outcome {
        Descriptor.outcome {
            var offset = off_t(offset)
            return sendfile(socket, file, &offset, count)
        }
    }

    /// Reads what is in memory; fewer bytes where a disk would have to be waited for.
    package static func readCached(_ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        max(0, csystem_read_cached(file, buffer.baseAddress, buffer.count, offset))
    }
}

extension Descriptor {
    /// Small messages leave at once.
    package func sendAtOnce() { setOption(raw, Int32(IPPROTO_TCP), TCP_NODELAY) }

    /// The peer reads the end behind what was sent.
    package func endWriting() { shutdown(raw, Int32(SHUT_WR)) }

    /// Bytes that were sent and that the peer has not acknowledged.
    package var queued: Int32 {
        var count: Int32 = 0
        return ioctl(raw, UInt(TIOCOUTQ), &count) == 0 ? count : 0
    }

    /// Nobody will ever take them: the close that follows is a reset.
    package func forgetUnsent() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(raw, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }

    /// Calls until it is not interrupted.
    static func outcome(_ call: () -> Int) -> Outcome {
        while true {
            let count = call()
            if count >= 0 { return .bytes(count) }
            if let outcome = Outcome(errno) { return outcome }
        }
    }
}
