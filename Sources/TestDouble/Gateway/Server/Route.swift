import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage

/// A row of the table of what the gateway serves: the requests that the row is about, their params, headers and
/// members, and the handler that answers them. What a row does not name is refused by name, unless it changes nothing.
final class Route: Sendable {
    typealias Handler = @Loop @Sendable (Call) async throws -> HTTPServerResponse

    /// The treatment of unknown params. The URLs of bytes may have some without a meaning, which make the URL a new one
    /// for caches. A row that refuses every request checks none.
    enum Unknown { case refused, ignoredWithMedia, ignored, unchecked }

    /// The page of a list.
    struct Page {
        /// The param with the number of entries.
        let param: String
        /// The maximum number of entries.
        var most: Int64 = 1000
        /// An estimate of the bytes that an entry has in memory.
        let bytesOfEntry: Int

        /// A page of objects or buckets with much metadata.
        static func objects(_ param: String) -> Page { Page(param: param, bytesOfEntry: 16 << 10) }
    }

    let methods: Set<HTTPServerRequest.Method>
    /// Names, `*` for any segment, and a last `...` for all that follows, if anything.
    let pattern: [String]
    /// The names in the pattern, with their places.
    private let fixed: [(place: Int, name: String)]
    /// A param that the request must have, written as `uploads`, `upload_id=*` or `list-type=2`.
    let selector: (name: String, value: String?)?
    /// A header that the request must have.
    let header: String?
    let params: Set<String>
    /// The headers with a meaning that are served.
    let headers: Set<String>
    /// The members that a body of JSON may have.
    let members: ResourceMembers
    /// Whether the handler compares the conditions on reading, or its answer does not depend on them.
    let comparesTags: Bool
    let unknown: Unknown
    /// Set if the answer is a list.
    let page: Page?
    let handler: Handler

    init(
        _ methods: Set<HTTPServerRequest.Method>, _ pattern: String, selector: String? = nil, header: String? = nil,
        _ params: Set<String> = [],
        headers: Set<String> = [], json members: ResourceMembers = [:], comparesTags: Bool = false,
        unknown: Unknown = .refused, page: Page? = nil, _ handler: @escaping Handler
    ) {
        self.pattern = pattern.split(separator: "/").map(String.init)
        fixed = self.pattern.enumerated().filter { $0.element != "*" && $0.element != "..." }
            .map { (place: $0.offset, name: $0.element) }
        self.selector = selector.map {
            let parts = $0.split(separator: "=").map(String.init)
            return (parts[0], parts.dropFirst().first)
        }
        (self.methods, self.header, self.params, self.headers) = (methods, header, params, headers)
        (self.members, self.comparesTags, self.unknown) = (members, comparesTags, unknown)
        (self.page, self.handler) = (page, handler)
    }

    /// A row whose requests are refused by name.
    static func refusal(
        _ methods: Set<HTTPServerRequest.Method>, _ pattern: String, _ status: Int, _ message: String
    ) -> Route {
        Route(methods, pattern, unknown: .unchecked) { _ in throw GatewayError(status, message) }
    }

    /// Whether the body may be in the coding `aws-chunked`.
    var allowsAmazonChunks: Bool { headers.isSuperset(of: ObjectHeaders.bytes) }

    /// Whether headers set properties of an object.
    var takesProperties: Bool { headers.contains(ObjectHeaders.custom) }

    /// Whether the row is about paths of this number of segments.
    func hasPaths(ofSegments count: Int) -> Bool {
        pattern.last == "..." ? count >= pattern.count - 1 : count == pattern.count
    }

    /// Whether the row is about the path, whose number of segments is one of its own.
    func isAbout(_ path: [String]) -> Bool {
        fixed.allSatisfy { path[$0.place] == $0.name }
    }

    /// The segments of a path of the row that `*` and `...` stand for.
    func names(in path: [String]) -> [String] {
        let rest = pattern.last == "..." ? path.dropFirst(pattern.count - 1) : []
        return zip(pattern, path).filter { $0.0 == "*" }.map(\.1) + rest
    }
}

extension Set<HTTPServerRequest.Method> {
    static let all = Set(HTTPServerRequest.Method.allCases)
    static let reads: Set = [.get, .head]
    static let changes: Set = [.patch, .put]
}

/// A request and the row that answers it.
@Loop struct Call {
    /// Answers a request of a batch.
    let answerInBatch: @Loop (HTTPServerRequest, [UInt8]) async -> HTTPServerResponse
    let service: GatewayService
    let request: GatewayRequest
    let route: Route
    /// The segments of the path that stand for the wildcards of the row.
    let names: [String]

    init(
        answerInBatch: @escaping @Loop (HTTPServerRequest, [UInt8]) async -> HTTPServerResponse,
        service: GatewayService, request: GatewayRequest, route: Route
    ) {
        (self.answerInBatch, self.service, self.request, self.route) = (answerInBatch, service, request, route)
        names = route.names(in: request.target.path)
    }

    var bucket: String { names[0] }
    /// The name of the object; nil where the path has none.
    var name: String? { names.dropFirst().first }
    /// The bucket as a whole.
    var root: Reference { get throws(StorageError) { try Reference(bucket: names[0], path: "") } }
    var object: Reference { get throws { try .named(names[1], in: names[0]) } }

    /// Answers the request. Lists are made one after the other, each once there is memory for its answer: while it
    /// waits for that, others have their turn. Throws 503 without memory.
    func answer() async throws -> HTTPServerResponse {
        guard let page = route.page else { return try await selected() }
        if request.http.method != .head {
            let entries = max(0, try request.pageSize(page.param, atMost: page.most, isPositive: false))
            try await request.expectAnswer(of: (entries + 1) * page.bytesOfEntry)
        }
        return try await service.inTurn { try await selected() }
    }

    /// Answers with the fields of the resource that the client selects.
    private func selected() async throws -> HTTPServerResponse {
        guard request.target.api == .cloud, let text = request["fields"] else { return try await route.handler(self) }
        let fields = try FieldSelection(text)
        if request["alt"] != "media" { try fields.check() }
        var response = try await route.handler(self)
        if response.status == 200, request["alt"] != "media", case .bytes(let bytes) = response.body,
            let json = JSON(wire: bytes)
        {
            response.body = .bytes(fields.selected(from: json).bytes)
        }
        return response
    }

    /// Reads a body of JSON. Throws for members that the row does not have.
    func json() async throws -> JSON {
        let json = try JSON.object(await request.wholeBody())
        try route.members.check(json)
        return json
    }
}

/// The handler that calls a method.
func method<Handlers: Answering>(
    _ answer: @escaping @Sendable (Handlers) -> @Loop () async throws -> HTTPServerResponse
) -> Route.Handler {
    { try await answer(Handlers(call: $0))() }
}

/// Answers calls.
@Loop protocol Answering {
    var call: Call { get }
    init(call: Call)
}

extension Answering {
    var service: GatewayService { call.service }
    var request: GatewayRequest { call.request }
    var bucket: String { call.bucket }
}

extension Reference {
    /// An object that a request names. Throws 404 without a name, and 400 for a name that Google gives no object.
    static func named(_ name: String, in bucket: String) throws -> Reference {
        guard !name.isEmpty else { throw GatewayError(404, code: "NoSuchKey", "No such object: \(bucket)/") }
        guard name != ".", name != ".." else {
            throw GatewayError.badRequest("No object can have the name \(name).")
        }
        return try Reference(bucket: bucket, object: name)
    }
}
