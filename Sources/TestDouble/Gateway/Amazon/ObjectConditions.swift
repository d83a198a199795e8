import EmbeddedEngine
import HTTPServer
import HTTPText
import Platform
import Storage

// Preconditions of writes by ETag and time. Each becomes the generation for which it holds; the transaction that writes
// checks that generation.
extension GatewayService {
    /// Performs a write with the preconditions of its request. For Amazon S3 an object whose tag was compared, and that was
    /// deleted since, is a missing one.
    func writing<Answer>(
        _ object: Reference, for request: GatewayRequest, _ body: @Loop (Preconditions) async throws -> Answer
    ) async throws -> Answer {
        let conditions = try await writeConditions(request, of: object)
        do {
            return try await body(conditions)
        } catch let error as StorageError
            where request.isOfAmazon && request.header("If-Match") != nil && error.isAboutNothing
            && error.isAbout(object)
        {
            throw StorageError.objectNotFound(object)
        }
    }

    /// The preconditions of a write of an object. Throws 412 where the object has another ETag.
    private func writeConditions(_ request: GatewayRequest, of object: Reference) async throws -> Preconditions {
        var conditions = try request.objectPreconditions()
        for name in ["If-Modified-Since", "If-Unmodified-Since"] where request.header(name) != nil {
            throw GatewayError(501, "The header \(name) is not served here.")
        }
        let (wanted, unwanted) = (try tags("If-Match", of: request), try tags("If-None-Match", of: request))
        if wanted == nil, unwanted == ["*"] { try conditions.bind(to: 0) }
        guard wanted != nil || unwanted ?? ["*"] != ["*"] else { return conditions }
        let now = try await version(of: object)
        if now == nil, wanted != nil, request.isOfAmazon { throw StorageError.objectNotFound(object) }
        func isThere(with tags: [Substring]) -> Bool { now.map { tags.contains(where: $0.hasTag) } ?? false }
        guard wanted.map(isThere) ?? true, !(unwanted.map(isThere) ?? false) else { throw Self.otherTag }
        try conditions.bind(to: now?.generation ?? 0)
        return conditions
    }

    /// The entity tags of a condition; nil without it. Throws 400 for none, and for `*` beside tags.
    private func tags(_ name: String, of request: GatewayRequest) throws(GatewayError) -> [Substring]? {
        guard request.header(name) != nil else { return nil }
        let tags = request.http.headers.list(name)
        guard tags.count == 1 || !tags.isEmpty && !tags.contains("*") else {
            throw .badRequest("\(name) has either tags or *.")
        }
        return tags
    }

    /// Requires that the object has a tag. Throws 412 where it has another one, and `objectNotFound` for none.
    func bind(_ conditions: inout Preconditions, toTag tag: String, of object: Reference) async throws {
        guard let now = try await version(of: object) else { throw StorageError.objectNotFound(object) }
        guard now.hasTag(tag[...]) else { throw Self.otherTag }
        try conditions.bind(to: now.generation)
    }

    private static let otherTag = GatewayError(
        412, "The object has another ETag than the condition asks for, or does not exist.")

    /// The preconditions for the source of a copy. Throws 412 where one does not hold.
    func sourceConditions(_ request: GatewayRequest, of source: Reference) async throws -> Preconditions {
        var conditions = try request.copySourcePreconditions()
        let prefix = "x-goog-copy-source-if-"
        func header(_ name: String) -> String? { request.header(prefix + name) }
        func date(_ name: String) throws(GatewayError) -> HTTPDate? {
            guard let text = header(name) else { return nil }
            guard let date = HTTPDate(text) else { throw .badRequest("\(prefix)\(name) is no date: \(text)") }
            return date
        }
        let (since, until) = (try date("modified-since"), try date("unmodified-since"))
        let repeated = ObjectHeaders.answered.filter { request.header($0) != nil }
        guard since != nil || until != nil || header("match") != nil || header("none-match") != nil || !repeated.isEmpty
        else { return conditions }
        guard let now = try await version(of: source) else {
            throw StorageError.objectNotFound(source)
        }
        let modified = HTTPDate(secondsSince1970: now.updated.microseconds / 1_000_000)
        let tags = request.http.headers
        guard header("match") == nil || tags.list("\(prefix)match").contains(where: now.hasTag),
            !tags.list("\(prefix)none-match").contains(where: now.hasTag),
            // A condition by tag decides where a request has one by time, too.
            header("none-match") != nil || since.map({ $0 < modified }) ?? true,
            header("match") != nil || until.map({ modified <= $0 }) ?? true,
            repeated.allSatisfy({ request.header($0) == now.answeredHeaders[$0] })
        else { throw GatewayError(412, "A condition of the copy does not hold for its source.") }
        try conditions.bind(to: now.generation)
        return conditions
    }

    /// The current version of an object; nil for none.
    func version(of object: Reference) async throws -> ObjectMetadata? {
        do throws(StorageError) {
            return try await engine.metadata(of: object, for: caller)
        } catch  where error.code == .objectNotFound {
            return nil
        }
    }
}

extension ObjectMetadata {
    /// The headers of an answer that clients send back.
    fileprivate var answeredHeaders: HTTPHeaders {
        var headers = objectHeaders
        headers.add("x-goog-stored-content-encoding", settable.content[.contentEncoding] ?? "identity")
        headers.add("x-goog-stored-content-length", "\(size)")
        return headers
    }

    /// Whether a tag of a condition is that of the object.
    fileprivate func hasTag(_ tag: Substring) -> Bool {
        tag == "*" || tag.filter { $0 != "\"" } == entityTag?.opaque ?? ""
    }
}

extension Preconditions {
    /// Requires a generation. Throws 412 where another one is required already.
    mutating func bind(to generation: Int64) throws(GatewayError) {
        guard self.generation ?? generation == generation else {
            throw GatewayError(412, "The preconditions contradict each other.")
        }
        self.generation = generation
    }
}

extension GatewayRequest {
    /// The preconditions in headers for the object at its own URL.
    func objectPreconditions() throws(GatewayError) -> Preconditions {
        Preconditions(
            generation: try length("x-goog-if-generation-match"),
            metageneration: try length("x-goog-if-metageneration-match"), named: try integer("generation"))
    }

    /// The preconditions for reading the object at its own URL: headers, or the params that Go's client sends.
    func readConditions() throws(GatewayError) -> Preconditions {
        let headers = try objectPreconditions()
        var conditions = try preconditions()
        guard conditions.generation == nil || headers.generation == nil,
            conditions.metageneration == nil || headers.metageneration == nil
        else { throw .badRequest("The request has the same condition as a header and as a param.") }
        conditions.generation = conditions.generation ?? headers.generation
        conditions.metageneration = conditions.metageneration ?? headers.metageneration
        return conditions
    }

    /// The preconditions by generation for the source of a copy.
    func copySourcePreconditions() throws(GatewayError) -> Preconditions {
        Preconditions(
            generation: try length("x-goog-copy-source-if-generation-match"),
            metageneration: try length("x-goog-copy-source-if-metageneration-match"),
            named: try length("x-goog-copy-source-generation"))
    }

    /// The object that the header names: `BUCKET/NAME`, percent-encoded. For Amazon S3 a plus sign is a blank.
    func copySource() throws -> Reference {
        let sent = header(ObjectHeaders.source) ?? ""
        let text = isOfAmazon ? sent.replacing("+", with: "%20") : sent
        let (path, version) = (text.prefix { $0 != "?" }, text.drop { $0 != "?" })
        let parts = path.drop { $0 == "/" }.split(separator: "/", maxSplits: 1).map { percentDecoded($0) }
        guard parts.count == 2, let bucket = parts[0], let name = parts[1] else {
            throw GatewayError.badRequest("\(ObjectHeaders.source) is no BUCKET/NAME: \(text)")
        }
        // An object without versions is the version null.
        guard version.isEmpty || version == "?versionId=null" else {
            throw GatewayError(501, "\(ObjectHeaders.source) is not served here with a version: \(text)")
        }
        return try .named(name, in: bucket)
    }
}
