import Platform
import Synchronization

/// Reads the bytes of a body on a worker thread, some blocks ahead of the transfer. Uses less memory the more bodies are
/// being sent.
///
/// One job at a time fills the next free block of the ring, and the transfer empties the oldest. A resend discards all
/// blocks.
public final class ReadAhead: HTTPBodySource {
    /// Fills the whole buffer from `offset` on, on a worker thread. An error ends the transfer with `bodyFailed`.
    public typealias Fill = @Sendable (_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) throws -> Void

    public let count: Int64
    private let threads: WorkerThreads
    private let fill: Fill
    private let state: Mutex<ReadAheadState>

    public init(count: Int64, on threads: WorkerThreads, fill: @escaping Fill) {
        self.count = count
        self.threads = threads
        self.fill = fill
        state = Mutex(ReadAheadState(count: count))
    }

    public func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int64, wake: HTTPWaker
    ) -> HTTPBodyRead {
        let (ready, failure) = state.withLock { ($0.ready(at: offset, else: wake), $0.failure) }
        if let failure { return .failed(failure) }
        let copied = ready.map { $0.copy(into: buffer) } ?? 0
        let mustStart = state.withLock { state in
            state.emptied(upTo: offset + Int64(copied))
            return state.beginFilling()
        }
        if mustStart { threads.submit { [self] in fillBlocks() } }
        return copied == 0 ? .later : .bytes(copied)
    }

    public func transferEnded() {
        state.withLock { $0.letGo() }
    }

    private func fillBlocks() {
        while let block = state.withLock({ $0.nextToFill() }) {
            var failure: String?
            do {
                try fill(block.bytes, block.offset)
            } catch {
                failure = String(describing: error)
            }
            let wake = state.withLock { $0.filled(block, failure) }
            wake?()
        }
    }
}
