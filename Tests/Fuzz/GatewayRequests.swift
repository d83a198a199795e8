import Checksums
import ClientMemory
import EmbeddedEngine
import HTTPText
import Platform
import Glibc
import Harness
import Roots
import Storage
import Transfers

@testable import Gateway
@testable import HTTPServer

private let place: GatewayPlace = onLoop {
    do { return try await GatewayPlace() } catch { fail("there is no gateway: \(error)") }
}

/// Requests to the gateway, one after the other, with a NUL between them. `{id}` stands for the last upload.
@Sendable func fuzzGateway(_ input: UnsafeRawBufferPointer) {
    // Made before the loop waits for it.
    let place = place
    let requests = input.split(separator: 0).prefix(12).map { Array($0) }
    onLoop {
        await place.answer(requests)
        await place.check()
    }
}

@Loop private final class GatewayPlace {
    private let engine: EmbeddedBackend
    private let transfers: Transfers
    private let gateway: Gateway
    private var id = "none"

    init() async throws {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        engine = try EmbeddedBackend(StorageRoot("\(directory)/gateway-\(getpid())"), time: .system) { _ in }
        try await engine.open()
        // A quota adds the announced sizes to those of the existing objects.
        transfers = Transfers(
            backend: HarnessBackend(engine, SpaceLedger(buckets: nil, quota: .max), nil),
            persistence: TaskPersistence(engine.taskStore, isEngines: true) { fail($0) },
            time: .system)
        try await transfers.restore(.pause)
        gateway = Gateway(
            transfers, engine, at: "127.0.0.1:0", hosts: AcceptedHosts(), origins: AcceptedOrigins(),
            connections: 1, time: .system,
            memory: ConnectionMemory(), reset: nil
        ) { fail($0) }
    }

    func answer(_ requests: [[UInt8]]) async {
        for bytes in requests {
            guard let request = request(bytes) else { continue }
            let response = await gateway.answer(to: request)
            expect((200..<600).contains(response.status), "an answer has a status: \(response.status)")
            expect(response.status != 500, "no request is a mistake of the service: \(request.method) \(request.path)")
            for field in response.headers.fields { expect(!field.value.contains("\r"), "a header is a line") }
            if let made = response.headers["X-GUploader-UploadID"] ?? uploadInParts(response) { id = made }
        }
    }

    /// The id of an upload in parts that has begun.
    private func uploadInParts(_ response: HTTPServerResponse) -> String? {
        guard case .bytes(let bytes) = response.body else { return nil }
        return String(decoding: bytes, as: UTF8.self).firstMatch(of: /<UploadId>([^<]+)</).map { String($0.1) }
    }

    /// A whole request with a body of known length; nil where it is none.
    private func request(_ bytes: [UInt8]) -> HTTPServerRequest? {
        var parser = RequestParser(
            limits: HTTPServerLimits(), methods: Set(HTTPServerRequest.Method.allCases), hosts: AcceptedHosts())
        let text = bytes.replacing("{id}".utf8, with: id.utf8)
        text.withUnsafeBytes { parser.append($0) }
        guard case .request(var request) = parser.next() else { return nil }
        var body: [UInt8] = []
        while case .bytes(let more) = parser.nextBytes(atMost: 1 << 16) { body += more }
        request.body = HTTPRequestBody(body)
        return request
    }

    /// Each listed object is complete. Then all objects are deleted.
    func check() async {
        do {
            for bucket in try await engine.buckets() {
                for object in try await engine.list(ObjectQuery(bucket: bucket)).objects {
                    let (reference, caller) = (object.reference, Caller(retryTime: .zero))
                    let bytes = try await engine.data(of: reference, part: nil, known: nil, maxSize: .max, for: caller)
                    expect(bytes.count == object.size, "the size of \(reference.url) is that of its bytes")
                    expect(
                        Checksum(of: bytes).md5 == object.checksums.md5,
                        "the MD5 of \(reference.url) is that of its bytes")
                    var release = MetadataChange()
                    (release.kept.temporaryHold, release.kept.eventBasedHold) = (.some(nil), .some(nil))
                    _ = try await engine.updateMetadata(of: reference, release, if: Preconditions(), for: caller)
                    try await engine.delete(reference, if: Preconditions(), for: caller)
                }
                _ = try await engine.removeBucket(bucket, if: Preconditions())
            }
        } catch { fail("what is stored cannot be read: \(error)") }
        await transfers.cancelAll()
        expect(transfers.clientWaits.count == 0, "no request waits for a task that is gone")
    }
}
