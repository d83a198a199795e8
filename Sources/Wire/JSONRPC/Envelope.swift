import JSONText

/// The members of a message that JSON-RPC defines, found in one pass.
struct Envelope {
    private(set) var hasVersion = false
    private(set) var id: JSON?
    private(set) var method: JSON?
    private(set) var params: JSON?
    private(set) var result: JSON?
    private(set) var error: JSON?
    /// The path of a name that occurs twice in an object: the message is refused.
    private(set) var repeatedName: [String]?

    /// Nil if the message is no object.
    ///
    /// - Parameter mayRepeatNames: false if no object is known to repeat a name.
    init?(_ message: JSON, mayRepeatNames: Bool = true) {
        guard case .object(let members) = message else { return nil }
        if mayRepeatNames { repeatedName = message.repeatedName }
        for member in members {
            switch member.key {
            case "jsonrpc": hasVersion = member.value == "2.0"
            case "id": id = member.value
            case "method": method = member.value
            case "params": params = member.value
            case "result": result = member.value
            case "error": error = member.value
            default: break
            }
        }
    }

    /// Reads a message without building a tree. Nil if the message needs one: it is no object, has another version,
    /// repeats a name, has a name that JSON-RPC does not define, or cannot be parsed.
    init?(reading text: UnsafeRawBufferPointer, _ limits: ConnectionLimits) {
        guard var members = JSONMembers(text, maxDepth: limits.nesting, maxValues: limits.messageValues) else {
            return nil
        }
        do throws(JSONSyntaxError) {
            while let name = try members.next() {
                if name.isName("jsonrpc") {
                    guard !hasVersion, members.skip(string: "2.0") else { return nil }
                    hasVersion = true
                } else if !set(name, try members.value()) {
                    return nil
                }
            }
        } catch { return nil }
    }

    /// False for a name that JSON-RPC does not define, and for a repeated one.
    private mutating func set(_ name: UnsafeRawBufferPointer, _ value: JSON) -> Bool {
        if name.isName("id") { return Self.set(&id, value) }
        if name.isName("method") { return Self.set(&method, value) }
        if name.isName("params") { return Self.set(&params, value) }
        if name.isName("result") { return Self.set(&result, value) }
        return name.isName("error") && Self.set(&error, value)
    }

    private static func set(_ member: inout JSON?, _ value: JSON) -> Bool {
        guard case nil = member else { return false }
        member = value
        return true
    }

    var hasOutcome: Bool { result != nil || error != nil }
}

extension UnsafeRawBufferPointer {
    fileprivate func isName(_ name: StaticString) -> Bool {
        hasSameBytes(as: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }
}
