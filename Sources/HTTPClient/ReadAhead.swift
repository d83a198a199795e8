import Platform
import Synchronization

/// The bytes of a body that are read on another thread, some blocks ahead of the sending. Memory is taken while
/// a transfer reads, and is the less the more bodies have it.
///
/// Blocks go round: one job at a time fills the next free one, the transfer empties the oldest. Going back, as
/// for a connection that died, forgets all blocks; what the job is then filling is read for nothing.
public final class ReadAhead: HTTPBodySource {
    /// Fills the whole buffer from `offset` of the body on. Called on a worker thread, may block. What it throws
    /// ends the transfer with `bodyFailed` and the error's text.
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
