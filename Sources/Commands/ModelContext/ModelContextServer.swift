import JSONRPC
import JSONText
import Platform

/// Serves one client of the Model Context Protocol on stdin and stdout.
///
/// A message is a line. While the client does not read its answers, no further requests are served, and few are read,
/// so that the end of the input is noticed. The process ends soon after its input, even if requests are unanswered:
/// their tasks continue in the service.
@Loop
package final class ModelContextServer {
    private let streams: StandardStreams
    private let time: TimeSource
    private var framing = Framing(maxMessageBytes: mostBytes, style: .lines)
    private var stream: ByteStream?
    private var conversation: Conversation?
    private var output: [UInt8] = []
    private var sent = 0
    private var hasEnded = false
    /// The bytes of input that have come since the client does not read.
    private var backlog = 0
    private var isReceiving = false
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    /// The maximum size of a message: 1 MiB of text with each character escaped.
    private nonisolated static let mostBytes = 8 << 20
    /// The unread output in bytes at which no more requests are served, and the backlog at which no more input is read.
    private static let mostUnread = 1 << 20
    /// How long requests may take after the end of the input.
    private static let grace = Duration.milliseconds(700)

    /// Serves until the input ends, or a signal arrives.
    package nonisolated static func run(
        _ streams: StandardStreams, _ permissions: Permissions, signals: Descriptor?,
        connect: @escaping @Sendable () throws(Unreachable) -> Descriptor
    ) throws -> Never {
        try Loop.start()
        let server = Loop.wait { ModelContextServer(streams, permissions, .system, connect) }
        while true {
            let isSignal = Descriptor.waitUntilReadable(nil, signals, timeout: .seconds(3600)).second
            if isSignal { withExtendedLifetime(server) { CurrentProcess.exitAtOnce(0) } }
        }
    }

    private init(
        _ streams: StandardStreams, _ permissions: Permissions, _ time: TimeSource,
        _ connect: @escaping @Sendable () throws(Unreachable) -> Descriptor
    ) {
        (self.streams, self.time) = (streams, time)
        let conversation = Conversation(
            permissions, time: time, send: { [weak self] in self?.send($0.text) },
            isCrowded: { [weak self] in self?.isCrowded ?? false }, connect: connect)
        conversation.isIdle = { [weak self] in self?.endIfDone() }
        self.conversation = conversation
        stream = ByteStream(input: streams.input, output: streams.output, ConnectionMetrics()) { [weak self] in
            self?.handle($0)
        }
        adjust()
    }

    private var unread: Int { output.count - sent }
    private var isCrowded: Bool { unread > Self.mostUnread }

    private func handle(_ event: ByteStream.Event) {
        switch event {
        case .readable: read()
        case .writable: flush()
        case .hungUp: CurrentProcess.exitAtOnce(0)
        }
    }

    private func read() {
        guard let stream, !hasEnded else { return }
        switch stream.read(into: buffer) {
        case .bytes(let count):
            framing.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            if isCrowded { backlog += count }
            receive()
        case .notNow: break
        case .end, .broken:
            framing.finish()
            hasEnded = true
            receive()
            _ = time.after(Self.grace) { CurrentProcess.exitAtOnce(0) }
            endIfDone()
        }
        adjust()
    }

    private func receive() {
        guard !isReceiving, !isCrowded else { return }
        (isReceiving, backlog) = (true, 0)
        defer { isReceiving = false }
        while !isCrowded, let conversation, let frame = framing.next({ conversation.receive($0) }) {
            if case .tooLong(_, let limit) = frame { conversation.refuseLine(over: limit) }
        }
    }

    private func send(_ text: String) {
        output += text.utf8
        output.append(0x0A)
        flush()
    }

    private func flush() {
        guard let stream else { return }
        do throws(SystemError) {
            while unread > 0 {
                let count = try output.withUnsafeBytes { bytes in
                    Result { () throws(SystemError) in
                        try stream.write(UnsafeRawBufferPointer(rebasing: bytes[sent...]))
                    }
                }.get()
                if count == 0 { break }
                sent += count
            }
        } catch {
            CurrentProcess.exitAtOnce(0)
        }
        if unread == 0 {
            (output, sent) = ([], 0)
        } else if sent > Self.mostUnread {
            output.removeFirst(sent)
            sent = 0
        }
        conversation?.resume()
        receive()
        adjust()
        endIfDone()
    }

    private func adjust() { stream?.want(input: !hasEnded && backlog <= Self.mostUnread, room: unread > 0) }

    private func endIfDone() {
        if hasEnded, !isReceiving, unread == 0, conversation?.pending ?? 0 == 0 { CurrentProcess.exitAtOnce(0) }
    }
}
