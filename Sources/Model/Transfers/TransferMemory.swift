import Platform

/// The bytes that uploads from memory and downloads to memory hold.
@Loop final class TransferMemory {
    /// In bytes. While more are held, the next transfer waits.
    static let limit = 64 << 20
    /// How many small files are in memory at once, from the look at each to the end of its upload. Others are read later.
    static let mostFiles = 64

    private(set) var bytes = 0
    private(set) var files = 0
    /// The bytes of streams, which do not count here.
    let streams = StreamMemory()
    private let waiters = Waiters()

    /// Returns when little enough is held.
    func free() async throws { while isFull { try await waiters.wait() } }

    var isFull: Bool { bytes > Self.limit }

    func take(_ count: Int) { bytes += count }

    /// Wakes those that wait only once half of the memory is free, and not for each byte.
    func giveBack(_ count: Int) {
        bytes -= count
        if bytes <= Self.limit / 2 { waiters.wakeAll() }
    }

    /// Counts bytes as held while `body` runs.
    func holding<Answer>(_ count: Int, _ body: () async throws -> Answer) async throws -> Answer {
        take(count)
        defer { giveBack(count) }
        return try await body()
    }

    /// False where too many small files are in memory; else `giveBackFile` must follow.
    func takeFile() -> Bool {
        guard files < Self.mostFiles else { return false }
        files += 1
        return true
    }

    func giveBackFile() { files -= 1 }
}

/// The bytes of all streams that wait here for their engine. They have a limit of their own: those of a client that sends
/// no more stay, and must not keep other uploads waiting.
@Loop final class StreamMemory {
    var bytes = 0
}
