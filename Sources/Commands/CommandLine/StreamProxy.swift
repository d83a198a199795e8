import Dispatch
import JSONRPC
import JSONText
import Platform
import Synchronization

/// Copies bytes between this process's stdin and stdout and a service's socket. Those of the client are sent once the
/// service has accepted the introduction, whose answers are dropped.
package enum StreamProxy {
    static func run(through relay: ConnectCommand.Relay) throws -> Never {
        try run(through: relay, .standardInput, .standardOutput)
    }

    /// Copies bytes between the given streams and a service's socket.
    package static func run(through relay: ConnectCommand.Relay, _ streams: StandardStreams) throws -> Never {
        try run(through: relay, streams.input, streams.output)
    }

    /// Ends the process when the service ends the connection, or when the reader of the output has closed it. At the
    /// end of the input the service still answers pending requests. Throws if the input cannot be read or the output
    /// not be written, if the service refuses the introduction, and if it ends the connection before its client does.
    private static func run(
        through relay: ConnectCommand.Relay, _ input: Descriptor, _ output: Descriptor
    ) throws -> Never {
        CurrentProcess.ignoreChildren()
        let socket = relay.socket, requests = Introductory(relay.introduction)
        let unread = Mutex<SystemError?>(nil), session = Mutex(RelayedSession())
        let isAccepted = DispatchSemaphore(value: 0)
        try startThread("relay") {
            var (start, messages) = (ClientStart(requests), RelayedMessages())
            let outcome = copy(from: input, to: socket) { bytes in
                let continues = messages.read(bytes) { message in
                    session.withLock { $0.hear(message) }
                } long: {
                    session.withLock { $0.skip() }
                }
                if !continues { session.withLock { $0.end() } }
                return start.pass(bytes, messages.style) {
                    // If this fails, the connection ends, and the process with it.
                    try? socket.writeBlocking($0)
                    isAccepted.wait()
                }
            }
            guard case .ended(let error) = outcome else { return }
            unread.withLock { $0 = error }
            session.withLock { $0.end() }
            socket.endWriting()
        }
        var (answers, messages) = (IntroductoryAnswers(requests), RelayedMessages())
        let outcome = try copy(from: socket, to: output) { bytes in
            _ = messages.read(bytes) { message in
                session.withLock { $0.answer(message) }
            } long: {
                session.withLock { $0.skip() }
            }
            return try answers.pass(bytes) { isAccepted.signal() }
        }
        if case .unwritable(let error) = outcome {
            if error.isBrokenPipe { CurrentProcess.exit(0) }
            throw OutputError(error: error)
        }
        if let error = unread.withLock(\.self), error != .reset { throw InputError(error: error) }
        let end = session.withLock(\.self)
        guard let status = end.status else { throw Loss(of: relay.path, end) }
        CurrentProcess.exit(status)
    }

    /// The service has ended the connection, although its client has not asked for that.
    private struct Loss: UserFacingError {
        let message: String

        init(of path: String, _ session: RelayedSession) {
            let loss = session.unanswered == 0 ? "" : ", with \(session.unanswered.counted("request")) unanswered"
            message =
                session.refusal.map { RelayedSession.refusal(of: path, $0) }
                ?? "the service at \(path) is gone\(loss); the next session finds it or starts it again"
        }
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

    /// - Parameter pass: what goes to the target in place of bytes of the source, of which the last ones are none.
    private static func copy(
        from source: Descriptor, to target: Descriptor, passing pass: (UnsafeRawBufferPointer) throws -> [UInt8]?
    ) rethrows -> Outcome {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count: Int
            do throws(SystemError) { count = try source.readBlocking(into: buffer) } catch { return .ended(error) }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            let others = try pass(bytes)
            do throws(SystemError) {
                if let others {
                    try target.writeBlocking(others)
                } else if count > 0 {
                    try target.writeBlocking(bytes)
                }
            } catch {
                return .unwritable(error)
            }
            guard count > 0 else { return .ended(nil) }
        }
    }
}

/// The requests of an introduction, with ids that no client has.
struct Introductory: Sendable {
    let messages: [JSON]

    init(_ introduction: Introduction?) {
        messages = (introduction?.requests ?? []).enumerated().map { number, request in
            ["jsonrpc": "2.0", "id": Self.id(number), "method": .string(request.method), "params": request.params]
        }
    }

    private static let name = "storage-rpc connect "

    static func id(_ number: Int) -> JSON { .string("\(name)\(number)") }

    /// - Parameter text: the text of an id.
    static func has(id text: String) -> Bool { text.hasPrefix("\"\(name)") }
}

/// Holds the first bytes of a client until the service has accepted the introduction, in the framing that they decide.
private struct ClientStart {
    private var introduction: Introductory?
    private var bytes: [UInt8] = []

    init(_ introduction: Introductory) { self.introduction = introduction.messages.isEmpty ? nil : introduction }

    /// The bytes for the service; nil for those of the client. Without bytes the client's input has ended.
    ///
    /// - Parameters:
    ///   - style: the framing that the bytes so far decide; nil if they decide none.
    ///   - introduce: sends the introduction, and returns when the service has accepted it.
    mutating func pass(
        _ more: UnsafeRawBufferPointer, _ style: Framing.Style?, _ introduce: ([UInt8]) -> Void
    ) -> [UInt8]? {
        guard let introduction else { return nil }
        bytes += more
        guard let style else { return more.isEmpty ? bytes : [] }
        self.introduction = nil
        var start: [UInt8] = []
        for message in introduction.messages { style.wrap(into: &start) { $0 += message.text.utf8 } }
        introduce(start)
        defer { bytes = [] }
        return bytes
    }
}

/// Drops the answers to an introduction. Other messages before them, such as the refusal of the connection, are for the
/// client.
private struct IntroductoryAnswers {
    private var rest: ArraySlice<JSON>
    private var framing = Framing(maxMessageBytes: .max / 2)
    private var bytes: [UInt8] = []

    init(_ introduction: Introductory) { rest = introduction.messages[...] }

    /// The bytes for the client; nil for those of the service. Throws the error of an answer.
    ///
    /// - Parameter accepted: called when all answers have come.
    mutating func pass(_ more: UnsafeRawBufferPointer, _ accepted: () -> Void) throws -> [UInt8]? {
        if rest.isEmpty { return nil }
        var passed: [UInt8] = []
        for (index, byte) in more.enumerated() {
            guard let next = rest.first else { return passed + more[index...] }
            bytes.append(byte)
            withUnsafeBytes(of: byte) { framing.append($0) }
            guard case .message(let message) = framing.next({ try? JSON(parsing: $0) }) else { continue }
            if message?["id"] != next["id"] {
                passed += bytes
            } else if let error = message?["error"] {
                throw Client.Failure(error)
            } else {
                rest = rest.dropFirst()
                if rest.isEmpty { accepted() }
            }
            bytes = []
        }
        // At its end the connection passes on what it has.
        return more.isEmpty ? bytes : passed
    }
}
