import JSONText
import Platform

/// How far a connection is on the way to its end. It never goes back.
enum ConnectionPhase: Int, Comparable {
    case open
    /// The peer sends nothing more; what it sent is being begun.
    case inputEnded
    /// Nothing more is begun; pending requests are being answered.
    case draining
    /// Everything is answered; the connection closes when the outbox is empty.
    case flushing
    case closed

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

    mutating func advance(to next: Self) { self = max(self, next) }
}

/// What a connection has put off until later.
struct ScheduledWork: OptionSet {
    let rawValue: Int
    /// In the next iteration of the loop, so that other connections have their turn.
    static let receive = Self(rawValue: 1)
    /// At the end of this iteration.
    static let flush = Self(rawValue: 2)
}

/// One JSON-RPC connection: reads messages, runs the methods that they call, and writes replies and notifications.
///
/// The life of a request, all of it on the event loop:
///
///     readable ─▶ read bytes ─▶ frame messages while admission is open ─▶ receive ─▶ one message, or a batch
///         message ─▶ ParsedMessage ─▶ call from the table ─▶ run to its end, or as a Swift task to its first wait
///         end ─▶ settle: reply into the outbox, then `didReply`
///     end of the loop's iteration ─▶ flush: one write for all replies of the iteration
///
/// Requests of the service have ids of their own. The peer's answer stands among the peer's messages, so a request that
/// waits for such an answer must not keep the connection from reading:
///
/// - it does not count as active until it has the answer (`Request.whileWaitingForPeer`);
/// - while an answer is outstanding the limits are doubled, for some requests wait indirectly, such as one that needs
///   memory which requests hold that wait for the answer;
/// - where the peer still sends more than that before it reads, the request of the service times out.
///
/// The connection ends when the peer is gone, or when its input has ended and nothing is left to answer.
@Loop
public final class Connection<Context: MethodContext>: Peer, RequestOwner {
    /// Runs between the end of the input and the end of the connection.
    public typealias Linger = @Loop (Connection<Context>) async -> Void

    let limits: ConnectionLimits
    private let table: MethodTable<Context>
    /// What methods run in; nil before `serve`, and after the end.
    private(set) var context: Context?
    private(set) var decoder: MessageDecoder?
    let threads: DecodingThreads
    /// Shares of the memory of all connections: for received messages, and for what peers have not read.
    let inputMemory: QuotaShare
    let outputMemory: QuotaShare
    var framing: Framing
    var inputState = InputState.idle
    var budget = IterationBudget()
    var phase = ConnectionPhase.open
    /// The peer has hung up; what it sent before is still begun.
    private(set) var peerIsGone = false
    var scheduled: ScheduledWork = []
    var outbox: Outbox
    var admission: AdmissionControl
    let outgoingRequests: OutgoingRequests
    var stream: ByteStream?
    var pending: [Int: PendingRequest] = [:]
    var lastNumber = 0
    /// What the peer has left unread where that is too much: the connection closes at the end of the iteration.
    public internal(set) var overrun: String?
    /// Why the connection ends, for the log.
    public private(set) var endReason: String?
    /// Bytes of answers in batches that are not complete.
    var batchedBytes = 0
    /// Those who wait for the end of a request, and for the peer to read.
    let answered = Waiters()
    let outboxShrank = Waiters()
    /// The error of a request that is cancelled.
    private(set) var cancellation = RPCError.cancelled
    let trace: TraceHook?
    let clock: any Clock<Duration>
    /// Writes a line at the log level debug. Nil where that level is off: no line is built and no clock is read.
    let debug: (@Sendable (String) -> Void)?
    private let closed = Waiters()
    private let linger: Linger?
    let reportInternalError: @Loop (String) -> Void
    private let ended: @Loop (Connection<Context>) -> Void

    /// `reportInternalError` gets each error that is a mistake of the service: the method, and what it has thrown.
    /// `debug` gets a line about each request that has ended.
    public init(
        input: Descriptor, output: Descriptor, table: MethodTable<Context>, limits: ConnectionLimits,
        linger: Linger? = nil, clock: any Clock<Duration> = ContinuousClock(), trace: TraceHook? = nil,
        debug: (@Sendable (String) -> Void)? = nil, threads: DecodingThreads = .shared,
        memory: ConnectionMemory = ConnectionMemory(),
        reportInternalError: @escaping @Loop (String) -> Void = { _ in },
        ended: @escaping @Loop (Connection<Context>) -> Void
    ) {
        self.limits = limits
        self.table = table
        self.threads = threads
        inputMemory = QuotaShare(of: memory.incoming)
        outputMemory = QuotaShare(of: memory.outgoing)
        framing = Framing(maxMessageBytes: limits.messageBytes)
        admission = AdmissionControl(limits)
        self.linger = linger
        self.reportInternalError = reportInternalError
        outgoingRequests = OutgoingRequests(clock: clock)
        self.trace = trace
        self.clock = clock
        self.debug = debug
        outbox = Outbox(trace: trace)
        self.ended = ended
        stream = ByteStream(input: input, output: output) { [weak self] in self?.handle($0) }
    }

    /// Begins to read. Methods run in `context`.
    public func serve(_ context: Context) {
        self.context = context
        let prompt = Request(context: context)
        decoder = MessageDecoder(limits) { [table] method, params throws(RPCError) in
            try table.call(method, params, prompt)
        }
        inputMemory.revoke = { [weak self] in self?.abandonText() }
        outputMemory.revoke = { [weak self] in self?.disconnectIdleReader() }
        adjust()
    }

    /// Returns when no request is pending any more but those that wait for tasks.
    public func workIsDone() async {
        while pending.contains(where: { !$0.value.isWaiting }) {
            do { try await answered.wait() } catch { return }
        }
    }

    public var requests: RequestCounts {
        RequestCounts(active: pending.count - admission.waiting, waiting: admission.waiting)
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

    /// Ends the connection now, without answers to pending requests.
    public func close(_ reason: String = "the service closes it") {
        guard let stream else { return }
        willEnd(reason)
        stream.close()
        self.stream = nil
        phase = .closed
        inputState = .idle
        inputMemory.leave()
        outputMemory.leave()
        outgoingRequests.failAll()
        cancelAll()
        ended(self)
        (context, decoder) = (nil, nil)
        outboxShrank.wakeAll()
        closed.wakeAll()
    }

    /// Only the first reason counts.
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

    /// What the peer sent before it hung up still begins.
    private func hangUp() {
        guard inputState.isDecoding, stream?.isOneDescriptor == true else { return close(Self.hungUp) }
        peerIsGone = true
        stream?.stopWatching()
    }

    /// All that the peer has sent is begun: runs the linger, answers what is left, flushes, and closes.
    func endInput() {
        guard phase < .draining else { return }
        willEnd("the client ended its input")
        phase = .draining
        outgoingRequests.failAll()
        Task {
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
        for request in pending.values { request.task?.cancel() }
    }
}
