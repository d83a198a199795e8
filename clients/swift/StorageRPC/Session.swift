import Foundation

/// The connection to one service: sends requests, matches answers, and passes events on.
///
///     request  caller ── send ──▶ outbox ──▶ writer thread ──▶ service
///     answer   then ◀── decoded by the reader thread ◀── service
///     event    task.hear ◀── reader thread; user code runs on callback queues, never here
///     end      the output of the service ends: all that waits, and all tasks, fail with the reason
///
/// Sound: all that changes is guarded by `lock`.
final class Session: @unchecked Sendable {
    /// Gets the line of an answer, or the reason why none will come.
    private typealias Waiting = (Result<Data, StorageError>) -> Void

    private typealias Outgoing = (id: Int?, line: @Sendable () throws(StorageError) -> Data)

    private let service: StorageService
    private let lock = NSCondition()
    private var outbox: [Outgoing] = []
    private var waiting: [Int: Waiting] = [:]
    private var tasks: [String: StorageObservableTask] = [:]
    private var feeds: [String: ChangeFeed] = [:]
    private var settings = SessionSettings()
    private var refresh: (@Sendable (StorageWire.TokenKind) async -> String?)?
    private var lastId = 0
    private var maxMessageBytes = Int64.max
    /// The version of the service. Nil before its answer to `initialize`.
    private var serverVersion: String?
    private var isReady = false
    private var isClosing = false
    /// Nothing is written any more.
    private var hasLeft = false
    /// Tasks whose bytes this process brings or fetches: the input of the service stays open for them.
    private var fed: [ObjectIdentifier: StorageObservableTask] = [:]
    /// The connection that ends before this one begins, so that there are not two services of one root.
    private var predecessor: Session?
    private weak var transport: Transport?
    private var ending: StorageError?
    private var onEnd: [() -> Void] = []

    // MARK: Opening and closing

    private static let registry = Registry()

    /// The connection of this process to that service: the one that there is, or a new one.
    static func shared(_ service: StorageService) -> Session {
        registry.lock.withLock {
            let old = registry.sessions[service]
            if let old, old.lock.withLock({ old.ending == nil && !old.isClosing }) { return old }
            let session = Session(service, after: old)
            registry.sessions[service] = session
            return session
        }
    }

    /// The connection of this process to that service, if there is one.
    static func existing(_ service: StorageService) -> Session? {
        registry.lock.withLock { registry.sessions[service] }
    }

    /// Sound: `sessions` is guarded by `lock`.
    private final class Registry: @unchecked Sendable {
        let lock = NSLock()
        var sessions: [StorageService: Session] = [:]
    }

    private init(_ service: StorageService, after predecessor: Session?) {
        (self.service, self.predecessor) = (service, predecessor)
        startThread("storage-rpc writer") { self.write() }
    }

    /// Ends the input of the service, and calls `then` when it has ended: a private one after its running tasks.
    func close(then: @escaping @Sendable () -> Void) {
        let hasEnded = lock.withLock {
            isClosing = true
            if ending == nil { onEnd.append(then) }
            lock.broadcast()
            return ending != nil
        }
        if hasEnded { then() }
    }

    /// Whether nothing reaches the service any more.
    var hasEnded: Bool { lock.withLock { ending != nil } }

    private func waitForEnd() {
        lock.withLock { while ending == nil { lock.wait() } }
    }

    /// Fails all that waits, once.
    private func end(_ reason: StorageError) {
        let (error, lost, lostTasks, lostFeeds, ended) = lock.withLock {
            let error = ending ?? (isClosing ? Self.closed : reason)
            ending = error
            defer { (waiting, tasks, feeds, outbox, onEnd, fed) = ([:], [:], [:], [], [], [:]) }
            lock.broadcast()
            return (error, Array(waiting.values), Array(tasks.values), Array(feeds.values), onEnd)
        }
        Self.registry.lock.withLock {
            if Self.registry.sessions[service] === self { Self.registry.sessions[service] = nil }
        }
        lost.forEach { $0(.failure(error)) }
        lostTasks.forEach { $0.fail(error) }
        lostFeeds.forEach { $0.finish(error) }
        ended.forEach { $0() }
    }

    // MARK: Requests

    /// Where a request went, to abandon it.
    struct Sent {
        let session: Session
        let id: Int

        func abandon() { session.abandon(id) }
    }

    /// Sends a request, behind the settings that it needs. `then` runs on the reader thread, which it must not block.
    ///
    /// - Parameter isOfTask: it is about a task that this service has. Other requests go to the next service where this one
    ///   ends.
    @discardableResult func send<Call: StorageCall>(
        _ call: Call, as method: String = Call.method, with wanted: SessionSettings? = nil, isOfTask: Bool = false,
        then: @escaping @Sendable (Result<Call.Answer, StorageError>) -> Void
    ) -> Sent? {
        send(
            as: method, with: wanted, isOfTask: isOfTask, making: { () throws(StorageError) in call },
            then: { _, answer in then(answer) })
    }

    /// Sends a request that the writer makes: its bytes may be many. `then` gets the session that has sent it, too.
    ///
    /// - Parameters:
    ///   - task: until it has ended or is paused, the input of the service stays open for it.
    ///   - isForwarded: another session has ended or is closing, and passes the request on. It is not passed on again.
    @discardableResult func send<Call: StorageCall>(
        as method: String = Call.method, with wanted: SessionSettings? = nil, isOfTask: Bool = false,
        feeding task: StorageObservableTask? = nil, isForwarded: Bool = false,
        making call: @escaping @Sendable () throws(StorageError) -> Call,
        then: @escaping @Sendable (Session, Result<Call.Answer, StorageError>) -> Void
    ) -> Sent? {
        let outcome = lock.withLock { () -> SendOutcome in
            if !isOfTask && !isForwarded && (isClosing || ending != nil) { return .forward }
            if let error = ending ?? (hasLeft ? Self.closed : nil) { return .failed(error) }
            if let wanted = wanted?.after(settings), wanted != settings {
                settings = wanted
                let change = wanted.call
                enqueue(making: { () throws(StorageError) in change }) { _, _ in }
            }
            if let task { fed[ObjectIdentifier(task)] = task }
            return .sent(Sent(session: self, id: enqueue(as: method, making: call, then: then)))
        }
        switch outcome {
        case .sent(let sent):
            task?.whenEnded { [weak self, weak task] _ in self?.feedNoMore(task) }
            return sent
        case .failed(let error):
            then(self, .failure(error))
            return nil
        case .forward:
            return Session.shared(service).send(
                as: method, with: wanted, feeding: task, isForwarded: true, making: call, then: then)
        }
    }

    private enum SendOutcome {
        case sent(Sent)
        case failed(StorageError)
        case forward
    }

    private func feedNoMore(_ task: StorageObservableTask?) {
        lock.withLock {
            if let task { fed[ObjectIdentifier(task)] = nil }
            lock.broadcast()
        }
    }

    private static let closed = StorageError.unknown(message: "The session is closed.", serverError: [:])

    @discardableResult private func enqueue<Call: StorageCall>(
        as method: String = Call.method, isFirst: Bool = false,
        making call: @escaping @Sendable () throws(StorageError) -> Call,
        then: @escaping @Sendable (Session, Result<Call.Answer, StorageError>) -> Void
    ) -> Int {
        lastId += 1
        let id = lastId
        waiting[id] = { line in
            then(
                self,
                line.flatMap { line in
                    Result { () throws(StorageError) in
                        try Self.answer(to: Call.self, in: line) { self.error($0, of: method) }
                    }
                })
        }
        let line: @Sendable () throws(StorageError) -> Data = { () throws(StorageError) in
            Self.line(Request(id: id, method: method, params: try call()))
        }
        outbox.insert((id, line), at: isFirst ? 0 : outbox.count)
        lock.broadcast()
        return id
    }

    /// The version of this client, which is that of the program beside it.
    private static let version = "0.1.0"

    /// What the service has answered. Where it lacks the method and is older than this client, the error says so.
    private func error(_ error: StorageWire.StorageError, of method: String) -> StorageError {
        guard error.code == StorageWire.ErrorCode.methodNotFound.rawValue,
            let version = lock.withLock({ serverVersion }),
            version.compare(Self.version, options: .numeric) == .orderedAscending
        else { return StorageError(error) }
        return .internalError(
            message:
                "The service (version \(version)) is older than the client (version \(Self.version)) and lacks the method \(method)."
        )
    }

    /// Sends a request and waits for its answer. If the Swift task is cancelled, the request is, too.
    func ask<Call: StorageCall>(
        _ call: Call, with settings: SessionSettings? = nil, isOfTask: Bool = false
    ) async throws -> Call.Answer {
        if Task.isCancelled { throw StorageError.cancelled }
        let abandonment = Abandonment()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let sent = send(call, with: settings, isOfTask: isOfTask) { continuation.resume(with: $0) }
                abandonment.arm { sent?.abandon() }
            }
        } onCancel: {
            abandonment.abandon()
        }
    }

    /// Ends the wait for the answer, and cancels the request at the service, unless it is not sent yet.
    private func abandon(_ id: Int) {
        let waiting: Waiting? = lock.withLock {
            guard let waiting = self.waiting.removeValue(forKey: id) else { return nil }
            if let place = outbox.firstIndex(where: { $0.id == id }) {
                outbox.remove(at: place)
            } else {
                post(Notice(method: "$/cancelRequest", params: ["id": id]))
            }
            return waiting
        }
        waiting?(.failure(.cancelled))
    }

    /// Within `lock`.
    private func post(_ message: some Encodable & Sendable) {
        outbox.append((nil, { () throws(StorageError) in Self.line(message) }))
        lock.broadcast()
    }

    // MARK: Tasks and feeds

    /// Passes the events of the task on to it, until it ends.
    func follow(_ task: StorageObservableTask, id: String) {
        let reason = lock.withLock {
            if ending == nil { tasks[id] = task }
            return ending
        }
        if let reason { task.fail(reason) }
    }

    func forget(_ id: String) { lock.withLock { _ = tasks.removeValue(forKey: id) } }

    /// The task of that id, if its events come here.
    func task(_ id: String) -> StorageObservableTask? { lock.withLock { tasks[id] } }

    func follow(_ feed: ChangeFeed, handle: String) {
        let reason = lock.withLock {
            if ending == nil { feeds[handle] = feed }
            return ending
        }
        if let reason { feed.finish(reason) }
    }

    func unfollow(handle: String) {
        lock.withLock { _ = feeds.removeValue(forKey: handle) }
        send(StorageCalls.StorageRemoveObserver(handle: handle), isOfTask: true) { _ in }
    }

    // MARK: The writer

    private func write() {
        predecessor?.waitForEnd()
        predecessor = nil
        let transport: Transport
        do throws(StorageError) {
            transport = try Transport(service)
        } catch {
            return end(error)
        }
        let hello = StorageCalls.Initialize(
            protocolVersion: 1, client: .init(name: "StorageRPC for Swift", version: Self.version),
            pausesTasks: service.pausesTasks)
        let first = lock.withLock {
            self.transport = transport
            enqueue(isFirst: true, making: { () throws(StorageError) in hello }, then: { $0.welcome($1) })
            return outbox.removeFirst()
        }
        startThread("storage-rpc reader") { self.read(transport) }
        DispatchQueue.global().asyncAfter(deadline: .now() + service.startTimeout) { [weak self, weak transport] in
            if let transport { self?.giveUp(transport) }
        }
        guard write([first], .max, to: transport) else { return }
        while let (batch, limit) = next() {
            guard write(batch, limit, to: transport) else { return }
        }
        transport.endInput()
    }

    /// False if the service takes no more: the reader learns of the end, and why.
    private func write(_ batch: [Outgoing], _ limit: Int64, to transport: Transport) -> Bool {
        var lines = Data()
        for (id, line) in batch {
            do throws(StorageError) {
                let line = try line()
                guard line.count <= limit else {
                    throw .invalidArgument(
                        message:
                            "A message of \(line.count) bytes is longer than the \(limit) bytes that the service takes."
                    )
                }
                lines += line
            } catch {
                if let id { lock.withLock { waiting.removeValue(forKey: id) }?(.failure(error)) }
            }
            // Few large messages are held at the same time.
            guard lines.count > 1 << 20 else { continue }
            guard transport.write(lines) else { return false }
            lines = Data()
        }
        return transport.write(lines)
    }

    /// Waits for lines to write, of at most so many bytes each. Nil at the end.
    private func next() -> ([Outgoing], Int64)? {
        lock.withLock {
            while ending == nil && !(isReady && (mayLeave || !outbox.isEmpty)) { lock.wait() }
            defer { outbox = [] }
            hasLeft = outbox.isEmpty
            return hasLeft ? nil : (outbox, maxMessageBytes)
        }
    }

    /// Within `lock`.
    private var mayLeave: Bool { isClosing && !fed.values.contains(where: \.isMoving) }

    private func welcome(_ answer: Result<StorageCalls.Initialize.Answer, StorageError>) {
        guard case .success(let server) = answer else {
            // A service that cannot start ends by itself, and says why.
            return DispatchQueue.global().asyncAfter(deadline: .now() + Transport.patience) { [weak transport] in
                transport?.kill()
            }
        }
        let isWrong = service.bucket == nil && server.defaultBucket != service.defaultBucket
        lock.withLock {
            (maxMessageBytes, serverVersion) = (server.limits.maxMessageBytes, server.server.version)
            isReady = !isWrong
            lock.broadcast()
        }
        if isWrong {
            end(
                .bucketMismatch(
                    message:
                        "The default bucket of the service is \(server.defaultBucket): StorageService.bucket must name it."
                ))
        }
    }

    /// Ends the session if the service has not answered `initialize` yet.
    private func giveUp(_ transport: Transport) {
        guard lock.withLock({ !isReady && ending == nil }) else { return }
        end(
            .unknown(
                message: "The service has not answered within \(service.startTimeout) seconds of its start.",
                serverError: [:]))
        transport.abort()
    }

    // MARK: The reader

    private func read(_ transport: Transport) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
        defer { buffer.deallocate() }
        var line = Data()
        while case let count = transport.read(into: buffer), count > 0 {
            var rest = buffer[..<count]
            while let end = Transport.lineEnd(rest) {
                line.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest[..<end]))
                guard take(line) else { return refuse(line, of: transport) }
                line = Data()
                rest = rest[(end + 1)...]
            }
            line.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest))
            guard line.count < Self.longestHello || lock.withLock({ isReady }) else {
                return refuse(line, of: transport)
            }
        }
        end(transport.end(hasEndedInput: lock.withLock { hasLeft }) ?? Self.closed)
    }

    /// The most bytes of the answer to `initialize`.
    private static let longestHello = 1 << 20

    /// The program is no service.
    private func refuse(_ line: Data, of transport: Transport) {
        let text = String(decoding: line.prefix(200), as: UTF8.self)
        transport.kill()
        _ = transport.end()
        end(.unknown(message: "The program does not speak the protocol of storage-rpc: \(text)", serverError: [:]))
    }

    /// False for what is no message.
    private func take(_ line: Data) -> Bool {
        guard let head = try? Self.decoder.decode(Head.self, from: line) else { return false }
        take(head, line)
        return true
    }

    private func take(_ head: Head, _ line: Data) {
        switch head.method {
        case nil:
            guard let id = head.id, let waiting = lock.withLock({ waiting.removeValue(forKey: id) }) else { return }
            waiting(.success(line))
        case "uploadTask/event", "downloadTask/event":
            guard let event = try? Self.decoder.decode(Event<StorageWire.Snapshot>.self, from: line) else { return }
            task(event.params.snapshot.task)?.hear(Report(event.params.snapshot))
            // One that is paused does not keep the connection open.
            lock.withLock { if isClosing { lock.broadcast() } }
        case "folderTask/event":
            guard let event = try? Self.decoder.decode(Event<StorageWire.FolderSnapshot>.self, from: line) else {
                return
            }
            task(event.params.snapshot.task)?.hear(Report(event.params.snapshot))
        case "storage/changed":
            guard let event = try? Self.decoder.decode(Changed.self, from: line) else { return }
            lock.withLock { feeds[event.params.handle] }?.hear(event.params)
        default:
            guard let id = head.id else { return }
            guard head.method == "auth/refreshToken", let refresh = lock.withLock({ refresh }),
                let request = try? Self.decoder.decode(RefreshRequest.self, from: line)
            else { return reply(Reply(id: id, error: .init(code: -32601, message: "The client cannot do that."))) }
            Task {
                let token = await refresh(request.params.kind)
                let error = Reply.Failure(code: -32603, message: "The client has no token any more.")
                reply(Reply(id: id, result: token, error: token == nil ? error : nil))
            }
        }
    }

    private func reply(_ reply: Reply) {
        lock.withLock { post(reply) }
    }

    /// Says where fresh tokens come from.
    func refresh(with refresh: (@Sendable (StorageWire.TokenKind) async -> String?)?) {
        lock.withLock { self.refresh = refresh }
    }
}

/// Ends a wait when its task is cancelled, before or after it has begun. Sound: all is guarded by `lock`.
final class Abandonment: @unchecked Sendable {
    private let lock = NSLock()
    private var isAbandoned = false
    private var action: (() -> Void)?

    func arm(_ action: @escaping () -> Void) {
        let isLate = lock.withLock {
            self.action = action
            return isAbandoned
        }
        if isLate { action() }
    }

    func abandon() {
        let action = lock.withLock {
            isAbandoned = true
            return self.action
        }
        action?()
    }
}

/// Waits for the result that a body hands on. Cancelling the Swift task ends the wait alone, with `CancellationError`.
func waitOnce<Value: Sendable>(_ begin: (Once<Value>) -> Void) async throws -> Value {
    try Task.checkCancellation()
    let abandonment = Abandonment()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            let once = Once(continuation)
            abandonment.arm { once.resume(.failure(CancellationError())) }
            begin(once)
        }
    } onCancel: {
        abandonment.abandon()
    }
}

/// A continuation that several may resume. Sound: `continuation` is guarded by `lock`.
final class Once<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var continuation: CheckedContinuation<Value, any Error>?

    init(_ continuation: CheckedContinuation<Value, any Error>) { self.continuation = continuation }

    /// False if it is resumed already.
    @discardableResult func resume(_ result: Result<Value, any Error>) -> Bool {
        let continuation = lock.withLock {
            defer { self.continuation = nil }
            return self.continuation
        }
        continuation?.resume(with: result)
        return continuation != nil
    }
}
