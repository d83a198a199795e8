import HTTPClient
import HTTPText

extension StorageFixture {
    /// Something that goes wrong once.
    package struct Fault: Sendable {
        package let when: When
        package let what: Action

        package init(_ when: When, _ what: Action) {
            self.when = when
            self.what = what
        }
    }
}

extension StorageFixture.Fault {
    package enum When: Sendable {
        /// At the nth request like that, counted from 1 since the faults were set, or at the next one if another fault
        /// that stands before triggered that one.
        case request(Int, @Sendable (StorageFixture.Request) -> Bool)
        /// Before this byte of an object (of the body, for an upload in one request) is taken, or sent.
        case byte(Int64)

        package static func nth(_ number: Int, _ kinds: StorageFixture.Kind...) -> When {
            .request(number) { kinds.contains($0.kind) }
        }

        package static func first(_ kinds: StorageFixture.Kind...) -> When {
            .request(1) { kinds.contains($0.kind) }
        }
    }

    /// At a byte, the bytes before it are taken, or sent for a download; what is not done immediately is done to the
    /// request that carries it.
    package enum Action: Sendable {
        /// Instead of handling the request. At a byte: without reading the rest, and for the last time.
        case answer(Int, headers: HTTPHeaders = [:], body: String = "")
        case answerAfterHandling(Int, headers: HTTPHeaders = [:], body: String = "")
        /// Before the body is read, or at the byte.
        case reset
        case resetAfterHandling
        case closeAfterHandling
        /// Although the connection seemed to be kept.
        case closeAfterAnswer
        /// Reads no further until the signal, then continues.
        case stall(until: Signal)
        /// Handles the request immediately.
        case answerLate(Signal)
        case reportFalseOffset(FalseOffset)
        /// The session is gone, with this status for an answer from now on.
        case forget(Int)
        /// Does something else first, such as to the objects.
        case meanwhile(@Sendable () -> Void)
        /// Sends all bytes of a download although some were asked for.
        case ignoreRange
        /// Says of a download that it begins elsewhere.
        case shiftRange(by: Int64)
        /// Sends so many bytes of a download more, or fewer, and says so; or does not say so.
        case lengthen(by: Int, saying: Bool)
        /// Flips a bit of the byte, or of the first that the request carries, in what is stored; in what is sent, for
        /// a download.
        case corrupt
    }

    /// What an answer says about how much is persisted, instead of the truth.
    package enum FalseOffset: Sendable {
        case granules(Int)
        case beyondTotal
        case text(String)

        func told(of persisted: Int64, total: Int64?) -> String {
            switch self {
            case .granules(let count): String(max(0, persisted + Int64(count) * ResumableSession.granule))
            case .beyondTotal: String((total ?? 1 << 40) + ResumableSession.granule)
            case .text(let text): text
            }
        }
    }
}

extension StorageFixture.Fault.Action {
    /// Whether the client does not get the answer to what was done, or gets it when it may have left.
    var replacesAnswer: Bool {
        switch self {
        case .answer, .answerAfterHandling, .answerLate: true
        default: false
        }
    }
}

/// The faults, and which of them have triggered.
struct PendingFaults: Sendable {
    private var entries: [(fault: StorageFixture.Fault, matches: Int, hasFired: Bool)] = []

    init(_ faults: [StorageFixture.Fault] = []) { entries = faults.map { ($0, 0, false) } }

    var all: [StorageFixture.Fault] { entries.map(\.fault) }
    var unfired: [StorageFixture.Fault] { entries.filter { !$0.hasFired }.map(\.fault) }

    /// Counts the request, and gives the first fault that is due at it.
    mutating func trigger(_ request: StorageFixture.Request) -> StorageFixture.Fault.Action? {
        var triggered: StorageFixture.Fault.Action?
        for index in entries.indices {
            guard case .request(let number, let isMeant) = entries[index].fault.when, isMeant(request) else { continue }
            entries[index].matches += 1
            guard triggered == nil, !entries[index].hasFired, entries[index].matches >= number else { continue }
            entries[index].hasFired = true
            triggered = entries[index].fault.what
        }
        return triggered
    }

    /// The next byte at which something will happen.
    func nextByte(from position: Int64) -> Int64? {
        let bytes = entries.compactMap { entry -> Int64? in
            guard !entry.hasFired, case .byte(let byte) = entry.fault.when, byte >= position else { return nil }
            return byte
        }
        return bytes.min()
    }

    mutating func trigger(byte position: Int64) -> StorageFixture.Fault.Action? {
        let index = entries.firstIndex { entry in
            if case .byte(position) = entry.fault.when { !entry.hasFired } else { false }
        }
        guard let index else { return nil }
        entries[index].hasFired = true
        return entries[index].fault.what
    }
}
