import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// The policy document of a form: the time until which it holds, and conditions for the fields and the file. Its
/// signature is not verified.
struct FormPolicy {
    private let expiration: Timestamp
    private let conditions: [Condition]
    /// Whether the form is one of Amazon S3, which has its own code for a policy that is not fulfilled.
    private let isOfAmazon: Bool

    private enum Condition {
        case equal(String, String)
        case prefix(String, String)
        case length(ClosedRange<Int64>)

        /// The field that the condition is about.
        var field: String? {
            switch self {
            case .equal(let name, _), .prefix(let name, _): name
            case .length: nil
            }
        }
    }

    /// The fields that no condition needs to name. `x-ignore-` begins the names of others.
    private static let free: Set = [
        "file", "policy", "signature", "googleaccessid", "awsaccesskeyid", "x-goog-signature", "x-amz-signature",
    ]

    /// Throws 400 where the text is not Base64 of a policy document.
    init(_ text: String, isOfAmazon: Bool) throws(GatewayError) {
        guard let bytes = [UInt8](base64: text), let json = JSON(wire: bytes), let entries = json["conditions"]?.array,
            let expiration = json["expiration"]?.string.flatMap({ Timestamp(rfc3339: $0) })
        else { throw Self.malformed("it is not Base64 of a JSON object with an expiration and conditions") }
        (self.expiration, self.isOfAmazon) = (expiration, isOfAmazon)
        var conditions: [Condition] = []
        for entry in entries { conditions += try Self.conditions(entry) }
        self.conditions = conditions
    }

    private static func conditions(_ entry: JSON) throws(GatewayError) -> [Condition] {
        if let members = entry.object {
            return try members.map { member throws(GatewayError) in
                .equal(member.key.lowercased(), try text(member.value))
            }
        }
        guard let parts = entry.array, parts.count == 3, let kind = parts[0].string?.lowercased() else {
            throw malformed("a condition is neither an object nor a list of three")
        }
        if kind == "content-length-range" {
            let bounds = try (Int64(digits: text(parts[1])), Int64(digits: text(parts[2])))
            guard case (let least?, let most?) = bounds, least <= most else {
                throw malformed("content-length-range has no bounds")
            }
            return [.length(least...most)]
        }
        guard let name = parts[1].string, name.hasPrefix("$"), case let field = name.dropFirst().lowercased() else {
            throw malformed("a condition names no $field")
        }
        switch kind {
        case "eq": return [.equal(field, try text(parts[2]))]
        case "starts-with": return [.prefix(field, try text(parts[2]))]
        default: throw malformed("there is no condition \(kind.prefix(200))")
        }
    }

    /// The text of a value. A number counts as its digits.
    private static func text(_ json: JSON) throws(GatewayError) -> String {
        if let text = json.string { return text }
        guard let number = json.number?.int64 else { throw malformed("a value is neither a text nor a number") }
        return "\(number)"
    }

    private static func malformed(_ why: String) -> GatewayError {
        GatewayError(400, code: "InvalidPolicyDocument", "The policy of the form is malformed: \(why).")
    }

    /// Throws 400, or 403 for a form of Amazon S3, where the policy has expired, or does not allow the fields. A field
    /// that is absent is empty.
    ///
    /// - Parameter names: the names of the fields of the form.
    func check(at now: Timestamp, _ names: [String], _ field: (String) -> String?) throws(GatewayError) {
        func refusal(_ why: String) -> GatewayError {
            GatewayError(
                isOfAmazon ? 403 : 400, code: isOfAmazon ? "AccessDenied" : "InvalidPolicyDocument",
                "The policy of the form does not allow it: \(why).")
        }
        guard now < expiration else { throw refusal("it expired at \(expiration.rfc3339)") }
        for condition in conditions {
            switch condition {
            case .equal(let name, let value):
                guard field(name) ?? "" == value else { throw refusal("\(name) must be \(value.prefix(200))") }
            case .prefix(let name, let start):
                guard (field(name) ?? "").hasBytePrefix(start) else {
                    throw refusal("\(name) must begin with \(start.prefix(200))")
                }
            case .length: break
            }
        }
        let named = Set(conditions.compactMap(\.field).map(HTTPServerRequest.googleName)).union(Self.free)
        let needed = names.map { $0.lowercased() } + (isOfAmazon ? ["bucket"] : [])
        for name in needed where !name.hasPrefix("x-ignore-") && !named.contains(name) {
            throw refusal("it has no condition for \(name.prefix(200))")
        }
    }

    /// Throws 400 where the file has too many bytes, or at its end too few.
    func check(count: Int64, isWhole: Bool) throws(GatewayError) {
        for case .length(let range) in conditions {
            if count > range.upperBound {
                throw GatewayError(
                    400, code: "EntityTooLarge", "The policy of the form allows at most \(range.upperBound) bytes.")
            }
            if isWhole, count < range.lowerBound {
                throw GatewayError(
                    400, code: "EntityTooSmall", "The policy of the form asks for at least \(range.lowerBound) bytes.")
            }
        }
    }
}

extension String {
    /// Compares bytes: scalars that look alike differ.
    fileprivate func hasBytePrefix(_ prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }
}
