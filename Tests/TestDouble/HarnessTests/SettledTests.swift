import Harness
import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct SettledTests {
    /// The whole state that clients can observe.
    private func picture(_ stage: HarnessFixture) -> [String] {
        stage.transfers.uploads.all.map { "\($0.snapshot())" }
            + stage.transfers.downloads.all.map { "\($0.snapshot())" } + stage.outcomes
            + stage.harness.holds.map { "\($0)" } + ["\(stage.harness.clock.sleeping) asleep"]
    }

    /// Lets the loop and the engine run pending work.
    private func letAnythingHappen(_ stage: HarnessFixture) async throws {
        for _ in 0..<3 { await Loop.nextIteration() }
        _ = try? await stage.transfers.engine.files.inspect("\(stage.scratch.path)/none", below: nil)
        await Loop.nextIteration()
    }

    private func act(_ stage: HarnessFixture, _ random: inout SeededGenerator) async throws {
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1:
            let operations = [Operation.open, .send, .query, .whole, .fetch, .fetch, .list]
            let operation = operations.randomElement(using: &random) ?? .open
            let error = StorageError(.unknown, "Busy.").with(\.retryable, true)
            let effects: [Effect] = [.fail(error), .lose(error), .hold, .delay(.seconds(3)), .rate(100_000)]
            var rule = Rule(
                "rule \(Int.random(in: 0..<4, using: &random))", effects.randomElement(using: &random) ?? .hold)
            rule.filter.operations = [operation]
            if case .rate = rule.effect, operation == .list { rule.filter.operations = [.fetch] }
            if operation == .fetch, Bool.random(using: &random) { rule.at = 262_144 }
            rule.nth = Int.random(in: 1...3, using: &random)
            rule.times = Int.random(in: 1...2, using: &random)
            stage.harness.arm(rule)
        case 2, 3:
            let size = [10, 300_000, 700_000].randomElement(using: &random) ?? 10
            _ = try await stage.upload(size, to: "\(Int.random(in: 0..<3, using: &random))")
        case 4, 5: try await stage.download("\(Int.random(in: 0..<3, using: &random))")
        case 6: stage.harness.release { _ in true }
        case 7: await stage.harness.advanceToNext()
        case 8: await stage.harness.advance(by: .seconds(Int.random(in: 1...20, using: &random)))
        case 9: try await turn(stage.transfers.uploads.all, stage.transfers.downloads.all, &random)
        case 10: stage.list()
        default:
            if Bool.random(using: &random) {
                _ = try await stage.transfers.uploads.all.randomElement(using: &random)?.cancel()
            } else {
                _ = try await stage.transfers.downloads.all.randomElement(using: &random)?.cancel()
            }
        }
    }

    /// Resumes a task, or pauses it.
    private func turn(
        _ uploads: [UploadTask], _ downloads: [DownloadTask], _ random: inout SeededGenerator
    ) async throws {
        if Bool.random(using: &random) {
            guard let task = uploads.randomElement(using: &random) else { return }
            if !task.resume() { _ = try await task.pause() }
        } else {
            guard let task = downloads.randomElement(using: &random) else { return }
            if !task.resume() { _ = try await task.pause() }
        }
    }

    @Test(arguments: 0..<20)
    func `After settled the state does not change without a further request`(seed: UInt64) async throws {
        let stage = try await HarnessFixture(seed: seed)
        var random = SeededGenerator(state: seed)
        for _ in 0..<50 {
            try await act(stage, &random)
            await stage.settle()
            let before = picture(stage)
            try await letAnythingHappen(stage)
            #expect(picture(stage) == before, "seed \(seed)")
        }
        _ = stage.harness.disarm()
        try await stage.transfers.suspend()
    }

    @Test func `A repeated session with the same seed has the same result`() async throws {
        var pictures: [[String]] = []
        for _ in 0..<2 {
            let stage = try await HarnessFixture(seed: 7)
            var random = SeededGenerator(state: 3)
            for _ in 0..<40 {
                try await act(stage, &random)
                await stage.settle()
            }
            pictures.append(picture(stage))
            _ = stage.harness.disarm()
            try await stage.transfers.suspend()
        }
        #expect(pictures[0] == pictures[1])
    }
}
