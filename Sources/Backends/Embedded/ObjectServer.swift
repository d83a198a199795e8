import EventLoop
import FoundationEssentials
import HTTPServing
import Storage

/// Gives objects of the embedded engine to whoever has a download URL, in the manner of Firebase Storage.
///
/// It listens from the first URL on, or from the start where it was given an address: then URLs outlive the process.
@Loop
public final class ObjectServer {
    private let backend: EmbeddedBackend
    private let address: String?
    private let limits: HTTPServerLimits
    private var server: HTTPServer?

    /// `address` is such as `127.0.0.1:8080`; any free port of this machine where nil. Each of the `connections` may
    /// take a descriptor for itself and one for a file.
    public nonisolated init(_ backend: EmbeddedBackend, address: String?, connections: Int = .max) {
        self.backend = backend
        self.address = address
        var limits = HTTPServerLimits()
        limits.connections = min(limits.connections, connections)
        self.limits = limits
    }

    /// Listens, unless it does already, and returns what URLs begin with. Throws a sentence that names the address.
    @discardableResult
    public func start() throws(StorageError) -> String {
        if let server { return "http://\(server.address)" }
        do throws(HTTPServer.Unusable) {
            let server = try HTTPServer(address: address ?? "127.0.0.1:0", limits: limits) { [weak self] request in
                await self?.answer(to: request) ?? HTTPServerResponse(404)
            }
            self.server = server
            return "http://\(server.address)"
        } catch {
            throw StorageError(.unknown, error.message)
        }
    }

    /// Whether the object is not there or the token is wrong, nobody learns.
    private func answer(to request: HTTPServerRequest) async -> HTTPServerResponse {
        // A stored script would answer for all URLs of this origin.
        guard request.headers.values("Service-Worker").isEmpty else { return HTTPServerResponse(403) }
        guard let (bucket, name) = Self.object(in: request.path) else { return HTTPServerResponse(404) }
        func value(_ name: String) -> String? { request.queryItems.last { $0.name == name }?.value }
        guard value("alt") == "media" else { return HTTPServerResponse(400) }
        guard let token = value("token") else { return HTTPServerResponse(403) }
        do throws(StorageError) {
            guard let object = try await backend.servable(bucket: bucket, name: name, token: token) else {
                return HTTPServerResponse(403)
            }
            if case .bytes = object.body { _ = try object.readWhole() }
            return await respond(to: request, with: object.resource(complain: backend.complain))
        } catch {
            backend.complain(error.message)
            return HTTPServerResponse(500)
        }
    }

    /// `/v0/b/BUCKET/o/NAME`; a slash within the name may be escaped or not.
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
    /// `complain` is told of damaged bytes. Parts of a file are not verified: the checksum is that of all bytes.
    func resource(complain: @escaping @Sendable (String) -> Void) -> ServedResource {
        ServedResource(
            size: metadata.size, etag: EntityTag((metadata.md5 ?? []).map(\.hexadecimal).joined()),
            lastModified: HTTPDate(secondsSince1970: metadata.updated.microseconds / 1_000_000),
            contentType: metadata.settable.content[.contentType] ?? ContentType.fallback, headers: headers
        ) { range in
            switch body {
            case .bytes(let bytes): .bytes(Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
            case .file(let file, _):
                .file(
                    ServedFile(
                        file.raw, of: file, offset: range.lowerBound, count: range.upperBound - range.lowerBound,
                        verifier: range == 0..<metadata.size ? ObjectVerifier(object: self, complain: complain) : nil))
            }
        }
    }

    /// Those that the service sends. Pages of other origins may read what they have a token for; a stored page gets an
    /// origin of its own, and may run no script.
    private var headers: HTTPServerHeaders {
        let content = metadata.settable.content
        let checksum = withUnsafeBytes(of: (metadata.crc32c ?? 0).bigEndian) { Data($0).base64EncodedString() }
        let md5 = Data(metadata.md5 ?? []).base64EncodedString()
        var headers: HTTPServerHeaders = [
            "Content-Disposition": content[.contentDisposition]
                ?? "inline; filename*=utf-8''\(metadata.reference.name.escaped)",
            "Cache-Control": content[.cacheControl] ?? "private, max-age=0",
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox",
            "Access-Control-Allow-Origin": "*",
            "x-goog-generation": "\(metadata.generation)", "x-goog-metageneration": "\(metadata.metageneration)",
            "x-goog-hash": "crc32c=\(checksum),md5=\(md5)",
        ]
        if let encoding = content[.contentEncoding] { headers.add("Content-Encoding", encoding) }
        if let language = content[.contentLanguage] { headers.add("Content-Language", language) }
        for (key, value) in metadata.settable.custom {
            headers.add("x-goog-meta-\(key)", value)
        }
        return headers
    }
}

/// Tells whether the bytes of a file are those that were stored.
private struct ObjectVerifier: BodyVerifier {
    let object: OpenObject
    let complain: @Sendable (String) -> Void
    private var checksum = Checksum()

    init(object: OpenObject, complain: @escaping @Sendable (String) -> Void) {
        (self.object, self.complain) = (object, complain)
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) { checksum.updateCRC(bytes) }

    func isValid() -> Bool {
        if checksum.crc32c == object.metadata.crc32c { return true }
        complain(object.damaged("their CRC32C is another").message)
        return false
    }
}

extension UInt8 {
    fileprivate var hexadecimal: String { (self < 16 ? "0" : "") + String(self, radix: 16) }
}
