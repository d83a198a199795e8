import JSONText

/// One message from the peer, with its call ready to run. Every JSON value has one of these cases.
enum DecodedMessage: Sendable {
    /// A notification has no id.
    case call(RequestID?, method: String, Result<PreparedCall, RPCError>)
    case cancellation(of: RequestID?)
    /// A message without a method whose id may be the id of an outgoing request. If there is no such request, the
    /// message counts as `otherwise`.
    indirect case answer(to: Int, OutgoingRequests.Answer, otherwise: DecodedMessage)
    /// The id is null if it cannot be read.
    case invalid(RequestID, RPCError)
    /// A response, or a notification that cannot be understood.
    case ignored
    /// Another message that does not run, with the work before its answer.
    indirect case refused(Refusal, DecodedMessage)

    /// `message` is nil if the message is no object.
    init(
        _ message: Envelope?, refusal: MessageDecoder.MakeRefusal = { _, _ in nil }, _ prepare: MessageDecoder.Prepare
    ) {
        guard let message else {
            self = .invalid(.null, .invalidRequest("A message must be an object, or an array of objects."))
            if let refusal = refusal(nil, Params([])) { self = .refused(refusal, self) }
            return
        }
        self = Self.interpret(message, prepare)
        // A call is neither refused nor an answer.
        if case .call(_, _, .success) = self { return }
        if isRefusal(of: message), let refusal = Self.refusal(of: message, refusal) { self = .refused(refusal, self) }
        guard let (number, answer) = OutgoingRequests.answer(in: message) else { return }
        self = .answer(to: number, answer, otherwise: self)
    }

    private static func interpret(_ message: Envelope, _ prepare: MessageDecoder.Prepare) -> DecodedMessage {
        if message.repeatedName == ["id"] {
            return .invalid(.null, .invalidRequest("The member \"id\" occurs twice."))
        }
        let id: RequestID?
        switch message.id.map(RequestID.init) {
        case nil: id = nil
        case .some(nil): return .invalid(.null, .invalidRequest("An id must be a string, an integer or null."))
        case .some(let found?): id = found
        }
        if message.method == nil, message.hasOutcome { return .ignored }
        do {
            return try call(id, message, prepare)
        } catch  where id == nil && error.code == RPCError.invalidParamsCode {
            return .ignored
        } catch {
            return .invalid(id ?? .null, error)
        }
    }

    private func isRefusal(of message: Envelope) -> Bool {
        switch self {
        case .invalid, .call(_, _, .failure): true
        case .ignored: message.method != nil
        case .call, .cancellation, .answer, .refused: false
        }
    }

    private static func refusal(of message: Envelope, _ make: MessageDecoder.MakeRefusal) -> Refusal? {
        guard let method = message.method?.string, message.repeatedName != ["method"],
            message.repeatedName != ["params"]
        else { return make(nil, Params([])) }
        return make(method, Params(message.params?.object ?? []))
    }

    private static func call(
        _ id: RequestID?, _ message: Envelope, _ prepare: MessageDecoder.Prepare
    ) throws(RPCError) -> DecodedMessage {
        guard message.hasVersion else { throw .invalidRequest("\"jsonrpc\" must be \"2.0\".") }
        guard let method = message.method?.string else { throw .invalidRequest("\"method\" must be a string.") }
        if let name = message.repeatedName {
            guard name.count > 1, name.first == "params" else {
                throw .invalidRequest("The member \"\(name.joined(separator: ".").shortened)\" occurs twice.")
            }
            throw .invalidParam(name.dropFirst().joined(separator: "."), "occurs twice")
        }
        var params = try params(message.params)
        if id == nil, method == "$/cancelRequest" {
            return .cancellation(of: params.takeOrNull("id").flatMap(RequestID.init))
        }
        return .call(id, method: method, Result { () throws(RPCError) in try prepare(method, params) })
    }

    /// Clients write "no params" in four ways.
    private static func params(_ value: JSON?) throws(RPCError) -> Params {
        switch value {
        case nil, .null: return Params([])
        case .object(let members): return Params(members)
        case .array(let elements) where elements.isEmpty: return Params([])
        case .array:
            throw RPCError(
                code: RPCError.invalidParamsCode,
                message: "Params go by name: \"params\" must be an object, not an array.")
        case .bool, .number, .string: throw .invalidRequest("\"params\" must be an object.")
        }
    }
}
