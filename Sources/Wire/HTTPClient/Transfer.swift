import CCurl
import Platform

/// One running request: its libcurl handle, its response so far, and its time limits.
///
/// Used only on the transfer thread; other threads use the ticket.
final class Transfer {
    typealias Outcome = TransferTicket.Outcome

    let ticket: TransferTicket
    var request: HTTPRequest { ticket.request }
    unowned let loop: TransferLoop

    /// Not nil while the transfer runs.
    var easy: OpaquePointer?
    var headerList: OpaquePointer?
    var errorBuffer: UnsafeMutablePointer<CChar>?
    var source: (any HTTPBodySource)?
    var answer = IncomingResponse()
    /// Why a callback stopped the transfer.
    var failure: HTTPError.Kind?

    var position: Int64 = 0
    var sent: Int64 = 0
    var received: Int64 = 0
    /// The number of connections that the request was sent on: more than one if a reused one had closed.
    private var timesBegun = 0
    var isHeldUp = false

    private let bodyCount: Int64
    private var beganToConnect: Int64?
    private var isConnected = false
    private var lastMove: Int64 = 0
    /// When the first line of the response arrived.
    private var answerBegan: Int64?
    /// The number of bytes of the body whose arrival was acknowledged at once; nil before the header.
    private var acknowledged: Int64?

    init(_ ticket: TransferTicket, in loop: TransferLoop) {
        (self.ticket, self.loop) = (ticket, loop)
        let request = ticket.request
        bodyCount = request.body.count
        if case .source(let source) = request.body { self.source = source }
        if case .bytes(let bytes) = request.body, bytes.count > Self.largestCopiedBody {
            source = BytesInMemory(bytes: bytes)
        }
    }

    var waker: HTTPWaker { HTTPWaker(ticket: ticket, thread: loop.thread) }

    /// Counts the bytes sent since libcurl's last report.
    func countSent() {
        guard let easy, case let sent = ccurl_get_offset(easy, CCURL_SIZE_UPLOAD_T), sent > self.sent else { return }
        self.sent = sent
        request.onSent?(sent)
    }

    /// Frees the handle, then resumes the waiting task.
    func finish(_ outcome: Outcome) {
        if let easy { ccurl_easy_cleanup(easy) }
        if let headerList { ccurl_list_free(headerList) }
        errorBuffer?.deallocate()
        (easy, headerList, errorBuffer) = (nil, nil, nil)
        source?.transferEnded()
        source = nil
        ticket.finish(outcome)
    }

    /// Resumes the source and the sink, and returns libcurl's code.
    func resume() -> Int32 {
        guard isHeldUp, let easy else { return 0 }
        isHeldUp = false
        moved()
        return ccurl_easy_pause(easy, 0)
    }

    func failed(_ kind: HTTPError.Kind) -> Outcome {
        .failure(HTTPError(kind, host: request.host, mayHaveReachedServer: mayHaveReachedServer))
    }

    /// Whether libcurl may send the request, for the first time or again.
    func mayBeSent() -> Bool {
        timesBegun += 1
        guard timesBegun > 1, request.isSentOnce else { return true }
        failure = .connectionBroken("closed without an answer")
        return false
    }

    private var mayHaveReachedServer: Bool {
        guard let easy else { return false }
        return timesBegun > 1 || sent > 0 || received > 0 || answer.hasBegun
            || ccurl_get_long(easy, CCURL_REQUEST_SIZE) > 0
    }
}

extension Transfer {
    /// The next time limit, and the error when it passes.
    var nextLimit: (time: Int64, failure: HTTPError.Kind)? {
        let limits = request.limits
        let total = limits.total.map { (ticket.began + $0.nanoseconds, HTTPError.Kind.deadlineExceeded) }
        guard let phase = phaseLimit(limits) else { return total }
        guard let total, total.0 < phase.0 else { return phase }
        return total
    }

    private func phaseLimit(_ limits: HTTPLimits) -> (Int64, HTTPError.Kind)? {
        guard isConnected else {
            return beganToConnect.map { ($0 + limits.connect.nanoseconds, .connectTimedOut) }
        }
        if isHeldUp { return nil }
        let isAnswered = sent < bodyCount || answer.isHeadComplete
        let silence: (Int64, HTTPError.Kind) =
            isAnswered
            ? (lastMove + limits.stall.nanoseconds, .stalled) : (lastMove + limits.answer.nanoseconds, .noAnswer)
        // Single bytes must not extend the time for a response that is held in memory.
        guard let answerBegan, answer.isForSink != true,
            case let end = answerBegan + limits.answer.nanoseconds, end < silence.0
        else { return silence }
        return (end, .deadlineExceeded)
    }

    func lookAgain() { if let (time, _) = nextLimit { loop.look(at: time) } }

    func moved() {
        lastMove = monotonicNow()
        lookAgain()
    }

    func answerMoved() {
        moved()
        if answerBegan == nil {
            answerBegan = lastMove
            lookAgain()
        }
    }

    /// - Parameter socket: the socket that is about to be connected; nil before a name is resolved.
    func connecting(_ socket: Int32? = nil) {
        if let socket { loop.connections.add(socket) }
        guard beganToConnect == nil else { return }
        beganToConnect = monotonicNow()
        lookAgain()
    }

    /// - Parameter wanted: the number of bytes of the response's body; 0 if it is unknown.
    func progressed(received: Int64, of wanted: Int64, sent: Int64) {
        let hasNews = sent != self.sent
        let hasMoved = hasNews || received != self.received
        (self.sent, self.received) = (sent, received)
        if !isConnected, let easy, ccurl_get_offset(easy, CCURL_PRETRANSFER_TIME_T) > 0 {
            isConnected = true
            moved()
        } else if hasMoved {
            moved()
        }
        if hasNews { request.onSent?(sent) }
        if request.method == "GET", received < (wanted > 0 ? wanted : .max) { acknowledge(received) }
    }

    /// Lets a server with Nagle's algorithm send the rest of the response. Such a server sends the end of a write only after
    /// an acknowledgement of all before it: of the header, if that was a write of its own.
    private func acknowledge(_ received: Int64) {
        guard let easy, answer.isHeadComplete, received > acknowledged ?? -1, received < Self.longestAcknowledged
        else { return }
        acknowledged = received
        loop.connections.acknowledge(atPort: ccurl_get_long(easy, CCURL_LOCAL_PORT))
    }

    /// In bytes: the delays of a longer body are short beside its transfer.
    private static let longestAcknowledged: Int64 = 1 << 20
}

extension Duration {
    /// In nanoseconds; saturates.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(max(0, seconds), 1_000_000_000) * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
