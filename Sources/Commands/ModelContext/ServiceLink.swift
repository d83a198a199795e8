import JSONRPC
import JSONText
import Platform

/// The service failed, refused, or cannot be reached.
struct ServiceFailure: Error {
    var message: String
    /// The name of the error; nil for one that is no answer of the service.
    var name: String?
    var param: String?
    /// No answer has come within the time of the call.
    var isTimeOut = false

    init(_ message: String) { self.message = message }

    init(_ error: RPCError) {
        message = error.message
        (name, param) = (error.data?["name"]?.string, error.data?["param"]?.string)
    }

    static var timeOut: ServiceFailure {
        var failure = ServiceFailure("The service has not answered in time.")
        failure.isTimeOut = true
        return failure
    }
}

/// Why no service can be reached, as a sentence without a full stop.
package struct Unreachable: Error {
    package let message: String

    package init(_ message: String) {
        self.message = message.hasSuffix(".") ? String(message.dropLast()) : message
    }
}

/// The connection to the shared service of the root, on which all other rights are given up. It is made at the first
/// call, and again when the service has ended.
@Loop
final class ServiceLink {
    /// Finds the service, or starts it, and connects to it. Blocks.
    typealias Connect = @Sendable () throws(Unreachable) -> Descriptor

    private let connect: Connect
    private let permissions: Permissions
    private let time: TimeSource
    private let threads = WorkerThreads("service")
    private var connecting: Task<Result<Connection<ServiceEvents>, ServiceFailure>, Never>?
    private var current: Connection<ServiceEvents>?
    /// The rights of the connection are given up, so that calls may use it.
    private var isConfined = false
    let events = ServiceEvents()
    /// Called when a connection has ended, and with it all observers.
    var lost: @Loop () -> Void = {}

    /// The longest time of a call without a limit of its own.
    private static let longest = Duration.seconds(600)

    nonisolated init(_ permissions: Permissions, time: TimeSource, connect: @escaping Connect) {
        (self.permissions, self.time, self.connect) = (permissions, time, connect)
    }

    /// The result of a method. Throws `ServiceFailure` or `CancellationError`.
    func call(_ method: String, _ params: JSON, within limit: Duration = longest) async throws -> JSON {
        let connection = try await connection()
        do {
            return try await connection.request(method, params, timeout: limit)
        } catch let error as RPCError {
            throw ServiceFailure(error)
        } catch let error as PeerRequestError {
            switch error {
            case .timedOut: throw ServiceFailure.timeOut
            case .disconnected: throw ServiceFailure("The service has ended. The same call starts it again.")
            case .malformedResponse: throw ServiceFailure("The service has sent an answer that is none.")
            }
        }
    }

    private func connection() async throws -> Connection<ServiceEvents> {
        if let current, isConfined { return current }
        let attempt = connecting ?? Loop.task { [self] in await open() }
        connecting = attempt
        let outcome = await attempt.value
        try Task.checkCancellation()
        return try outcome.get()
    }

    private func open() async -> Result<Connection<ServiceEvents>, ServiceFailure> {
        defer { connecting = nil }
        let found = await threads.run { [connect] in
            Result { () throws(Unreachable) in try connect() }
        }
        do throws(Unreachable) {
            let socket = try found.get()
            let connection = Connection<ServiceEvents>(
                input: socket, output: socket, table: ServiceEvents.methods, limits: ConnectionLimits(),
                clock: time.clock
            ) { [weak self] in self?.ended($0) }
            current = connection
            connection.serve(events)
            if let failure = await confine(connection) {
                connection.close()
                return .failure(failure)
            }
            isConfined = true
            return .success(connection)
        } catch {
            return .failure(ServiceFailure("The service cannot be reached: \(error.message)."))
        }
    }

    /// Gives up the rights. Returns why that has failed, or nil.
    private func confine(_ connection: Connection<ServiceEvents>) async -> ServiceFailure? {
        do {
            let answer = try await connection.request("initialize", permissions.params, timeout: .seconds(30))
            guard answer["rights"]?.object == nil else {
                if permissions.settings.isEmpty { return nil }
                let settings = JSON.object(permissions.settings)
                _ = try await connection.request("storage/updateSettings", settings, timeout: .seconds(30))
                return nil
            }
            // A service that does not know the params ignores them.
            let version = answer["server"]?["version"]?.string ?? "unknown"
            return ServiceFailure(
                "The running service has version \(version) and cannot confine this connection: "
                    + "`storage-rpc call service/stop` ends it, and the next call starts one that can.")
        } catch let error as RPCError {
            return ServiceFailure(error)
        } catch {
            return ServiceFailure("The service does not answer. Try again.")
        }
    }

    private func ended(_ connection: Connection<ServiceEvents>) {
        guard current === connection else { return }
        (current, isConfined) = (nil, false)
        events.forgetAll()
        lost()
    }
}

/// The notifications of the service, passed on by their handles.
@Loop
final class ServiceEvents: MethodContext {
    typealias Handler = @Loop (JSON) -> Void

    private var handlers: [String: Handler] = [:]
    /// Notifications whose handles are not known yet, because the answer with the handle is on its way to its caller.
    private var early: [(handle: String, event: JSON)] = []
    private static let mostEarly = 256

    nonisolated init() {}

    nonisolated static let methods = MethodTable<ServiceEvents>([
        UploadEvent.self, DownloadEvent.self, FolderEvent.self, ObjectEvent.self,
    ])

    func listen(to handle: String, _ handler: @escaping Handler) {
        handlers[handle] = handler
        let missed = early.filter { $0.handle == handle }
        early.removeAll { $0.handle == handle }
        for (_, event) in missed { handler(event) }
    }

    func forget(_ handle: String) { handlers[handle] = nil }

    func forgetAll() { (handlers, early) = ([:], []) }

    fileprivate func deliver(_ event: JSON) {
        guard let handle = event["handle"]?.string else { return }
        if let handler = handlers[handle] { return handler(event) }
        early.append((handle, event))
        if early.count > Self.mostEarly { early.removeFirst() }
    }

    func admit(_ method: String) throws(RPCError) {}
}

/// A notification of the service.
private protocol ServiceEvent: PromptMethod where Context == ServiceEvents, Result == JSON {
    var event: JSON { get }
    init(event: JSON)
}

extension ServiceEvent {
    init(_ params: inout Params) throws(RPCError) { self.init(event: .object(params.takeRest())) }

    @Loop func run(in request: Request<ServiceEvents>) throws -> JSON {
        request.context.deliver(event)
        return .null
    }
}

private struct UploadEvent: ServiceEvent {
    static let name = "uploadTask/event"
    let event: JSON
}

private struct DownloadEvent: ServiceEvent {
    static let name = "downloadTask/event"
    let event: JSON
}

private struct FolderEvent: ServiceEvent {
    static let name = "folderTask/event"
    let event: JSON
}

private struct ObjectEvent: ServiceEvent {
    static let name = "storage/changed"
    let event: JSON
}
