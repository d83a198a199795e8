import JSONText

/// One message from the peer, taken apart. Every JSON value is one of these.
enum ParsedMessage {
    case request(RequestID, method: String, Params)
    case notification(method: String, Params)
    /// An answer to something the service asked, or a notification that cannot be understood.
    case ignored
    /// The id is null where it could not be told.
    case invalid(RequestID, RPCError)

    /// Nil is a message that is no object.
    init(_ message: Envelope?) {
        guard let message else {
            self = .invalid(.null, .invalidRequest("A message must be an object, or an array of objects."))
            return
        }
        let id = message.id.map(RequestID.init)
        guard id == nil || id != .some(.none) else {
            self = .invalid(.null, .invalidRequest("An id must be a string, an integer or null."))
            return
        }
        if !message.hasMethod, message.hasOutcome {
            self = .ignored
            return
        }
        do {
            self = try Self.call(id: id ?? nil, message)
        } catch  where id == nil && error.code == RPCError.invalidParamsCode {
            self = .ignored
        } catch {
            self = .invalid((id ?? nil) ?? .null, error)
        }
    }

    private static func call(id: RequestID?, _ message: Envelope) throws(RPCError) -> ParsedMessage {
        guard message.hasVersion else { throw .invalidRequest("\"jsonrpc\" must be \"2.0\".") }
        guard let method = message.method else { throw .invalidRequest("\"method\" must be a string.") }
        let params = try params(message.params)
        return id.map { .request($0, method: method, params) } ?? .notification(method: method, params)
    }

    /// Real clients write "no params" in four ways.
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
