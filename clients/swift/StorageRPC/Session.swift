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

    private let service: StorageService
    private let lock = NSCondition()
    private var outbox: [(id: Int?, line: Data)] = []
    private var waiting: [Int: Waiting] = [:]
    private var tasks: [String: StorageObservableTask] = [:]
    private var feeds: [String: ChangeFeed] = [:]
    private var settings = SessionSettings()
    private var refresh: (@Sendable (StorageWire.TokenKind) async -> String?)?
    private var lastId = 0
    private var maxMessageBytes = Int64.max
    private var isReady = false
    private var isClosing = false
    private var ending: StorageError?
    private var onEnd: [() -> Void] = []

    // MARK: Opening and closing

    private static let registry = Registry()

    /// The connection of this process to that service: the one that there is, or a new one.
    static func shared(_ service: StorageService) -> Session {
        registry.lock.withLock {
            if let session = registry.sessions[service],
                session.lock.withLock({ session.ending == nil && !session.isClosing })
            {
                return session
            }
            let session = Session(service)
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

    private init(_ service: StorageService) {
        self.service = service
        startThread("storage-rpc writer") { self.write() }
    }

    /// Ends the input of the service, and calls `then` when it has ended: a private one after its running tasks.
    func close(then: @escaping @Sendable () -> Void) {
        let hasEnded = lock.withLock {
            isClosing = true
            if ending == nil { onEnd.append(then) }
            lock.signal()
            return ending != nil
        }
        if hasEnded { then() }
    }

    /// Fails all that waits, once.
    private func end(_ reason: StorageError) {
        let (error, lost, lostTasks, lostFeeds, ended) = lock.withLock {
            let error = ending ?? (isClosing ? .unknown(message: "The session is closed.", serverError: [:]) : reason)
            ending = error
            defer { (waiting, tasks, feeds, outbox, onEnd) = ([:], [:], [:], [], []) }
            lock.signal()
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

    /// Sends a request, behind the settings that it needs. `then` runs on the reader thread, which it must not block.
    @discardableResult func send<Call: StorageCall>(
        _ call: Call, as method: String = Call.method, with wanted: SessionSettings? = nil,
        then: @escaping @Sendable (Result<Call.Answer, StorageError>) -> Void
    ) -> Int? {
        let (id, error): (Int?, StorageError?) = lock.withLock {
            if let ending { return (nil, ending) }
            if let wanted = wanted?.after(settings), wanted != settings {
                settings = wanted
                enqueue(wanted.call) { _ in }
            }
            return (enqueue(call, as: method, then: then), nil)
        }
        if let error { then(.failure(error)) }
        return id
    }

    @discardableResult private func enqueue<Call: StorageCall>(
        _ call: Call, as method: String = Call.method, isFirst: Bool = false,
        then: @escaping @Sendable (Result<Call.Answer, StorageError>) -> Void
    ) -> Int {
        lastId += 1
        waiting[lastId] = { line in
            then(
                line.flatMap { line in Result { () throws(StorageError) in try Self.answer(to: Call.self, in: line) } })
        }
        let line = Self.line(Request(id: lastId, method: method, params: call))
        outbox.insert((lastId, line), at: isFirst ? 0 : outbox.count)
        lock.signal()
        return lastId
    }

    /// Sends a request and waits for its answer. If the task is cancelled, the request is, too.
    func ask<Call: StorageCall>(_ call: Call, with settings: SessionSettings? = nil) async throws -> Call.Answer {
        let abandonment = Abandonment()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let id = send(call, with: settings) { continuation.resume(with: $0) }
                abandonment.arm { [weak self] in if let id { self?.abandon(id) } }
            }
        } onCancel: {
            abandonment.abandon()
        }
    }

    /// Tells the service that nobody waits for the answer any more; it answers with -32800.
    func abandon(_ id: Int) {
        lock.withLock {
            guard waiting[id] != nil else { return }
            outbox.append((nil, Self.line(Notice(method: "$/cancelRequest", params: ["id": id]))))
            lock.signal()
        }
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
        send(StorageCalls.StorageRemoveObserver(handle: handle)) { _ in }
    }

    // MARK: The writer

    private func write() {
        let transport: Transport
        do throws(StorageError) {
            transport = try Transport(service)
        } catch {
            return end(error)
        }
        let first = lock.withLock {
            let hello = StorageCalls.Initialize(
                protocolVersion: 1, client: .init(name: "StorageRPC for Swift"), pausesTasks: service.pausesTasks)
            enqueue(hello, isFirst: true) { [weak self] in self?.welcome($0) }
            return outbox.removeFirst().line
        }
        startThread("storage-rpc reader") { self.read(transport) }
        guard transport.write(first) else { return }  // The reader learns of the end, and why.
        while let (batch, limit) = next() {
            var lines = Data()
            for (id, line) in batch {
                if line.count <= limit { lines += line } else { refuse(id, line.count, limit) }
            }
            guard transport.write(lines) else { return }
        }
        transport.endInput()
    }

    /// Waits for lines to write, of at most so many bytes each. Nil at the end.
    private func next() -> ([(id: Int?, line: Data)], Int64)? {
        lock.withLock {
            while ending == nil && !(isReady && (isClosing || !outbox.isEmpty)) { lock.wait() }
            defer { outbox = [] }
            return outbox.isEmpty ? nil : (outbox, maxMessageBytes)
        }
    }

    private func welcome(_ answer: Result<StorageCalls.Initialize.Answer, StorageError>) {
        guard case .success(let server) = answer else { return }
        let isWrong = service.bucket == nil && server.defaultBucket != service.defaultBucket
        lock.withLock {
            maxMessageBytes = server.limits.maxMessageBytes
            isReady = !isWrong
            lock.signal()
        }
        if isWrong {
            end(
                .bucketMismatch(
                    message:
                        "The default bucket of the service is \(server.defaultBucket): StorageService.bucket must name it."
                ))
        }
    }

    private func refuse(_ id: Int?, _ count: Int, _ limit: Int64) {
        guard let id, let waiting = lock.withLock({ waiting.removeValue(forKey: id) }) else { return }
        waiting(
            .failure(
                .invalidArgument(
                    message:
                        "A message of \(count) bytes is longer than the \(limit) bytes that the service takes."
                )))
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
                take(line)
                line = Data()
                rest = rest[(end + 1)...]
            }
            line.append(contentsOf: UnsafeRawBufferPointer(rebasing: rest))
        }
        end(transport.end())
    }

    private func take(_ line: Data) {
        guard let head = try? Self.decoder.decode(Head.self, from: line) else { return }
        switch head.method {
        case nil:
            guard let id = head.id, let waiting = lock.withLock({ waiting.removeValue(forKey: id) }) else { return }
            waiting(.success(line))
        case "uploadTask/event", "downloadTask/event":
            guard let event = try? Self.decoder.decode(Event<StorageWire.Snapshot>.self, from: line) else { return }
            task(event.params.snapshot.task)?.hear(Report(event.params.snapshot))
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
        lock.withLock {
            outbox.append((nil, Self.line(reply)))
            lock.signal()
        }
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
