import Dispatch
import Platform
import Synchronization

/// Copies the stderr of a service to the stderr of this process. Until the service is found, keeps back its errors:
/// they become errors of the command, unless another service was faster.
final class ErrorRelay: ServiceErrors, Sendable {
    fileprivate struct State {
        /// The last line, which has no line end yet.
        var partial: [UInt8] = []
        var lastError: String?
        var isFound = false
    }

    private let reader: Descriptor
    /// The thread ends once this pipe has no writer and all errors are read.
    private let stop: Descriptor
    private let stopper: Mutex<Descriptor?>
    private let state = Mutex(State())
    private let isOver = DispatchSemaphore(value: 0)

    private static let longestLine = 64 << 10

    /// Returns the relay, and the stderr for the service.
    static func make() throws(BackgroundService.Failure) -> (ErrorRelay, Descriptor) {
        let (relay, writer): (ErrorRelay, Descriptor)
        do throws(SystemError) {
            let (errors, stop) = (try Descriptor.pipe(), try Descriptor.pipe())
            relay = ErrorRelay(errors.reader, stop.reader, stop.writer)
            writer = errors.writer
        } catch {
            throw BackgroundService.Failure(message: "no pipe can be made: \(error.reason)")
        }
        do throws(ThreadUnavailable) { try startThread("errors") { relay.run() } } catch {
            throw BackgroundService.Failure(message: error.description)
        }
        return (relay, writer)
    }

    private init(_ reader: Descriptor, _ stop: Descriptor, _ stopper: Descriptor) {
        (self.reader, self.stop) = (reader, stop)
        self.stopper = Mutex(stopper)
    }

    var place: String? { nil }
    var last: String? { state.withLock(\.lastError) }

    func isFound() {
        state.withLock {
            $0.isFound = true
            if let error = exchange(&$0.lastError, with: nil) { Console.printError(error) }
            Console.writeError($0.partial)
            $0.partial = []
        }
    }

    func finish() {
        stopper.withLock { $0 = nil }
        isOver.wait()
        isOver.signal()
    }

    private func run() {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 16 << 10, alignment: 1)
        defer {
            buffer.deallocate()
            state.withLock { Console.writeError($0.partial) }
            isOver.signal()
        }
        while true {
            let ready = Descriptor.waitUntilReadable(reader, stop)
            guard ready.first else { if ready.second { return } else { continue } }
            guard let count = try? reader.readBlocking(into: buffer), count > 0 else { return }
            take(buffer[..<count])
        }
    }

    private func take(_ bytes: Slice<UnsafeMutableRawBufferPointer>) {
        state.withLock { state in
            if state.isFound { return Console.writeError(Array(bytes)) }
            for byte in bytes {
                state.partial.append(byte)
                if byte == UInt8(ascii: "\n") || state.partial.count > Self.longestLine { state.endLine() }
            }
        }
    }
}

extension ErrorRelay.State {
    fileprivate mutating func endLine() {
        if let error = Console.error(in: String(decoding: partial.dropLast(), as: UTF8.self)) {
            lastError = error
        } else {
            Console.writeError(partial)
        }
        partial = []
    }
}
