import JSONText

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
