import CSystem
import Glibc

/// Blocking calls, for threads that may block.
extension Descriptor {
    /// Returns the number of bytes read; 0 at the end.
    package func readBlocking(into buffer: UnsafeMutableRawBufferPointer) throws(SystemError) -> Int {
        while true {
            let count = Glibc.read(raw, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            try waitAfterError(POLLIN)
        }
    }

    /// Writes all bytes.
    package func writeBlocking(_ bytes: UnsafeRawBufferPointer) throws(SystemError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = Glibc.write(raw, rest.baseAddress, rest.count)
            if count > 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            } else {
                try waitAfterError(POLLOUT)
            }
        }
    }

    package func writeBlocking(_ bytes: [UInt8]) throws(SystemError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(SystemError) in
            try writeBlocking(UnsafeRawBufferPointer(bytes))
        }
    }

    /// Returns after a signal, and waits for a descriptor that another process has made non-blocking. Throws for other
    /// errors.
    private func waitAfterError(_ events: Int32) throws(SystemError) {
        let error = SystemError.last
        var request = pollfd(fd: raw, events: Int16(events), revents: 0)
        switch error.code {
        case EINTR: return
        case EAGAIN: poll(&request, 1, -1)
        default: throw error
        }
    }

    /// Blocks until one of two descriptors has bytes or has ended, or until the timeout. Returns which of them have.
    package static func waitUntilReadable(
        _ first: Descriptor?, _ second: Descriptor?, timeout: Duration? = nil
    ) -> (first: Bool, second: Bool) {
        var requests = [first, second].map { pollfd(fd: $0?.raw ?? -1, events: Int16(POLLIN), revents: 0) }
        let milliseconds = timeout.map { Int32(clamping: Int64(max(.zero, $0) / .milliseconds(1)) + 1) } ?? -1
        guard poll(&requests, 2, milliseconds) > 0 else { return (false, false) }
        return (requests[0].revents != 0, requests[1].revents != 0)
    }

    /// Blocks until the reader has closed its end, or until the timeout. Returns false after the timeout.
    package func isAbandoned(within timeout: Duration) -> Bool {
        var request = pollfd(fd: raw, events: 0, revents: 0)
        return poll(&request, 1, Int32(clamping: Int64(timeout / .milliseconds(1)))) > 0
    }

    /// The error with which no descriptor can be opened at the moment; nil if one can.
    package static var shortage: SystemError? {
        do throws(SystemError) { _ = try Descriptor(duplicating: STDERR_FILENO) } catch { return error }
        return nil
    }

    /// Creates a pipe.
    package static func pipe() throws(SystemError) -> (reader: Descriptor, writer: Descriptor) {
        try pair(csystem_pipe)
    }

    /// Creates two connected sockets.
    package static func socketPair() throws(SystemError) -> (Descriptor, Descriptor) { try pair(csystem_socket_pair) }

    private static func pair(
        _ create: (UnsafeMutablePointer<Int32>) -> Int32
    ) throws(SystemError) -> (Descriptor, Descriptor) {
        var ends: [Int32] = [-1, -1]
        guard create(&ends) == 0 else { throw .last }
        return (Descriptor(owning: ends[0]), Descriptor(owning: ends[1]))
    }
}
