import Database
import Glibc
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

@Suite(.watchdog(minutes: 10)) struct EmbeddedDownloadTests {
    private let bytes = noise((9 << 20) + 5)

    /// Downloads 9 MiB, and runs `meanwhile` after the first 4 MiB.
    private func fetch(
        in place: EmbeddedFixture, meanwhile: (StoppableSession<DownloadStrategy>) async throws -> Void
    ) async throws -> DownloadAnswer {
        try await place.backend.put(bytes, at: "a")
        let stop = ThreadGate()
        let session = try place.backend.download("a", to: place.scratch.path + "/file")
        async let answer = session.fetch { if $0.completedUnitCount == 4 << 20 { stop.wait() } }
        try await stop.reached()
        try await meanwhile(session)
        stop.open()
        return await answer
    }

    @Test func `A download of an object that is deleted meanwhile completes`() async throws {
        let place = try await EmbeddedFixture(time: TimeSource(clock: ManualClock()))
        let answer = try await fetch(in: place) { _ in
            try await place.backend.delete("a")
            #expect(try await place.settledContents(.none) == .none)
        }
        guard case .completed(let metadata) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(metadata.size == bytes.count)
        #expect(try contentsOf(place.scratch.path + "/file") == bytes)
    }

    @Test func `A download of an object that is overwritten meanwhile returns the old bytes`() async throws {
        let place = try await EmbeddedFixture(time: TimeSource(clock: ManualClock()))
        let answer = try await fetch(in: place) { _ in
            try await place.backend.put(noise(300_000, seed: 9), at: "a")
            let expected = Contents(objects: 1, rows: 0, files: 1, filesOnDisk: 1)
            #expect(try await place.settledContents(expected) == expected)
        }
        guard case .completed(let metadata) = answer else { return #expect(Bool(false), "\(answer)") }
        #expect(metadata.size == bytes.count)
        #expect(try contentsOf(place.scratch.path + "/file") == bytes)
        #expect(try await place.backend.data("a") == noise(300_000, seed: 9))
    }

    @Test func `An abort returns while its thread is blocked, and the next attempt waits for the thread`() async throws
    {
        let place = try await EmbeddedFixture(time: TimeSource(clock: ManualClock()))
        try await place.backend.put(bytes, at: "a")
        let stop = ThreadGate()
        let session = try place.backend.download("a", to: place.scratch.path + "/file")
        async let first = session.fetch { _ in stop.wait() }
        try await stop.reached()
        session.abort()
        #expect(await first == .aborted)
        async let second = session.fetch { _ in }
        stop.open()
        guard case .completed = await second else { return #expect(Bool(false), "it did not continue") }
        #expect(try contentsOf(place.scratch.path + "/file") == bytes)
        #expect(try names(in: place.scratch.path) == ["file", "root"])
    }

    @Test func `A download that is discarded while it is written leaves no file`() async throws {
        let place = try await EmbeddedFixture(time: TimeSource(clock: ManualClock()))
        let answer = try await fetch(in: place) { $0.discard() }
        #expect(answer == .aborted)
        await place.backend.settle()
        #expect(try names(in: place.scratch.path) == ["root"])
    }

    @Test(arguments: [10, 800_000])
    func `A download of damaged bytes fails and does not replace the file`(size: Int) async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put(noise(size), at: "a")
        if size == 10 {
            try await place.backend.store.write {
                _ = try $0.run("UPDATE bodies SET bytes = :bytes", ["bytes": .blob(noise(size, seed: 2))])
            }
        } else {
            let name = try #require(try place.names().first)
            _ = try place.scratch.file("root/objects/" + name, noise(size, seed: 2))
        }
        try await expectDamage(in: place)
    }

    @Test(arguments: [0, 799_999, 800_001])
    func `An object whose file has another size is damaged`(size: Int) async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put(noise(800_000), at: "a")
        let name = try #require(try place.names().first)
        _ = try place.scratch.file("root/objects/" + name, noise(size))
        let error = try await failure { _ = try await place.backend.data("a") }
        #expect(error.code == .nonMatchingChecksum && error.object == "a")
        guard size < 200_000 else { return }
        try await expectDamage(in: place)
    }

    private func expectDamage(in place: EmbeddedFixture) async throws {
        let file = try place.scratch.file("file", [1])
        let read = try await failure { _ = try await place.backend.data("a") }
        #expect(read.code == .nonMatchingChecksum && read.object == "a")
        let fetched = try await failure { try await place.backend.fetch("a", to: file) }
        #expect(fetched.code == .nonMatchingChecksum && fetched.object == "a")
        await place.backend.settle()
        #expect(try names(in: place.scratch.path) == ["file", "root"])
        #expect(try contentsOf(file) == [1])
    }

    @Test func `A missing file of an object causes an error that names the file`() async throws {
        let place = try await EmbeddedFixture()
        try await place.backend.put(noise(800_000), at: "a")
        let path = place.backend.objectFiles.path + "/" + (try #require(try place.names().first))
        #expect(unlink(path) == 0)
        let error = try await failure { _ = try await place.backend.data("a") }
        #expect(error.code == .unknown && error.message.contains(path) && error.object == "a")
    }

    @Test func `A read concurrent with writes and deletions returns one complete version`() async throws {
        let place = try await EmbeddedFixture()
        let versions = [noise(280_000, seed: 1), noise(360_000, seed: 2), noise(100, seed: 3)]
        let isDone = ProgressRecorder()
        async let changes: Void = {
            for round in 0..<60 {
                try await place.backend.put(versions[round % 3], at: "a")
                if round % 4 == 3 { try await place.backend.delete("a") }
            }
            isDone.take(Progress(completedUnitCount: 0, totalUnitCount: 0))
        }()
        while isDone.counts.isEmpty {
            do {
                let bytes = try await place.backend.data("a")
                #expect(versions.contains(bytes))
            } catch let error as StorageError where error.code == .objectNotFound {
                continue
            }
        }
        try await changes
    }

    @Test func `Concurrent uploads and deletions of one name leave a complete object or none`() async throws {
        let place = try await EmbeddedFixture()
        for round in 0..<30 {
            let bytes = noise(round % 2 == 0 ? 100 : 320_000)
            try await place.backend.put([1], at: "a")
            async let put = place.backend.put(bytes, at: "a")
            async let gone: Void = place.backend.delete("a")
            _ = try await (put, gone)
            let left = try await place.backend.list("").items.count
            if left == 1 { #expect(try await place.backend.data("a") == bytes) }
            let isFile = Int64(bytes.count > 1000 ? left : 0)
            let expected = Contents(
                objects: Int64(left), rows: Int64(left) - isFile, files: isFile, filesOnDisk: isFile)
            #expect(try await place.settledContents(expected) == expected)
        }
    }
}
