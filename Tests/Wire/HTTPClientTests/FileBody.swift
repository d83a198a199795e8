import Platform
import HTTPClient

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

extension ReadAhead {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// `count` bytes of an open file from `start` on. The descriptor must stay open as long as the body exists: one
    /// block may still be read when a transfer has ended.
    convenience init(
        descriptor: Int32, from start: Int64 = 0, count: Int64, on threads: WorkerThreads
    ) {
        self.init(count: count, on: threads) { buffer, offset in
            var done = 0
            while done < buffer.count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
                let read = pread(descriptor, rest.baseAddress, rest.count, off_t(start + offset) + off_t(done))
                if read < 0, errno == EINTR { continue }
                guard read >= 0 else {
                    throw Failure(description: "the file cannot be read: \(String(cString: strerror(errno)))")
                }
                guard read > 0 else { throw Failure(description: "the file became shorter") }
                done += read
            }
        }
    }
}
