import HTTPText

/// The params of queries by the routes that serve them. Params that Google knows and no route serves are refused by
/// name.
enum QueryParams {
    static let conditions: Set = [
        "ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch", "ifMetagenerationNotMatch",
    ]
    /// The params of a request about a stored object.
    static let object: Set = conditions.union(["generation"])
    /// The params about the source of a copy or a move.
    static let source: Set = [
        "sourceGeneration", "ifSourceGenerationMatch", "ifSourceGenerationNotMatch", "ifSourceMetagenerationMatch",
        "ifSourceMetagenerationNotMatch",
    ]
    /// The params of lists of objects. `versions` changes nothing, because no older versions are kept; neither does
    /// `includeFoldersAsPrefixes`, because all folders are prefixes of objects.
    static let list: Set = [
        "prefix", "delimiter", "startOffset", "endOffset", "matchGlob", "includeTrailingDelimiter",
        "includeFoldersAsPrefixes", "maxResults", "pageToken", "projection", "versions",
    ]
    static let bucketList: Set = ["project", "projection", "prefix", "maxResults", "pageToken"]
    static let bucket: Set = [
        "project", "projection", "ifMetagenerationMatch", "ifMetagenerationNotMatch",
    ]
    static let upload: Set = conditions.union(["name", "upload_id", "contentEncoding", "projection"])
    /// The params of a session's URL. The start of the session has named everything else.
    static let session: Set = ["name", "upload_id"]
    /// The params of a copy. Each copies all bytes, whatever `maxBytesRewrittenPerCall` is.
    static let copy: Set = conditions.union(source).union(["maxBytesRewrittenPerCall", "projection"])
    static let firebaseList: Set = ["prefix", "delimiter", "maxResults", "pageToken"]
    static let firebaseUpload: Set = ["name", "upload_id"]
    static let firebaseTokens: Set = ["create_token", "delete_token"]
    /// The params that set headers of an answer with bytes.
    static let responseHeaders = [
        "response-cache-control": "Cache-Control", "response-content-disposition": "Content-Disposition",
        "response-content-encoding": "Content-Encoding", "response-content-language": "Content-Language",
        "response-content-type": "Content-Type", "response-expires": "Expires",
    ]
    /// The params of signed URLs. Signatures are not verified.
    static let signature: Set = [
        "GoogleAccessId", "Expires", "Signature", "AWSAccessKeyId", "X-Goog-Algorithm", "X-Goog-Credential",
        "X-Goog-Date", "X-Goog-Expires", "X-Goog-SignedHeaders", "X-Goog-Signature", "X-Goog-Security-Token",
        "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders",
        "X-Amz-Signature", "X-Amz-Security-Token", "X-Amz-Content-Sha256", "x-id",
    ]

    /// The values of params of Amazon S3 that change nothing: there is one version of its API, and one of each object.
    fileprivate static let constants: [String: String] = ["Version": "2006-03-01", "versionId": "null"]

    private static let signatureNames = Set(signature.map { $0.lowercased() })

    /// Whether the param of a signed URL stands for a header. Clients of Amazon S3 write the headers that they sign
    /// into the URL.
    static func isHeader(_ name: String) -> Bool {
        let lower = name.lowercased()
        return ["content-md5", "content-type"].contains(lower)
            || lower.hasPrefix("x-amz-") && !signatureNames.contains(lower)
    }

    /// The types of the params whose values are no free texts.
    fileprivate static let types: [String: ParamType] = {
        var types: [String: ParamType] = [
            "alt": .oneOf(["json", "media"]), "prettyPrint": .flag, "projection": .oneOf(["full", "noAcl"]),
            "uploadType": .oneOf(["media", "multipart", "raw", "resumable"]),
            "upload_protocol": .oneOf(["multipart", "raw", "resumable"]), "$.xgafv": .oneOf(["1", "2"]),
            "create_token": .flag,
        ]
        for name in object.union(source).union(["maxResults", "maxBytesRewrittenPerCall"]) { types[name] = .number }
        for name in flags { types[name] = .flag }
        for name in responseHeaders.keys { types[name] = .header }
        return types
    }()

    /// The params that change no answer, or only its form. Every route accepts them.
    static let standard: Set = [
        "$.xgafv", "access_token", "alt", "fields", "key", "oauth_token", "prettyPrint", "quotaUser", "uploadType",
        "upload_protocol", "userIp", "userProject",
    ]
    /// The params that change nothing if they are `false`, which Python's client writes as `False`.
    static let flags: Set = [
        "enableObjectRetention", "includeFoldersAsPrefixes", "includeTrailingDelimiter", "overrideUnlockedRetention",
        "softDeleted", "versions", "copySourceAcl", "allowNonEmpty", "returnPartialSuccess",
    ]
    /// The params that grant access.
    fileprivate static let acls: Set = [
        "predefinedAcl", "destinationPredefinedAcl", "predefinedDefaultObjectAcl",
    ]
    fileprivate static let privateACLs: Set = [
        "private", "projectPrivate", "bucketOwnerRead", "bucketOwnerFullControl",
    ]
    /// Subresources of `/BUCKET/NAME` and `/BUCKET`.
    static let subresources: Set = [
        "accelerate", "acl", "analytics", "attributes", "billing", "compose", "cors", "defaultObjectAcl", "delete",
        "encryption", "encryptionConfig", "inventory", "legal-hold", "lifecycle", "list-type", "location", "logging",
        "metrics", "notification", "object-lock", "ownershipControls", "partNumber", "policy", "policyStatus",
        "publicAccessBlock", "replication", "requestPayment", "restore", "retention", "select", "select-type",
        "storageClass", "symlink", "tagging", "torrent", "uploadId", "uploads", "versionId", "versioning", "versions",
        "website", "websiteConfig", "append", "position",
    ]
    /// The params that have a meaning for some route.
    static let known: Set = subresources.union(flags).union(object).union(source).union(list).union(upload)
        .union(copy).union(firebaseTokens).union(responseHeaders.keys).union([
            "callback", "destinationKmsKeyName", "filter", "kmsKeyName", "matchGlob", "restoreToken", "rewriteToken",
            "project", "token", "encoding-type", "fetch-owner", "fields",
        ])
}

/// The type of the value of a param.
private enum ParamType {
    case number
    /// True or false, which Python's client writes with a capital letter.
    case flag
    case oneOf(Set<String>)
    /// The value of a header.
    case header

    func accepts(_ value: String) -> Bool {
        switch self {
        case .number: Int64(digits: value) != nil
        case .flag: ["true", "false", "True", "False"].contains(value)
        case .oneOf(let values): values.contains(value)
        case .header: value.isHeaderText
        }
    }

    var description: String {
        switch self {
        case .number: "a number that is not negative"
        case .flag: "true or false"
        case .oneOf(let values): values.sorted().joined(separator: " or ")
        case .header: "a text without control characters"
        }
    }
}

extension String {
    /// Whether a header can have the text as its value.
    var isHeaderText: Bool { !utf8.contains { $0 < 0x20 || $0 == 0x7F } }
}

extension GatewayRequest {
    /// Throws 400 for a value of another type than that of the param. Handlers may refuse other values.
    private func checkTypes(_ served: Set<String>) throws(GatewayError) {
        for (name, value) in params.sorted(by: { $0.key < $1.key }) {
            guard let value, !value.isEmpty, let type = QueryParams.types[name] else { continue }
            let isMeant =
                served.contains(name) || QueryParams.standard.contains(name) || QueryParams.flags.contains(name)
            guard isMeant, !type.accepts(value) else { continue }
            throw .badRequest("There is no \(name)=\(value.prefix(200)): it must be \(type.description).")
        }
    }

    private func isStandard(_ name: String) -> Bool {
        QueryParams.standard.contains(name) && (target.api != .firebase || name != "fields")
    }

    /// Throws 501 for a param that has a meaning which the row does not serve, and 400 for an unknown one.
    func checkParams(_ route: Route) throws(GatewayError) {
        if route.unknown == .unchecked { return }
        try checkTypes(route.params)
        let ignoresUnknown = route.unknown == .ignored || route.unknown == .ignoredWithMedia && self["alt"] == "media"
        guard self["alt"] != "media" || ignoresUnknown else { throw .badRequest("There is no alt=media here.") }
        let others = params.filter { !route.params.contains($0.key) && !isStandard($0.key) }
        for (name, value) in others.sorted(by: { $0.key < $1.key }) {
            if value == "" && !QueryParams.subresources.contains(name) { continue }
            if ["", "false", "False"].contains(value), QueryParams.flags.contains(name) { continue }
            if target.api == .xml, let constant = QueryParams.constants[name], value == constant { continue }
            // Python's client writes `None` for an absent value.
            if value == "None", case .number? = QueryParams.types[name] { continue }
            if QueryParams.acls.contains(name) {
                guard QueryParams.privateACLs.contains(value ?? "") else {
                    throw .uniformAccess("\(name)=\(value ?? "")")
                }
            } else if QueryParams.known.contains(name) {
                throw GatewayError(501, "The param \(name) is not served here.")
            } else if !ignoresUnknown {
                throw .badRequest("There is no param \(name) here.")
            }
        }
    }
}
