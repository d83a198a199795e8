import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines
@testable import LocalFiles

/// Progress reports of a download while bytes arrive and when they stop arriving.
@Suite(.watchdog(minutes: 10)) struct DownloadProgressTests {
    private let size = (2 << 20) + 3
    private let told = Mail<Progress>()

    private func progress(_ count: Int) -> Progress {
        Progress(completedUnitCount: Int64(count), totalUnitCount: Int64(size))
    }

    @Test func `Received bytes are reported after a tenth of a second, even if no more arrive`() async throws {
        for type in RemoteFaultTests.places {
            let (scratch, held, clock) = (try Scratch(), Signal(), ManualClock())
            defer { held.fire() }
            let place = try type.init(StorageFixture(), limits: .patient, clock: clock)
            try place.fixture.put(noise(size), "b", "a")
            place.fixture.faults = [.init(.byte(300_000), .stall(until: held))]
            let session = try place.backend.download("a", to: scratch.path + "/file")
            async let answer = session.fetch { told.deliver($0) }
            repeat {
                #expect(try await clock.nextSleep() == .milliseconds(100))
                clock.advance(by: .milliseconds(100))
            } while try await told.next() != progress(300_000)
            session.abort()
            #expect(await answer == .aborted)
        }
    }

    static let breaks: [(StorageFixture.Fault.When, StorageFixture.Fault.Action)] = [
        (.byte(300_000), .reset), (.first(.media), .answer(503)),
    ]

    @Test(arguments: breaks.indices)
    func `A failed attempt reports the received bytes and their total`(index: Int) async throws {
        let (when, what) = Self.breaks[index]
        for type in RemoteFaultTests.places {
            let scratch = try Scratch()
            // The clock stands still, so no report is caused by elapsed time.
            let place = try type.init(StorageFixture(), limits: .patient, clock: ManualClock())
            try place.fixture.put(noise(size), "b", "a")
            place.fixture.faults = [.init(when, what)]
            let reports = ProgressRecorder()
            let session = try place.backend.download("a", to: scratch.path + "/file")
            guard case .failed = await session.fetch(reports.take) else { throw Aborted() }
            let part = try #require(names(in: scratch.path).first)
            #expect(try reports.counts == [Int64(contentsOf(scratch.path + "/" + part).count)])
            #expect(reports.totals == [Int64(size)])
        }
    }

    @Test func `A short file of a folder reports the bytes that have arrived, whatever the disk does`() async throws {
        for type in RemoteFaultTests.places + [S3Fixture.self] {
            let (scratch, held, isFree, clock) = (try Scratch(), Signal(), Signal(), ManualClock())
            defer { held.fire(); isFree.fire() }
            let place = try type.init(StorageFixture(), limits: .patient, clock: clock)
            try place.fixture.put(noise(200_000), "b", "a", by: type.dialect)
            place.fixture.faults = [
                .init(
                    .first(.media),
                    .meanwhile { [backend = place.backend] in
                        // All threads that write downloaded files.
                        for _ in 0..<8 { backend.downloading.submit { isFree.block() } }
                    }),
                .init(.byte(100_000), .stall(until: held)),
            ]
            var download = Download(
                reference: try ref("a"), file: scratch.path + "/file", task: "task", caller: Caller(retryTime: .zero))
            download.tree = place.backend.properties.files.tree(scratch.path, isWritten: true)
            let session = StoppableSession(place.backend.beginDownload(download))
            async let answer = session.fetch { told.deliver($0) }
            repeat {
                #expect(try await clock.nextSleep() == .milliseconds(100))
                clock.advance(by: .milliseconds(100))
            } while try await told.next().completedUnitCount != 100_000
            held.fire()
            #expect(try await told.next().completedUnitCount == 200_000)
            isFree.fire()
            guard case .completed = await answer else { throw Aborted() }
            #expect(told.waiting.isEmpty)
        }
    }

    @Test func `The end reports the received bytes, and nothing is reported after it`() async {
        let reports = DownloadProgressReporter(ManualClock()) { told.deliver($0) }
        reports.arrived(5, of: Int64(size))
        reports.arrived(7, of: Int64(size))
        reports.end()
        reports.arrived(Int64(size), of: Int64(size))
        reports.end()
        #expect(told.waiting == [progress(7)])
    }

    @Test func `Each mebibyte and the last byte are reported immediately`() async {
        let reports = DownloadProgressReporter(ManualClock()) { told.deliver($0) }
        for count in [0, 1 << 19, 1 << 20, (1 << 20) + 1, size] { reports.arrived(Int64(count), of: Int64(size)) }
        #expect(told.waiting == [progress(1 << 20), progress(size)])
    }
}
