import Checksums
import Glibc
import HTTPClient
import HTTPText
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines
@testable import LocalFiles

/// Downloads that one process began and the next one continues.
@Suite(.watchdog(minutes: 10)) struct RestoredDownloadTests {
    static let places: [any EngineFixture.Type] = [
        EmbeddedFixture.self, FirebaseFixture.self, GCSFixture.self,
    ]
    let bytes = noise(9 << 20)
    let scratch: Scratch
    var target: String { scratch.path + "/file" }

    init() throws { scratch = try Scratch() }

    private func download() throws -> Download {
        Download(reference: try ref("a"), file: target, task: "task", caller: Caller(retryTime: .seconds(600)))
    }

    private var part: String {
        get throws { scratch.path + "/" + (try #require(names(in: scratch.path).first { $0.hasSuffix(".part") })) }
    }

    /// A download as the next process finds it: killed at the first report, with bytes behind its checkpoint.
    private func interrupted(_ place: any EngineFixture) async throws -> Download {
        let stop = ThreadGate()
        let session = StoppableSession(place.backend.beginDownload(try download()))
        async let answer = session.fetch { if (1..<9 << 20).contains($0.completedUnitCount) { stop.wait() } }
        try await stop.reached()
        var next = try download()
        next.isRestored = true
        next.bookmark = await session.bookmark()
        session.abort()
        stop.open()
        #expect(await answer == .aborted)
        return next
    }

    private func fetch(_ download: Download, _ place: any EngineFixture) async throws -> [Int64] {
        let reports = ProgressRecorder()
        guard case .completed(let metadata) = await place.backend.beginDownload(download).fetch(reports.take) else {
            throw Aborted()
        }
        #expect(metadata.size == bytes.count && metadata.checksums.crc32c == Checksum(of: bytes).crc32c)
        #expect(try contentsOf(target) == bytes)
        await place.backend.settle()
        #expect(try names(in: scratch.path) == ["file"])
        return reports.counts
    }

    @Test func `A download does not replace a file that is newer than its task until a client resumes it`() async throws
    {
        let newer = noise(1000, seed: 2), now = TimeSource.system.now()
        for type in Self.places {
            let place = try await type.init()
            try await place.backend.put(bytes, at: "a")
            _ = try scratch.file("file", newer)
            var download = try download()
            download.began = Beginning(now.advanced(by: .seconds(-3600)))
            let session = place.backend.beginDownload(download)
            let restored = StepContext(StepFlags(replacesNewer: false))
            guard case .superseded(let error) = await session.perform(.fetch, restored) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(error.message == StorageError.newerFile(at: target).message && error.file == target)
            #expect(try contentsOf(target) == newer)
            #expect(try await fetch(download, place).last == Int64(bytes.count))
            // One that is older than the task is replaced.
            _ = try scratch.file("file", newer)
            download.began = Beginning(now.advanced(by: .seconds(3600)))
            let other = place.backend.beginDownload(download)
            guard case .completed = await other.perform(.fetch, restored) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(try contentsOf(target) == bytes)
        }
    }

    @Test func `A restored download does not fetch received bytes again`() async throws {
        for type in Self.places {
            let place = try await type.init()
            try await place.backend.put(bytes, at: "a")
            let next = try await interrupted(place)
            let mark = try #require(next.bookmark.map { try DownloadCheckpoint(text: $0.text) })
            #expect(mark.offset > 0)
            let again = try await place.reopened()
            #expect(try await fetch(next, again).allSatisfy { $0 >= mark.offset })
            if let again = again as? any RemoteFixture {
                let range = again.fixture.log.requests(.media).last?.headers["Range"]
                #expect(range == "bytes=\(mark.offset)-")
            }
            #expect(unlink(target) == 0)
        }
    }

    enum Damage: CaseIterable { case flipped, shorter, empty, missing, another, link }

    @Test(arguments: Damage.allCases)
    func `A restored download starts over when its partial file has changed`(damage: Damage) async throws {
        for type in Self.places {
            let place = try await type.init()
            try await place.backend.put(bytes, at: "a")
            let next = try await interrupted(place)
            let part = try part
            switch damage {
            case .flipped:
                let file = open(part, O_WRONLY)
                #expect(pwrite(file, [bytes[10] ^ 1], 1, 10) == 1)
                close(file)
            case .shorter: #expect(truncate(part, 100_000) == 0)
            case .empty: #expect(truncate(part, 0) == 0)
            case .missing: #expect(unlink(part) == 0)
            case .another: #expect(rename(try scratch.file("other", noise(9 << 20, seed: 7)), part) == 0)
            case .link:
                #expect(rename(part, scratch.path + "/other") == 0 && symlink(scratch.path + "/other", part) == 0)
            }
            let reports = ProgressRecorder()
            let again = try await place.reopened()
            let session = again.backend.beginDownload(next)
            guard case .completed = await session.fetch(reports.take) else { throw Aborted() }
            #expect(try contentsOf(target) == bytes)
            if damage == .another || damage == .link {
                #expect(unlink(part) == 0, "a foreign file is kept")
                unlink(scratch.path + "/other")
            }
            await again.backend.settle()
            #expect(try names(in: scratch.path) == ["file"])
            #expect(unlink(target) == 0)
        }
    }

    @Test func `A restored download starts over for another generation`() async throws {
        for type in Self.places {
            let place = try await type.init()
            try await place.backend.put(noise(9 << 20, seed: 4), at: "a")
            let next = try await interrupted(place)
            try await place.backend.put(bytes, at: "a")
            _ = try await fetch(next, place.reopened())
            #expect(unlink(target) == 0)
        }
    }

    @Test(arguments: [
        nil, "", "{}", #"{"generation":1,"number":-9,"inode":0,"offset":-5,"crc32c":0}"#,
        #"{"generation":1,"number":9223372036854775807,"inode":0,"offset":9223372036854775807,"crc32c":0}"#,
    ])
    func `A download killed before its first checkpoint leaves no file`(text: String?) async throws {
        for type in Self.places {
            let place = try await type.init()
            try await place.backend.put(bytes, at: "a")
            var next = try await interrupted(place)
            next.bookmark = text.map(Bookmark.init)
            _ = try await fetch(next, place.reopened())
            #expect(unlink(target) == 0)
        }
    }

    @Test func `A restored download that is cancelled leaves no file`() async throws {
        for type in Self.places {
            for isMarked in [true, false] {
                let place = try await type.init()
                try await place.backend.put(bytes, at: "a")
                var next = try await interrupted(place)
                if !isMarked { next.bookmark = nil }
                let again = try await place.reopened()
                let session = again.backend.beginDownload(next)
                #expect(await session.bookmark() == next.bookmark)
                session.discard()
                await again.backend.settle()
                #expect(try names(in: scratch.path).isEmpty)
            }
        }
    }
}
