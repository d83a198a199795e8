import HTTPServer
import HTTPText
import JSONText

/// The treatment of a member of a resource in the body of a request. No member is dropped silently.
enum ResourceMember: Sendable {
    /// The request stores or uses the member.
    case served(MemberType = .text)
    /// Google sets the member and ignores it in requests: clients send back what they have read.
    case outputOnly(MemberType = .text)
    /// Only defaults are accepted: these texts, and values that are empty, false or 0.
    case refused(but: Set<String> = [])
    /// The member grants access to one object or bucket alone: Google's buckets with uniform access refuse it, too.
    case access
    /// Only this value and null are accepted.
    case fixed(JSON)
    /// The member is an object with these members.
    case members(ResourceMembers)
    /// The member is a list of objects with these members.
    case each(ResourceMembers)
    /// The request stores the member, which is one of these texts.
    case oneOf(Set<String>)
}

/// The type of a member's value. Null is always accepted.
enum MemberType: String, Sendable {
    case text = "a string"
    /// A number, or a string of digits.
    case number = "a number that is not negative"
    case flag = "true or false"
    case list = "a list"
    case texts = "a list of strings"
    /// An object whose values are strings, or null to remove one.
    case labels = "an object of strings"
    case object = "an object"

    func accepts(_ value: JSON) -> Bool {
        switch self {
        case .text: value.string != nil
        case .number: value.number?.int64 ?? value.string.flatMap { Int64(digits: $0) } ?? -1 >= 0
        case .flag: value == true || value == false
        case .list: value.array != nil
        case .texts: value.array?.allSatisfy { $0.string != nil } ?? false
        case .labels: value.object?.allSatisfy { $0.value.isNull || $0.value.string != nil } ?? false
        case .object: value.object != nil
        }
    }
}

typealias ResourceMembers = [String: ResourceMember]

extension ResourceMembers {
    /// Throws 501 for a member of Google Cloud Storage that is not served, and 400 for an unknown one, for one of
    /// another type, and for what is neither an object nor null.
    func check(_ json: JSON) throws(GatewayError) {
        guard json.isNull || json.object != nil else {
            throw .badRequest("A resource is an object, not \(json.text.prefix(200)).")
        }
        try check(json, within: "")
    }

    /// Checks the members of an object. The depth of the recursion is that of the table.
    private func check(_ json: JSON, within path: String) throws(GatewayError) {
        for member in json.object ?? [] {
            let name = path + member.key
            switch self[member.key] {
            case .served(let type), .outputOnly(let type):
                guard member.value.isNull || type.accepts(member.value) else {
                    throw .badRequest("\(name) must be \(type.rawValue).")
                }
            case .refused(let neutral):
                let isNeutral = member.value.string.map(neutral.contains) ?? false
                guard isNeutral || member.value.isNeutral else { throw .notServed(name) }
            case .access:
                let isEmpty = member.value.isNeutral && member.value.array?.isEmpty ?? true
                guard isEmpty else { throw .uniformAccess(name) }
            case .fixed(let value):
                guard member.value.isNull || member.value == value else { throw .notServed(name) }
            case .members(let inner):
                guard member.value.isNull || member.value.object != nil else {
                    throw .badRequest("\(name) must be an object.")
                }
                try inner.check(member.value, within: "\(name).")
            case .each(let inner):
                guard member.value.isNull || member.value.array != nil else {
                    throw .badRequest("\(name) must be a list.")
                }
                for (number, element) in (member.value.array ?? []).enumerated() {
                    guard element.object != nil else { throw .badRequest("\(name)[\(number)] must be an object.") }
                    try inner.check(element, within: "\(name)[\(number)].")
                }
            case .oneOf(let values):
                let isMeant = member.value.string.map { $0.isEmpty || values.contains($0) } ?? member.value.isNull
                guard isMeant else {
                    throw .badRequest("\(name) must be \(values.sorted().joined(separator: " or ")).")
                }
            case nil: throw .badRequest("There is no member \(name.prefix(200)) in such a resource.")
            }
        }
    }

    /// Whether the body names a member that is stored or used.
    func servesAny(of json: JSON) -> Bool {
        json.object?.contains { member in
            switch self[member.key] {
            case .served, .oneOf: true
            default: false
            }
        } ?? false
    }
}

extension GatewayError {
    fileprivate static func notServed(_ member: String) -> GatewayError {
        GatewayError(501, "This gateway does not keep \(member), so it refuses other values than its default.")
    }
}

extension JSON {
    /// Whether the value is null, false, 0 or empty, or has such values alone.
    fileprivate var isNeutral: Bool {
        var rest = [self]
        while let value = rest.popLast() {
            switch value {
            case .null, .bool(false): break
            case .string(let text) where text.isEmpty || text == "0": break
            case .number(let number) where number.int64 == 0: break
            case .array(let elements): rest += elements
            case .object(let members): rest += members.map(\.value)
            default: return false
            }
        }
        return true
    }
}
