import CommandLine
import ClientMemory
import EmbeddedEngine
import Gateway
import HTTPServer
import Methods
import Platform
import Storage
import Transfers

/// The HTTP servers of a space: the one of download URLs, and the gateway for SDKs.
@Loop final class SpaceServers {
    private let downloads: ObjectServer
    private var gateway: Gateway?
    private var engine: LocalEngine
    private var transfers: Transfers
    private let options: ServiceOptions
    private let log: Log
    private let memory: ConnectionMemory
    private var expiry: ScheduledCall?
    /// Applies the rules of a harness to requests that do not call the engine. Set by the harness.
    var admission: Gateway.Admission?
    /// Removes all objects, for test code that resets the emulator whose place the gateway takes. Set by the harness.
    var reset: Gateway.Reset?
    private var metricsPage: MetricsPage?

    init(
        _ engine: LocalEngine, _ transfers: Transfers, _ options: ServiceOptions, _ log: Log, _ memory: ConnectionMemory
    ) {
        (self.engine, self.transfers, self.options, self.log) = (engine, transfers, options, log)
        self.memory = memory
        downloads = ObjectServer(
            engine.embedded, address: options.http, connections: options.servedConnections, time: .system,
            memory: memory)
        serveDownloads(of: engine)
    }

    private func serveDownloads(of engine: LocalEngine) {
        downloads.serve(engine.embedded)
        engine.embedded.urlBase = { [downloads] () async throws(StorageError) in try await downloads.start() }
    }

    /// Serves the metrics of a service, which include those of the HTTP servers.
    func publishMetrics(of service: ServiceContext) {
        metricsPage = MetricsPage { [weak service] in await service?.metrics() ?? [] }
        downloads.metricsPage = metricsPage
        gateway?.metricsPage = metricsPage
        service.httpMetrics = { [weak self] in
            guard let self else { return [] }
            let gateway = gateway.map { ("gateway", $0.metrics, $0.connectionCount) }
            return HTTPServerMetrics.families(
                [("download_urls", downloads.metrics, downloads.connectionCount)] + (gateway.map { [$0] } ?? []))
        }
    }

    /// Listens at the addresses of `--http` and `--gateway`. Throws a sentence that names the address.
    func listen() throws(StorageError) {
        if options.http != nil { try downloads.start() }
        guard let address = options.gateway else { return }
        let place = try startGateway(at: address, connections: options.servedConnections)
        if options.announcement == nil { log.announce(GatewayAddress(place).lines) }
        log.write(.info, "the gateway listens on \(place)")
    }

    /// Starts the gateway if it does not run, and returns its address.
    @discardableResult func startGateway(at address: String, connections: Int) throws(StorageError) -> String {
        if let place = gateway?.listening { return place }
        let made = Gateway(
            transfers, engine.embedded, admission: admission, at: address, hosts: AcceptedHosts(andAlso: options.hosts),
            origins: AcceptedOrigins(andAlso: options.origins), connections: connections, time: TimeSource.system,
            memory: memory, reset: reset, debug: log.debug(about: "gateway: ")
        ) { [log] in log.write(.error, $0) }
        let place: String
        do throws(HTTPServer.ListenError) { place = try made.start() } catch { throw .described(error) }
        made.metricsPage = metricsPage
        gateway = made
        expireSessions()
        // Objects and download URLs then have the same server.
        if options.http == nil { downloads.base = "http://\(place)" }
        return place
    }

    /// Ends expired uploads of the gateway, now and at least every hour.
    private func expireSessions() {
        Loop.task { [gateway] in await gateway?.expireUploads() }
        let period = min(options.limits.transfers.uploadSessions.seconds, 3600)
        expiry = TimeSource.system.after(.seconds(period)) { [weak self] in self?.expireSessions() }
    }

    /// Serves the objects and tasks of another engine from now on.
    func serve(_ engine: LocalEngine, _ transfers: Transfers) {
        (self.engine, self.transfers) = (engine, transfers)
        serveDownloads(of: engine)
        gateway?.serve(transfers, engine.embedded, admission: admission)
    }

    func close() {
        downloads.close()
        gateway?.close()
        expiry?.cancel()
    }

    /// While true, no request of the gateway begins.
    var isPaused: Bool {
        get { gateway?.isPaused ?? false }
        set { gateway?.isPaused = newValue }
    }

    /// A client is connected to the server of download URLs.
    var isServing: Bool { downloads.connectionCount > 0 }
    /// The number of requests that the gateway is answering, without those that wait for a task.
    var busyRequests: Int { gateway?.busy ?? 0 }
    /// Nil without a gateway.
    var gatewayAddress: String? { gateway?.listening }

    /// The access rules of the gateway. Nil without one.
    var access: AccessTable? {
        get { gateway?.access }
        set { if let newValue { gateway?.access = newValue } }
    }
}
