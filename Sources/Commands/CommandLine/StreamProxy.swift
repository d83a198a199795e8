import Platform
import Synchronization

/// Copies bytes between this process's stdin and stdout and a service's socket.
package enum StreamProxy {
    static func run(through socket: Descriptor) throws -> Never {
        try run(through: socket, .standardInput, .standardOutput)
    }

    /// Copies bytes between the given streams and a service's socket.
    package static func run(through socket: Descriptor, _ streams: StandardStreams) throws -> Never {
        try run(through: socket, streams.input, streams.output)
    }

    /// Ends the process when the service ends the connection, or when the reader of the output has closed it. At the
    /// end of the input the service still answers pending requests. Throws if the input cannot be read or the output
    /// not be written.
    private static func run(through socket: Descriptor, _ input: Descriptor, _ output: Descriptor) throws -> Never {
        CurrentProcess.ignoreChildren()
        let unread = Mutex<SystemError?>(nil)
        try startThread("relay") {
            guard case .ended(let error) = copy(from: input, to: socket) else { return }
            unread.withLock { $0 = error }
            socket.endWriting()
        }
        if case .unwritable(let error) = copy(from: socket, to: output), !error.isBrokenPipe {
            throw OutputError(error: error)
        }
        if let error = unread.withLock(\.self), error != .reset { throw InputError(error: error) }
        CurrentProcess.exit(0)
    }

    struct InputError: UserFacingError {
        let error: SystemError
        var message: String { "stdin cannot be read: \(error.reason)" }
    }

    private enum Outcome {
        /// The source has ended, or cannot be read.
        case ended(SystemError?)
        case unwritable(SystemError)
    }

    private static func copy(from source: Descriptor, to target: Descriptor) -> Outcome {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count: Int
            do throws(SystemError) { count = try source.readBlocking(into: buffer) } catch { return .ended(error) }
            guard count > 0 else { return .ended(nil) }
            do throws(SystemError) {
                try target.writeBlocking(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            } catch {
                return .unwritable(error)
            }
        }
    }
}
