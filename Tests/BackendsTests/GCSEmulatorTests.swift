import Foundation
import HTTP
import Storage
import TestSupport
import Testing

@testable import Backends

/// The engine for Google Cloud Storage against a server that others wrote: `gcp-storage-emulator`, from PyPI. The
/// variable names a Python that has it.
@Suite(
    .serialized, .timeLimit(.minutes(10)),
    .enabled(if: GCSEmulator.python != nil, "GCS_EMULATOR_PYTHON names no Python with gcp-storage-emulator"))
struct GCSEmulatorTests {
    let emulator: GCSEmulator
    let backend: RemoteBackend

    init() throws {
        emulator = try GCSEmulator()
        backend = .gcs(at: try Endpoint(emulator.url, from: "--endpoint", allowInsecure: false), version: "test")
    }

    @Test(arguments: [0, 1, 4096, 256 << 10, (256 << 10) + 1, 3_000_000])
    func `Uploads of every size arrive, whole and in chunks`(size: Int) async throws {
        let bytes = noise(size)
        for chunks in [nil, ChunkSizes.fixed(1)] where chunks == nil || size > 0 {
            let upload = Upload.data(bytes, to: try ref("a b/100% +ü?#", in: "box"))
            let stored = try await backend.run(upload, chunks: chunks, patience: .seconds(5))
            #expect(stored.size == size && stored.md5 == Checksum(of: bytes).md5)
            let found = try await backend.metadata(of: upload.reference)
            #expect(found.crc32c == Checksum(of: bytes).crc32c && found.generation == stored.generation)
        }
    }

    @Test func `Metadata is kept and changed, what is missing is missing`() async throws {
        var metadata = SettableMetadata()
        metadata.content = [.contentType: "text/plain", .cacheControl: "no-store"]
        metadata.custom = ["k": "v"]
        let stored = try await backend.run(.data([1], to: ref("m", in: "box"), metadata))
        #expect(metadata.isHeld(by: stored.settable))
        var change = MetadataChange()
        change.content = [.contentLanguage: "it"]
        let updated = try await backend.updateMetadata(of: ref("m", in: "box"), change)
        #expect(updated.settable.content[.contentLanguage] == "it" && updated.metageneration > stored.metageneration)
        #expect(
            try await failure { _ = try await backend.metadata(of: ref("none", in: "box")) }.code == .objectNotFound)
        let error = try await failure { _ = try await backend.put([1], at: "a", in: "nobox") }
        #expect(error.code == .bucketNotFound)
    }
}

/// The emulator as a process.
final class GCSEmulator {
    static let python = ProcessInfo.processInfo.environment["GCS_EMULATOR_PYTHON"]
    private static let script = """
        import sys
        from gcp_storage_emulator.server import create_server
        server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="box")
        server.start()
        print(server._api._httpd.server_port, flush=True)
        sys.stdin.read()
        server.stop()
        """

    let url: String
    private let process: ServiceProcess

    init() throws {
        process = try ServiceProcess(["-c", Self.script], program: try #require(Self.python))
        var text = [UInt8](repeating: 0, count: 16)
        let count = read(process.output, &text, text.count)
        url = "http://127.0.0.1:\(String(decoding: text.prefix(max(0, count)), as: UTF8.self).filter(\.isNumber))"
    }
}
