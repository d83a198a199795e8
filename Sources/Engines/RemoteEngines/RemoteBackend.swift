import Checksums
import HTTPClient
import HTTPText
import LocalFiles
import Metrics
import Platform
import Storage

/// An engine that stores objects in a remote service.
package final class RemoteBackend: Backend {
    package let properties: EngineProperties

    let dialect: any Dialect
    let endpoint: Endpoint
    let http: HTTPClient
    let allowed: FileAccessPolicy
    /// Threads that read and hash local files.
    let files = WorkerThreads("files", limit: 16)
    /// Threads that write and sync downloaded files.
    let downloading = WorkerThreads("downloads", limit: 8)
    let background = BackgroundWork()
    let turns = WriteTurns()
    let time: TimeSource
    /// Loads the signer for each download URL; nil if none is configured.
    let signer: URLSignerSource?
    private let debug: WriteLog?
    /// The tokens for calls that bring none.
    private let tokens: (any TokenSource)?
    private let version: String
    /// The limits of one request, unless the caller's retry time is shorter.
    private let limits: HTTPLimits

    /// Firebase Storage, or its emulator.
    package static func firebase(
        at endpoint: Endpoint, version: String, http: HTTPClient, limits: HTTPLimits = HTTPLimits(), time: TimeSource,
        allowed: FileAccessPolicy = .everywhere, debug: WriteLog? = nil
    ) -> RemoteBackend {
        RemoteBackend(
            .firebase, FirebaseDialect(version: "storage-rpc/\(version)"), endpoint, version, http, limits, time, nil,
            allowed, debug)
    }

    /// Google Cloud Storage, or a compatible server.
    package static func gcs(
        at endpoint: Endpoint, version: String, http: HTTPClient, limits: HTTPLimits = HTTPLimits(), time: TimeSource,
        signer: URLSignerSource? = nil, allowed: FileAccessPolicy = .everywhere,
        debug: WriteLog? = nil
    ) -> RemoteBackend {
        RemoteBackend(.gcs, GCSDialect(), endpoint, version, http, limits, time, signer, allowed, debug)
    }

    /// Amazon S3, or a compatible server. Throws if the library that signs requests is missing.
    ///
    /// - Parameters:
    ///   - region: the region to sign for, until the server names another one.
    ///   - tokens: the source of keys for calls that bring none.
    ///   - largestCopy: the size of the largest object that the server copies in one request, in bytes.
    package static func s3(
        at endpoint: Endpoint, region: String, tokens: (any TokenSource)? = nil, version: String, http: HTTPClient,
        limits: HTTPLimits = HTTPLimits(), time: TimeSource, allowed: FileAccessPolicy = .everywhere,
        largestCopy: Int64 = 5 << 30, debug: WriteLog? = nil
    ) throws(SigningUnavailable) -> RemoteBackend {
        let library: CryptoLibrary
        do throws(CryptoLibrary.Missing) { library = try CryptoLibrary.ofSystem.get() } catch {
            throw SigningUnavailable(reason: error.reason)
        }
        let signer = S3Signer(endpoint, region: region, library, now: time.now)
        return RemoteBackend(
            .s3, S3Dialect(endpoint: endpoint, signer: signer, library: library, largestCopy: largestCopy), endpoint,
            version, http, limits, time, nil, allowed, debug, tokens)
    }

    /// Why no request can be signed.
    package struct SigningUnavailable: Error {
        package let reason: String
    }

    private init(
        _ kind: EngineKind, _ dialect: any Dialect, _ endpoint: Endpoint, _ version: String, _ http: HTTPClient,
        _ limits: HTTPLimits, _ time: TimeSource, _ signer: URLSignerSource?, _ allowed: FileAccessPolicy,
        _ debug: WriteLog?, _ tokens: (any TokenSource)? = nil
    ) {
        var properties = EngineProperties(
            kind, uploadsAtOnce: 8, smallUploadsAtOnce: 32, oneRequestLimit: 256 << 10,
            chunkSizes: ChunkSizes(largest: 128 << 20), files: LocalDisk(allowed, on: files))
        if case .parts = dialect.sessions {
            // Smaller objects need no parts.
            let parts = PartSizes()
            (properties.parts, properties.oneRequestLimit) = (parts, parts.usual)
            properties.smallUploadsAtOnce = 16
            properties.chunkSizes = ChunkSizes(first: parts.usual, largest: parts.largest)
        }
        properties.looksBeforeUploads = dialect.marksWrites
        if dialect.delete(together: []) != nil { properties.deletionsTogether = 1000 }
        // The token kind that the service prefers.
        properties.tokenKind = dialect.authorization[0]
        (self.properties, self.signer, self.allowed, self.debug) = (properties, signer, allowed, debug)
        (self.limits, self.dialect, self.endpoint, self.version) = (limits, dialect, endpoint, version)
        (self.http, self.time, self.tokens) = (http, time, tokens)
    }

    package func beginUpload(_ upload: Upload) -> any UploadSession {
        guard let source = upload.source.copy else { return RemoteUpload(upload, self) }
        return RemoteCopy(of: source, as: upload, self)
    }

    package func preconditionChecks(in bucket: String) -> PreconditionChecks {
        var checks = PreconditionChecks(all: dialect.bindsWrites ? .atomic : .compared)
        if dialect.checksConditions(in: bucket) { checks.upload = .atomic }
        return checks
    }

    package func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        try await retrying(caller) { () async throws(StorageError) in try await self.metadataOnce(of: reference, caller)
        }
    }

    package func settle() async { await background.allDone() }

    func metadataOnce(of reference: Reference, _ caller: Caller) async throws(StorageError) -> ObjectMetadata {
        let response = try await success(of: dialect.metadata(of: reference, generation: nil), reference, caller)
        return try metadata(in: response, of: reference)
    }

    func metadata(in response: HTTPResponse, of reference: Reference) throws(StorageError) -> ObjectMetadata {
        try response.understood(about: reference) { response throws(GarbledAnswer) in
            try dialect.metadata(in: response, of: reference)
        }
    }

    /// A successful response; any other is thrown as an error.
    func success(
        of request: RemoteRequest, _ reference: Reference, _ caller: Caller
    ) async throws(StorageError) -> HTTPResponse {
        let response = try await ask(request, for: caller, about: reference, explained: [400, 403, 404])
        guard response.isSuccess else { throw .refusal(response, of: request, to: reference, by: dialect) }
        return response
    }

    /// The error of an object that was not found: the object or its bucket is missing.
    func missing(_ reference: Reference, _ caller: Caller) async throws(StorageError) -> StorageError {
        let request = dialect.metadata(of: reference, generation: nil)
        guard request.method == "HEAD", !dialect.knowsBucket(reference.bucket) else {
            return .objectNotFound(reference)
        }
        let tokens = try await tokens(for: request, of: caller)
        let response = try await explained(HTTPResponse(status: 404), tokens, caller, reference)
        return .refusal(response, of: request, to: reference, by: dialect)
    }

    /// The refusal of a HEAD with a body: that of a read, if its status is the same. The answer to a HEAD has none, and
    /// does not tell whether the bucket, the token, the region or the clock is at fault.
    private func explained(
        _ refusal: HTTPResponse, _ tokens: [Token], _ caller: Caller, _ reference: Reference
    ) async throws(StorageError) -> HTTPResponse {
        let read = dialect.media(of: reference, generation: nil, isGzip: false, from: 0, to: 1)
        let response = try await send(read, tokens, caller, reference)
        LastStatus.record(refusal.status)
        return response.status == refusal.status ? response : refusal
    }

    /// Retries until the body succeeds, fails permanently, or the caller's retry time has passed.
    func retrying<Value: Sendable>(
        _ caller: Caller, _ body: () async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        var retryTime = RetryBudget(limit: caller.retryTime, seed: .random(in: 0 ... .max))
        while true {
            let elapsed = time.clock.stopwatch()
            do throws(StorageError) {
                return try await LastStatus.attached(by: body)
            } catch {
                guard error.retryable, !caller.isTriedOnce, !Task.isCancelled else { throw error.explained(dialect) }
                let rest = try retryTime.delay(after: error, took: elapsed(), at: time.now())
                ProcessMetrics.operationRetries.increment()
                debug?("an operation is tried again in \(rest), after \(error.logText)", LogFacts())
                caller.willRetry?(
                    RequestRetry(attempt: retryTime.retries, at: time.now().advanced(by: rest), error: error))
                do { try await time.clock.sleep(for: rest) } catch {}
                retryTime.rested(rest)
            }
        }
    }

    /// The server's response with any status. After a refused token the request is repeated once with a new one, and
    /// after a response to which the dialect adapts it is signed and sent once more.
    ///
    /// - Parameters:
    ///   - onLost: called when a request has no response.
    ///   - statuses: the statuses of a HEAD's refusals that are explained.
    func ask(
        _ request: RemoteRequest, for caller: Caller, about reference: Reference,
        onSent: (@Sendable (Int64) -> Void)? = nil, onLost: ((HTTPError) -> Void)? = nil,
        explained statuses: Set<Int> = [400]
    ) async throws(StorageError) -> HTTPResponse {
        func attempt(_ tokens: [Token]) async throws(StorageError) -> HTTPResponse {
            let response = try await send(request, tokens, caller, reference, onSent: onSent, onLost: onLost)
            guard request.method == "HEAD", statuses.contains(response.status),
                response.status != 404 || !dialect.knowsBucket(reference.bucket)
            else { return response }
            return try await explained(response, tokens, caller, reference)
        }
        let tokens: [Token], response: HTTPResponse, fresh: [Token]?
        do throws(StorageError) {
            tokens = try await self.tokens(for: request, of: caller)
            response = try await attempt(tokens)
            fresh =
                dialect.refusesToken(response)
                ? try await renewed(tokens, after: response, of: caller)
                : dialect.adapts(to: response, of: request, at: url(of: request)) ? tokens : nil
        } catch {
            throw error.about(reference)
        }
        guard let fresh else { return response }
        var again = try await attempt(fresh)
        again.secrets += tokens.flatMap(\.secrets)
        return again
    }

    func send(
        _ request: RemoteRequest, _ tokens: [Token], _ caller: Caller, _ reference: Reference,
        onSent: (@Sendable (Int64) -> Void)? = nil, onLost: ((HTTPError) -> Void)? = nil
    ) async throws(StorageError) -> HTTPResponse {
        var whole = HTTPRequest(
            request.method, url(of: request), headers: request.headers.with("User-Agent", "storage-rpc/\(version)"),
            body: request.body, sink: request.sink, limits: limits.within(caller.retryTime, of: request))
        whole.limits.answerBytes = request.answerBytes
        whole.onSent = onSent
        whole.isSentOnce = request.method != "GET"
        let project = caller.userProject ?? tokens.lazy.compactMap(\.userProject).first
        dialect.authorize(&whole, with: tokens, userProject: project.flatMap { endpoint.covers(whole.url) ? $0 : nil })
        do throws(HTTPError) {
            var response = try await http.perform(whole)
            // Some servers quote the request in their errors.
            response.secrets = tokens.flatMap(\.secrets) + (request.subject == .session ? request.sessionSecrets : [])
            response.requestTexts = [request.target]
            LastStatus.record(response.status)
            return response
        } catch {
            LastStatus.record(nil)
            onLost?(error)
            throw .noAnswer(error, from: endpoint, reference)
        }
    }

    /// The tokens to send with a request; empty for a URL outside the endpoint.
    func tokens(for request: RemoteRequest, of caller: Caller) async throws(StorageError) -> [Token] {
        LastStatus.record(nil)
        guard let source = caller.tokens ?? self.tokens, endpoint.covers(url(of: request)) else { return [] }
        var tokens: [Token] = []
        for kind in dialect.authorization where tokens.isEmpty {
            if let token = try await source.token(kind, for: caller, by: time.clock) { tokens.append(token) }
        }
        if dialect.takesAppCheck, let token = try await source.token(.appCheckToken, for: caller, by: time.clock) {
            tokens.append(token)
        }
        return tokens
    }

    /// The tokens with a new one in place of the refused one; nil if there is no other.
    func renewed(
        _ tokens: [Token], after refusal: HTTPResponse, of caller: Caller
    ) async throws(StorageError) -> [Token]? {
        let isAboutApp = String(decoding: refusal.body, as: UTF8.self).has("App Check")
        guard let source = caller.tokens ?? self.tokens,
            let index = tokens.firstIndex(where: { ($0.kind == .appCheckToken) == isAboutApp }),
            let fresh = try await source.token(
                tokens[index].kind, insteadOf: tokens[index], for: caller, by: time.clock), fresh != tokens[index]
        else { return nil }
        var tokens = tokens
        tokens[index] = fresh
        return tokens
    }

    /// The URL of the requests of a session.
    func url(of session: RemoteSession) -> String { url(of: dialect.cancel(session)) }

    func url(of request: RemoteRequest) -> String {
        request.target.hasPrefix("/") ? endpoint.url + request.target : request.target
    }
}

extension HTTPLimits {
    /// Limits the time without progress to a quarter of the retry time, at least five seconds. A request with small
    /// bodies is limited to that time as a whole, at least half a minute.
    func within(_ retryTime: Duration, of request: RemoteRequest) -> HTTPLimits {
        let most = min(max(retryTime / 4, .seconds(5)), max(retryTime, .seconds(1)))
        var limits = self
        limits.connect = min(connect, most)
        limits.stall = min(stall, most)
        limits.answer = min(answer, most)
        if request.sink == nil, request.body.count <= 64 << 10 { limits.total = max(most, .seconds(30)) }
        return limits
    }
}
