import HTTPClient
import JSONText
import Storage
import Synchronization
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

@Suite(.watchdog(minutes: 10)) struct RemoteDownloadTests {
    private let size = (2 << 20) + 3

    @Test(arguments: ["crc32c", "md5Hash", "x-goog-hash"], [false, true])
    func `A download is verified with any one known checksum`(known: String, isCorrupt: Bool) async throws {
        for place in RemoteFaultTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            try place.fixture.put(noise(size), "b", "a")
            let members =
                place.fixture.metadata("b", "a")?.object?.filter {
                    ["generation", "size", known].contains($0.key)
                } ?? []
            place.fixture.faults =
                (0..<4).map { _ in .init(.first(.getMetadata), .answer(200, body: JSON.object(members).text)) }
                + (isCorrupt ? [.init(.byte(1 << 20), .corrupt)] : [])
            let session = try place.backend.download("a", to: scratch.path + "/file")
            switch await session.fetch({ _ in }) {
            case .completed: #expect(try !isCorrupt && contentsOf(scratch.path + "/file") == noise(size))
            case .failed(let error): #expect(isCorrupt && error.code == .nonMatchingChecksum)
            case .received, .superseded, .aborted: Issue.record("it was not aborted")
            }
            #expect(try names(in: scratch.path) == (isCorrupt ? [] : ["file"]))
            guard !isCorrupt else { continue }
            #expect(try await place.backend.data("a") == noise(size))
        }
    }

    @Test(arguments: [StorageFixture.Kind.getMetadata, .media])
    func `An abort returns while the server does not answer, and the next attempt succeeds`(
        kind: StorageFixture.Kind
    ) async throws {
        for place in RemoteFaultTests.places {
            let (place, scratch, held) = (try await place.init(), try Scratch(), Signal())
            defer { held.fire() }
            try place.fixture.put(noise(size), "b", "a")
            place.fixture.faults = [.init(.first(kind), .answerLate(held))]
            let session = try place.backend.download("a", to: scratch.path + "/file")
            async let answer = session.fetch { _ in }
            try await place.fixture.until { !$0.requests(kind).isEmpty }
            session.abort()
            #expect(await answer == .aborted)
            guard case .completed = await session.fetch({ _ in }) else {
                return #expect(Bool(false), "it did not succeed")
            }
            #expect(try contentsOf(scratch.path + "/file") == noise(size))
        }
    }

    @Test func `An abort returns while the disk is blocked, and the next attempt waits for it`() async throws {
        for place in RemoteFaultTests.places {
            let (place, scratch, stop) = (
                try place.init(StorageFixture(), limits: .patient, clock: ManualClock()), try Scratch(),
                ThreadGate()
            )
            try place.fixture.put(noise(size), "b", "a")
            let session = try place.backend.download("a", to: scratch.path + "/file")
            let isFirst = Mutex(true)
            async let first = session.fetch { _ in
                if isFirst.withLock({ first in
                    defer { first = false }
                    return first
                }) {
                    stop.wait()
                }
            }
            try await stop.reached()
            session.abort()
            #expect(await first == .aborted)
            async let second = session.fetch { _ in }
            stop.open()
            guard case .completed = await second else { return #expect(Bool(false), "it did not continue") }
            #expect(try contentsOf(scratch.path + "/file") == noise(size))
            #expect(try names(in: scratch.path) == ["file"])
        }
    }

    @Test func `A download that is discarded at any time leaves no partial file`() async throws {
        for place in RemoteFaultTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            try place.fixture.put(noise(size), "b", "a")
            var hasArrived = false
            for round in 0..<8 {
                let session = try place.backend.download("a", to: scratch.path + "/file")
                async let answer = session.fetch { _ in }
                for _ in 0..<(round * round * 8) { await Task.yield() }
                session.discard()
                if case .completed = await answer { hasArrived = true }
                await place.backend.settle()
                #expect(try names(in: scratch.path) == (hasArrived ? ["file"] : []))
            }
        }
    }

    @Test func `An invalid destination is an error before any byte is requested`() async throws {
        for place in RemoteFaultTests.places {
            let (place, scratch) = (try await place.init(), try Scratch())
            try place.fixture.put(noise(size), "b", "a")
            let error = try await failure { try await place.backend.fetch("a", to: scratch.path + "/none/file") }
            #expect(error.code == .unknown && error.message.contains("/none") && !error.retryable)
            #expect(place.fixture.log.requests(.media).isEmpty)
        }
    }
}
