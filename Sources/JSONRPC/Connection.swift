import JSONText
import EventLoop

/// One who can be told news, and asked.
@Loop
public protocol Peer: AnyObject, Sendable {
    func notify(_ method: String, _ params: JSON, _ kind: NewsKind)

    /// The peer's result. Throws the `RPCError` that it answered with, `Unanswered` where there is none of use and
    /// none to wait for within `patience`, or `CancellationError`.
    func ask(_ method: String, _ params: JSON, patience: Duration) async throws -> JSON

    /// The peer's own requests that are not answered yet.
    var requests: RequestCounts { get }

    /// Answers what waits with a cancellation, and ends the connection when the peer has taken all answers.
    func end()
}

/// How many requests are not answered yet.
public struct RequestCounts: Equatable, Sendable {
    /// Those that are worked on.
    public var active = 0
    /// Those that only wait for the end of tasks.
    public var waiting = 0

    public init(active: Int = 0, waiting: Int = 0) { (self.active, self.waiting) = (active, waiting) }

    public static func += (sum: inout RequestCounts, more: RequestCounts) {
        sum.active += more.active
        sum.waiting += more.waiting
    }
}

/// How much a piece of news is worth to one who reads slowly.
public enum NewsKind: Sendable {
    /// Never dropped.
    case fact
    /// Only the newest of a key counts while older bytes wait.
    case sample(key: String)
}

/// One peer: reads its messages, answers its requests, tells it the news.
///
/// The life of a request, all of it on the loop:
///
///     readable ─▶ take bytes ─▶ cut messages while the gate is open ─▶ receive ─▶ one item, or a batch
///         item ─▶ Incoming ─▶ call from the table ─▶ run to its end, or as a Swift task to its first wait
///         end ─▶ settle: reply into the outbox, then what had to wait for it (`didReply`)
///     end of turn ─▶ flush: one write for all replies of the turn
///
/// What the service asks the peer has ids of its own. An answer is taken where it stands among the messages, so
/// whatever waits for one must not keep the reader from it:
///
/// - a request whose task waits for an answer lends its place at the gate until it has it;
/// - while an answer is outstanding the gate lets in as much again, for there are those who wait in a roundabout way,
///   such as a request that wants memory which others hold who wait for the answer;
/// - where all that is not enough, because the peer writes on and on before it reads, patience runs out.
///
/// It ends when the peer is gone, or when its input has ended and nothing is left to answer.
@Loop
public final class Connection<Context: MethodContext>: Peer {
    /// What happens between the end of the input and the end of the connection. It may wait.
    public typealias Linger = @Loop (Connection<Context>) async -> Void

    let limits: ConnectionLimits
    private let table: MethodTable<Context>
    /// What methods run in; nil before and after the connection's life.
    private(set) var context: Context?
    private(set) var decoder: MessageDecoder?
    let threads: DecodingThreads
    /// What it holds of what clients have sent, and of what they have not read yet.
    let incoming: QuotaShare
    let outgoing: QuotaShare
    var framing: Framing
    var intake = Intake.idle
    var budget = IterationBudget()
    /// Something has arrived that may not be begun yet, for the gate is closed or the peer does not read.
    var isHeldUp = false
    /// More is to be done in the next iteration.
    var isResuming = false
    /// The peer has hung up, while something that it said before was decoded.
    private(set) var peerIsGone = false
    var outbox: Outbox
    var gate: Gate
    let questions: Questions
    var stream: ByteStream?
    var underWay: [Int: UnderWay] = [:]
    /// How many of them have said that they will only wait for others.
    var seatsTaken = 0
    var lastNumber = 0
    /// The peer sends nothing more.
    var hasEnd = false
    /// And all that it sent has been begun.
    var inputIsOver = false
    var isEnding = false
    /// The peer has left too much unread, in these words: it is closed at the end of the turn.
    public internal(set) var overrun: String?
    /// Bytes of answers in batches that are not complete.
    var batched = 0
    var isTurnNoted = false
    let answered = Waiters()
    let taken = Waiters()
    /// What a request hears that was cancelled.
    private(set) var cancellation = RPCError.cancelled
    let tap: Tap?
    private let closed = Waiters()
    private let linger: Linger?
    let unforeseen: @Loop (String) -> Void
    private let ended: @Loop (Connection<Context>) -> Void

    /// `unforeseen` is told of each error that is a mistake of the service: the method, and what it has thrown.
    public init(
        input: Descriptor, output: Descriptor, table: MethodTable<Context>, limits: ConnectionLimits,
        linger: Linger? = nil, clock: any Clock<Duration> = ContinuousClock(), tap: Tap? = nil,
        threads: DecodingThreads = .shared, memory: ConnectionMemory = ConnectionMemory(),
        unforeseen: @escaping @Loop (String) -> Void = { _ in },
        ended: @escaping @Loop (Connection<Context>) -> Void
    ) {
        self.limits = limits
        self.table = table
        self.threads = threads
        incoming = QuotaShare(of: memory.incoming)
        outgoing = QuotaShare(of: memory.outgoing)
        framing = Framing(maxMessageBytes: limits.messageBytes)
        gate = Gate(limits)
        self.linger = linger
        self.unforeseen = unforeseen
        questions = Questions(clock: clock)
        self.tap = tap
        outbox = Outbox(tap: tap)
        self.ended = ended
        stream = ByteStream(input: input, output: output) { [weak self] in self?.hear($0) }
    }

    /// Begins to read. The context is what methods will run in.
    public func serve(_ context: Context) {
        self.context = context
        let prompt = Request(context: context)
        decoder = MessageDecoder(limits) { [table] method, params throws(RPCError) in
            try table.call(method, params, prompt)
        }
        incoming.revoke = { [weak self] in self?.abandonText() }
        outgoing.revoke = { [weak self] in self?.disconnectIdleReader() }
        adjust()
    }

    /// Returns when nothing is under way any more but requests that only wait for others.
    public func workIsDone() async {
        while underWay.contains(where: { $0.value.holdsPlace }) {
            do { try await answered.wait() } catch { return }
        }
    }

    public var requests: RequestCounts {
        RequestCounts(active: underWay.count - seatsTaken, waiting: seatsTaken)
    }

    public func end() {
        Task { await finish("The connection ends before this has happened.") }
    }

    /// Takes nothing more, answers what waits with a cancellation, and returns when the peer has taken it all.
    public func finish(_ why: String = "The service ends before this has happened.") async {
        hasEnd = true
        inputIsOver = true
        leaveOutRest()
        questions.giveUp()
        cancelAll(why)
        await answerAll()
        while stream != nil {
            do { try await closed.wait() } catch { return }
        }
    }

    /// Ends the connection now: what is not answered never will be.
    public func close() {
        guard let stream else { return }
        stream.close()
        self.stream = nil
        isEnding = true
        intake = .idle
        incoming.leave()
        outgoing.leave()
        questions.giveUp()
        cancelAll()
        ended(self)
        (context, decoder) = (nil, nil)
        taken.wakeAll()
        closed.wakeAll()
    }

    private func hear(_ news: ByteStream.News) {
        switch news {
        case .readable: read()
        case .writable:
            flush()
            receive()
        case .hungUp: hangUp()
        }
    }

    /// What a peer said before it hung up still begins.
    private func hangUp() {
        guard intake.isDecoding, stream?.isOneDescriptor == true else { return close() }
        peerIsGone = true
        stream?.stopWatching()
    }

    /// Once the input is over: lets the linger finish, answers what is left, writes everything, closes.
    func endInput() {
        guard !inputIsOver else { return }
        inputIsOver = true
        questions.giveUp()
        Task {
            if let linger {
                await linger(self)
                // A request whose wait has ended keeps its result: only those that still wait are cancelled by this.
                cancelAll()
            }
            await answerAll()
        }
    }

    private func answerAll() async {
        while !underWay.isEmpty {
            do { try await answered.wait() } catch { break }
        }
        isEnding = true
        flush()
    }

    private func cancelAll(_ why: String = "The service ends before this has happened.") {
        cancellation = RPCError(code: RPCError.cancelled.code, message: why)
        for request in underWay.values { request.task?.cancel() }
    }
}
