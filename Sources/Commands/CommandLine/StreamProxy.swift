import Platform

/// Copies bytes between this process's stdin and stdout and a service's socket.
package enum StreamProxy {
    static func run(through socket: Descriptor) throws -> Never {
        try run(through: socket, .standardInput, .standardOutput)
    }

    /// The same for streams that were taken.
    package static func run(through socket: Descriptor, _ streams: StandardStreams) throws -> Never {
        try run(through: socket, streams.input, streams.output)
    }

    /// Ends the process when the service ends the connection, or nobody reads the output any more. At the end of the input
    /// the service still answers pending requests.
    private static func run(through socket: Descriptor, _ input: Descriptor, _ output: Descriptor) throws -> Never {
        CurrentProcess.ignoreChildren()
        try startThread("relay") {
            if copy(from: input, to: socket) == nil { socket.endWriting() }
        }
        if let error = copy(from: socket, to: output), !error.isBrokenPipe {
            throw OutputError(error: error)
        }
        CurrentProcess.exit(0)
    }

    /// Returns nil at the end of `source`, and why `target` takes no more bytes.
    private static func copy(from source: Descriptor, to target: Descriptor) -> SystemError? {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while let count = try? source.readBlocking(into: buffer), count > 0 {
            do throws(SystemError) {
                try target.writeBlocking(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } catch {
                return error
            }
        }
        return nil
    }
}
