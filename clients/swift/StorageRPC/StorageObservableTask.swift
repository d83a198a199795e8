import Foundation

/// A task whose events can be observed, and which can be paused, resumed and cancelled.
///
/// Handlers run on the `callbackQueue` of the `Storage`, one event after the other. Those that are added on that queue
/// right after the task was started receive all events. After `success` or `failure` all of them are gone.
open class StorageObservableTask: StorageTask, @unchecked Sendable {
    /// Sound: its handler is called on the callback queue alone.
    private struct Observer: @unchecked Sendable {
        let handle: String
        let status: StorageTaskStatus
        let handler: (StorageTaskSnapshot) -> Void
    }

    private var observers: [Observer] = []
    /// What the observers have received last.
    private var told = Report()
    /// What they have not received yet. Of successive progress only the newest is kept.
    private var untold: [Report] = []
    /// Whether a delivery is pending on the callback queue.
    private var isTelling = false
    /// Whether the callback queue has come back from the caller that started the task.
    private var isOpen = false
    /// What waits for the end without a callback queue.
    private var endings: [@Sendable (Report) -> Void] = []
    /// What receives all events, until it returns false.
    private var listeners: [@Sendable (Report) -> Bool] = []
    /// What waits for the id of the task, or for the answer to the command before.
    private var commands: [StorageTaskCommand] = []
    private var replies: [@Sendable (Result<Bool, StorageError>) -> Void] = []
    private var isCommanding = false
    private var id: String?
    private var idWaiters: [@Sendable (Result<String, any Error>) -> Void] = []
    private var isStarted = false
    /// The connection to the service that has the task. Nil before its answer.
    private var home: Session?
    /// Sends the request that starts the task.
    var start: (@Sendable (Session, StorageObservableTask) -> Void)?

    /// `uploadTask`, `downloadTask` or `folderTask`: the first part of the names of its methods.
    var receiver: String { fatalError("A class of tasks has a receiver.") }

    /// The connection for requests about the task: that of its service, or where that has ended, of the next one.
    var session: Session {
        if let home = lock.withLock({ home }), !home.hasEnded { return home }
        return reference.storage.session
    }

    /// The connection for commands and bytes: that of the service that has the task, also where it has ended. The next
    /// service has the task paused: it would not take bytes until the task is resumed, and would cancel what can continue.
    var carrier: Session { lock.withLock { home } ?? reference.storage.session }

    /// It has not ended, and is not paused.
    var isMoving: Bool { lock.withLock { !current.status.isEnd && current.state != .paused } }

    // MARK: Observers

    /// Calls the handler at each event of this status. If the task has this status now, calls it immediately.
    ///
    /// - Returns: the handle of the observer.
    /// - Precondition: the status is not `unknown`.
    @discardableResult
    open func observe(_ status: StorageTaskStatus, handler: @escaping (StorageTaskSnapshot) -> Void) -> String {
        guard status != .unknown else {
            fatalError("An observer needs one of resume, progress, pause, success and failure.")
        }
        let observer = Observer(handle: UUID().uuidString, status: status, handler: handler)
        let report: Report? = lock.withLock {
            var report = told
            if told.state == .running && (status == .resume || status == .progress) { report.status = status }
            let isNow = report.status == status && report.state != .queued
            if isNow || !told.status.isEnd { observers.append(observer) }
            schedule()
            return isNow ? report : nil
        }
        if let report {
            let snapshot = Lent(StorageTaskSnapshot(task: self, report: report))
            reference.storage.callbackQueue.async { [self] in
                if has(observer) { observer.handler(snapshot.value) }
                if report.status.isEnd { removeObserver(withHandle: observer.handle) }
            }
        }
        return observer.handle
    }

    private func has(_ observer: Observer) -> Bool {
        lock.withLock { observers.contains { $0.handle == observer.handle } }
    }

    /// Removes one observer. Its handler is not called any more, not even for an event that has happened already.
    open func removeObserver(withHandle handle: String) {
        lock.withLock { observers.removeAll { $0.handle == handle } }
    }

    /// Removes all observers of a status.
    open func removeAllObservers(for status: StorageTaskStatus) {
        lock.withLock { observers.removeAll { $0.status == status } }
    }

    /// Removes all observers.
    open func removeAllObservers() {
        lock.withLock { observers.removeAll() }
    }

    // MARK: Commands

    /// Starts the task. The methods of `StorageReference` have done that already.
    open func enqueue() {
        let isFirst = lock.withLock {
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        reference.storage.callbackQueue.async { [weak self] in self?.open() }
        start?(reference.storage.session, self)
        start = nil
    }

    /// Pauses the task. Its event comes when no bytes are on their way any more.
    open func pause() { command(.pause) }

    /// Continues a paused task.
    open func resume() { command(.resume) }

    /// Cancels the task: it fails with `StorageError.cancelled`.
    open func cancel() { command(.cancel) }

    /// Gives a command, after those that were given before, and waits for its answer.
    ///
    /// Cancelling the Swift task ends the wait, not the command.
    ///
    /// - Returns: whether the state of the task allowed it.
    @discardableResult public func perform(_ command: StorageTaskCommand) async throws -> Bool {
        try await waitOnce { (once: Once<Bool>) in self.command(command) { once.resume($0.mapError { $0 }) } }
    }

    private func command(
        _ command: StorageTaskCommand, then: @escaping @Sendable (Result<Bool, StorageError>) -> Void = { _ in }
    ) {
        lock.withLock {
            commands.append(command)
            replies.append(then)
        }
        commandNext()
    }

    /// Sends the next command, unless one is on its way: a resume that follows a pause finds the task paused.
    private func commandNext() {
        let next = lock.withLock {
            () -> (StorageTaskCommand, String?, @Sendable (Result<Bool, StorageError>) -> Void)? in
            guard !isCommanding, !commands.isEmpty, id != nil || current.status.isEnd else { return nil }
            isCommanding = true
            let command = commands.removeFirst()
            return (command, current.status.isEnd && command != .retry ? nil : id, replies.removeFirst())
        }
        guard let (command, id, reply) = next else { return }
        let done: @Sendable (Result<Control, StorageError>) -> Void = { [self] answer in
            lock.withLock { isCommanding = false }
            if case .success(let control) = answer, control.accepted, command == .retry {
                revive(in: reference.storage.session)
            }
            reply(answer.map(\.accepted))
            commandNext()
        }
        guard let id else { return done(.success(Control(accepted: false))) }
        // Where the service has ended, only what makes the task run again is for the next one.
        let session = command == .retry ? self.session : carrier
        session.send(TaskCall(task: id), as: "\(receiver)/\(command.rawValue)", isOfTask: true, then: done)
    }

    // MARK: Events

    /// The answer to the request that starts the task.
    func started(_ answer: Result<Report, StorageError>, id: String, in session: Session) {
        switch answer {
        case .failure(let error): fail(error)
        case .success(let report):
            lock.withLock {
                (self.id, home) = (id, session)
                current = report
                if report.status != .resume || report.state == .running { append(report) }
            }
            if report.status.isEnd { finish(report) } else { session.follow(self, id: id) }
            tellID()
            commandNext()
        }
    }

    /// An event, from the reader of the session.
    func hear(_ report: Report) {
        let isNew = lock.withLock {
            guard !current.status.isEnd else { return false }
            current = report
            append(report)
            return true
        }
        guard isNew else { return }
        notify(report)
        if report.status.isEnd { finish(report) }
    }

    private func notify(_ report: Report) {
        let listeners = lock.withLock { self.listeners }
        guard !listeners.isEmpty else { return }
        let stay = listeners.map { $0(report) }
        lock.withLock {
            let kept = zip(self.listeners, stay).filter(\.1).map(\.0)
            self.listeners = report.status.isEnd ? [] : kept + self.listeners.dropFirst(stay.count)
        }
    }

    /// Passes all events on from now on, until the body returns false; of a task that has ended, its end.
    func listen(_ body: @escaping @Sendable (Report) -> Bool) {
        let report: Report? = lock.withLock {
            if !current.status.isEnd { listeners.append(body) }
            return current.status.isEnd ? current : nil
        }
        if let report { _ = body(report) }
    }

    /// The id of the task at the service, once it has one. Cancelling the Swift task ends the wait.
    ///
    /// - Throws: the error of a task that could not be started, or `CancellationError`.
    public func taskID() async throws -> String {
        try await waitOnce { (once: Once<String>) in
            let answer: Result<String, any Error>? = lock.withLock {
                if let id { return .success(id) }
                if current.status.isEnd { return .failure(current.error ?? .cancelled) }
                idWaiters.append { once.resume($0) }
                return nil
            }
            if let answer { once.resume(answer) }
        }
    }

    /// Asks for what brings or fetches bytes.
    func askCarrier<Call: StorageCall>(_ call: (String) -> Call) async throws -> Call.Answer {
        let call = call(try await taskID())
        return try await carrier.ask(call, isOfTask: true)
    }

    /// Tells those that wait for the id.
    private func tellID() {
        let (waiters, id, error) = lock.withLock {
            defer { idWaiters = [] }
            return (idWaiters, self.id, current.error)
        }
        waiters.forEach { $0(id.map { .success($0) } ?? .failure(error ?? StorageError.cancelled)) }
    }

    func fail(_ error: StorageError) { hear(lock.withLock { current }.failed(error)) }

    /// Calls `then` with the last report: immediately, if the task has ended.
    func whenEnded(_ then: @escaping @Sendable (Report) -> Void) {
        let report: Report? = lock.withLock {
            if current.status.isEnd { return current }
            endings.append(then)
            return nil
        }
        if let report { then(report) }
    }

    private func finish(_ report: Report) {
        let (id, home, endings) = lock.withLock {
            defer { self.endings = [] }
            return (self.id, self.home, self.endings)
        }
        if let id { home?.forget(id) }
        endings.forEach { $0(report) }
        tellID()
        commandNext()
    }

    /// A task that has ended runs again: its observers are those that are added from now on.
    func revive(in session: Session, as report: Report? = nil) {
        let id: String? = lock.withLock {
            guard current.status.isEnd else { return nil }
            (current, told, untold) = (Report(), Report(), [])
            return self.id
        }
        if let id { attach(id, in: session, as: report) }
    }

    /// Observes a task that the service has already.
    func attach(_ id: String, in session: Session, as report: Report? = nil) {
        lock.withLock {
            (self.id, isStarted, home) = (id, true, session)
            if let report { (current, told) = (report, report.status.isEnd ? report : told) }
        }
        if let report, report.status.isEnd { return finish(report) }
        open()
        session.follow(self, id: id)
        for status in [StorageWire.Status.resume, .progress, .pause, .success, .failure] {
            session.send(TaskObserve(task: id, status: status), as: "\(receiver)/observe", isOfTask: true) {
                [weak self] answer in
                if case .failure(let error) = answer { self?.fail(error) }
            }
        }
    }

    // MARK: Telling

    /// Within `lock`.
    private func append(_ report: Report) {
        if report.status == .progress && untold.last?.status == .progress { untold.removeLast() }
        untold.append(report)
        schedule()
    }

    /// Within `lock`. Without observers nothing is delivered later, except to those that are added before `isOpen`.
    private func schedule() {
        guard !isTelling, !untold.isEmpty else { return }
        guard !observers.isEmpty else {
            if isOpen { (told, untold) = (untold.last ?? told, []) }
            return
        }
        isTelling = true
        reference.storage.callbackQueue.async { self.tell() }
    }

    private func open() {
        lock.withLock {
            isOpen = true
            schedule()
        }
    }

    /// On the callback queue.
    private func tell() {
        while let (report, known) = next() {
            let snapshot = StorageTaskSnapshot(task: self, report: report)
            for observer in known where observer.status == report.status && has(observer) { observer.handler(snapshot) }
            guard report.status.isEnd else { continue }
            // Those that were added meanwhile are called on their own.
            let handles = Set(known.map(\.handle))
            lock.withLock { observers.removeAll { handles.contains($0.handle) } }
        }
    }

    private func next() -> (Report, [Observer])? {
        lock.withLock {
            guard !untold.isEmpty else {
                isTelling = false
                return nil
            }
            told = untold.removeFirst()
            return (told, observers)
        }
    }
}

/// The commands for a task.
public enum StorageTaskCommand: String, Sendable {
    /// Pauses it.
    case pause
    /// Continues it.
    case resume
    /// Cancels it.
    case cancel
    /// Ends the wait after a failure, or lets a failed task run again.
    case retry
}

private struct TaskCall: StorageCall {
    typealias Answer = Control
    static var method: String { "" }
    let task: String
}

private struct Control: Decodable {
    let accepted: Bool
}

private struct TaskObserve: StorageCall {
    typealias Answer = StorageCalls.UploadTaskObserve.Answer
    static var method: String { "" }
    let task: String
    let status: StorageWire.Status
}
