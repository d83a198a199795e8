import CCurl
import EventLoop
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The one thread that talks to libcurl: takes orders, lets libcurl work, ends what is over or overdue, sleeps.
///
/// Others reach it through `order` alone. It ends when it was told to stop and no transfer is left.
final class TransferThread: @unchecked Sendable {
    enum Order {
        case start(Transfer)
        case cancel(Transfer)
        case wake(Transfer)
        case stop
    }

    private struct Inbox: @unchecked Sendable {
        var orders: [Order] = []
        var isStarted = false
        var hasEnded = false
        /// What every request gets where libcurl cannot be had.
        var refusal: HTTPError.Kind?
        /// What to wake; nil before the thread has it and after it has ended.
        var sleeper: OpaquePointer?
    }

    let environment: HTTPEnvironment
    private let connectionsPerHost: Int
    private let startThread: ThreadStarter
    private let inbox = Mutex(Inbox())
    /// Touched by the thread alone, as is all that follows.
    private var multi: OpaquePointer?
    private var running: [OpaquePointer: Transfer] = [:]
    private var isStopping = false
    private var nextLook = Int64.max

    init(connectionsPerHost: Int, environment: HTTPEnvironment, startThread: @escaping ThreadStarter) {
        self.connectionsPerHost = connectionsPerHost
        self.startThread = startThread
        self.environment = environment
    }

    func order(_ order: Order) {
        let refusal: HTTPError.Kind? = inbox.withLock { inbox in
            if inbox.hasEnded { return inbox.refusal }
            inbox.orders.append(order)
            if inbox.orders.count == 1, let sleeper = inbox.sleeper { ccurl_multi_wakeup(sleeper) }
            guard case .start = order, !inbox.isStarted else { return nil }
            do throws(ThreadUnavailable) {
                try startThread("http", 512 << 10) { [self] in work() }
                inbox.isStarted = true
                return nil
            } catch {
                inbox.orders.removeLast()
                return .noThread("\(error)")
            }
        }
        if let refusal, case .start(let transfer) = order { transfer.finish(transfer.failed(refusal)) }
    }

    /// The transfer wants to be looked at when that time has come.
    func look(at time: Int64) { nextLook = min(nextLook, time) }

    var runningCount: Int { running.count }

    private func work() {
        blockBrokenPipes()
        if let reason = ccurl_load() { return refuseAll(.libraryMissing(String(cString: reason))) }
        guard let multi = ccurl_multi_init() else { return refuseAll(.outOfMemory) }
        self.multi = multi
        if let refusal = limitConnections(multi) {
            ccurl_multi_cleanup(multi)
            return refuseAll(refusal)
        }
        inbox.withLock { $0.sleeper = multi }
        while true {
            for order in takeOrders() { obey(order) }
            if isStopping && running.isEmpty { break }
            turn(multi)
        }
        inbox.withLock { inbox in
            inbox.hasEnded = true
            inbox.sleeper = nil
            inbox.orders = []
        }
        ccurl_multi_cleanup(multi)
    }

    private func limitConnections(_ multi: OpaquePointer) -> HTTPError.Kind? {
        for (option, limit) in [
            (CCURL_MULTI_MAX_HOST_CONNECTIONS, connectionsPerHost),
            (CCURL_MULTI_MAXCONNECTS, max(64, connectionsPerHost)),
        ] {
            let code = ccurl_multi_set_long(multi, Int32(option.rawValue), limit)
            guard code == 0 else { return .other(code: code, String(cString: ccurl_multi_strerror(code))) }
        }
        return nil
    }

    private func refuseAll(_ refusal: HTTPError.Kind) {
        let waiting = inbox.withLock { inbox in
            inbox.hasEnded = true
            inbox.refusal = refusal
            defer { inbox.orders = [] }
            return inbox.orders
        }
        for case .start(let transfer) in waiting { transfer.finish(transfer.failed(refusal)) }
    }

    private func turn(_ multi: OpaquePointer) {
        var failure = ccurl_multi_perform(multi)
        endTheEnded(multi)
        let now = monotonicNow()
        if now >= nextLook { endTheOverdue(now) }
        if failure == 0 {
            let pause = nextLook == .max ? 3_600_000 : min(3_600_000, max(0, (nextLook - now) / 1_000_000 + 1))
            failure = ccurl_multi_poll(multi, Int32(pause))
        }
        guard failure != 0 else { return }
        let text = String(cString: ccurl_multi_strerror(failure))
        for transfer in Array(running.values) { end(transfer, .other(code: failure, text)) }
    }

    private func takeOrders() -> [Order] {
        inbox.withLock { inbox in
            defer { inbox.orders = [] }
            return inbox.orders
        }
    }

    private func obey(_ order: Order) {
        switch order {
        case .start(let transfer): start(transfer)
        case .cancel(let transfer): if transfer.isRunning { end(transfer, .cancelled) }
        case .wake(let transfer):
            guard transfer.isRunning else { return }
            let code = transfer.resume()
            if code != 0 { end(transfer, code: code) }
        case .stop: isStopping = true
        }
    }

    private func start(_ transfer: Transfer) {
        if transfer.isCancelled.load(ordering: .acquiring) { return transfer.finish(transfer.failed(.cancelled)) }
        guard let easy = transfer.prepare(), ccurl_multi_add(multi, easy) == 0 else {
            return transfer.finish(transfer.failed(transfer.failure ?? .outOfMemory))
        }
        running[easy] = transfer
        transfer.lookAgain()
    }

    private func endTheEnded(_ multi: OpaquePointer) {
        var code: Int32 = 0
        while let easy = ccurl_multi_next_ended(multi, &code) {
            if let transfer = running[easy] { end(transfer, code: code) }
        }
    }

    private func endTheOverdue(_ now: Int64) {
        nextLook = .max
        for transfer in Array(running.values) {
            guard let (time, failure) = transfer.nextLimit else { continue }
            if time <= now { end(transfer, failure) } else { look(at: time) }
        }
    }

    private func end(_ transfer: Transfer, code: Int32) { end(transfer, transfer.outcome(code)) }
    private func end(_ transfer: Transfer, _ failure: HTTPError.Kind) { end(transfer, transfer.failed(failure)) }

    private func end(_ transfer: Transfer, _ outcome: Transfer.Outcome) {
        guard let easy = transfer.easy else { return }
        running[easy] = nil
        ccurl_multi_remove(multi, easy)
        transfer.finish(outcome)
    }

    /// Some TLS libraries write to sockets with what raises the signal.
    private func blockBrokenPipes() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

/// Nanoseconds of a clock that never goes back, and that stands still while the machine sleeps.
func monotonicNow() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
}
