import JSONText

/// Where the members of a message stand that JSON-RPC knows, found in one pass. The last of several counts.
struct Envelope {
    private let members: [JSON.Member]
    private var versionPlace: Int?
    private var idPlace: Int?
    private var methodPlace: Int?
    private var paramsPlace: Int?
    private var resultPlace: Int?
    private var errorPlace: Int?

    /// Nil where the message is no object.
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
