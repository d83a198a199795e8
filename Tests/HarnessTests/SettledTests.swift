import Harness
import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.timeLimit(.minutes(10))) struct SettledTests {
    /// Everything that a client could see.
    private func picture(_ stage: HarnessFixture) -> [String] {
        stage.transfers.uploads.all.map { "\($0.snapshot())" } + stage.outcomes
            + stage.harness.holds.map { "\($0)" } + ["\(stage.harness.clock.sleeping) asleep"]
    }

    /// The loop and the engine get every opportunity to do something.
    private func letAnythingHappen(_ stage: HarnessFixture) async throws {
        for _ in 0..<3 { await Loop.nextIteration() }
        _ = try? await stage.transfers.backend.inspect(file: "\(stage.scratch.path)/none")
        await Loop.nextIteration()
    }

    private func act(_ stage: HarnessFixture, _ random: inout SeededGenerator) async throws {
        switch Int.random(in: 0..<8, using: &random) {
        case 0:
            let operation = [Operation.open, .send, .query, .whole].randomElement(using: &random) ?? .open
            let error = StorageError(.unknown, "Busy.").with(\.retryable, true)
            let effects: [Effect] = [.fail(error), .lose(error), .hold, .delay(.seconds(3)), .rate(100_000)]
            var rule = Rule(
                "rule \(Int.random(in: 0..<4, using: &random))", effects.randomElement(using: &random) ?? .hold)
            rule.filter.operations = [operation]
            rule.nth = Int.random(in: 1...3, using: &random)
            rule.times = Int.random(in: 1...2, using: &random)
            stage.harness.arm(rule)
        case 1, 2:
            let size = [10, 300_000, 700_000].randomElement(using: &random) ?? 10
            _ = try await stage.upload(size, to: "\(Int.random(in: 0..<3, using: &random))")
        case 3: stage.harness.release { _ in true }
        case 4: await stage.harness.advanceToNext()
        case 5: await stage.harness.advance(by: .seconds(Int.random(in: 1...20, using: &random)))
        case 6:
            guard let task = stage.transfers.uploads.all.randomElement(using: &random) else { return }
            if !task.resume() { _ = try await task.pause() }
        default:
            guard let task = stage.transfers.uploads.all.randomElement(using: &random) else { return }
            _ = try await task.cancel()
        }
    }

    @Test(arguments: 0..<20)
    func `Nothing happens after settled unless somebody does something`(seed: UInt64) async throws {
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

    @Test func `The same session twice is the same`() async throws {
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
