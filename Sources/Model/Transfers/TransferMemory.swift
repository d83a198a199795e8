import Platform

/// The memory that uploads from memory and downloads to memory use.
@Loop final class TransferMemory {
    /// The limit in bytes. Transfers wait while more bytes are in use.
    static let limit = 64 << 20
    /// The maximum number of small files in memory, from the inspection to the end of the upload. Further files are
    /// read by their uploads.
    static let mostFiles = 64

    private(set) var bytes = 0
    private(set) var files = 0
    /// The memory of streams, which has a limit of its own.
    let streams = StreamMemory()
    private let waiters = Waiters()

    /// Returns when no more bytes than the limit are in use.
    func free() async throws { while isFull { try await waiters.wait() } }

    var isFull: Bool { bytes > Self.limit }

    func take(_ count: Int) { bytes += count }

    /// Wakes the waiting transfers once half of the memory is free.
    func giveBack(_ count: Int) {
        bytes -= count
        if bytes <= Self.limit / 2 { waiters.wakeAll() }
    }

    /// Counts bytes as in use while `body` runs.
    func holding<Answer>(_ count: Int, _ body: () async throws -> Answer) async throws -> Answer {
        take(count)
        defer { giveBack(count) }
        return try await body()
    }

    /// Counts a small file. False if too many are in memory; otherwise the caller must call `giveBackFile` afterwards.
    func takeFile() -> Bool {
        guard files < Self.mostFiles else { return false }
        files += 1
        return true
    }

    func giveBackFile() { files -= 1 }
}

/// The bytes of all streams that wait for the engine. They do not count in `TransferMemory`, since the bytes of a
/// client that sends no more must not delay other uploads.
@Loop final class StreamMemory {
    var bytes = 0
}
