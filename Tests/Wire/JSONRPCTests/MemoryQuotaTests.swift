import ClientMemory
import Platform
import JSONText
import TestSupport
import Testing

@testable import JSONRPC

@Loop @Suite(.watchdog) struct MemoryQuotaTests {
    private let clock = ManualClock()
    private let quota: MemoryQuota

    init() { quota = MemoryQuota(limit: 1000, clock: clock) }

    @Test func `Reservations never exceed the limit, and are granted in order`() {
        let shares = (0..<3).map { _ in QuotaShare(of: quota) }
        var granted: [Int] = []
        #expect(shares[0].reserve(600) {})
        #expect(!shares[1].reserve(600) { granted.append(1) })
        #expect(!shares[2].reserve(300) { granted.append(2) }, "it would fit, but another waits already")
        shares[0].free(600)
        #expect(granted == [1, 2])
        #expect(shares.map(\.reserved) == [0, 600, 300])
    }

    @Test func `A single reservation may exceed the limit`() {
        let (first, second) = (QuotaShare(of: quota), QuotaShare(of: quota))
        #expect(first.reserve(5000) {})
        #expect(!second.reserve(1) {})
        first.leave()
        #expect(second.reserved == 1)
    }

    @Test func `Nothing is reserved while the used memory reaches the limit`() {
        let (first, second) = (QuotaShare(of: quota), QuotaShare(of: quota))
        first.use(1000)
        var isResumed = false
        #expect(!second.reserve(0) { isResumed = true })
        first.use(1200)
        #expect(!isResumed)
        first.use(999)
        #expect(isResumed)
    }

    @Test func `A closed share frees its memory and its place in the queue`() {
        let shares = (0..<3).map { _ in QuotaShare(of: quota) }
        shares[0].use(1000)
        #expect(!shares[1].reserve(500) { Issue.record("it has left") })
        #expect(!shares[2].reserve(500) {})
        shares[1].leave()
        shares[0].leave()
        #expect(shares[2].reserved == 500)
    }

    @Test func `A share that has left gets nothing, whatever still ends for its connection`() async throws {
        let (full, gone) = (QuotaShare(of: quota), QuotaShare(of: quota, least: 100))
        full.use(1000)
        let waiting = Loop.task { (try? await gone.reserve(500, unless: { false })) ?? true }
        gone.leave()
        full.leave()
        #expect(await waiting.value == false)
        gone.use(1000)
        #expect(!gone.reserve(1) { Issue.record("it has left") } && !gone.reserveAtOnce(1))
        #expect(gone.used == 0 && gone.reserved == 0)
        #expect(QuotaShare(of: quota).reserve(1000) {}, "all memory is free")
    }

    @Test func `A share without progress is revoked while others wait`() async throws {
        let (idle, busy, waiting) = (QuotaShare(of: quota), QuotaShare(of: quota), QuotaShare(of: quota))
        idle.revoke = { [unowned idle] in idle.free(500) }
        busy.revoke = { Issue.record("it gets on") }
        #expect(idle.reserve(500) {} && busy.reserve(500) {})
        let granted = Mail<Void>()
        #expect(!waiting.reserve(500) { granted.deliver(()) })
        #expect(try await clock.nextSleep() == .seconds(10))
        busy.progress += 1
        clock.advance(by: .seconds(10))
        try await granted.next()
        #expect(idle.reserved == 0 && busy.reserved == 500)
    }

    @Test func `Used and reserved memory together stay within the limit`() {
        let (first, second) = (QuotaShare(of: quota), QuotaShare(of: quota))
        first.use(600)
        #expect(second.reserveAtOnce(300))
        #expect(!first.reserveAtOnce(200))
        first.use(500)
        #expect(first.reserveAtOnce(200))
    }

    @Test func `A share may have a little without waiting`() {
        let (large, small) = (QuotaShare(of: quota), QuotaShare(of: quota, least: 100))
        large.use(2000)
        #expect(!large.reserveAtOnce(1))
        #expect(small.reserveAtOnce(100))
        #expect(!small.reserveAtOnce(1))
    }

    @Test func `The slowest shares are revoked, and only as many as are needed`() async throws {
        let shares = (0..<4).map { _ in QuotaShare(of: quota, pace: 100) }
        var revoked: [Int] = []
        for (index, share) in shares.enumerated() {
            share.use(250)
            share.revoke = { [unowned share] in
                revoked.append(index)
                share.use(0)
            }
        }
        let waiting = QuotaShare(of: quota)
        let granted = Task { @Loop in try await waiting.reserve(400, unless: { false }) }
        #expect(try await clock.nextSleep() == .seconds(10))
        for (share, progress) in zip(shares, [50, 10, 100, 20]) { share.progress += progress }
        clock.advance(by: .seconds(10))
        #expect(try await granted.value)
        #expect(revoked == [1, 3])
    }

    @Test func `No share is revoked while no other one waits`() async throws {
        let (idle, waiting) = (QuotaShare(of: quota), QuotaShare(of: quota))
        idle.revoke = { Issue.record("no other share waits") }
        #expect(idle.reserve(800) {})
        #expect(!waiting.reserve(800) {})
        _ = try await clock.nextSleep()
        waiting.leave()
        clock.advance(by: .seconds(10))
        try await laterReply()
        #expect(idle.reserved == 800)
    }

    @Test func `An answer waits for memory until its request ends`() async throws {
        let (first, second) = (QuotaShare(of: quota), QuotaShare(of: quota))
        #expect(first.reserve(800) {})
        let desk = TestContext()
        let granted = Task { @Loop in try await second.reserve(300, unless: { desk.isShut }) }
        #expect(try await clock.nextSleep() == .seconds(10))
        desk.isShut = true
        first.free(1)
        #expect(try await !granted.value)
        #expect(second.reserved == 0)
    }
}

/// Connections when memory is short.
@Loop @Suite(.watchdog) struct ConnectionMemoryTests {
    private let clock = ManualClock()
    private let desk = TestContext(), wire = Wire()
    private let other = TestContext(), otherWire = Wire()
    private let limits = ConnectionLimits.with { $0.messageBytes = 1 << 20 }
    private static let long = "\"" + String(repeating: "x", count: 600 << 10) + "\""

    @Test(arguments: ["", "Content-Length: 1000000\r\n\r\n"])
    func `An incomplete message is abandoned while others wait for memory`(header: String) async throws {
        let memory = ConnectionMemory(messageBytes: 1 << 20, clock: clock)
        let (first, _) = try desk.connect(wire, limits: limits, memory: memory)
        let (second, _) = try other.connect(otherWire, limits: limits, memory: memory)
        await wire.send(header + Self.long)
        try await until { first.intake.memory.reserved > 0 }
        async let sent: Void = otherWire.sendLine(echo("2", Self.long))
        #expect(try await clock.nextSleep() == .seconds(10))
        #expect(second.intake.memory.isWaiting)
        clock.advance(by: .seconds(10))
        #expect(await otherWire.line() == reply("2", Self.long))
        wire.endSending()
        let refusal = await wire.bytes(1000)
        #expect(refusal.contains("-32600") && refusal.contains("(--max-total-message-bytes)"))
        await sent
        first.close()
        second.close()
    }

    @Test func `A client that reads nothing is disconnected while others wait for memory`() async throws {
        let narrow = Wire(isNarrow: true)
        let memory = ConnectionMemory(unreadBytes: 500 << 10, clock: clock)
        let (first, ended) = try desk.connect(narrow, memory: memory)
        let (second, _) = try other.connect(otherWire, memory: memory)
        await narrow.sendLine(echo("1", Self.long))
        try await until { first.outlet.memory.used >= 500 << 10 }
        await otherWire.sendLine(#"{"jsonrpc":"2.0","id":2,"method":"bulk"}"#)
        _ = try await other.started.next()
        other.opened.wakeAll()
        #expect(try await clock.nextSleep() == .seconds(10))
        clock.advance(by: .seconds(10))
        try await ended.next()
        #expect(first.overrun?.contains("--max-total-unread-bytes") == true)
        #expect(await otherWire.line()?.contains("xxx") == true)
        second.close()
    }
}
