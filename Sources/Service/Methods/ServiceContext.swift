import Harness
import Platform
import JSONRPC
import JSONText
import Metrics
import Storage
import Transfers

/// The state that all connections share: the tasks and the configuration.
@Loop
package final class ServiceContext {
    package nonisolated static let version = "0.1.0"

    package struct Configuration: Sendable {
        package var defaultBucket: String
        package var limits: Limits
        package var processID: Int32

        var longestAnswer: Int { min(limits.connection.messageBytes, limits.connection.unreadBytes / 2) }

        /// The most bytes that fit an answer as base64.
        var maxDataBytes: Int64 { Int64(max(0, longestAnswer / 4 * 3 - 1024)) }

        package init(defaultBucket: String, limits: Limits, processID: Int32) {
            (self.defaultBucket, self.limits, self.processID) = (defaultBucket, limits, processID)
        }
    }

    package let configuration: Configuration
    package let transfers: Transfers
    let tokens: (any TokenSource)?
    let time: TimeSource
    /// Nil without `--harness`.
    package let harness: Harness?
    /// The same.
    package weak var space: (any HarnessSpace)?
    let uptime: @Sendable () -> Duration
    let connectionMetrics: ConnectionMetrics
    /// Those of the HTTP servers.
    package var httpMetrics: @Loop () -> [MetricFamily] = { [] }
    package private(set) var connections: [ObjectIdentifier: ConnectionContext] = [:]
    package let end: @Loop (_ status: Int32, _ cause: String) -> Void
    /// Others than the client on stdio are connected, and have not come for its sake: its `exit` ends its connection only.
    package var othersStay: @Loop () -> Bool = { false }

    /// `tokens` serve connections whose clients have set none. `end` ends the process with a status, and a cause for
    /// the log.
    package init(
        _ configuration: Configuration, transfers: Transfers, tokens: (any TokenSource)? = nil, time: TimeSource,
        harness: Harness? = nil, metrics: ConnectionMetrics = ConnectionMetrics(),
        end: @escaping @Loop (_ status: Int32, _ cause: String) -> Void
    ) {
        (self.configuration, self.transfers, self.tokens, self.time) = (configuration, transfers, tokens, time)
        uptime = time.clock.stopwatch()
        (self.harness, connectionMetrics) = (harness, metrics)
        self.end = end
        harness?.restIsQuiet = { [weak self] steps, operations in
            guard let self else { return true }
            return self.transfers.areIdle(waiting: steps)
                && busyRequests + self.transfers.folders.operations == operations
        }
    }

    /// The requests that are being answered, of the gateway too, without those that wait for a task or for room.
    package var busyRequests: Int {
        connections.values.reduce(space?.busyRequests ?? 0) { $0 + $1.requests.busy }
    }

    /// The tasks that pause when the connection ends that has started or resumed them last, or appended to them, by their
    /// ids.
    private var pausing: [String: (owner: ObjectIdentifier, task: any ControllableTask)] = [:]

    /// A client has started or resumed a task, or appends to it. The task pauses with the connection if that wants it, and
    /// otherwise with none. A retried task is another object with the same id.
    fileprivate func began(_ task: any ControllableTask, _ context: ConnectionContext) {
        let owner = context.pausesTasks ? ObjectIdentifier(context) : nil
        let known = pausing[task.id]
        if owner == known?.owner, known == nil || known?.task === task { return }
        pausing[task.id] = owner.map { ($0, task) }
        // Now and then those that have ended go.
        if pausing.count.nonzeroBitCount == 1 { pausing = pausing.filter { !$0.value.task.hasEnded } }
    }

    fileprivate func pauseTasks(of context: ConnectionContext) {
        let own = pausing.values.filter { $0.owner == ObjectIdentifier(context) }.map(\.task)
        for task in own {
            pausing[task.id] = nil
            Loop.task { _ = try? await task.pause() }
        }
    }

    /// While this is true no message of a connection begins.
    package var isPaused = false {
        didSet { for connection in connections.values { connection.pause(isPaused) } }
    }

    package var methods: MethodTable<ConnectionContext> { harness == nil ? allMethods : allMethodsAndHarness }
    var notifications: [String] { harness == nil ? allNotifications : allNotifications + [Harness.Event.name] }

    var engine: String { transfers.backend.kind.rawValue }
    var tokenKind: Token.Kind { transfers.backend.tokenKind }

    /// Ends the process, for all clients.
    func exit(_ status: Int32, _ cause: String) { end(status, cause) }

    fileprivate func add(_ context: ConnectionContext) { connections[ObjectIdentifier(context)] = context }
    fileprivate func remove(_ context: ConnectionContext) {
        connections[ObjectIdentifier(context)] = nil
        space?.left()
    }
}

/// The context of one connection, in which its methods run.
@Loop
package final class ConnectionContext: MethodContext {
    /// The owner of the process, which decides what `exit` ends.
    package enum Ownership: Sendable {
        /// The client owns the process, on stdio: `exit` ends it.
        case own
        /// All clients share the process, on a socket: `exit` ends the connection.
        case shared
    }

    package private(set) var service: ServiceContext
    private(set) var observers: ConnectionObservers
    let tokens: ConnectionTokens
    /// The number of the connection, for the log.
    let number: Int64
    /// The umask of the client's process when it connected. Nil for that of the service.
    private let newFilesMask: UInt32?
    var settings: Settings
    /// What the client calls itself in `initialize`.
    package internal(set) var clientName: String?
    var isShutDown = false
    var hasBegunTasks = false
    /// The tasks that it has started or resumed, and the streams that it appends to, pause when it ends.
    var pausesTasks = false
    /// It gets `request/retry`.
    var tellsRetries = false
    /// The tasks that end with it.
    private var streams: [DownloadTask] = []
    /// The streams that it has begun, or appended to, by their ids.
    private var uploads: [String: UploadTask] = [:]
    private let ownership: Ownership
    private weak var peer: (any Peer)?

    package init(
        _ service: ServiceContext, peer: some Peer, number: Int64 = 1, _ ownership: Ownership = .own,
        newFilesMask: UInt32? = nil
    ) {
        (self.service, self.peer, self.number, self.ownership) = (service, peer, number, ownership)
        self.newFilesMask = newFilesMask
        settings = service.transfers.settings
        tokens = ConnectionTokens(of: peer, fallback: service.tokens, now: service.time.now)
        observers = Self.observers(of: service, peer)
        service.add(self)
        pause(service.isPaused)
    }

    private static func observers(of service: ServiceContext, _ peer: any Peer) -> ConnectionObservers {
        ConnectionObservers(of: service.transfers.registry) { [weak peer] handle, observed, change in
            peer?.notify(
                ObjectChange.event, ToldChange(handle, change),
                change.snapshot.deliveryPolicy(for: handle, observed))
        } folder: { [weak peer] handle, told in
            peer?.notify(FolderSnapshot.event, told.event(handle), told.snapshot.deliveryPolicy(for: handle))
        } _: { [weak peer] handle, told in
            peer?.notify(told.snapshot.kind.event, told.event(handle), told.snapshot.deliveryPolicy(for: handle))
        }
    }

    private var isPaused = false

    fileprivate func pause(_ pauses: Bool) {
        guard pauses != isPaused else { return }
        isPaused = pauses
        // No message is read while the connection is paused, so no answer either.
        if pauses { tokens.giveUp() }
        if pauses { peer?.pauseMessages() } else { peer?.resumeMessages() }
    }

    /// Messages behind a request begin when it has been carried out.
    func alone<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        peer?.pauseMessages()
        defer { peer?.resumeMessages() }
        return try await work()
    }

    /// It has begun no task, and observes none.
    var isFree: Bool { !hasBegunTasks && observers.isEmpty }

    /// Moves to another space, whose settings it gets. Its tokens stay.
    package func move(to other: ServiceContext) {
        guard let peer, other !== service else { return }
        defer { pause(other.isPaused) }
        let left = service
        endStreams()
        left.transfers.removeObservers(of: observers)
        (service, settings, hasBegunTasks, uploads) = (other, other.transfers.settings, false, [:])
        observers = Self.observers(of: other, peer)
        tokens.move(fallback: other.tokens, now: other.time.now)
        other.add(self)
        left.remove(self)
    }

    var transfers: Transfers { service.transfers }
    var client: TransferClient {
        var client = TransferClient(tokens: tokens, settings: settings, newFilesMask: newFilesMask)
        client.willRetry = willRetry
        return client
    }
    /// Tells the client that a request waits before it is tried again. Nil where it does not want to know.
    var willRetry: (@Sendable (RequestRetry) -> Void)? {
        guard tellsRetries else { return nil }
        return { [weak self] retry in
            Loop.task { self?.peer?.notify(RequestRetry.event, retry, .always) }
        }
    }
    var requests: RequestCounts { peer?.requests ?? RequestCounts() }

    /// Its client has started or resumed the task.
    func began(_ task: any ControllableTask) { service.began(task, self) }

    /// A task that ends with the connection.
    func own(_ stream: DownloadTask) {
        streams.removeAll { $0.state.isFinished }
        streams.append(stream)
    }

    /// An unreadable message of this connection may be an append to this stream, which pauses with it.
    func appends(to task: UploadTask) {
        began(task)
        guard uploads[task.id] == nil else { return }
        // Now and then those that have ended go.
        if uploads.count.nonzeroBitCount == 1 { uploads = uploads.filter { !$0.value.state.isFinished } }
        uploads[task.id] = task
    }

    package func didRefuseUnreadable() { refuseAppends(to: Array(uploads.keys)) }

    func refuseAppends(to tasks: [String]) {
        for task in tasks { transfers.refuseAppend(to: task) }
    }

    /// Messages behind an early request wait, too: bytes have their places in the order in which they arrive.
    func streamTask(_ id: String) async throws -> UploadTask {
        if !transfers.hasRead(id) { try await alone { try await transfers.ready(for: id) } }
        return try UploadTask.task(id, of: transfers)
    }

    private func endStreams() {
        let gone = Set(streams.map(\.id))
        streams = []
        if !gone.isEmpty { transfers.cancelStreams { gone.contains($0.id) } }
    }

    /// Removes the observers of a connection that has ended. Its tasks continue, without those that it reads, unless they
    /// are to pause.
    package func leave() {
        endStreams()
        service.pauseTasks(of: self)
        transfers.removeObservers(of: observers)
        service.remove(self)
    }

    func notify(_ method: String, _ params: JSON) { peer?.notify(method, params, .always) }

    func exit() {
        switch ownership {
        case .own where !service.othersStay(): service.exit(isShutDown ? 0 : 1, "exit on stdio")
        case .own, .shared: peer?.end()
        }
    }

    package func admit(_ method: String) throws(RPCError) {
        guard isShutDown, method != Exit.name else { return }
        throw .invalidRequest("The service was shut down; only \"exit\" is taken now.")
    }
}
