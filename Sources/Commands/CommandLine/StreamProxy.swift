import Platform

/// Copies bytes between this process's stdin and stdout and a service's socket.
enum StreamProxy {
    /// Ends the process when the service ends the connection, or nobody reads stdout any more. At the end of stdin the
    /// service still answers pending requests.
    static func run(through socket: Descriptor) throws -> Never {
        CurrentProcess.ignoreChildren()
        try startThread("relay") {
            if copy(from: .standardInput, to: socket) { socket.endWriting() }
        }
        _ = copy(from: socket, to: .standardOutput)
        CurrentProcess.exit(0)
    }

    /// Returns true at the end of `source`, false if `target` takes no more bytes.
    private static func copy(from source: Descriptor, to target: Descriptor) -> Bool {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while let count = try? source.readBlocking(into: buffer), count > 0 {
            do { try target.writeBlocking(UnsafeRawBufferPointer(rebasing: buffer[..<count])) } catch { return false }
        }
        return true
    }
}
