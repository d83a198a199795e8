import JSONText
import Platform

/// The conversation with one client: understands its messages, runs its requests and sends the answers.
///
///     line ─▶ message ─▶ revision of the request ─▶ method, as a task to its first wait
///         end ─▶ answer, unless the client has cancelled the request
///
/// A conversation owns no descriptor: the server passes lines to `receive`, and `send` gets each message for the client.
@Loop
package final class Conversation {
    private let permissions: Permissions
    private let link: ServiceLink
    private let time: TimeSource
    private let send: @Loop (JSON) -> Void
    private let subscriptions: Subscriptions
    private let tools: [Tool]
    private let files = FileTransfers()
    /// The revision of the handshake, once there was one.
    private var negotiated: String?
    /// The unanswered requests, by the texts of their ids.
    private var calls: [String: Call] = [:]
    /// Called when the last request has been answered.
    package var isIdle: @Loop () -> Void = {}

    /// The maximum number of requests at the same time.
    private static let mostCalls = 64
    /// The bound of each request: hosts give up a call after a minute.
    private static let longestCall = Duration.seconds(50)
    /// The time for which clients may keep lists, in milliseconds.
    private static let freshness: Int64 = 0

    package init(
        _ permissions: Permissions, time: TimeSource, send: @escaping @Loop (JSON) -> Void,
        isCrowded: @escaping @Loop () -> Bool = { false },
        connect: @escaping @Sendable () throws(Unreachable) -> Descriptor
    ) {
        (self.permissions, self.time, self.send) = (permissions, time, send)
        link = ServiceLink(permissions, time: time, connect: connect)
        subscriptions = Subscriptions(link, send: send, isCrowded: isCrowded)
        tools = Tool.all.filter { $0.isOffered(permissions) }
    }

    /// The number of unanswered requests. Streams of changes have no answer.
    package var pending: Int { calls.values.count { !$0.isStream } }

    /// The client reads again.
    package func resume() { subscriptions.resume() }

    // MARK: - Messages

    /// Handles one line.
    package func receive(_ text: UnsafeRawBufferPointer) {
        let json: JSON
        do throws(JSONSyntaxError) { json = try JSON.message(text) } catch {
            return send(Self.error(nil, Refusal(code: -32700, message: "The message is not JSON: \(error)")))
        }
        guard case .array(let messages) = json else {
            return handle(Message(json)) { [send] in if let answer = $0 { send(answer) } }
        }
        guard negotiated == Revision.withBatches else {
            return send(Self.error(nil, .invalidRequest("Batches belong to revision \(Revision.withBatches) alone")))
        }
        guard !messages.isEmpty, messages.count <= Self.mostCalls else {
            return send(Self.error(nil, .invalidRequest("A batch has 1 to \(Self.mostCalls) messages")))
        }
        let batch = Batch(messages.count, send)
        for message in messages { handle(Message(message), batch.add) }
    }

    /// A line that exceeds the limit.
    package func refuseLine(over limit: Int) {
        send(Self.error(nil, .invalidRequest("A message has at most \(limit) bytes: upload stores larger files")))
    }

    /// - Parameter answer: called once, with nil for a message without an answer.
    private func handle(_ message: Message, _ answer: @escaping @Loop (JSON?) -> Void) {
        switch message {
        case .ignored: answer(nil)
        case .invalid(let id, let refusal): answer(Self.error(id, refusal))
        case .notification(let method, let params):
            answer(nil)
            if method == "notifications/cancelled", let id = params["requestId"] { cancel(id) }
        case .request(let id, let method, let params): begin(id, method, params, answer)
        }
    }

    private func begin(_ id: JSON, _ method: String, _ params: JSON, _ answer: @escaping @Loop (JSON?) -> Void) {
        let revision: Revision
        do throws(Refusal) {
            guard calls[id.text] == nil else { throw .invalidRequest("A request with this id is unanswered") }
            guard calls.count < Self.mostCalls else {
                throw Refusal(code: -32603, message: "\(Self.mostCalls) requests are unanswered already")
            }
            if let meta = params["_meta"], meta.object == nil { throw .invalidParams("params._meta must be an object") }
            revision = try Revision(of: method, params["_meta"], negotiated: negotiated)
        } catch {
            return answer(Self.error(id, error))
        }
        let call = Call(id, params["_meta"]?["progressToken"], revision, answer)
        calls[id.text] = call
        call.task = Loop.immediateTask { [self] in
            let outcome: Result<JSON, Refusal>
            do {
                outcome = .success(
                    Self.whole(try await result(of: method, params, call), method, revision, permissions))
            } catch let refusal as Refusal {
                outcome = .failure(refusal)
            } catch let failure as ServiceFailure {
                outcome = .failure(Refusal(code: -32603, message: failure.message))
            } catch is CancellationError {
                outcome = .failure(Refusal(code: -32603, message: "The request was cancelled"))
            } catch {
                outcome = .failure(Refusal(code: -32603, message: "\(error)"))
            }
            call.limit?.cancel()
            if !call.isStream || outcome.isFailure { end(call, outcome) } else { call.isAcknowledged = true }
        }
        guard call.isOpen, !call.isAcknowledged else { return }
        call.limit = time.after(Self.longestCall) { [weak self] in self?.timeOut(call, method) }
    }

    private func end(_ call: Call, _ outcome: Result<JSON, Refusal>) {
        guard call.isOpen else { return }
        call.isOpen = false
        calls[call.id.text] = nil
        switch outcome {
        case .success(let result): call.answer(["jsonrpc": "2.0", "id": call.id, "result": result])
        case .failure(let refusal): call.answer(Self.error(call.id, refusal))
        }
        if pending == 0 { isIdle() }
    }

    /// The client wants no answer any more.
    private func cancel(_ id: JSON) {
        guard let call = calls[id.text], !call.isHandshake else { return }
        call.isOpen = false
        calls[id.text] = nil
        call.limit?.cancel()
        call.task?.cancel()
        subscriptions.close(id)
        call.answer(nil)
        if pending == 0 { isIdle() }
    }

    private static func error(_ id: JSON?, _ refusal: Refusal) -> JSON {
        .object(.init(present: ["jsonrpc": "2.0", "id": id, "error": refusal.json]))
    }

    // MARK: - Methods

    private func result(of method: String, _ params: JSON, _ call: Call) async throws -> JSON {
        if let result = try await common(method, params, call) { return result }
        switch (method, call.revision) {
        case ("initialize", .handshake):
            call.isHandshake = true
            return try initialize(params)
        case ("ping", .handshake): return [:]
        case ("logging/setLevel", .handshake): return [:]
        case ("resources/subscribe", .handshake):
            try await subscriptions.subscribe(Self.string("uri", in: params), call.revision)
            return [:]
        case ("resources/unsubscribe", .handshake):
            subscriptions.unsubscribe(try Self.string("uri", in: params))
            return [:]
        case ("server/discover", .stateless): return discovered
        case ("subscriptions/listen", .stateless):
            call.isStream = true
            try await subscriptions.listen(call.id, params, call.revision)
            return [:]
        default: throw Refusal.unknownMethod(method)
        }
    }

    /// The methods that all revisions have. Nil for another method.
    private func common(_ method: String, _ params: JSON, _ call: Call) async throws -> JSON? {
        switch method {
        case "tools/list":
            try Self.checkNoCursor(params)
            return ["tools": .array(tools.map { $0.json(isEmbedded: permissions.isEmbedded) })]
        case "tools/call": return try await callTool(params, call)
        case "resources/list":
            return try await resources(call).list(
                params["cursor"].map { cursor throws(Refusal) in
                    guard let text = cursor.string else { throw .invalidParams("params.cursor must be a string") }
                    return text
                })
        case "resources/templates/list":
            try Self.checkNoCursor(params)
            return [
                "resourceTemplates": [
                    [
                        "uriTemplate": .string(ResourceURI.template), "name": "object", "title": "Object in storage",
                        "description": "An object by its bucket and name; a name that ends with a slash is a folder.",
                    ]
                ]
            ]
        case "resources/read": return try await resources(call).read(Self.string("uri", in: params))
        case "completion/complete": return try await resources(call).complete(params)
        default: return nil
        }
    }

    private func resources(_ call: Call) -> Resources { Resources(call: toolCall(Arguments(members: []), call)) }

    private static func string(_ name: String, in params: JSON) throws(Refusal) -> String {
        guard let text = params[name]?.string else { throw .invalidParams("params.\(name) must be a string") }
        return text
    }

    private static func checkNoCursor(_ params: JSON) throws(Refusal) {
        if params["cursor"] != nil { throw .invalidParams("The cursor is none of this list, which has one page") }
    }

    // MARK: - The two openings

    private var server: JSON { ["name": "storage-rpc", "version": .string(permissions.version)] }

    private var capabilities: JSON {
        ["tools": [:], "resources": permissions.isEmbedded ? ["subscribe": true] : [:], "completions": [:]]
    }

    private func initialize(_ params: JSON) throws(Refusal) -> JSON {
        guard let wanted = params["protocolVersion"]?.string else {
            throw .invalidParams("params.protocolVersion must be a string")
        }
        let version = Revision.older.contains(wanted) ? wanted : Revision.older[0]
        negotiated = version
        return [
            "protocolVersion": .string(version), "capabilities": capabilities, "serverInfo": server,
            "instructions": .string(permissions.instructions),
        ]
    }

    private var discovered: JSON {
        [
            "supportedVersions": [.string(Revision.newest)], "capabilities": capabilities,
            "instructions": .string(permissions.instructions),
        ]
    }

    /// The result with the members that its revision demands.
    private static func whole(
        _ result: JSON, _ method: String, _ revision: Revision, _ permissions: Permissions
    ) -> JSON {
        guard revision == .stateless, let members = result.object else { return result }
        var more: [JSON.Member] = .init(present: ["resultType": "complete"])
        if ["server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read"]
            .contains(method)
        {
            more += .init(present: ["ttlMs": JSON(freshness), "cacheScope": "private"])
        }
        let server: JSON = ["name": "storage-rpc", "version": .string(permissions.version)]
        return .object(
            members + more + [.init(key: "_meta", value: .object([.init(key: Revision.serverKey, value: server)]))])
    }

    // MARK: - Tools

    private func callTool(_ params: JSON, _ call: Call) async throws -> JSON {
        let name = try Self.string("name", in: params)
        guard let tool = tools.first(where: { $0.name == name }) else {
            throw Refusal.invalidParams(
                Tool.all.contains { $0.name == name }
                    ? "The tool \(name) needs flags of storage-rpc mcp that were not given"
                    : "There is no tool \"\(name.cut(toBytes: 100))\"")
        }
        do {
            let arguments = try tool.check(params["arguments"] ?? [:])
            return try await tool.run(toolCall(arguments, call, of: tool)).json
        } catch let failure as ToolFailure {
            return ToolAnswer(failure).json
        } catch let failure as ServiceFailure {
            return ToolAnswer(ToolFailure(failure.message)).json
        }
    }

    private func timeOut(_ call: Call, _ method: String) {
        guard call.isOpen else { return }
        let stopped = "was stopped after \(Self.longestCall.components.seconds) s."
        if method == "tools/call" {
            let failure = ToolFailure(
                "The call \(stopped) Parts of it may be done: look before you call it again.")
            end(call, .success(Self.whole(ToolAnswer(failure).json, method, call.revision, permissions)))
        } else {
            end(call, .failure(Refusal(code: -32603, message: "The request \(stopped) The service does not answer")))
        }
        call.task?.cancel()
    }

    private func toolCall(_ arguments: Arguments, _ call: Call, of tool: Tool? = nil) -> ToolCall {
        ToolCall(
            tool, arguments, permissions, call.revision, link, time, files,
            report: call.progressToken.map { reporter(of: call, $0) })
    }

    private func reporter(of call: Call, _ token: JSON) -> ToolCall.Report {
        { [weak self, weak call] done, total, message in
            guard let call else { return }
            self?.report(token, call, done, total, message)
        }
    }

    /// Tells the progress of an unanswered call if it has grown, at most ten times a second.
    private func report(_ token: JSON, _ call: Call, _ done: Int64, _ total: Int64?, _ message: String) {
        guard call.isOpen, done > call.reported, call.sinceReport.map({ $0() >= .milliseconds(100) }) ?? true else {
            return
        }
        call.reported = done
        call.sinceReport = time.clock.stopwatch()
        send([
            "jsonrpc": "2.0", "method": "notifications/progress",
            "params": .object(
                .init(present: [
                    "progressToken": token, "progress": JSON(done), "total": total.map { JSON($0) },
                    "message": .string(message),
                ])),
        ])
    }
}

/// An unanswered request.
@Loop
private final class Call {
    let id: JSON
    /// Nil unless the client wants to hear of the progress.
    let progressToken: JSON?
    let revision: Revision
    let answer: @Loop (JSON?) -> Void
    var task: Task<Void, Never>?
    /// Ends the call if it takes too long.
    var limit: ScheduledCall?
    /// The request is neither answered nor cancelled.
    var isOpen = true
    /// The request is answered only if it fails.
    var isStream = false
    var isAcknowledged = false
    var isHandshake = false
    var reported: Int64 = -1
    var sinceReport: (@Sendable () -> Duration)?

    init(_ id: JSON, _ token: JSON?, _ revision: Revision, _ answer: @escaping @Loop (JSON?) -> Void) {
        (self.id, self.revision, self.answer) = (id, revision, answer)
        progressToken = token?.string != nil || token?.number != nil ? token : nil
    }
}

/// The answers to the messages of a batch, which are sent together.
@Loop
private final class Batch {
    private var missing: Int
    private var answers: [JSON] = []
    private let send: @Loop (JSON) -> Void

    init(_ count: Int, _ send: @escaping @Loop (JSON) -> Void) { (missing, self.send) = (count, send) }

    func add(_ answer: JSON?) {
        missing -= 1
        if let answer { answers.append(answer) }
        if missing == 0, !answers.isEmpty { send(.array(answers)) }
    }
}

extension Result {
    fileprivate var isFailure: Bool { if case .failure = self { true } else { false } }
}
