import HTTP
import Storage
import TestSupport
import Testing

@testable import Backends

/// Everything that can go wrong between a server and a download, against every size that matters. The file is right or
/// stays as it was, the end is told once, and no byte that is on the disk is asked for again.
@Suite(.timeLimit(.minutes(5))) struct RemoteDownloadFaultTests {
    static let sizes = [0, 1, (1 << 20) + 1, 10 << 20]
    static let bytes = Dictionary(uniqueKeysWithValues: sizes.map { ($0, noise($0, seed: UInt64($0))) })
    static let others = noise((2 << 20) + 7, seed: 99)

    @Test(arguments: Mishap.all, sizes)
    func `The file is right or stays as it was`(mishap: Mishap, size: Int) async throws {
        for place in RemoteFaultTests.places {
            let stage = try Stage(place, mishap, size)
            let outcome = try await stage.fetchAll()
            stage.held.fire()
            let what = Comment("\(place) \(mishap) \(size) \(outcome)")
            let isStruck = stage.fixture.unfired.isEmpty
            switch outcome {
            case .completed(let metadata):
                let expected = isStruck && mishap.leavesOther ? Self.others : Self.bytes[size] ?? []
                #expect(metadata.crc32c == Checksum(of: expected).crc32c, what)
                #expect(try contentsOf(stage.file) == expected, what)
                #expect(!isStruck || mishap.code == nil, what)
            case .failed(let error):
                #expect(isStruck && error.code == mishap.code && error.object == "a", what)
                #expect(try contentsOf(stage.file) == [1, 2, 3], what)
            case .aborted: Issue.record(what)
            }
            #expect(try names(in: stage.scratch.path) == ["file"], what)
        }
    }

    @Test(arguments: Mishap.all, [1, (1 << 20) + 1])
    func `Bytes in memory are right or there are none`(mishap: Mishap, size: Int) async throws {
        for place in RemoteFaultTests.places {
            let stage = try Stage(place, mishap, size)
            var outcome: Result<[UInt8], StorageError> = .success([])
            do throws(StorageError) {
                outcome = .success(
                    try await stage.backend.data(
                        of: stage.reference, maxSize: 3 << 20, for: Caller(patience: .seconds(600))))
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

/// A place with one object and a file that it is to replace.
private struct Stage {
    let fixture: StorageFixture
    let backend: RemoteBackend
    let mishap: Mishap
    let scratch: Scratch
    let file: String
    let reference: Reference
    let held = Signal()

    init(_ type: any RemoteUnderTest.Type, _ mishap: Mishap, _ size: Int) throws {
        var limits = HTTPLimits()
        if mishap.isStall { (limits.stall, limits.answer) = (.milliseconds(500), .milliseconds(500)) }
        fixture = try StorageFixture()
        backend = try type.init(fixture, limits: limits, clock: HurriedClock()).backend
        (self.mishap, scratch, reference) = (mishap, try Scratch(), try ref("a"))
        file = try scratch.file("file", [1, 2, 3])
        try fixture.put(RemoteDownloadFaultTests.bytes[size] ?? [], "b", "a")
        fixture.faults = mishap.faults(size, fixture, held)
    }

    /// Tries until it is done, or cannot be.
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
                _ = try await settledNames(in: scratch.path, ["file"])
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

/// One thing that goes wrong, or several in a row.
struct Mishap: Sendable, CustomTestStringConvertible {
    typealias Faults = @Sendable (_ size: Int, _ fixture: StorageFixture, _ held: Signal) -> [StorageFixture.Fault]

    let testDescription: String
    /// What a download ends with that it strikes; nil where it recovers.
    let code: StorageError.Code?
    let faults: Faults
    var isStall: Bool { testDescription.contains("stall") || testDescription.contains("late") }
    /// Another object is there afterwards.
    var leavesOther: Bool { testDescription.contains("overwritten") && !testDescription.contains("unnoticed") }
    /// What had arrived is of no use any more.
    var startsAnew: Bool { testDescription.contains("overwritten") || testDescription.contains("anew") }

    init(_ description: String, _ code: StorageError.Code? = nil, _ faults: @escaping Faults) {
        (testDescription, self.code, self.faults) = (description, code, faults)
    }

    static let all = statuses + broken + lies + changes

    private static func middle(_ size: Int) -> StorageFixture.Fault.When { .byte(Int64(size / 2)) }

    private static let statuses: [Mishap] =
        [408, 429, 500, 502, 503, 504].flatMap { status in
            [
                Mishap("\(status) to the look") { _, _, _ in [.init(.first(.getMetadata), .answer(status))] },
                Mishap("\(status) to the bytes") { _, _, _ in [.init(.first(.media), .answer(status))] },
                Mishap("a reset, then \(status)") { size, _, _ in
                    [.init(middle(size), .reset), .init(.nth(2, .media), .answer(status))]
                },
            ]
        } + [
            Mishap("401", .unauthenticated) { _, _, _ in [.init(.first(.media), .answer(401))] },
            Mishap("402", .quotaExceeded) { _, _, _ in [.init(.first(.media), .answer(402))] },
            Mishap("403", .unauthorized) { _, _, _ in [.init(.first(.media), .answer(403))] },
            Mishap("404", .objectNotFound) { _, _, _ in [.init(.first(.media), .answer(404))] },
            Mishap("302", .unknown) { _, _, _ in [.init(.first(.media), .answer(302))] },
            Mishap("416, which begins anew") { size, _, _ in
                [.init(middle(size), .reset), .init(.nth(2, .media), .answer(416))]
            },
        ]

    private static let broken: [Mishap] = [
        Mishap("a reset before the answer") { _, _, _ in [.init(.first(.media), .reset)] },
        Mishap("a reset at the first byte") { _, _, _ in [.init(.byte(0), .reset)] },
        Mishap("a reset at a byte") { size, _, _ in [.init(middle(size), .reset)] },
        Mishap("a reset at the last byte") { size, _, _ in [.init(.byte(Int64(max(0, size - 1))), .reset)] },
        Mishap("a reset, again and again") { size, _, _ in
            (1...5).map { .init(.byte(Int64(size * $0 / 6)), .reset) }
        },
        Mishap("a short body") { size, _, _ in [.init(middle(size), .closeAfterHandling)] },
        Mishap("a kept connection that is dead") { _, _, _ in [.init(.first(.getMetadata), .closeAfterAnswer)] },
        Mishap("a stall at a byte") { size, _, held in [.init(middle(size), .stall(until: held))] },
        Mishap("a late answer") { _, _, held in [.init(.first(.media), .answerLate(held))] },
    ]

    private static let lies: [Mishap] = [
        Mishap("everything instead of the rest") { size, _, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .ignoreRange)]
        },
        Mishap("a range that begins elsewhere") { size, _, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .shiftRange(by: 1))]
        },
        Mishap("a byte too few") { _, _, _ in [.init(.first(.media), .lengthen(by: -1, saying: true))] },
        Mishap("a byte too many", .nonMatchingChecksum) { _, _, _ in
            [.init(.first(.media), .lengthen(by: 1, saying: true))]
        },
        Mishap("a byte more than announced") { _, _, _ in [.init(.first(.media), .lengthen(by: 1, saying: false))] },
        Mishap("the first byte corrupted", .nonMatchingChecksum) { _, _, _ in [.init(.byte(0), .corrupt)] },
        Mishap("a byte corrupted", .nonMatchingChecksum) { size, _, _ in [.init(middle(size), .corrupt)] },
        Mishap("a byte corrupted after a reset", .nonMatchingChecksum) { size, _, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .corrupt)]
        },
    ]

    private static let changes: [Mishap] = [
        Mishap("overwritten after the look") { _, fixture, _ in [.init(.first(.media), .overwrite(in: fixture))] },
        Mishap("overwritten, then a reset") { size, fixture, _ in
            [.init(middle(size), .overwrite(in: fixture)), .init(middle(size), .reset)]
        },
        Mishap("a reset, then overwritten") { size, fixture, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .overwrite(in: fixture))]
        },
        Mishap("overwritten, unnoticed") { size, fixture, _ in [.init(middle(size), .overwrite(in: fixture))] },
        Mishap("overwritten, and corrupted") { size, fixture, _ in
            [.init(middle(size), .overwrite(in: fixture)), .init(middle(size), .corrupt)]
        },
        Mishap("deleted after the look", .objectNotFound) { _, fixture, _ in
            [.init(.first(.media), .meanwhile { [weak fixture] in fixture?.remove("b", "a") })]
        },
        Mishap("deleted, then a reset", .objectNotFound) { size, fixture, _ in
            [
                .init(middle(size), .meanwhile { [weak fixture] in fixture?.remove("b", "a") }),
                .init(middle(size), .reset),
            ]
        },
    ]
}

extension StorageFixture.Fault.Deed {
    fileprivate static func overwrite(in fixture: StorageFixture) -> Self {
        .meanwhile { [weak fixture] in
            do { try fixture?.put(RemoteDownloadFaultTests.others, "b", "a") } catch { Issue.record(error) }
        }
    }
}
