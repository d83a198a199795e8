import JSONRPC
import JSONText
import Platform
import Synchronization

/// Copies bytes between this process's stdin and stdout and a service's socket. An introduction precedes those of the
/// client, and its answers are dropped.
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
    /// not be written, and if the service ends the connection before its client does.
    private static func run(
        through relay: ConnectCommand.Relay, _ input: Descriptor, _ output: Descriptor
    ) throws -> Never {
        CurrentProcess.ignoreChildren()
        let socket = relay.socket, requests = Introductory(relay.introduction)
        let unread = Mutex<SystemError?>(nil), session = Mutex(RelayedSession())
        try startThread("relay") {
            var (start, messages) = (ClientStart(requests), RelayedMessages())
            let outcome = copy(from: input, to: socket) { bytes in
                let continues = messages.read(bytes) { message in
                    session.withLock { $0.hear(message) }
                } long: {
                    session.withLock { $0.hearLong() }
                }
                if !continues { session.withLock { $0.end() } }
                return start.pass(bytes)
            }
            guard case .ended(let error) = outcome else { return }
            unread.withLock { $0 = error }
            session.withLock { $0.end() }
            socket.endWriting()
        }
        var (answers, messages) = (IntroductoryAnswers(requests), RelayedMessages())
        let outcome = copy(from: socket, to: output) { bytes in
            _ = messages.read(bytes) { message in
                session.withLock { $0.answer(message) }
            } long: {
                session.withLock { $0.answerLong() }
            }
            return answers.pass(bytes)
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
                session.refusal.map { "the service at \(path) has refused the connection: \($0)" }
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
        from source: Descriptor, to target: Descriptor, passing pass: (UnsafeRawBufferPointer) -> [UInt8]?
    ) -> Outcome {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 1)
        defer { buffer.deallocate() }
        while true {
            let count: Int
            do throws(SystemError) { count = try source.readBlocking(into: buffer) } catch { return .ended(error) }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            do throws(SystemError) {
                if let others = pass(bytes) {
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

/// Puts the introduction before the first bytes of a client, in the framing that they decide.
private struct ClientStart {
    private var introduction: Introductory?
    private var framing = Framing(maxMessageBytes: .max / 2)
    private var bytes: [UInt8] = []

    init(_ introduction: Introductory) { self.introduction = introduction.messages.isEmpty ? nil : introduction }

    /// The bytes for the service; nil for those of the client. Without bytes the client's input has ended.
    mutating func pass(_ more: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let introduction else { return nil }
        bytes += more
        framing.append(more)
        if more.isEmpty { framing.finish() }
        _ = framing.next { _ in }
        guard let style = framing.style else { return more.isEmpty ? bytes : [] }
        self.introduction = nil
        var start: [UInt8] = []
        for message in introduction.messages { style.wrap(into: &start) { $0 += message.text.utf8 } }
        defer { bytes = [] }
        return start + bytes
    }
}

/// Drops the answers to an introduction, which precede all other messages of a service.
private struct IntroductoryAnswers {
    private var rest: ArraySlice<JSON>
    private var framing = Framing(maxMessageBytes: .max / 2)
    private var bytes: [UInt8] = []

    init(_ introduction: Introductory) { rest = introduction.messages[...] }

    /// The bytes for the client; nil for those of the service.
    mutating func pass(_ more: UnsafeRawBufferPointer) -> [UInt8]? {
        guard let next = rest.first else { return nil }
        for (index, byte) in more.enumerated() {
            bytes.append(byte)
            withUnsafeBytes(of: byte) { framing.append($0) }
            guard case .message(let message) = framing.next({ try? JSON(parsing: $0) }) else { continue }
            // Another message, such as the refusal of the connection, is for the client.
            if message?["id"] != next["id"] {
                rest = []
            } else {
                rest = rest.dropFirst()
                bytes = []
            }
            let others = UnsafeRawBufferPointer(rebasing: more[(index + 1)...])
            let passed = bytes
            bytes = []
            return passed + (pass(others) ?? Array(others))
        }
        // At its end the connection passes on what it has.
        defer { if more.isEmpty { bytes = [] } }
        return more.isEmpty ? bytes : []
    }
}
