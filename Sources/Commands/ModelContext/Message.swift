import JSONText

/// One message of the client.
enum Message: Sendable {
    /// The id is a string or an integer.
    case request(id: JSON, method: String, params: JSON)
    case notification(method: String, params: JSON)
    /// A response: this server asks its clients nothing.
    case ignored
    /// The id is nil if it cannot be read.
    case invalid(id: JSON?, Refusal)

    init(_ json: JSON) {
        guard json.object != nil else {
            self = .invalid(id: nil, .invalidRequest("A message must be an object"))
            return
        }
        if let name = json.repeatedName {
            self = .invalid(
                id: nil, .invalidRequest("The member \(name.joined(separator: ".").prefix(100)) occurs twice"))
            return
        }
        let id = json["id"]
        if let id, !Self.isID(id) {
            self = .invalid(id: nil, .invalidRequest("An id must be a string or an integer"))
            return
        }
        guard json["jsonrpc"] == "2.0" else {
            self = .invalid(id: id, .invalidRequest("\"jsonrpc\" must be \"2.0\""))
            return
        }
        guard let method = json["method"] else {
            let isResponse = json["result"] != nil || json["error"] != nil
            self = isResponse ? .ignored : .invalid(id: id, .invalidRequest("\"method\" is missing"))
            return
        }
        guard let name = method.string else {
            self = .invalid(id: id, .invalidRequest("\"method\" must be a string"))
            return
        }
        let params = json["params"] ?? [:]
        guard let id else {
            self = .notification(method: name, params: params)
            return
        }
        guard params.object != nil else {
            self = .invalid(id: id, .invalidParams("\"params\" must be an object"))
            return
        }
        self = .request(id: id, method: name, params: params)
    }

    private static func isID(_ value: JSON) -> Bool {
        switch value {
        case .string: true
        case .number(let number): number.isWhole
        case .null, .bool, .array, .object: false
        }
    }
}

extension JSON {
    /// The maximum depth, and the maximum number of values, of a message.
    private static let (mostDepth, mostValues) = (64, 100_000)

    /// Reads a message of the client. An object that repeats a name is read, too.
    static func message(_ text: UnsafeRawBufferPointer) throws(JSONSyntaxError) -> JSON {
        try JSON(parsing: text, maxDepth: mostDepth, maxValues: mostValues)
    }
}
