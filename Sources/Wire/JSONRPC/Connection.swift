import ClientMemory
import JSONText
import Platform

/// The life of a connection. A phase is never entered twice.
enum ConnectionPhase: Int, Comparable {
    case open
    /// The peer sends no more bytes; its last requests begin.
    case inputEnded
    /// No more requests begin; the pending ones are answered.
    case draining
    /// All requests are answered; the connection closes when the outbox is empty.
    case flushing
    case closed

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    mutating func advance(to next: Self) { self = max(self, next) }
}

/// Work that a connection has scheduled on the loop.
struct ScheduledWork: OptionSet {
    let rawValue: Int
    /// Continues receiving in the next iteration, after other connections have been served.
    static let receive = Self(rawValue: 1)
    /// Flushes the outbox at the end of this iteration.
    static let flush = Self(rawValue: 2)
}

/// One JSON-RPC connection: reads messages, runs the methods that they call, and writes replies and notifications.
///
/// The life of a request, all of it on the event loop:
///
///     readable ─▶ read bytes ─▶ frame messages while admission is open ─▶ receive ─▶ one message, or a batch
///         message ─▶ DecodedMessage with its call from the table ─▶ run to its end, or as a Swift task to its first wait
///         message that is a PlainCall ─▶ run to its end
///         end ─▶ settle: reply into the outbox, then `didReply`
///     end of the loop's iteration ─▶ flush: one write for all replies of the iteration
///
/// The service also sends requests to the peer. The answers arrive among the peer's other messages, so a request that
/// waits for one must not stop the connection from reading:
///
/// - it does not count as active until it has the answer (`Request.whileWaitingForPeer`);
/// - while an answer is outstanding, the limits are doubled, since some requests wait indirectly: one may need memory
///   that requests hold which wait for the answer;
/// - if the peer sends more than that before it reads, the request of the service times out.
///
/// The connection ends when the peer has hung up, or when its input has ended and nothing is left to answer.
@Loop
public final class Connection<Context: MethodContext>: Peer, RequestOwner {
    /// Work between the end of the input and the end of the connection.
    public typealias Linger = @Loop (Connection<Context>) async -> Void

    let limits: ConnectionLimits
    let table: MethodTable<Context>
    let metrics: ConnectionMetrics
    /// The context that methods run in; nil before `serve` and after the end.
    private(set) var context: Context?
    private(set) var decoder: MessageDecoder?
    /// The request that prompt methods run with; nil when the context is.
    private(set) var prompt: Request<Context>?
    let threads: DecodingThreads
    var intake: Intake
    var pending: PendingRequests
    let outlet: Outlet
    var phase = ConnectionPhase.open
    /// The peer has hung up; requests that it has sent before still begin.
    private(set) var peerIsGone = false
    var scheduled: ScheduledWork = []
    /// The number of unfinished pauses; no message begins while it is above 0.
    var messagePauses = 0
    let outgoingRequests: OutgoingRequests
    var stream: ByteStream?
    /// Why the peer was disconnected, if it has left too much unread.
    public var overrun: String? { outlet.overrun }
    /// Why the connection has ended, for the log.
    public private(set) var endReason: String?
    /// The error with which answers were lost, although the client may still be connected.
    package internal(set) var writeError: SystemError?
    /// The error with which requests could not be read, although there may be some.
    package internal(set) var readError: SystemError?
    /// Wakes tasks whenever a request ends.
    let answered = Waiters()
    /// The error of a cancelled request.
    private(set) var cancellation = RPCError.cancelled
    let trace: TraceHook?
    let clock: any Clock<Duration>
    /// Writes a line at the log level debug. Nil if that level is off: then no line is built and no clock is read.
    let debug: WriteLog?
    private let closed = Waiters()
    private let linger: Linger?
    let reportInternalError: @Loop (String) -> Void
    private let ended: @Loop (Connection<Context>) -> Void

    /// `reportInternalError` gets the method and the error of each internal error; `debug` gets a line about each
    /// request that has ended.
    public init(
        input: Descriptor, output: Descriptor, table: MethodTable<Context>, limits: ConnectionLimits,
        linger: Linger? = nil, clock: any Clock<Duration> = ContinuousClock(), trace: TraceHook? = nil,
        debug: WriteLog? = nil, threads: DecodingThreads = .shared,
        memory: ConnectionMemory = ConnectionMemory(), metrics: ConnectionMetrics = ConnectionMetrics(),
        reportInternalError: @escaping @Loop (String) -> Void = { _ in },
        ended: @escaping @Loop (Connection<Context>) -> Void
    ) {
        self.limits = limits
        (self.table, self.metrics) = (table, metrics)
        self.threads = threads
        intake = Intake(limits, memory.incoming)
        pending = PendingRequests(limits)
        outlet = Outlet(limits, memory.outgoing, trace)
        self.linger = linger
        self.reportInternalError = reportInternalError
        outgoingRequests = OutgoingRequests(clock: clock)
        self.trace = trace
        self.clock = clock
        self.debug = debug
        self.ended = ended
        metrics.opened += 1
        stream = ByteStream(input: input, output: output, metrics) { [weak self] in self?.handle($0) }
    }

    /// Starts reading. Methods run in `context`.
    public func serve(_ context: Context) {
        self.context = context
        let prompt = Request(context: context)
        self.prompt = prompt
        decoder = MessageDecoder(limits) { [table] in
            table.refusal(of: $0, $1, context)
        } _: { [table] method, params throws(RPCError) in
            try table.call(method, params, prompt)
        }
        intake.memory.revoke = { [weak self] in self?.abandonText() }
        outlet.memory.revoke = { [weak self] in self?.disconnectIdleReader() }
        adjust()
    }

    /// Returns when all pending requests wait for tasks.
    public func workIsDone() async {
        while pending.all.contains(where: { !$0.isWaiting }) {
            do { try await answered.wait() } catch { return }
        }
    }

    public var requests: RequestCounts { pending.counts }

    public func pauseMessages() {
        messagePauses += 1
        adjust()
    }

    public func resumeMessages() {
        messagePauses -= 1
        if messagePauses == 0 { resumeInNextIteration() }
    }

    public func end() {
        willEnd("the client asked for its end")
        Task { await finish("The connection ends before this has happened.") }
    }

    /// Stops reading, fails pending requests with `requestCancelled`, and returns when the outbox is flushed.
    public func finish(_ why: String = "The service ends before this has happened.") async {
        willEnd("the service ends")
        phase.advance(to: .draining)
        leaveOutRest()
        outgoingRequests.failAll()
        cancelAll(why)
        await answerAll()
        while stream != nil {
            do { try await closed.wait() } catch { return }
        }
    }

    /// Closes the connection at once, and leaves pending requests without answers.
    public func close(_ reason: String = "the service closes it") {
        guard let stream else { return }
        willEnd(reason)
        stream.close()
        self.stream = nil
        metrics.closed += 1
        phase = .closed
        leaveOutRest()
        intake.memory.leave()
        outlet.memory.leave()
        outgoingRequests.failAll()
        cancelAll()
        ended(self)
        (context, decoder, prompt) = (nil, nil, nil)
        outlet.shrank.wakeAll()
        closed.wakeAll()
    }

    /// Records the reason of the end, unless one is recorded.
    func willEnd(_ reason: String) { endReason = endReason ?? reason }

    private func handle(_ event: ByteStream.Event) {
        switch event {
        case .readable: read()
        case .writable:
            flush()
            receive()
        case .hungUp: hangUp()
        }
    }

    static var hungUp: String { "the client hung up" }

    /// Handles a hang-up. Requests that the peer has sent before still begin.
    private func hangUp() {
        guard intake.state.isDecoding, stream?.isOneDescriptor == true else { return close(Self.hungUp) }
        peerIsGone = true
        stream?.stopWatching()
    }

    /// Called after all requests have begun: waits for `linger`, answers the pending requests, flushes and closes.
    func endInput() {
        guard phase < .draining else { return }
        willEnd("the client ended its input")
        phase = .draining
        outgoingRequests.failAll()
        Loop.task { [self] in
            if let linger {
                await linger(self)
                // Requests whose wait has ended keep their results.
                cancelAll()
            }
            await answerAll()
        }
    }

    private func answerAll() async {
        while !pending.isEmpty {
            do { try await answered.wait() } catch { break }
        }
        phase.advance(to: .flushing)
        flush()
    }

    private func cancelAll(_ why: String = "The service ends before this has happened.") {
        cancellation = RPCError(code: RPCError.cancelled.code, message: why)
        for request in pending.all { request.task?.cancel() }
    }
}
