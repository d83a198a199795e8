import ClientMemory
import Platform
import HTTPServer
import HTTPText
import Storage
import TaskStore

/// Serves objects of the embedded engine under download URLs, compatible with Firebase Storage.
///
/// Listens once the first URL is created, or from the start with a configured address, which keeps URLs valid across
/// restarts.
@Loop package final class ObjectServer {
    private var backend: EmbeddedBackend
    private let address: String?
    private let limits: HTTPServerLimits
    private let time: TimeSource
    private let memory: ConnectionMemory
    private var server: HTTPServer?
    private var isClosed = false
    package let metrics = HTTPServerMetrics()
    /// Serves `GET /metrics`. Nil for no such page.
    package var metricsPage: MetricsPage?
    /// The beginning of URLs if another server serves the objects.
    package var base: String?

    /// Listens on `address`, such as `127.0.0.1:8080`, or on any free port of the loopback interface. Each of the
    /// `connections` may use one descriptor for itself and one for a file. `time` (by default the engine's) limits
    /// them. `memory` is shared with all other clients.
    package nonisolated init(
        _ backend: EmbeddedBackend, address: String?, connections: Int = .max, time: TimeSource? = nil,
        memory: ConnectionMemory
    ) {
        (self.backend, self.address, self.time) = (backend, address, time ?? backend.time)
        self.memory = memory
        var limits = HTTPServerLimits()
        limits.connections = min(limits.connections, connections)
        self.limits = limits
    }

    package var connectionCount: Int { server?.connectionCount ?? 0 }

    /// Serves the objects of another engine from now on, at the same address.
    package func serve(_ other: EmbeddedBackend) { backend = other }

    /// Stops listening, for good.
    package func close() {
        isClosed = true
        server?.close()
        server = nil
    }

    /// Starts to listen if necessary, and returns the beginning of URLs. Throws an error that names the address.
    @discardableResult package func start() throws(StorageError) -> String {
        if let base { return base }
        if let server { return "http://\(server.address)" }
        if isClosed { throw StorageError(.unknown, "Download URLs are not served any more.") }
        do throws(HTTPServer.ListenError) {
            let server = try HTTPServer(
                address: address ?? "127.0.0.1:0", limits: limits, time: time, metrics: metrics, memory: memory
            ) {
                [weak self] request in await self?.answer(to: request) ?? HTTPServerResponse(404)
            }
            self.server = server
            return "http://\(server.address)"
        } catch {
            throw StorageError(.unknown, error.message)
        }
    }

    /// Answers a missing object and a wrong token in the same way.
    private func answer(to request: HTTPServerRequest) async -> HTTPServerResponse {
        // A stored service worker would control all URLs of this origin.
        guard request.headers.all("Service-Worker").isEmpty else { return HTTPServerResponse(403) }
        if let page = await metricsPage?.answer(to: request) { return page }
        let health = HealthPage { [backend] in await backend.reasonOfFailure() }
        if let page = await health.answer(to: request) { return page }
        guard let (bucket, name) = Self.object(in: request.path) else { return HTTPServerResponse(404) }
        func value(_ name: String) -> String? { request.queryItems.last { $0.name == name }?.value }
        guard value("alt") == "media" else { return HTTPServerResponse(400) }
        guard let token = value("token") else { return HTTPServerResponse(403) }
        do throws(StorageError) {
            guard let object = try await backend.servable(bucket: bucket, name: name, token: token) else {
                return HTTPServerResponse(403)
            }
            return await respond(to: request, with: object.resource, at: backend.time.httpDate)
        } catch  where error.code == .nonMatchingChecksum {
            // The log names the object already. After a broken answer a client could resume and get all of the wrong
            // bytes.
            return HTTPServerResponse(500)
        } catch {
            backend.complain("A download URL was answered with 500: \(error.message)")
            return HTTPServerResponse(500)
        }
    }

    /// Parses `/v0/b/BUCKET/o/NAME`; slashes in the name may be escaped or not.
    private static func object(in path: String) -> (bucket: String, name: String)? {
        let parts = path.split(separator: "/", maxSplits: 4, omittingEmptySubsequences: false)
        guard parts.count == 5, parts[1] == "v0", parts[2] == "b" else { return nil }
        guard parts[4].hasPrefix("o/"), let bucket = percentDecoded(parts[3]),
            let name = percentDecoded(parts[4].dropFirst(2)), !name.isEmpty
        else { return nil }
        return (bucket, name)
    }
}

extension OpenObject {
    /// Verifies a file only when the whole object is requested, because the checksum covers all bytes.
    var resource: ServedResource {
        ServedResource(
            size: metadata.size, etag: metadata.entityTag,
            lastModified: HTTPDate(secondsSince1970: metadata.updated.microseconds / 1_000_000),
            contentType: metadata.settable.content[.contentType] ?? ContentType.fallback, headers: headers
        ) { range in
            // With a damaged size no range is valid.
            let isWhole = range.lowerBound == 0 && range.upperBound == metadata.size
            return switch body {
            case .bytes(let bytes): .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
            case .file(let file, _, _):
                .file(
                    ServedFile(
                        file.raw, of: file, offset: range.lowerBound, count: range.upperBound - range.lowerBound,
                        checksum: isWhole ? checksum : nil))
            }
        }
    }

    private var checksum: ServedFile.Checksum? {
        metadata.checksums.crc32c.map { ServedFile.Checksum(crc32c: $0) { report($0) } }
    }

    /// The headers of every answer. Pages of other origins may read objects whose tokens they have; a stored HTML page
    /// gets an opaque origin and cannot run scripts.
    private var headers: HTTPHeaders {
        let content = metadata.settable.content
        var headers: HTTPHeaders = [
            "Content-Disposition": content[.contentDisposition]
                ?? "inline; filename*=utf-8''\(metadata.reference.name.escaped)",
            "Cache-Control": content[.cacheControl] ?? "private, max-age=0", "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox", "Access-Control-Allow-Origin": "*",
            "x-goog-generation": "\(metadata.generation)", "x-goog-metageneration": "\(metadata.metageneration)",
            "x-goog-hash": metadata.hashes, "x-goog-storage-class": metadata.storageClass.rawValue,
            "x-goog-stored-content-encoding": content[.contentEncoding] ?? "identity",
            "x-goog-stored-content-length": "\(metadata.size)",
        ]
        if let time = metadata.settable.kept?.customTime { headers.add("x-goog-custom-time", time.exactRFC3339) }
        if let expires = metadata.settable.kept?.expires { headers.add("Expires", expires.headerValue) }
        if let encoding = content[.contentEncoding] { headers.add("Content-Encoding", encoding) }
        if let language = content[.contentLanguage] { headers.add("Content-Language", language) }
        for (key, value) in metadata.settable.custom {
            headers.add(
                "x-goog-meta-\(isToken(key.utf8) ? key : key.escaped)", value.headerValue)
        }
        return headers
    }
}

extension String {
    /// The text as a header: escaped if it has control characters, or blanks at its ends.
    fileprivate var headerValue: String {
        let isOne = !utf8.contains { $0 < 0x20 || $0 == 0x7F } && trimmed(self[...]).utf8.count == utf8.count
        return isOne ? self : escaped
    }
}

// The forms of metadata in headers.
extension ObjectMetadata {
    /// The tag of a composed object is no MD5, as with Google.
    package var entityTag: EntityTag? {
        let isComposed = settable.kept?.componentCount != nil
        return EntityTag(
            settable.kept?.partsTag ?? (isComposed ? "\(generation)-composed" : (checksums.md5 ?? []).hexadecimal))
    }

    /// The MD5 that answers contain. As at Google, a composed object has none.
    package var answeredMD5: [UInt8]? { settable.kept?.componentCount == nil ? checksums.md5 : nil }

    /// The value of `x-goog-hash`.
    package var hashes: String {
        "crc32c=\((checksums.crc32c ?? 0).base64)" + (answeredMD5.map { ",md5=\($0.base64)" } ?? "")
    }
}
