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
///     HTTPServer ──▶ Gateway ──▶ Route: a row of the table ──▶ its handler ──▶ Transfers: uploads are tasks
///                                                                          ──▶ Backend, EmbeddedBackend
///
/// The table (`RouteTable`) says what is served, neutral, or refused by name.
@Loop package final class Gateway {
    private let address: String
    private let hosts: AcceptedHosts
    private let cors: CrossOriginPolicy
    private let connections: Int
    private let time: TimeSource
    private let complain: @Sendable (String) -> Void
    private let debug: WriteLog?
    private var server: HTTPServer?
    private var service: GatewayService
    private var requests = 0
    private let opened = Waiters()

    /// Whether new requests wait.
    package var isPaused = false {
        didSet { if !isPaused { opened.wakeAll() } }
    }
    package let metrics = HTTPServerMetrics()
    private let memory: ConnectionMemory
    /// The page `GET /metrics`, which hides the list of a bucket of this name. Nil without metrics.
    package var metricsPage: MetricsPage?

    package typealias Admission = GatewayService.Admission
    package typealias Reset = GatewayService.Reset

    /// Serves `transfers`, whose engine is `engine`, at an address such as `127.0.0.1:9199`. `time` bounds connections;
    /// each of the `connections` may have one descriptor for itself and one for a file. `memory` is that of all
    /// clients.
    package init(
        _ transfers: Transfers, _ engine: EmbeddedBackend, admission: Admission? = nil, at address: String,
        hosts: AcceptedHosts, origins: AcceptedOrigins, connections: Int, time: TimeSource, memory: ConnectionMemory,
        reset: Reset?, debug: WriteLog? = nil,
        complain: @escaping @Sendable (String) -> Void
    ) {
        (self.address, self.hosts, self.connections, self.time) = (address, hosts, connections, time)
        cors = Self.policy(origins)
        self.memory = memory
        (self.debug, self.complain) = (debug, complain)
        service = GatewayService(
            transfers: transfers, engine: engine, admission: admission, origins: origins, time: time, reset: reset)
    }

    /// The access rules that a test has set. Without rules everything is allowed.
    package var access: AccessTable {
        get { service.access }
        set { service.access = newValue }
    }

    /// Serves other objects and tasks from now on, at the same address. Everything is allowed again.
    package func serve(_ transfers: Transfers, _ engine: EmbeddedBackend, admission: Admission?) {
        service = GatewayService(
            transfers: transfers, engine: engine, admission: admission, origins: cors.origins, time: time,
            reset: service.reset)
    }

    /// Starts to listen, and returns the address. Throws a sentence that names it.
    @discardableResult package func start() throws(HTTPServer.ListenError) -> String {
        if let server { return server.address }
        var limits = HTTPServerLimits()
        limits.connections = min(limits.connections, connections)
        // Some clients read an early answer only after they have sent the whole body.
        limits.lingerBytes = 1 << 30
        let server = try HTTPServer(
            address: address, methods: Set(HTTPServerRequest.Method.allCases), limits: limits, hosts: hosts, time: time,
            metrics: metrics, memory: memory
        ) { [weak self] request in await self?.answer(to: request) ?? HTTPServerResponse(503) }
        self.server = server
        return server.address
    }

    /// The number of requests that are being answered, without those that wait for a task.
    package var busy: Int { requests - service.transfers.clientWaits.count }

    package var connectionCount: Int { server?.connectionCount ?? 0 }

    /// The address in URLs; nil before the start.
    package var listening: String? { server?.address }

    /// Ends the expired sessions and uploads in parts.
    package func expireUploads() async {
        try? await service.transfers.expireSessions()
        try? await service.multiparts.expire()
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
        if let page = await metricsPage?.answer(to: http) { return page }
        if let page = await health.answer(to: http) { return page }
        while isPaused { do { try await opened.wait() } catch { return .dropped } }
        requests += 1
        defer { requests -= 1 }
        let elapsed = time.clock.stopwatch()
        var response = await answer(to: http, http.body)
        let outcome = response.dropsConnection ? "dropped" : "answered \(response.status)"
        let took = elapsed()
        debug?("\(http.method.rawValue) \(http.path.prefix(200)) \(outcome) after \(took)", LogFacts(duration: took))
        // Objects may be read by pages of all origins who have a token; the gateway asks for none.
        response.headers["Access-Control-Allow-Origin"] = nil
        for field in cors.answerHeaders(http.headers).fields { response.headers.add(field.name, field.value) }
        return response
    }

    private var health: HealthPage { HealthPage { [engine = service.engine] in await engine.reasonOfFailure() } }

    /// The refusal of a write by a page of a foreign origin; nil for other requests. Browsers send some writes without
    /// asking first. Such a page reads only what browsers let all pages read.
    private func refusal(ofOriginOf http: HTTPServerRequest) -> HTTPServerResponse? {
        let reads = http.method == .get || http.method == .head
        guard !reads, cors.origins.areForeign(to: http.headers) else { return nil }
        let origin = http.headers.only("Origin").map { " of \($0.prefix(200))" } ?? ""
        let message = "Web pages\(origin) may not use this server: it was started without --allow-origin for them."
        debug?("\(http.method.rawValue) \(http.path.prefix(200)) answered 403: \(message)", LogFacts())
        var response = GatewayError(403, message).response(isCloud: true)
        response.headers["Vary"] = "Origin"
        return response
    }

    /// The answer to a request, or to one of a batch.
    private func answer(
        to http: HTTPServerRequest, _ body: HTTPRequestBody, isInBatch: Bool = false
    ) async -> HTTPServerResponse {
        let target = RequestTarget(http)
        let isXML = target.api == .xml && !isInBatch
        func refusal(_ error: GatewayError) -> HTTPServerResponse {
            guard isXML else { return error.response(isCloud: target.api != .firebase) }
            let sent = http.headers.fields.map(\.name) + http.queryItems.compactMap(\.name)
            return sent.reduce(error) { $0.naming($1) }.xmlResponse(to: http)
        }
        do {
            let sent = try GatewayRequest(http, body, at: target)
            let request = isXML ? sent : try await decoded(sent)
            let route = try request.allowedRoute(isInBatch: isInBatch)
            if isXML, !request.isRead {
                let isChunked = route.allowsAmazonChunks && request.isChunkedByAmazon
                body.inspect =
                    try isChunked
                    ? BodyChecksums.inspection(ofTrailersOf: body) : BodyChecksums(request).inspection(of: body)
            }
            let response = try await Call(
                answerInBatch: { [weak self] in
                    await self?.answer(to: $0, HTTPRequestBody($1), isInBatch: true) ?? HTTPServerResponse(503)
                }, service: service, request: request, route: route
            ).answer()
            return response.bareError.map(refusal) ?? response
        } catch is CancellationError {
            // The connection, or the service, ends.
            return .dropped
        } catch {
            if let known = GatewayError(describing: error) { return refusal(known) }
            complain("A request of the gateway was answered with 500: \(error)")
            return refusal(GatewayError(500, "Internal Server Error"))
        }
    }

    /// The request without codings. Its declared checksums are compared with the bytes before decoding.
    private func decoded(_ sent: GatewayRequest) async throws -> GatewayRequest {
        if !sent.isRead { sent.body.inspect = try BodyChecksums(sent).inspection(of: sent.body) }
        return try await sent.decoded()
    }
}
