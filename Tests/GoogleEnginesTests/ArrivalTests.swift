import HTTPClient
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import GoogleEngines
@testable import LocalFiles

/// What is told of a download while it arrives, and when nothing more comes.
@Suite(.watchdog(minutes: 10)) struct ArrivalTests {
    private let size = (2 << 20) + 3
    private let told = Mail<Progress>()

    private func progress(_ count: Int) -> Progress {
        Progress(completedUnitCount: Int64(count), totalUnitCount: Int64(size))
    }

    @Test func `Bytes are told a tenth of a second after they came, though nothing more comes`() async throws {
        for type in RemoteFaultTests.places {
            let (scratch, held, clock) = (try Scratch(), Signal(), ManualClock())
            defer { held.fire() }
            let place = try type.init(StorageFixture(), limits: HTTPLimits(), clock: clock)
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
            // Nobody moves the clock: no bytes are told for the time that has passed.
            let place = try type.init(StorageFixture(), limits: HTTPLimits(), clock: ManualClock())
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

    @Test func `The end tells what is there, and nothing is told after it`() async {
        let reports = DownloadProgressReporter(ManualClock()) { told.deliver($0) }
        reports.arrived(5, of: Int64(size))
        reports.arrived(7, of: Int64(size))
        reports.end()
        reports.arrived(Int64(size), of: Int64(size))
        reports.end()
        #expect(told.waiting == [progress(7)])
    }

    @Test func `A mebibyte is told at once, and the last byte`() async {
        let reports = DownloadProgressReporter(ManualClock()) { told.deliver($0) }
        for count in [0, 1 << 19, 1 << 20, (1 << 20) + 1, size] { reports.arrived(Int64(count), of: Int64(size)) }
        #expect(told.waiting == [progress(1 << 20), progress(size)])
    }
}
