import HTTPServer
import HTTPText
import JSONText

/// How a member of a resource in the body of a request is treated. None is dropped silently.
enum ResourceMember: Sendable {
    /// It is stored, or used by the request.
    case taken(MemberType = .text)
    /// Google sets it and ignores it in requests: clients send back what they have read.
    case outputOnly(MemberType = .text)
    /// Only its defaults are accepted: these texts, and values that are empty, false or 0.
    case refused(but: Set<String> = [])
    /// It grants access to one object or bucket alone: refused as by Google's buckets with uniform access.
    case access
    /// Only this value and null are accepted.
    case fixed(JSON)
    /// It is an object of others.
    case members(ResourceMembers)
    /// It is a list of such objects.
    case each(ResourceMembers)
    /// It is stored, and one of these texts.
    case oneOf(Set<String>)
}

/// What a member may be besides null.
enum MemberType: String, Sendable {
    case text = "a string"
    /// Or a string of digits.
    case number = "a number that is not negative"
    case flag = "true or false"
    case list = "a list"
    case texts = "a list of strings"
    /// A null removes one.
    case labels = "an object of strings"
    case object = "an object"

    func takes(_ value: JSON) -> Bool {
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
    /// Throws 501 for a member of Google Cloud Storage that is not served, and 400 for an unknown one, for one of another
    /// type, and for what is neither an object nor null.
    func check(_ json: JSON) throws(GatewayError) {
        guard json.isNull || json.object != nil else {
            throw .badRequest("A resource is an object, not \(json.text.prefix(200)).")
        }
        try check(json, within: "")
    }

    /// As deep as the table.
    private func check(_ json: JSON, within path: String) throws(GatewayError) {
        for member in json.object ?? [] {
            let name = path + member.key
            switch self[member.key] {
            case .taken(let type), .outputOnly(let type):
                guard member.value.isNull || type.takes(member.value) else {
                    throw .badRequest("\(name) must be \(type.rawValue).")
                }
            case .refused(let neutral):
                let isNeutral = member.value.string.map(neutral.contains) ?? false
                guard isNeutral || member.value.isNeutral else { throw .notServed(name) }
            case .access:
                guard member.value.isNeutral else { throw .uniformAccess(name) }
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

    /// Whether the body names a member that is taken.
    func takesAny(of json: JSON) -> Bool {
        json.object?.contains { member in
            switch self[member.key] {
            case .taken, .oneOf: true
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

// MARK: - The resources

extension ResourceMembers {
    /// An object, as both dialects name its members.
    static let object: ResourceMembers = [
        "cacheControl": .taken(), "contentDisposition": .taken(), "contentEncoding": .taken(),
        "contentLanguage": .taken(),
        "contentType": .taken(), "metadata": .taken(.object),
        // Checked by uploads. The URL of the request says more of the name.
        "md5Hash": .outputOnly(), "crc32c": .outputOnly(), "name": .outputOnly(), "bucket": .outputOnly(),
        "componentCount": .outputOnly(.number), "customerEncryption": .refused(), "downloadTokens": .outputOnly(),
        "etag": .outputOnly(), "generation": .outputOnly(.number), "hardDeleteTime": .outputOnly(), "id": .outputOnly(),
        "kind": .outputOnly(), "mediaLink": .outputOnly(), "metageneration": .outputOnly(.number),
        "owner": .outputOnly(.object),
        "restoreToken": .outputOnly(), "retentionExpirationTime": .outputOnly(), "selfLink": .outputOnly(),
        "size": .outputOnly(.number), "softDeleteTime": .outputOnly(), "timeCreated": .outputOnly(),
        "timeDeleted": .outputOnly(),
        "timeFinalized": .outputOnly(), "timeStorageClassUpdated": .outputOnly(), "updated": .outputOnly(),
        "storageClass": .oneOf(storageClasses), "customTime": .taken(), "eventBasedHold": .taken(.flag),
        "temporaryHold": .taken(.flag),
        "acl": .access, "contexts": .refused(), "kmsKeyName": .refused(), "retention": .refused(),
    ]

    static let bucket: ResourceMembers = [
        "name": .taken(),
        "etag": .outputOnly(), "generation": .outputOnly(.number), "hardDeleteTime": .outputOnly(), "id": .outputOnly(),
        "kind": .outputOnly(), "locationType": .outputOnly(), "metageneration": .outputOnly(.number),
        "owner": .outputOnly(.object),
        "projectNumber": .outputOnly(.number), "satisfiesPZI": .outputOnly(.flag), "satisfiesPZS": .outputOnly(.flag),
        "selfLink": .outputOnly(), "softDeleteTime": .outputOnly(), "timeCreated": .outputOnly(),
        "timeStorageClassUpdated": .outputOnly(), "updated": .outputOnly(),
        "iamConfiguration": .members([
            "bucketPolicyOnly": uniformAccess, "uniformBucketLevelAccess": uniformAccess,
            "publicAccessPrevention": .oneOf(["enforced", "inherited", "unspecified"]),
        ]),
        "location": .taken(), "rpo": .oneOf(["ASYNC_TURBO", "DEFAULT"]), "storageClass": .oneOf(storageClasses),
        "cors": .each(cors), "defaultEventBasedHold": .taken(.flag), "labels": .taken(.labels),
        "lifecycle": .members(lifecycle), "website": .members(website),
        "acl": .access, "autoclass": .refused(),
        // Who owns a bucket may read it without saying who pays.
        "billing": .members(["requesterPays": .taken(.flag)]),
        "customPlacementConfig": .members(["dataLocations": .taken(.texts)]),
        "defaultObjectAcl": .access, "encryption": .refused(), "hierarchicalNamespace": .refused(),
        "ipFilter": .refused(), "logging": .refused(), "objectRetention": .refused(), "retentionPolicy": .refused(),
        "softDeletePolicy": .refused(), "versioning": .refused(),
    ]

    /// No access is granted for one object alone.
    private static let uniformAccess = ResourceMember.members([
        "enabled": .fixed(true), "lockedTime": .outputOnly(),
    ])

    /// The body of `compose`.
    static let composition: ResourceMembers = [
        "kind": .outputOnly(), "destination": .taken(.object), "sourceObjects": .taken(.list),
        "deleteSourceObjects": .refused(),
    ]

    static let source: ResourceMembers = [
        "name": .taken(), "generation": .taken(.number),
        "objectPreconditions": .members(["ifGenerationMatch": .taken(.number)]),
    ]
}

extension GatewayRequest {
    /// Throws 501 for a key that the object would have to be encrypted with, which is not done here.
    func checkKeys() throws(GatewayError) {
        for field in http.headers.fields {
            let name = field.name.lowercased()
            guard name.hasPrefix("x-goog-encryption-") || name.hasPrefix("x-goog-copy-source-encryption-") else {
                continue
            }
            throw GatewayError(501, "This gateway encrypts no objects, so it refuses \(field.name).")
        }
    }
}
