import Storage
import TestSupport
import Testing

@testable import RemoteEngines

/// One fault of a download, or several in a row.
struct FaultScenario: Sendable, CustomTestStringConvertible {
    typealias Faults = @Sendable (_ size: Int, _ fixture: StorageFixture, _ held: Signal) -> [StorageFixture.Fault]

    let testDescription: String
    /// The error of an affected download; nil if the download recovers.
    let code: StorageError.Code?
    let faults: Faults
    var isStall: Bool { testDescription.contains("stall") || testDescription.contains("late") }
    /// Whether another object exists afterwards.
    var leavesOther: Bool { testDescription.contains("overwritten") && !testDescription.contains("unnoticed") }
    /// Whether the received bytes cannot be used any more.
    var startsAnew: Bool { testDescription.contains("overwritten") || testDescription.contains("anew") }

    init(_ description: String, _ code: StorageError.Code? = nil, _ faults: @escaping Faults) {
        (testDescription, self.code, self.faults) = (description, code, faults)
    }

    static let all = statuses + broken + lies + changes

    private static func middle(_ size: Int) -> StorageFixture.Fault.When { .byte(Int64(size / 2)) }

    private static let statuses: [FaultScenario] =
        [408, 429, 500, 502, 503, 504].flatMap { status in
            [
                FaultScenario("\(status) to the metadata request") { _, _, _ in
                    [.init(.first(.getMetadata), .answer(status))]
                },
                FaultScenario("\(status) to the media request") { _, _, _ in [.init(.first(.media), .answer(status))] },
                FaultScenario("a reset, then \(status)") { size, _, _ in
                    [.init(middle(size), .reset), .init(.nth(2, .media), .answer(status))]
                },
            ]
        } + [
            FaultScenario("401", .unauthenticated) { _, _, _ in [.init(.first(.media), .answer(401))] },
            FaultScenario("402", .quotaExceeded) { _, _, _ in [.init(.first(.media), .answer(402))] },
            FaultScenario("403", .unauthorized) { _, _, _ in [.init(.first(.media), .answer(403))] },
            FaultScenario("404", .objectNotFound) { _, _, _ in [.init(.first(.media), .answer(404))] },
            FaultScenario("302", .unknown) { _, _, _ in [.init(.first(.media), .answer(302))] },
            FaultScenario("416, which begins anew") { size, _, _ in
                [.init(middle(size), .reset), .init(.nth(2, .media), .answer(416))]
            },
        ]

    private static let broken: [FaultScenario] = [
        FaultScenario("a reset before the answer") { _, _, _ in [.init(.first(.media), .reset)] },
        FaultScenario("a reset at the first byte") { _, _, _ in [.init(.byte(0), .reset)] },
        FaultScenario("a reset at a byte") { size, _, _ in [.init(middle(size), .reset)] },
        FaultScenario("a reset at the last byte") { size, _, _ in [.init(.byte(Int64(max(0, size - 1))), .reset)] },
        FaultScenario("repeated resets") { size, _, _ in
            (1...5).map { .init(.byte(Int64(size * $0 / 6)), .reset) }
        },
        FaultScenario("a short body") { size, _, _ in [.init(middle(size), .closeAfterHandling)] },
        FaultScenario("a reused connection that is closed") { _, _, _ in
            [.init(.first(.getMetadata), .closeAfterAnswer)]
        },
        FaultScenario("a stall at a byte") { size, _, held in [.init(middle(size), .stall(until: held))] },
        FaultScenario("a late answer") { _, _, held in [.init(.first(.media), .answerLate(held))] },
    ]

    private static let lies: [FaultScenario] = [
        FaultScenario("everything instead of the rest") { size, _, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .ignoreRange)]
        },
        FaultScenario("a range that begins elsewhere") { size, _, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .shiftRange(by: 1))]
        },
        FaultScenario("a byte too few") { _, _, _ in [.init(.first(.media), .lengthen(by: -1, saying: true))] },
        FaultScenario("a byte too many", .nonMatchingChecksum) { _, _, _ in
            [.init(.first(.media), .lengthen(by: 1, saying: true))]
        },
        FaultScenario("a byte more than announced") { _, _, _ in
            [.init(.first(.media), .lengthen(by: 1, saying: false))]
        },
        FaultScenario("the first byte corrupted", .nonMatchingChecksum) { _, _, _ in [.init(.byte(0), .corrupt)] },
        FaultScenario("a byte corrupted", .nonMatchingChecksum) { size, _, _ in [.init(middle(size), .corrupt)] },
        FaultScenario("a byte corrupted after a reset", .nonMatchingChecksum) { size, _, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .corrupt)]
        },
    ]

    private static let changes: [FaultScenario] = [
        FaultScenario("overwritten after the metadata request") { _, fixture, _ in
            [.init(.first(.media), .overwrite(in: fixture))]
        },
        FaultScenario("overwritten, then a reset") { size, fixture, _ in
            [.init(middle(size), .overwrite(in: fixture)), .init(middle(size), .reset)]
        },
        FaultScenario("a reset, then overwritten") { size, fixture, _ in
            [.init(middle(size), .reset), .init(.nth(2, .media), .overwrite(in: fixture))]
        },
        FaultScenario("overwritten, unnoticed") { size, fixture, _ in [.init(middle(size), .overwrite(in: fixture))] },
        FaultScenario("overwritten, and corrupted") { size, fixture, _ in
            [.init(middle(size), .overwrite(in: fixture)), .init(middle(size), .corrupt)]
        },
        FaultScenario("deleted after the metadata request", .objectNotFound) { _, fixture, _ in
            [.init(.first(.media), .meanwhile { [weak fixture] in fixture?.remove("b", "a") })]
        },
        FaultScenario("deleted, then a reset", .objectNotFound) { size, fixture, _ in
            [
                .init(middle(size), .meanwhile { [weak fixture] in fixture?.remove("b", "a") }),
                .init(middle(size), .reset),
            ]
        },
    ]
}

extension StorageFixture.Fault.Action {
    fileprivate static func overwrite(in fixture: StorageFixture) -> Self {
        .meanwhile { [weak fixture] in
            do { try fixture?.put(RemoteDownloadFaultTests.others, "b", "a") } catch { Issue.record(error) }
        }
    }
}
