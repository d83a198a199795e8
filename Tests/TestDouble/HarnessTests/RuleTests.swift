import Harness
import Platform
import Storage
import TestSupport
import Testing
import Transfers

@Loop @Suite(.watchdog(minutes: 10)) struct RuleTests {
    private static let busy = StorageError(.unknown, "Busy.").with(\.httpStatus, 503).with(\.retryable, true)
    private static let mebibyte = 1 << 20

    @Test func `A rule fails the third chunk, which is retried`() async throws {
        let stage = try await HarnessFixture()
        var rule = Rule("busy", .fail(Self.busy))
        (rule.filter.operations, rule.nth, rule.times) = ([.send], 3, 2)
        stage.harness.arm(rule)
        let task = try await stage.upload(Self.mebibyte)
        await stage.settle()
        #expect(task.snapshot().retry?.attempt == 1)
        await stage.harness.advance(by: .seconds(600))
        await stage.settle()
        #expect(task.state == .success)
        #expect(
            stage.outcomes == [
                "open ok", "send ok", "send ok", "send unknown", "query ok", "send unknown", "query ok", "send ok",
                "send ok",
            ])
        #expect(stage.harness.disarm().map(\.fired) == [2])
    }

    @Test func `An upload stops before an exact byte until it is released`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("gate", [.send], .hold, at: 400_000)
        let task = try await stage.upload(Self.mebibyte)
        await stage.settle()
        #expect(task.snapshot().progress.completedUnitCount == 400_000)
        #expect(stage.harness.holds.map(\.id) == ["hold-1"] && stage.harness.holds.first?.call.task == task.id)
        #expect(stage.harness.release { _ in true } == 1)
        await stage.settle()
        #expect(task.state == .success && stage.harness.holds.isEmpty)
        #expect(task.snapshot().metadata?.stored?.size == Int64(Self.mebibyte))
    }

    @Test(arguments: [true, false])
    func `A pause or a cancellation ends a hold immediately`(pauses: Bool) async throws {
        let stage = try await HarnessFixture()
        stage.arm("gate", [.send], .hold, at: 262_144)
        let task = try await stage.upload(Self.mebibyte)
        await stage.settle()
        if pauses {
            #expect(try await task.pause())
            #expect(task.snapshot().progress.completedUnitCount == 262_144 && task.resume())
        } else {
            #expect(try await task.cancel())
        }
        await stage.settle()
        #expect(task.state == (pauses ? .success : .cancelled) && stage.harness.holds.isEmpty)
        #expect(stage.outcomes.contains("send aborted"))
    }

    @Test func `An upload whose last answer is lost stores its object once`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("last", [.send], .lose(Self.busy), at: 786_432)
        let task = try await stage.upload(Self.mebibyte)
        await stage.settle()
        let stored = try await stage.transfers.backend.metadata(of: ref("a"))
        await stage.harness.advanceToNext()
        await stage.settle()
        #expect(task.snapshot().metadata?.stored == stored)
        #expect(stage.outcomes.suffix(3) == ["send unknown", "getMetadata ok", "query ok"])
    }

    @Test func `An object whose upload fails with a lost answer keeps its bytes`() async throws {
        let stage = try await HarnessFixture()
        let refusal = StorageError(.unauthorized, "Lost.").with(\.httpStatus, 403)
        stage.arm("last", [.send], .lose(refusal), at: 786_432)
        let task = try await stage.upload(Self.mebibyte)
        await stage.settle()
        #expect(task.state == .failed)
        let count = try await stage.transfers.data(of: ref("a"), maxSize: 4 << 20) { $0.count }
        #expect(count == Self.mebibyte)
    }

    @Test func `A failing operation is retried by the harness's clock`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("busy", [.delete], .fail(Self.busy), times: nil)
        let request = stage.request { try await stage.transfers.delete(ref("a")) }
        await stage.settle()
        #expect(stage.harness.clock.sleeping == 1)
        await stage.harness.advance(by: .seconds(600))
        let error = try await failure { try await request.value }
        #expect(error.code == .retryLimitExceeded && error.attempts.count > 3)
    }

    @Test func `A rule about metadata does not strike the look before bytes are fetched`() async throws {
        let stage = try await HarnessFixture()
        let task = try await stage.upload(2 * Self.mebibyte)
        await stage.settle()
        #expect(task.state == .success)
        stage.arm("gate", [.getMetadata], .hold)
        let count = try await stage.transfers.data(of: ref("a"), maxSize: 4 << 20) { $0.count }
        #expect(count == 2 * Self.mebibyte && stage.harness.holds.isEmpty)
    }

    @Test func `Cancelling a request ends its held operation`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("gate", [.getMetadata], .hold)
        let request = stage.request { try await stage.transfers.metadata(of: ref("a")) }
        await stage.settle()
        request.cancel()
        #expect(try await failure { _ = try await request.value }.code == .cancelled)
        #expect(stage.harness.holds.isEmpty && stage.outcomes == ["getMetadata aborted"])
    }

    @Test func `A rate delays an upload by the harness's clock`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("slow", [.send], .rate(100_000), times: nil)
        let task = try await stage.upload(1_000_000)
        await stage.settle()
        await stage.harness.advance(by: .milliseconds(9_999))
        await stage.settle()
        #expect(task.state == .running)
        await stage.harness.advance(by: .milliseconds(1))
        await stage.settle()
        #expect(task.state == .success)
    }

    @Test(arguments: [400_000, 1_400_000])
    func `A download stops before an exact byte until it is released`(byte: Int64) async throws {
        let stage = try await HarnessFixture()
        let size = byte * 5 / 2, bytes = noise(Int(size))
        _ = try await stage.upload(0, bytes)
        await stage.settle()
        stage.arm("gate", [.fetch], .hold, at: byte)
        let file = "\(stage.scratch.path)/copy"
        let task = try await stage.transfers.download(ref("a"), to: file)
        task.start()
        await stage.settle()
        #expect(task.snapshot().progress == Progress(completedUnitCount: byte, totalUnitCount: size))
        #expect(stage.harness.release { _ in true } == 1)
        await stage.settle()
        #expect(try task.state == .success && contentsOf(file) == bytes)
        let ranges = stage.harness.journal.entries().filter { $0.call.operation == .fetch }.map(\.call.range)
        #expect(ranges == [0..<byte, byte..<size])
    }

    @Test func `A download that fails at an exact byte continues there`() async throws {
        let stage = try await HarnessFixture()
        let bytes = noise(Self.mebibyte)
        _ = try await stage.upload(0, bytes)
        await stage.settle()
        stage.arm("busy", [.fetch], .fail(Self.busy), at: 300_001, times: 2)
        let file = "\(stage.scratch.path)/copy"
        let task = try await stage.transfers.download(ref("a"), to: file)
        task.start()
        await stage.settle()
        #expect(task.snapshot().retry?.attempt == 1 && task.snapshot().progress.completedUnitCount == 300_001)
        await stage.harness.advance(by: .seconds(600))
        await stage.settle()
        #expect(try task.state == .success && contentsOf(file) == bytes)
        #expect(stage.outcomes.suffix(4) == ["fetch ok", "fetch unknown", "fetch unknown", "fetch ok"])
    }

    @Test func `A rate delays a download, which reports its progress`() async throws {
        let stage = try await HarnessFixture()
        _ = try await stage.upload(1_000_000)
        await stage.settle()
        stage.arm("slow", [.fetch], .rate(100_000), times: nil)
        let task = try await stage.transfers.download(ref("a"), to: "\(stage.scratch.path)/copy")
        task.start()
        await stage.harness.advance(by: .seconds(6))
        await stage.settle()
        #expect(task.snapshot().progress.completedUnitCount == 786_432)
        await stage.harness.advance(by: .milliseconds(3_999))
        #expect(task.state == .running)
        await stage.harness.advance(by: .milliseconds(1))
        await stage.settle()
        #expect(task.state == .success)
    }

    @Test func `A download with a damaged byte fails and writes no file`() async throws {
        let stage = try await HarnessFixture()
        _ = try await stage.upload(Self.mebibyte)
        await stage.settle()
        stage.arm("flip", [.fetch], .corrupt, at: 5)
        let file = "\(stage.scratch.path)/copy"
        let task = try await stage.transfers.download(ref("a"), to: file)
        task.start()
        await stage.settle()
        #expect(task.snapshot().error?.code == .nonMatchingChecksum)
        #expect(try names(in: stage.scratch.path) == ["root"])
    }

    @Test func `A skipping clock leaves no delay`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("busy", [.open], .fail(Self.busy), times: 3)
        stage.harness.skip()
        let task = try await stage.upload(Self.mebibyte)
        await stage.settle()
        #expect(task.state == .success && stage.harness.clock.sleeping == 0)
    }

    @Test func `Disarming a rule releases its holds and returns how often it fired`() async throws {
        let stage = try await HarnessFixture()
        stage.arm("gate", [.open], .hold)
        stage.arm("never", [.list], .hold)
        let task = try await stage.upload(Self.mebibyte)
        await stage.settle()
        #expect(stage.harness.disarm().map { [$0.name: $0.fired] } == [["gate": 1], ["never": 0]])
        await stage.settle()
        #expect(task.state == .success)
    }

    @Test(arguments: [
        ("gs://b/*", "gs://b/a", true), ("gs://b/*", "gs://b/a/c", false), ("gs://b/**", "gs://b/a/c", true),
        ("**.jpg", "gs://b/a/c.jpg", true), ("gs://b/a", "gs://b/ab", false), ("gs://*/a*c", "gs://b/abc", true),
        ("gs://b/**/x", "gs://b/a/b/x", true), ("", "gs://b/a", false),
    ])
    func `A rule with a pattern applies to matching references only`(pattern: String, url: String, fits: Bool)
        async throws
    {
        let stage = try await HarnessFixture()
        var rule = Rule("pattern", .fail(Self.busy.with(\.retryable, false)))
        rule.filter.pattern = try Glob(pattern, .stars).matcher
        stage.harness.arm(rule)
        let reference = try Reference(url: url)
        let error = try await failure { _ = try await stage.transfers.metadata(of: reference) }
        #expect((error.code == .unknown) == fits)
    }
}

extension TaskSnapshot.Metadata {
    fileprivate var stored: ObjectMetadata? { if case .stored(let metadata) = self { metadata } else { nil } }
}
