import ClientMemory
import EmbeddedEngine
import HTTPServer
import HTTPText
import JSONText
import Platform
import Storage
import Transfers

/// Answers the SDKs of Firebase Storage and Google Cloud Storage over the objects and tasks of a service.
///
///     HTTPServer ──▶ Gateway ──▶ FirebaseAPI   /v0/b/…           ──▶ Transfers: uploads are tasks
///                            ──▶ CloudAPI      /b/…, /storage/v1/b/…  ──▶ Backend, EmbeddedBackend
///                            ──▶ ObjectAPI     /BUCKET/NAME
@Loop package final class Gateway {
    private let address: String
    private let hosts: AcceptedHosts
    private let cors: CrossOriginPolicy
    private let connections: Int
    private let time: TimeSource
    private let complain: @Sendable (String) -> Void
    private let debug: (@Sendable (String) -> Void)?
    private var server: HTTPServer?
    private var service: GatewayService
    private var requests = 0
    private let opened = Waiters()

    /// While this is true, no request begins.
    package var isPaused = false {
        didSet { if !isPaused { opened.wakeAll() } }
    }
    private let reset: Reset?
    package let metrics = HTTPServerMetrics()
    private let memory: ConnectionMemory
    /// `GET /metrics`; it hides the list of a bucket of this name. Nil for none.
    package var metricsPage: MetricsPage?

    /// Throws where a harness stops a request that is no call of the backend.
    package typealias Admission = @Sendable (Operation, Reference, Caller) async throws(StorageError) -> Void

    /// Removes all objects.
    package typealias Reset = @Loop () async throws -> Void

    /// Serves `transfers`, whose engine is `engine`, at an address such as `127.0.0.1:9199`. `time` bounds connections; each of
    /// the `connections` may have one descriptor for itself and one for a file. `memory` is that of all clients.
    package init(
        _ transfers: Transfers, _ engine: EmbeddedBackend, admission: Admission? = nil, at address: String,
        hosts: AcceptedHosts,
        origins: AcceptedOrigins = AcceptedOrigins(), connections: Int, time: TimeSource,
        memory: ConnectionMemory = ConnectionMemory(), reset: Reset?, debug: (@Sendable (String) -> Void)? = nil,
        complain: @escaping @Sendable (String) -> Void
    ) {
        (self.address, self.hosts, self.connections, self.time) = (address, hosts, connections, time)
        cors = Self.policy(origins)
        self.memory = memory
        (self.reset, self.debug, self.complain) = (reset, debug, complain)
        service = GatewayService(transfers: transfers, engine: engine, admission: admission, origins: origins)
    }

    /// Who may do what. Everybody may do everything, until a test says otherwise.
    package var access: AccessTable {
        get { service.access }
        set { service.access = newValue }
    }

    /// Serves other objects and tasks from now on, at the same address. Everything is allowed again.
    package func serve(_ transfers: Transfers, _ engine: EmbeddedBackend, admission: Admission?) {
        service = GatewayService(transfers: transfers, engine: engine, admission: admission, origins: cors.origins)
    }

    /// Starts to listen, and returns the address. Throws a sentence that names it.
    @discardableResult package func start() throws(HTTPServer.ListenError) -> String {
        if let server { return server.address }
        var limits = HTTPServerLimits()
        limits.connections = min(limits.connections, connections)
        // Some clients read an early answer only when they have sent all.
        limits.lingerBytes = 1 << 30
        let server = try HTTPServer(
            address: address, methods: Set(HTTPServerRequest.Method.allCases), limits: limits, hosts: hosts, time: time,
            metrics: metrics, memory: memory
        ) { [weak self] request in await self?.answer(to: request) ?? HTTPServerResponse(503) }
        self.server = server
        return server.address
    }

    /// The requests that are answered right now, and do not wait for a task.
    package var busy: Int { requests - service.transfers.clientWaits.count }

    package var connectionCount: Int { server?.connectionCount ?? 0 }

    /// The address in URLs; nil before the start.
    package var listening: String? { server?.address }

    /// Removes the uploads in parts that began too long ago.
    package func expireParts() async throws {
        try await service.engine.multiparts.expire(service.multipartBounds)
    }

    package func close() {
        server?.close()
        server = nil
    }

    private static func policy(_ origins: AcceptedOrigins) -> CrossOriginPolicy {
        CrossOriginPolicy(
            origins, methods: HTTPServerRequest.Method.allCases,
            exposedHeaders: [
                "Content-Type", "Content-Length", "Content-Range", "ETag", "Location", "Range", "X-Goog-Upload-Status",
                "X-Goog-Upload-URL", "X-Goog-Upload-Control-URL", "X-Goog-Upload-Chunk-Granularity",
                "X-Goog-Upload-Size-Received", "X-GUploader-UploadID", "X-Goog-Hash", "X-Goog-Generation",
                "X-Goog-Metageneration", "X-Firebase-Storage-Version",
            ])
    }

    func answer(to http: HTTPServerRequest) async -> HTTPServerResponse {
        if let refusal = refusal(ofOriginOf: http) { return refusal }
        if http.method == .options {
            return HTTPServerResponse(204, headers: cors.preflightHeaders(http.headers))
        }
        // A stored service worker would control all URLs of this origin.
        guard http.headers.all("Service-Worker").isEmpty else { return HTTPServerResponse(403) }
        if let page = metricsPage?.answer(to: http) { return page }
        if let answer = await health(http) { return answer }
        while isPaused { do { try await opened.wait() } catch { return .dropped } }
        requests += 1
        defer { requests -= 1 }
        let elapsed = time.clock.stopwatch()
        var response = await answer(to: http, http.body)
        debug?("\(http.method.rawValue) \(http.path.prefix(200)) answered \(response.status) after \(elapsed())")
        // Objects may be read by pages of all origins who have a token; the gateway asks for none.
        response.headers["Access-Control-Allow-Origin"] = nil
        for field in cors.answerHeaders(http.headers).fields { response.headers.add(field.name, field.value) }
        return response
    }

    /// `GET /healthz`: 200 once the objects can be used; it hides the list of a bucket of this name. Nil for another path or
    /// method.
    private func health(_ http: HTTPServerRequest) async -> HTTPServerResponse? {
        guard http.path == "/healthz", http.query == nil, http.method == .get || http.method == .head else {
            return nil
        }
        let (status, text): (Int, String)
        do throws(StorageError) {
            // A root may be gone that was opened.
            _ = try await service.engine.buckets(prefix: "", most: 1)
            (status, text) = (200, "ok")
        } catch { (status, text) = (503, error.message) }
        return HTTPServerResponse(
            status, headers: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
            body: .bytes(Array("\(text)\n".utf8)))
    }

    /// A page of a foreign origin does not write, and gets no permission to: not even by requests that browsers send
    /// without asking first. It reads what browsers let all pages read, without headers that give it more.
    private func refusal(ofOriginOf http: HTTPServerRequest) -> HTTPServerResponse? {
        let reads = http.method == .get || http.method == .head
        guard !reads, cors.origins.areForeign(to: http.headers) else { return nil }
        let origin = http.headers.only("Origin").map { " of \($0.prefix(200))" } ?? ""
        let message = "Web pages\(origin) may not use this server: it was started without --allow-origin for them."
        debug?("\(http.method.rawValue) \(http.path.prefix(200)) answered 403: \(message)")
        var response = GatewayError(403, message).response(isCloud: true)
        response.headers["Vary"] = "Origin"
        return response
    }

    /// An answer, or a request of a batch.
    private func answer(
        to http: HTTPServerRequest, _ body: HTTPRequestBody, isInBatch: Bool = false
    ) async -> HTTPServerResponse {
        var isCloud = true
        let isXML = !isInBatch && Self.isXML(http)
        func refusal(_ error: GatewayError) -> HTTPServerResponse {
            isXML ? error.xmlResponse : error.response(isCloud: isCloud)
        }
        do {
            let sent = try GatewayRequest(isXML ? http.withGoogleHeaders : http, body)
            isCloud = sent.path.first != "v0"
            try sent.checkKeys()
            let request = isXML ? sent : try await decoded(sent)
            let api = try isInBatch ? apiOfBatch(for: request) : api(for: request)
            isCloud = api.isCloud
            try request.checkHeaders(api)
            if isXML, !request.isRead, !(api.takesAmazonChunks && request.isChunkedByAmazon) {
                body.inspect = try BodyChecksums(request).inspection()
            }
            let response = try await api.answer()
            return response.bareError.map(refusal) ?? response
        } catch let error as GatewayError {
            return refusal(error)
        } catch let error as StorageError {
            return refusal(GatewayError(error))
        } catch let error as HTTPRequestBody.Failure {
            return refusal(error.gatewayError)
        } catch {
            complain("A request of the gateway was answered with 500: \(error)")
            return refusal(GatewayError(500, "Internal Server Error"))
        }
    }

    /// What the request means. The checksums of its body are those of the bytes that are sent.
    private func decoded(_ sent: GatewayRequest) async throws -> GatewayRequest {
        if !sent.isRead { sent.body.inspect = try BodyChecksums(sent).inspection() }
        return try await sent.decoded()
    }

    /// As with Google, a batch is about metadata: it has no uploads, no bytes, and no other batches.
    private func apiOfBatch(for request: GatewayRequest) throws(GatewayError) -> any GatewayAPI {
        guard let path = CloudAPI.path(request.path), path.first == "b", request["alt"] != "media",
            !(path.count == 3 && path[2] == "o" && request.http.method == .post)
        else {
            throw .badRequest(
                "A batch has only requests of /storage/v1 for metadata, not \(request.http.method.rawValue) "
                    + "\(request.http.path.prefix(200)).")
        }
        return CloudAPI(service: service, request: request, path: path)
    }

    /// The first segments of the paths of APIs. `/BUCKET/NAME` is not served for buckets of these names.
    private static let reserved: Set = ["b", "batch", "download", "internal", "resumable", "storage", "upload", "v0"]

    /// The request is one of the XML API, whose errors are XML.
    private static func isXML(_ http: HTTPServerRequest) -> Bool {
        guard let first = http.path.split(separator: "/").first.map({ percentDecoded($0) }) else {
            return http.path == "/"
        }
        return first.map { !reserved.contains($0) } ?? true
    }

    private func api(for request: GatewayRequest) throws(GatewayError) -> any GatewayAPI {
        switch request.path.first {
        case "v0": return FirebaseAPI(service: service, request: request, path: Array(request.path.dropFirst()))
        case "internal": return InternalAPI(request: request, reset: reset)
        case "batch":
            guard request.http.method == .post, CloudBatch.paths.contains(request.path) else { throw .noRoute(request) }
            return CloudBatch(request: request, bounds: .init(), elapsed: time.clock.stopwatch()) { [weak self] in
                await self?.answer(to: $0, HTTPRequestBody($1), isInBatch: true) ?? HTTPServerResponse(503)
            }
        default:
            guard let path = CloudAPI.path(request.path) else {
                if let first = request.path.first, Self.reserved.contains(first) { throw .noRoute(request) }
                return try ObjectAPI(service: service, request: request)
            }
            guard request.path.first != "download" || request.isRead else { throw .noRoute(request) }
            return CloudAPI(service: service, request: request, path: path)
        }
    }
}

/// What the APIs serve.
@Loop struct GatewayService {
    let transfers: Transfers
    let engine: EmbeddedBackend
    let admission: Gateway.Admission?
    let origins: AcceptedOrigins
    var access = AccessTable()

    /// Its rules apply to every request.
    var backend: any Backend { transfers.backend }
    /// A client of the gateway repeats what fails by itself.
    var caller: Caller { Caller(retryTime: .zero) }
    var now: HTTPDate { engine.clock.httpDate }

    func admit(_ operation: Operation, _ reference: Reference) async throws(StorageError) {
        try await admission?(operation, reference, caller)
    }

    /// An object that comes in one request.
    func store(
        _ source: any ByteSource, to reference: Reference, _ change: MetadataChange, if conditions: Preconditions,
        _ expected: IncomingBytes.Expected
    ) async throws -> ObjectMetadata {
        let body = UploadBody(source, engine)
        if let bytes = try await body.whole() {
            try expected.check(bytes, of: reference)
            var upload = UploadRequest(.data(bytes), to: reference, change, if: conditions, for: .gateway)
            upload.isAwaited = true
            return try await stored(by: transfers.upload(upload))
        }
        let size = (source as? HTTPRequestBody)?.length
        let upload = try await transfers.begin(
            UploadRequest(.incoming(size: size), to: reference, change, if: conditions, for: .gateway),
            isSession: false)
        do {
            return try await body.send(to: upload, from: 0, isLast: true, expected).stored
        } catch {
            _ = try? await upload.task?.cancel()
            throw error
        }
    }

    /// Starts the task, and waits for it as its client does.
    func stored(by task: UploadTask) async throws -> ObjectMetadata {
        task.start()
        transfers.clientWaits.count += 1
        defer { transfers.clientWaits.count -= 1 }
        if case .stored(let metadata)? = try await task.result().metadata { return metadata }
        throw StorageError(.internalError, "The task has ended without an object.")
    }
}

extension IncomingUpload.Answer {
    /// Of an upload whose last bytes were sent.
    var stored: ObjectMetadata {
        get throws {
            switch self {
            case .completed(let metadata), .ended(let metadata): return metadata
            case .failed(let error): throw error
            case .received: throw GatewayError(500, "The upload did not end.")
            }
        }
    }
}

@Loop protocol GatewayAPI {
    /// Errors have the form of Google Cloud Storage.
    var isCloud: Bool { get }
    /// The body of the request has the bytes of an object.
    var takesObject: Bool { get }
    /// The request may belong to a session, whose bytes have a place: the header that says so.
    var takesRange: Bool { get }
    /// `X-Goog-Upload-…` have their meaning.
    var takesUploadHeaders: Bool { get }
    /// The body may be in the coding `aws-chunked`.
    var takesAmazonChunks: Bool { get }
    func answer() async throws -> HTTPServerResponse
}

extension GatewayAPI {
    var takesObject: Bool { false }
    var takesRange: Bool { false }
    var takesUploadHeaders: Bool { false }
    var takesAmazonChunks: Bool { false }
}

extension GatewayError {
    func response(isCloud: Bool) -> HTTPServerResponse {
        if dropsConnection { return .dropped }
        let reason = Self.reasons[status] ?? "backendError"
        let text = isCloud ? message : missingBucket.map { "Not Found.  Could not access bucket \($0)" } ?? message
        let error: [JSON.Member] = [
            .init(key: "code", value: JSON(Int64(status))), .init(key: "message", value: .string(text)),
            .init(
                key: "errors",
                value: [["message": .string(message), "domain": "global", "reason": .string(reason)]]),
        ]
        var response = HTTPServerResponse.json(
            ["error": .object(isCloud ? error : Array(error.prefix(2)))], status: status)
        for field in headers.fields { response.headers.add(field.name, field.value) }
        return response
    }

    private static let reasons = [
        400: "invalid", 401: "authError", 403: "forbidden", 404: "notFound", 405: "methodNotAllowed", 409: "conflict",
        412: "conditionNotMet", 413: "uploadTooLarge", 501: "notImplemented",
    ]
}

extension HTTPServerResponse {
    /// An error about the bytes of an object, whose answer has no body yet.
    fileprivate var bareError: GatewayError? {
        guard case .none = body, !dropsConnection, let message = Self.errorsOfBytes[status] else { return nil }
        var error = GatewayError(status, message)
        error.headers = headers
        return error
    }

    private static let errorsOfBytes = [
        404: "The object is not there any more.", 412: "The object has another entity tag or time.",
        416: "The object has no byte in the range.",
    ]

    /// A resource with its entity tag, which has no quotation marks in a header either: clients compare the two.
    static func json(_ resource: JSON, tag: String) -> HTTPServerResponse {
        json(resource, headers: ["ETag": tag])
    }

    static func json(_ json: JSON, status: Int = 200, headers: HTTPHeaders = [:]) -> HTTPServerResponse {
        var headers = headers
        headers["Content-Type"] = "application/json; charset=utf-8"
        return HTTPServerResponse(status, headers: headers, body: .bytes(Array(json.text.utf8)))
    }
}

/// What test code calls on the emulator of Firebase.
@Loop struct InternalAPI: GatewayAPI {
    let isCloud = true
    let request: GatewayRequest
    /// Nil where objects are not for tests.
    let reset: Gateway.Reset?

    func answer() async throws -> HTTPServerResponse {
        switch (request.http.method, request.path.dropFirst().first) {
        case (.post, "reset"):
            try request.allow([])
            guard try await request.body.read(atMost: 1).isEmpty else {
                throw GatewayError.badRequest("A reset is of everything: it has no body.")
            }
            guard let reset else { throw GatewayError(403, "Only a service with --harness can be reset.") }
            try await reset()
            return HTTPServerResponse(200)
        case (.put, "setRules"):
            throw GatewayError(501, "Security rules are not evaluated; harness/authorize says who may do what.")
        case (_, "export"): throw GatewayError(501, "harness/save keeps the objects of a space.")
        default: throw GatewayError.notFound
        }
    }
}
