import Harness
import Platform
import JSONRPC
import JSONText
import Metrics
import Storage
import Transfers

/// The state that the connections of a space share: the tasks and the configuration.
@Loop
package final class ServiceContext {
    package nonisolated static let version = "0.1.0"

    package struct Configuration: Sendable {
        package var defaultBucket: String
        package var limits: Limits
        package var processID: Int32

        var longestAnswer: Int { min(limits.connection.messageBytes, limits.connection.unreadBytes / 2) }

        /// The maximum number of bytes that fit into an answer as base64.
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
    /// Nil without `--harness`.
    package weak var space: (any HarnessSpace)?
    let uptime: @Sendable () -> Duration
    let connectionMetrics: ConnectionMetrics
    /// The metrics of the HTTP servers.
    package var httpMetrics: @Loop () -> [MetricFamily] = { [] }
    /// The metrics of the objects and of the disk.
    package var roomMetrics: @Loop () async -> [MetricFamily] = { [] }
    package private(set) var connections: [ObjectIdentifier: ConnectionContext] = [:]
    package let end: @Loop (_ status: Int32, _ cause: String) -> Void
    /// Whether clients other than the one on stdio keep the process alive: the `exit` of that client then closes only
    /// its connection.
    package var othersStay: @Loop () -> Bool = { false }

    /// `tokens` serves connections whose clients have set none. `end` ends the process with a status, and with a cause
    /// for the log.
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

    /// The number of requests, of the gateway too, that are being answered, without those that wait for a task or for
    /// room.
    package var busyRequests: Int {
        connections.values.reduce(space?.busyRequests ?? 0) { $0 + $1.requests.busy }
    }

    /// By task id: the tasks that pause when the last of these connections has ended.
    private var pausing: [String: (owners: Set<ObjectIdentifier>, task: any StorageTask)] = [:]

    /// Records that a client has started or resumed a task, or appends to it. The task then pauses with this connection
    /// if the client has asked for that, and otherwise with none. A retried task is another object with the same id.
    ///
    /// - Parameter ranAlready: whether the client has joined a running task. The task then pauses with this connection
    /// only if it would have paused with another one, and with the last of them.
    fileprivate func began(_ task: any StorageTask, ranAlready: Bool, _ context: ConnectionContext) {
        let (id, owner, known) = (task.id, ObjectIdentifier(context), pausing[task.id])
        guard context.pausesTasks, task.pausesWithConnections else {
            if known != nil { pausing[id] = nil }
            return
        }
        guard !ranAlready else {
            pausing[id]?.owners.insert(owner)
            return
        }
        if let known, known.task === task, known.owners.count == 1, known.owners.contains(owner) { return }
        pausing[id] = ([owner], task)
        // Removes tasks that have ended, whenever the number of entries reaches a power of two.
        if pausing.count.nonzeroBitCount == 1 { pausing = pausing.filter { !$0.value.task.hasEnded } }
    }

    fileprivate func pauseTasks(of context: ConnectionContext) {
        let owner = ObjectIdentifier(context)
        for (id, entry) in pausing where entry.owners.contains(owner) {
            pausing[id]?.owners.remove(owner)
            guard entry.owners.count == 1 else { continue }
            pausing[id] = nil
            Loop.task { _ = try? await entry.task.pause() }
        }
    }

    /// While true, no connection begins to handle messages.
    package var isPaused = false {
        didSet { for connection in connections.values { connection.pause(isPaused) } }
    }

    package var methods: MethodTable<ConnectionContext> { harness == nil ? allMethods : allMethodsAndHarness }
    var notifications: [String] { harness == nil ? allNotifications : allNotifications + [Harness.Event.name] }

    var engine: String { transfers.engine.kind.rawValue }
    var tokenKind: Token.Kind { transfers.engine.tokenKind }

    /// Ends the process, for all clients.
    func exit(_ status: Int32, _ cause: String) { end(status, cause) }

    fileprivate func add(_ context: ConnectionContext) { connections[ObjectIdentifier(context)] = context }
    fileprivate func remove(_ context: ConnectionContext) {
        connections[ObjectIdentifier(context)] = nil
        space?.left()
    }
}

/// The context of one connection, which its methods run in.
@Loop
package final class ConnectionContext: MethodContext {
    /// Who owns the process, which decides what `exit` ends.
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
    /// The umask of the client's process when it connected. Nil for the umask of the service.
    private let newFilesMask: UInt32?
    var settings: Settings
    /// The name of the client in `initialize`.
    package internal(set) var clientName: String?
    /// The default bucket that the client has named in `initialize`.
    var ownBucket: String?
    var defaultBucket: String { ownBucket ?? service.configuration.defaultBucket }
    /// The rights that the client has kept; nil if it has given up none.
    var rights: Rights?
    var isShutDown = false
    var hasBegunTasks = false
    /// The tasks that the client has started or resumed, and the streams that it appends to, pause when the connection
    /// ends or enters another space.
    var pausesTasks = false
    /// The client gets `request/retry` notifications.
    var tellsRetries = false
    /// The downloads that end with the connection.
    private var streams: [DownloadTask] = []
    /// By task id: the streams that the client has begun or appended to.
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
        // While the connection is paused, no message is read, so no answer to a token request either.
        if pauses { tokens.giveUp() }
        if pauses { peer?.pauseMessages() } else { peer?.resumeMessages() }
    }

    /// Holds back the messages after a request until it has been carried out.
    func alone<Value>(_ work: () async throws -> Value) async rethrows -> Value {
        peer?.pauseMessages()
        defer { peer?.resumeMessages() }
        return try await work()
    }

    /// The client has started no task and observes none.
    var isFree: Bool { !hasBegunTasks && observers.isEmpty }

    /// Moves the connection to another space and its settings. The client's tokens stay.
    package func move(to other: ServiceContext) {
        guard let peer, other !== service else { return }
        defer { pause(other.isPaused) }
        let left = service
        endStreams()
        left.pauseTasks(of: self)
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
        (client.willRetry, client.confinement) = (willRetry, rights?.files)
        if let rights { client.checkContinued = { task throws(StorageError) in try rights.checkContinued(task) } }
        return client
    }
    /// Notifies the client of each wait before a retry. Nil if the client has not asked for that.
    var willRetry: (@Sendable (RequestRetry) -> Void)? {
        guard tellsRetries else { return nil }
        return { [weak self] retry in
            Loop.task { self?.peer?.notify(RequestRetry.event, retry, .always) }
        }
    }
    var requests: RequestCounts { peer?.requests ?? RequestCounts() }

    /// Records that the client has started or resumed the task, or has joined one that `ranAlready`.
    func began(_ task: any StorageTask, ranAlready: Bool = false) {
        service.began(task, ranAlready: ranAlready, self)
    }

    /// Ends a task with the connection.
    func own(_ stream: DownloadTask) {
        streams.removeAll { $0.state.isFinished }
        streams.append(stream)
    }

    /// Records that the client appends to a stream. An unreadable message of the connection then counts as a refused
    /// append to it.
    func appends(to task: UploadTask) {
        began(task)
        guard uploads[task.id] == nil else { return }
        // Removes streams that have ended, whenever the number of entries reaches a power of two.
        if uploads.count.nonzeroBitCount == 1 { uploads = uploads.filter { !$0.value.state.isFinished } }
        uploads[task.id] = task
    }

    package func didRefuseUnreadable() { refuseAppends(to: Array(uploads.keys)) }

    func refuseAppends(to tasks: [String]) {
        for task in tasks { transfers.refuseAppend(to: task) }
    }

    /// The upload of a stream. While it is being read from the disk, later messages wait, so that bytes keep their
    /// order.
    func streamTask(_ id: String) async throws -> UploadTask {
        if !transfers.hasRead(id) { try await alone { try await transfers.ready(for: id) } }
        let task = try transfers.uploads.task(id)
        try check(task, .control)
        return task
    }

    private func endStreams() {
        let gone = Set(streams.map(\.id))
        streams = []
        if !gone.isEmpty { transfers.cancelStreams { gone.contains($0.id) } }
    }

    /// Removes the observers of a connection that has ended. Its tasks continue, except for the downloads that it reads
    /// and for tasks that pause with it.
    package func leave() {
        endStreams()
        service.pauseTasks(of: self)
        transfers.removeObservers(of: observers)
        service.remove(self)
    }

    func notify(_ method: String, _ params: JSON) { peer?.notify(method, params, .always) }

    /// What the process ends with because of the client: 1 after an `exit` without `shutdown`.
    package private(set) var exitStatus: Int32 = 0

    func exit() {
        exitStatus = isShutDown ? 0 : 1
        switch ownership {
        case .own where !service.othersStay(): service.exit(exitStatus, "exit on stdio")
        case .own, .shared: peer?.end()
        }
    }

    package func admit(_ method: String) throws(RPCError) {
        guard isShutDown, method != Exit.name else { return }
        throw .invalidRequest("The service was shut down; only \"exit\" is taken now.")
    }
}
