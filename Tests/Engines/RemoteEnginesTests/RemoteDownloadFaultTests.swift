import Checksums
import HTTPClient
import HTTPText
import Storage
import TestSupport
import Testing

@testable import RemoteEngines

/// Every fault between a server and a download, with every relevant size. The file has the object's bytes or is
/// unchanged, the end is reported once, and no byte that is on the disk is requested again.
@Suite(.watchdog(minutes: 10)) struct RemoteDownloadFaultTests {
    static let sizes = [0, 1, (1 << 20) + 1, 4 << 20]
    static let bytes = Dictionary(uniqueKeysWithValues: sizes.map { ($0, noise($0, seed: UInt64($0))) })
    static let others = noise((2 << 20) + 7, seed: 99)

    @Test(arguments: FaultScenario.all, sizes)
    func `After any fault the file has the object's bytes or is unchanged`(mishap: FaultScenario, size: Int)
        async throws
    {
        try await forEachAtOnce(RemoteFaultTests.places) { place in
            let stage = try Stage(place, mishap, size)
            let outcome = try await stage.fetchAll()
            stage.held.fire()
            let what = Comment("\(place) \(mishap) \(size) \(outcome)")
            let isStruck = stage.fixture.unfired.isEmpty
            switch outcome {
            case .completed(let metadata):
                let expected = isStruck && mishap.leavesOther ? Self.others : Self.bytes[size] ?? []
                #expect(metadata.checksums.crc32c == Checksum(of: expected).crc32c, what)
                #expect(try contentsOf(stage.file) == expected, what)
                #expect(!isStruck || mishap.code == nil, what)
            case .failed(let error):
                #expect(isStruck && error.code == mishap.code && error.object == "a", what)
                #expect(try contentsOf(stage.file) == [1, 2, 3], what)
            case .received, .superseded, .aborted: Issue.record(what)
            }
            #expect(try names(in: stage.scratch.path) == ["file"], what)
        }
    }

    @Test(arguments: FaultScenario.all, [1, (1 << 20) + 1])
    func `After any fault getData returns the object's bytes or an error`(mishap: FaultScenario, size: Int) async throws
    {
        try await forEachAtOnce(RemoteFaultTests.places) { place in
            let stage = try Stage(place, mishap, size)
            var outcome: Result<[UInt8], StorageError> = .success([])
            do throws(StorageError) {
                outcome = .success(
                    try await stage.backend.data(
                        of: stage.reference, maxSize: 3 << 20, for: Caller(retryTime: .seconds(600))))
            } catch {
                outcome = .failure(error)
            }
            stage.held.fire()
            let isStruck = stage.fixture.unfired.isEmpty
            let what = Comment("\(place) \(mishap) \(size)")
            switch outcome {
            case .success(let bytes):
                #expect(bytes == (isStruck && mishap.leavesOther ? Self.others : Self.bytes[size]), what)
                #expect(!isStruck || mishap.code == nil, what)
            case .failure(let error): #expect(isStruck && error.code == mishap.code, "\(what) \(error)")
            }
        }
    }
}

/// An engine with one object, and a file that the download replaces.
private struct Stage {
    let fixture: StorageFixture
    let backend: RemoteBackend
    let mishap: FaultScenario
    let scratch: Scratch
    let file: String
    let reference: Reference
    let held = Signal()

    init(_ type: any RemoteFixture.Type, _ mishap: FaultScenario, _ size: Int) throws {
        var limits = HTTPLimits.patient
        if mishap.isStall { (limits.stall, limits.answer) = (.seconds(2), .seconds(2)) }
        fixture = try StorageFixture()
        backend = try type.init(fixture, limits: limits, clock: HurriedClock()).backend
        (self.mishap, scratch, reference) = (mishap, try Scratch(), try ref("a"))
        file = try scratch.file("file", [1, 2, 3])
        try fixture.put(RemoteDownloadFaultTests.bytes[size] ?? [], "b", "a")
        fixture.faults = mishap.faults(size, fixture, held)
    }

    /// Retries until the download completes or fails permanently.
    func fetchAll() async throws -> DownloadAnswer {
        let session = try backend.download("a", to: file)
        for _ in 0..<20 {
            let (before, arrived) = (fixture.requests.count, try arrivedBytes())
            let answer = await session.fetch { _ in }
            for request in fixture.requests[before...] where request.kind == .media && !mishap.startsAnew {
                #expect(request.headers["Range"] == (arrived > 0 ? "bytes=\(arrived)-" : nil), "\(mishap)")
            }
            if case .failed(let error) = answer, error.retryable { continue }
            if case .failed = answer {
                session.discard()
                await backend.settle()
            }
            return answer
        }
        return .aborted
    }

    private func arrivedBytes() throws -> Int {
        let parts = try names(in: scratch.path).filter { $0 != "file" }
        return try parts.first.map { try contentsOf("\(scratch.path)/\($0)").count } ?? 0
    }
}
