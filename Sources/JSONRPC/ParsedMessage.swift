import JSONText

/// One parsed message from the peer. Every JSON value is one of these.
enum ParsedMessage {
    case request(RequestID, method: String, Params)
    case notification(method: String, Params)
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

/// The members of a message that JSON-RPC defines, found in one pass. The last of several counts.
struct Envelope {
    private let members: [JSON.Member]
    private var versionPlace: Int?
    private var idPlace: Int?
    private var methodPlace: Int?
    private var paramsPlace: Int?
    private var resultPlace: Int?
    private var errorPlace: Int?

    /// Nil when the message is no object.
    init?(_ message: JSON) {
        guard case .object(let members) = message else { return nil }
        self.members = members
        for place in members.indices {
            switch members[place].key {
            case "jsonrpc": versionPlace = place
            case "id": idPlace = place
            case "method": methodPlace = place
            case "params": paramsPlace = place
            case "result": resultPlace = place
            case "error": errorPlace = place
            default: break
            }
        }
    }

    var hasVersion: Bool { versionPlace.map { members[$0].value.string == "2.0" } ?? false }
    var hasMethod: Bool { methodPlace != nil }
    var hasOutcome: Bool { resultPlace != nil || errorPlace != nil }

    var id: JSON? { idPlace.map { members[$0].value } }
    var method: String? { methodPlace.flatMap { members[$0].value.string } }
    var params: JSON? { paramsPlace.map { members[$0].value } }
    var result: JSON? { resultPlace.map { members[$0].value } }
    var error: JSON? { errorPlace.map { members[$0].value } }
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
