import Database
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

/// Invalid rows cause errors, and undamaged objects are kept.
@Suite(.watchdog(minutes: 10)) struct DamagedRowTests {
    private func damaged(_ size: Int, _ sql: String) async throws -> EmbeddedFixture {
        let place = try await EmbeddedFixture()
        try await place.backend.put(noise(size), at: "a")
        try await place.backend.store.write { try $0.execute(sql) }
        return place
    }

    @Test func `A write after the greatest possible generation is an error`() async throws {
        let place = try await damaged(10, "UPDATE counters SET generation = \(Int64.max)")
        let error = try await failure { try await place.backend.put([1], at: "a") }
        #expect(error.code == .unknown && error.message.contains(place.root.database))
        #expect(try await place.bytes(of: ref("a")) == noise(10))
    }

    @Test func `A change after the greatest possible metageneration is an error`() async throws {
        let place = try await damaged(10, "UPDATE objects SET metageneration = \(Int64.max)")
        for error in [
            try await failure { _ = try await place.backend.updateMetadata(of: ref("a"), .init()) },
            try await failure { _ = try await place.backend.replaceDownloadTokens(of: ref("a")) },
        ] { #expect(error.code == .unknown && error.message.contains(place.root.database)) }
    }

    @Test(arguments: [-1, 0, 9, 11, Int64.max])
    func `An object whose number of bytes differs from its row is not served`(size: Int64) async throws {
        let place = try await damaged(10, "UPDATE objects SET size = \(size)")
        let token = try #require(try await place.backend.downloadTokens(of: ref("a")).first)
        for error in [
            try await failure { _ = try await place.backend.open(ref("a")) },
            try await failure { _ = try await place.backend.servable(bucket: "b", name: "a", token: token) },
        ] { #expect(error.code == .nonMatchingChecksum && error.message.contains("there are 10 of them")) }
    }

    @Test(arguments: [-1, Int64.min, .max])
    func `An object in a file whose row has an impossible size is never returned`(size: Int64) async throws {
        let place = try await damaged(400_000, "UPDATE objects SET size = \(size)")
        let (backend, caller) = (place.backend, Caller(retryTime: .zero))
        let error = try await failure {
            _ = try await backend.data(of: ref("a"), part: nil, known: nil, maxSize: .max, for: caller)
        }
        #expect(error.code == .nonMatchingChecksum)
        guard size < 0 else { return }
        await #expect(throws: StorageError.self) { _ = try await backend.resource(of: ref("a")) }
        await #expect(throws: StorageError.self) { _ = try await backend.bytes(of: [ref("a"), ref("a")]) }
    }

    @Test func `The sweep keeps a file that an object needs, whatever the state in its row`() async throws {
        for state in [0, 2] {
            let place = try await damaged(400_000, "UPDATE files SET state = \(state)")
            #expect(try await place.reopened().bytes(of: ref("a")) == noise(400_000))
        }
    }

    @Test func `An empty database beside files of objects is an error, not a new database`() async throws {
        let scratch = try Scratch()
        let root = try StorageRoot(scratch.path + "/root")
        _ = try root.openDirectory("objects")
        _ = try scratch.file("root/objects/1", [1])
        for _ in 0..<2 {
            let error = try await failure { try await EmbeddedBackend(root, time: .system).open() }
            #expect(error.message.contains(root.database) && error.message.contains(root.path + "/objects"))
            _ = try scratch.file("root/storage.sqlite3", [])
        }
    }
}
