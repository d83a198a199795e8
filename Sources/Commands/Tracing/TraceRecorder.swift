import Dispatch
import Platform
import JSONRPC
import JSONText
import Storage
import Synchronization

/// Why a trace file cannot be used: a sentence that names it.
package struct TraceUnavailable: Error { package let message: String }

/// Records the messages of connections on a thread. Never blocks: messages for which the disk is too slow or too full
/// are dropped and counted.
package final class TraceRecorder: Sendable {
    private struct Entry: Sendable {
        /// What becomes the event of the line, on the thread that writes.
        enum Text {
            case none
            case message(MessageSender, [UInt8])
            case task([UInt8])
        }

        var line: TraceLine
        var text = Text.none

        /// The memory of the entry, with its overhead.
        var size: Int {
            switch text {
            case .none: 128
            case .message(_, let bytes), .task(let bytes): 128 + bytes.count
            }
        }
    }

    private struct State {
        var waiting: [Entry] = []
        var bytes = 0
        var dropped: Int64 = 0
        var isWriting = false
        /// The time limit of writing has passed.
        var isHurried = false
    }

    private struct Output: ~Copyable {
        var file: TraceFile
        var hasReported = false
    }

    private static let piece = 256

    private let state = Mutex(State())
    private let time: TimeSource
    private let output: SerialQueue<Output>
    private let process: Int64
    private let capacity: Int
    private let path: String
    private let report: @Sendable (String) -> Void

    /// Drops messages while `capacity` bytes wait for the disk. `report` is called once, with one line.
    package init(
        _ path: String, version: String, engine: String, process: Int32, time: TimeSource, capacity: Int = 16 << 20,
        report: @escaping @Sendable (String) -> Void
    ) throws(TraceUnavailable) {
        do throws(TraceFileError) {
            var file = try TraceFile(path)
            self.process = Int64(process)
            self.time = time
            let first = TraceLine(at: time.now(), process: Int64(process), .run(version: version, engine: engine))
            try file.write(Self.bytes(first))
            output = SerialQueue(on: WorkerThreads("trace"), Output(file: file))
        } catch {
            throw TraceUnavailable(message: "no trace can be written to \(path): \(error.reason)")
        }
        (self.capacity, self.path, self.report) = (capacity, path, report)
    }

    package func began(_ connection: Int64, _ peer: String) { note(connection, .began(peer: peer)) }

    package func ended(_ connection: Int64) { note(connection, .ended) }

    package func trace(_ connection: Int64) -> TraceHook {
        { [self] sender, bytes in
            let line = TraceLine(at: time.now(), process: process, connection: connection, .ended)
            add { Entry(line: line, text: .message(sender, Array(bytes))) }
        }
    }

    /// Records a change of a task: a JSON object with members of a snapshot.
    package func changed(_ task: [UInt8]) {
        let line = TraceLine(at: time.now(), process: process, .ended)
        add { Entry(line: line, text: .task(task)) }
    }

    /// Returns when all events are written, and drops those that are not written in time. No event may be recorded
    /// afterwards.
    package func flush(milliseconds: Int) {
        let done = DispatchSemaphore(value: 0)
        output.submit { _ in done.signal() }
        guard done.wait(timeout: .now() + .milliseconds(milliseconds)) == .timedOut else { return }
        state.withLock { $0.isHurried = true }
        _ = done.wait(timeout: .now() + .milliseconds(100))
    }

    private func note(_ connection: Int64, _ event: TraceLine.Event) {
        let line = TraceLine(at: time.now(), process: process, connection: connection, event)
        add { Entry(line: line) }
    }

    /// Copies a message only if there is room. A message longer than the capacity is accepted if no other waits.
    private func add(_ entry: () -> Entry) {
        let mustStart = state.withLock { state in
            guard state.bytes < capacity else {
                state.dropped += 1
                return false
            }
            let entry = entry()
            state.bytes += entry.size
            state.waiting.append(entry)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        if mustStart { output.submit { [self] output in writeAll(to: &output) } }
    }

    /// Writes the entries, followed by a line with the number of lost ones after them.
    private func writeAll(to output: inout Output) {
        var isFailing = false
        while let (entries, dropped) = take(evenIfEmpty: !isFailing) {
            var lost = dropped
            for start in stride(from: 0, to: entries.count, by: Self.piece) {
                let piece = entries[start..<min(start + Self.piece, entries.count)]
                let isHurried = state.withLock(\.isHurried)
                isFailing = isHurried || !write(piece.flatMap { Self.bytes(Self.line($0)) }, to: &output)
                if isFailing { lost += Int64(piece.count) }
                state.withLock { $0.bytes -= piece.reduce(0) { $0 + $1.size } }
            }
            guard lost > 0 else { continue }
            isFailing = !write(Self.bytes(TraceLine(at: time.now(), process: process, .dropped(lost))), to: &output)
            if isFailing { state.withLock { $0.dropped += lost } }
        }
    }

    /// All waiting entries, and the number of those that were dropped after them.
    private func take(evenIfEmpty: Bool) -> (entries: [Entry], dropped: Int64)? {
        state.withLock { state in
            guard !state.waiting.isEmpty || evenIfEmpty && state.dropped > 0 else {
                state.isWriting = false
                return nil
            }
            defer { (state.waiting, state.dropped) = ([], 0) }
            return (state.waiting, state.dropped)
        }
    }

    private func write(_ lines: [UInt8], to output: inout Output) -> Bool {
        do throws(TraceFileError) {
            try output.file.write(lines)
            return true
        } catch {
            if !output.hasReported { report("the trace cannot be written to \(path): \(error.reason)") }
            output.hasReported = true
            return false
        }
    }

    private static func line(_ entry: Entry) -> TraceLine {
        var line = entry.line
        switch entry.text {
        case .none: break
        case .message(let sender, let bytes):
            line.event = bytes.withUnsafeBytes { .message(from: sender, reading: $0) }
        case .task(let bytes): line.event = .task(Redaction.redacted(JSON(wire: bytes) ?? .null, from: false))
        }
        return line
    }

    private static func bytes(_ line: TraceLine) -> [UInt8] {
        var bytes: [UInt8] = []
        line.json.write(to: &bytes)
        return bytes + [0x0A]
    }
}

extension TraceLine.Event {
    private static let deepest = 64
    private static let longest = 128 << 10

    static func message(from sender: MessageSender, reading bytes: UnsafeRawBufferPointer) -> Self {
        let length = Int64(bytes.count)
        do throws(JSONSyntaxError) {
            let most = sender == .client ? mostValues(bytes) : .max
            let message = try JSON(parsing: bytes, maxDepth: deepest, maxValues: most)
            let shown = Redaction.redacted(message, from: sender == .client)
            return .message(from: sender, bytes: length, shown.text.utf8.count > longest ? essence(of: shown) : shown)
        } catch {
            return .broken(from: sender, bytes: length, text: Redaction.redacted(broken: bytes))
        }
    }

    /// The maximum number of values in a client's message; a batch may have more than a request.
    private static func mostValues(_ bytes: UnsafeRawBufferPointer) -> Int {
        let isBatch = bytes.first { $0 > 0x20 } == UInt8(ascii: "[")
        return isBatch ? ConnectionLimits().messageValues : 1 << 16
    }

    /// The members by which requests and answers are matched.
    private static func essence(of message: JSON) -> JSON {
        .object((message.object ?? []).filter { ["jsonrpc", "id", "method"].contains($0.key) })
    }
}
