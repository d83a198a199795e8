/// When the next bit of progress is worth a word: after a mebibyte or a tenth of a second, and at the end.
struct DownloadNews {
    private static let step: Int64 = 1 << 20
    private static let pause = Duration.milliseconds(100)

    private let size: Int64
    private let clock: any Clock<Duration>
    private var told: Int64
    private var reading: Reading

    init(after offset: Int64, of size: Int64, by clock: any Clock<Duration>) {
        (self.size, self.clock, told) = (size, clock, offset)
        reading = clock.reading
    }

    mutating func isDue(_ count: Int64) -> Bool {
        guard count - told >= Self.step || count == size || reading.passed() >= Self.pause else { return false }
        (told, reading) = (count, clock.reading)
        return true
    }
}
