import Platform
import EmbeddedEngine
import HTTPText
import JSONText
import Storage

// Buckets as clients of Google Cloud Storage write and read them.
extension StoredBucket {
    /// The members that are kept and have no effect.
    private static let members = [
        "labels", "cors", "lifecycle", "website", "rpo", "customPlacementConfig", "billing",
    ]
    /// The one project that all buckets are in.
    static let projectNumber = "100000000001"
    private static let mostLabels = 64
    /// The maximum number of characters in a key or a value of a label.
    private static let longestLabel = 63

    /// The resource of Google Cloud Storage. `base` is the start of its link.
    func cloud(_ base: String) -> JSON {
        let kept = keptMembers
        let (location, type) = (location(kept), locationType(kept))
        return .object(
            [JSON.Member](present: [
                "kind": "storage#bucket", "id": .string(name), "name": .string(name),
                "selfLink": .string("\(base)/storage/v1/b/\(name.escaped)"),
                "projectNumber": .string(Self.projectNumber), "metageneration": .string("\(metageneration)"),
                "etag": .string(etag), "location": .string(location), "locationType": .string(type),
                "rpo": kept["rpo"] == nil && type != "region" ? "DEFAULT" : nil,
                "storageClass": .string((defaults.storageClass ?? .standard).rawValue),
                "timeCreated": .string(timeCreated.rfc3339), "updated": .string(updated.rfc3339),
                "timeStorageClassUpdated": .string(storageClassUpdated.rfc3339),
                "defaultEventBasedHold": defaults.eventBasedHold.map(JSON.bool),
                "iamConfiguration": [
                    "uniformBucketLevelAccess": ["enabled": true], "bucketPolicyOnly": ["enabled": true],
                    "publicAccessPrevention": kept["publicAccessPrevention"] ?? "inherited",
                ],
            ]) + (kept.object ?? []).filter { Self.members.contains($0.key) })
    }

    var etag: String { "\(metageneration)" }
    var location: String { location(keptMembers) }

    private func location(_ kept: JSON) -> String { kept["location"]?.string ?? "US" }

    var locationType: String { locationType(keptMembers) }

    private func locationType(_ kept: JSON) -> String {
        if kept["customPlacementConfig"] != nil { return "dual-region" }
        switch location(kept) {
        case "US", "EU", "ASIA": return "multi-region"
        case "NAM4", "EUR4", "EUR5", "EUR7", "EUR8", "ASIA1": return "dual-region"
        default: return "region"
        }
    }

    private var keptMembers: JSON { properties.flatMap { JSON(wire: Array($0.utf8)) } ?? [:] }

    /// Applies the members of a body that `ResourceMembers.bucket` allows. Nulls remove, objects are merged.
    ///
    /// - Parameter replacesAll: whether members that the body does not name are removed. A bucket always has a
    /// location.
    mutating func apply(_ json: JSON, replacesAll: Bool, isNew: Bool = false) throws(StorageError) {
        // The bucket will have at least these labels. The count is checked before they are merged.
        try Self.check(count: (json["labels"]?.object ?? []).count { !$0.value.isNull })
        var kept = keptMembers
        if replacesAll { kept = .object((kept.object ?? []).filter { $0.key == "location" }) }
        if let named = json["location"]?.string?.uppercased(), !named.isEmpty {
            let location = location
            guard isNew || named == location else {
                throw .invalidArgument("location", "The location of a bucket cannot be changed: it is \(location).")
            }
            kept = kept.with("location", .string(named))
        }
        if let named = json["storageClass"] {
            defaults.storageClass = named.string.flatMap(StorageClass.init(rawValue:))
        }
        if replacesAll || json["defaultEventBasedHold"] != nil {
            defaults.eventBasedHold = json["defaultEventBasedHold"]?.bool == true ? true : nil
        }
        for name in Self.members {
            guard let value = json[name] else { continue }
            let merged = (kept[name] ?? .null).merged(with: value)
            // A lifecycle without rules is none.
            kept = kept.with(name, merged["rule"] == [] ? .null : merged)
        }
        if let prevention = json["iamConfiguration"]?["publicAccessPrevention"] {
            kept = kept.with("publicAccessPrevention", prevention == "enforced" ? prevention : .null)
        }
        try Self.check(labels: kept["labels"]?.object ?? [])
        properties = kept.text
    }

    /// A new bucket of a client. Throws 400 or 501 for a name or a member that it cannot have.
    init(new name: String, _ json: JSON) throws {
        try ResourceMembers.bucket.check(json)
        try Self.check(name: name)
        self.init(name)
        try apply(json, replacesAll: true, isNew: true)
    }

    /// Throws 400 for a name that Google refuses.
    private static func check(name: String) throws(GatewayError) {
        let isSound = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
            default: false
            }
        }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        let isAddress = parts.count == 4 && parts.allSatisfy { UInt8($0) != nil }
        let most = parts.count > 1 ? 222 : 63
        guard isSound, 3...most ~= name.utf8.count, parts.allSatisfy({ 1...63 ~= $0.utf8.count }), !isAddress,
            [name.first, name.last].allSatisfy({ $0?.isLetter == true || $0?.isNumber == true }),
            !name.hasPrefix("goog"), !name.has("google")
        else { throw GatewayError(400, code: "InvalidBucketName", "Invalid bucket name: '\(name.prefix(300))'") }
    }

    private static func check(count: Int) throws(StorageError) {
        guard count > mostLabels else { return }
        throw .invalidArgument("labels", "A bucket has at most \(mostLabels) labels, not \(count).")
    }

    private static func check(labels: [JSON.Member]) throws(StorageError) {
        try check(count: labels.count)
        for label in labels where max(label.key.count, label.value.string?.count ?? 0) > longestLabel {
            throw .invalidArgument(
                "labels",
                "The keys and values of labels have at most \(longestLabel) characters: \(label.key.prefix(200)).")
        }
        for label in labels {
            let values = [label.key, label.value.string ?? ""]
            guard label.key.first?.isLetter == true, values.allSatisfy({ $0.allSatisfy(isOfLabel) }) else {
                throw .invalidArgument(
                    "labels",
                    "Labels have lower-case letters, digits, - and _, and their keys begin with a letter: "
                        + "\(label.key.prefix(200)).")
            }
        }
    }

    private static func isOfLabel(_ character: Character) -> Bool {
        character.isLetter && !character.isUppercase || character.isNumber || character == "-" || character == "_"
    }
}

extension JSON {
    /// The object with another value of a member; null removes it.
    fileprivate func with(_ name: String, _ value: JSON) -> JSON {
        var members = (object ?? []).filter { $0.key != name }
        if !value.isNull, value.object?.isEmpty != true, value.array?.isEmpty != true {
            members.append(.init(key: name, value: value))
        }
        return .object(members)
    }

    /// The members of an object are changed one by one; any other value is replaced.
    fileprivate func merged(with change: JSON) -> JSON {
        guard let changes = change.object else { return change }
        var names: ByteKeyedDictionary<Bool> = [:]
        for member in changes { names[member.key] = true }
        return .object((object ?? []).filter { names[$0.key] == nil } + changes.filter { !$0.value.isNull })
    }
}

extension ResourceMembers {
    static let bucket: ResourceMembers = [
        "name": .served(),
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
        "location": .served(), "rpo": .oneOf(["ASYNC_TURBO", "DEFAULT"]), "storageClass": .oneOf(storageClasses),
        "cors": .each(cors), "defaultEventBasedHold": .served(.flag), "labels": .served(.labels),
        "lifecycle": .members(lifecycle), "website": .members(website),
        "acl": .access, "autoclass": .refused(),
        // The owner of a bucket may read it without naming a payer.
        "billing": .members(["requesterPays": .served(.flag)]),
        "customPlacementConfig": .members(["dataLocations": .served(.texts)]),
        "defaultObjectAcl": .access, "encryption": .refused(), "hierarchicalNamespace": .refused(),
        "ipFilter": .refused(), "logging": .refused(), "objectRetention": .refused(), "retentionPolicy": .refused(),
        "softDeletePolicy": .refused(), "versioning": .refused(),
    ]

    /// No access is granted for one object alone.
    private static let uniformAccess = ResourceMember.members([
        "enabled": .fixed(true), "lockedTime": .outputOnly(),
    ])

    /// The members of a lifecycle, which is kept and not applied.
    static let lifecycle: ResourceMembers = [
        "rule": .each([
            "action": .members([
                "type": .oneOf(["Delete", "SetStorageClass", "AbortIncompleteMultipartUpload"]),
                "storageClass": .oneOf(storageClasses),
            ]),
            "condition": .members([
                "age": .served(.number), "createdBefore": .served(), "customTimeBefore": .served(),
                "daysSinceCustomTime": .served(.number), "daysSinceNoncurrentTime": .served(.number),
                "isLive": .served(.flag), "matchesPattern": .served(), "matchesPrefix": .served(.texts),
                "matchesStorageClass": .served(.texts), "matchesSuffix": .served(.texts),
                "noncurrentTimeBefore": .served(), "numNewerVersions": .served(.number),
            ]),
        ])
    ]

    static let cors: ResourceMembers = [
        "maxAgeSeconds": .served(.number), "method": .served(.texts), "origin": .served(.texts),
        "responseHeader": .served(.texts),
    ]

    static let website: ResourceMembers = ["mainPageSuffix": .served(), "notFoundPage": .served()]

    static let storageClasses = Set(StorageClass.allCases.map(\.rawValue))

    /// The body of `iam`.
    static let policy: ResourceMembers = [
        "bindings": .each([
            "role": .served(), "members": .served(.texts),
            "condition": .members([
                "title": .served(), "description": .served(), "expression": .served(), "location": .served(),
            ]),
        ]),
        "etag": .served(), "kind": .outputOnly(), "resourceId": .outputOnly(), "version": .served(.number),
    ]
}
