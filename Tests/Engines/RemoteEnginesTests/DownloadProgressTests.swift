import HTTPClient
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
