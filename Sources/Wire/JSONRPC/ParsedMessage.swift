import JSONText

/// One parsed message from the peer. Every JSON value is one of these.
enum ParsedMessage {
    /// Without an id it is a notification.
    case call(RequestID?, method: String, Params)
    /// A response, or a notification that cannot be understood.
    case ignored
    /// The id is null when it cannot be read.
    case invalid(RequestID, RPCError)

    /// `message` is nil when the message is no object.
    init(_ message: Envelope?) {
        guard let message else {
            self = .invalid(.null, .invalidRequest("A message must be an object, or an array of objects."))
            return
        }
        if message.repeatedName == ["id"] {
            self = .invalid(.null, .invalidRequest("The member \"id\" occurs twice."))
            return
        }
        let id = message.id.map(RequestID.init)
        guard id == nil || id != .some(.none) else {
            self = .invalid(.null, .invalidRequest("An id must be a string, an integer or null."))
            return
        }
        if message.method == nil, message.hasOutcome {
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
        guard let method = message.method?.string else { throw .invalidRequest("\"method\" must be a string.") }
        if let name = message.repeatedName {
            guard name.count > 1, name.first == "params" else {
                throw .invalidRequest("The member \"\(name.joined(separator: ".").shortened)\" occurs twice.")
            }
            throw .invalidParam(name.dropFirst().joined(separator: "."), "occurs twice")
        }
        return .call(id, method: method, try params(message.params))
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

/// The members of a message that JSON-RPC defines, found in one pass.
struct Envelope {
    private var version: JSON?
    private(set) var id: JSON?
    private(set) var method: JSON?
    private(set) var params: JSON?
    private(set) var result: JSON?
    private(set) var error: JSON?
    /// The path of a name that occurs twice in an object: the message is refused.
    private(set) var repeatedName: [String]?

    /// Nil when the message is no object.
    ///
    /// - Parameter mayRepeatNames: false if it is known that no name occurs twice in an object.
    init?(_ message: JSON, mayRepeatNames: Bool = true) {
        guard case .object(let members) = message else { return nil }
        if mayRepeatNames { repeatedName = message.repeatedName }
        for member in members {
            switch member.key {
            case "jsonrpc": version = member.value
            case "id": id = member.value
            case "method": method = member.value
            case "params": params = member.value
            case "result": result = member.value
            case "error": error = member.value
            default: break
            }
        }
    }

    var hasVersion: Bool { version?.string == "2.0" }
    var hasOutcome: Bool { result != nil || error != nil }
}

/// The id of a peer's request, as the bytes of the reply: `1` and `"1"` are two ids, and no digit is lost.
struct RequestID: Hashable, Sendable {
    let bytes: [UInt8]

    static let null = RequestID("null")

    /// Nil unless the value is a string, a whole number or null.
    init?(_ value: JSON) {
        switch value {
        case .null, .string: self.init(value.text)
        case .number(let number) where number.isWhole: self.init(number.literal)
        case .number, .bool, .array, .object: return nil
        }
    }

    private init(_ text: String) { bytes = Array(text.utf8) }
}
