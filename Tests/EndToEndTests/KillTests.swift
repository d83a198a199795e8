import Foundation
import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// The program is ended during transfers, at many offsets; the variable `KILLS` sets how many.
@Suite(.serialized, .timeLimit(.minutes(10))) struct KillTests {
    static let kills = ProcessInfo.processInfo.environment["KILLS"].flatMap { Int($0) } ?? 12
    static let granule = 256 << 10
    static let source = noise(8 * granule + 1000)
    static let large = noise(12 << 20)
    static let remotes = [Lives.Engine.firebase, .gcs]

    enum End: CaseIterable {
        case kill, terminate, hangUp

        func strike(_ lives: Lives) throws {
            switch self {
            case .kill: try lives.kill()
            case .terminate: try lives.terminate()
            case .hangUp: try lives.hangUp()
            }
        }
    }

    private static func put(_ lives: Lives, _ file: String) throws -> JSON {
        try lives.call("storage/updateSettings", ["uploadChunkSizeBytes": JSON(Int64(granule))])
        return try lives.call(
            "reference/putFile",
            ["reference": "gs://default-bucket/a", "file": .string(file), "observe": ["progress"]])
    }

    private static func fetch(_ lives: Lives) throws -> JSON {
        try lives.call(
            "reference/writeToFile",
            [
                "reference": "gs://default-bucket/a", "file": .string(lives.path("target")),
                "observe": ["progress", "success"],
            ])
    }

    /// The task with the same id: paused, or succeeded if that happened before the kill.
    private static func found(_ task: JSON, _ lives: Lives, _ kind: String = "upload") throws -> JSON {
        let tasks = try lives.tasks(kind)
        let found = try #require(tasks.first)
        #expect(tasks.count == 1 && found.id == task.id)
        #expect(found.state == "paused" || found.state == "success", "\(found.text)")
        return found
    }

    private static func finish(_ task: JSON, _ lives: Lives, _ kind: String = "upload") throws -> JSON {
        if task.state == "paused" {
            let resumed = try lives.call("\(kind)Task/resume", ["task": .string(task.id)])
            #expect(resumed["accepted"]?.bool == true)
        }
        let last = try lives.call("\(kind)Task/wait", ["task": .string(task.id)])
        #expect(last.state == "success" && last.completed == last["metadata"]?["size"]?.number?.int64 ?? 0)
        return last
    }

    // MARK: - Uploads

    @Test(arguments: End.allCases)
    func `An upload to the embedded engine continues after a kill, a signal or a closed stdin`(end: End) async throws {
        let interrupted = Counter()
        let count = end == .kill ? Self.kills : 3
        for kill in 0..<count {
            try await Lives.run(.embedded) { lives in
                let file = try lives.write(Self.large, to: "source")
                try lives.start()
                let task = try Self.put(lives, file)
                try lives.hear(1 + kill * 30 / count)
                try end.strike(lives)
                try lives.start()
                let found = try Self.found(task, lives)
                if found.state == "paused" {
                    // The first chunk may be staged and not yet recorded, and before it is, the file belongs to no task.
                    if found.completed > 0 { interrupted.add() }
                    #expect(try found.completed <= lives.staged.first ?? 0)
                }
                let last = try Self.finish(found, lives)
                let object = try lives.expectObject("a", Self.large)
                #expect(last["metadata"] == object && object["metageneration"]?.string == "1")
                try lives.terminate()
                try lives.start()
                #expect(try lives.tasks().map(\.state) == ["success"])
                try lives.terminate()
                try lives.expectNothingLeft(objects: 1)
            }
        }
        #expect(interrupted.count > 0, "it was too fast to be interrupted")
    }

    @Test(arguments: remotes, End.allCases)
    func `An upload to a server continues after a kill, a signal or a closed stdin`(engine: Lives.Engine, end: End)
        async throws
    {
        let size = Self.source.count
        let count = end == .kill ? Self.kills : 3
        for kill in 0..<count {
            try await Lives.run(engine) { lives in
                let file = try lives.write(Self.source, to: "source")
                let fixture = try #require(lives.fixture)
                let held = Signal()
                defer { held.fire() }
                fixture.faults = [.init(.byte(Int64(size * kill / count + kill % 2)), .stall(until: held))]
                try lives.start()
                let task = try Self.put(lives, file)
                try lives.until { $0.unfired.isEmpty }
                try end.strike(lives)
                held.fire()
                try lives.start()
                let found = try Self.found(task, lives)
                #expect(found.completed <= fixture.log.sessions.first?.persisted ?? 0)
                #expect(found.completed >= Int64((size * kill / count) / Self.granule * Self.granule - Self.granule))
                _ = try Self.finish(found, lives)
                #expect(fixture.bytes("default-bucket", "a") == Self.source && fixture.objects.count == 1)
                #expect(fixture.log.sessions.count == 1 && fixture.log.resentPersistedBytes == 0)
                let carried = fixture.log.requests(.chunk, .finalize).reduce(0) { $0 + $1.bytesReceived }
                #expect(carried <= size + Self.granule, "at most one chunk is sent again")
                _ = try lives.expectObject("a", Self.source)
                try lives.terminate()
                try lives.expectNothingLeft(objects: 1)
            }
        }
    }

    @Test(arguments: remotes)
    func `An upload that was killed before its last response succeeds without a second upload`(engine: Lives.Engine)
        async throws
    {
        try await Lives.run(engine) { lives in
            let file = try lives.write(Self.source, to: "source")
            let fixture = try #require(lives.fixture)
            let held = Signal()
            defer { held.fire() }
            fixture.faults = [.init(.first(.finalize), .answerLate(held))]
            try lives.start()
            let task = try Self.put(lives, file)
            try lives.until { $0.sessions.first?.state == .final }
            try lives.kill()
            try lives.start()
            let last = try Self.finish(Self.found(task, lives), lives)
            #expect(fixture.log.requests(.finalize).count { $0.bytesReceived > 0 } == 1)
            #expect(try last["metadata"] == lives.expectObject("a", Self.source))
            try lives.terminate()
        }
    }

    // MARK: - Downloads

    @Test(arguments: Lives.Engine.allCases)
    func `A download continues after a kill with the received bytes`(engine: Lives.Engine) async throws {
        for kill in 0..<Self.kills {
            try await Lives.run(engine) { lives in
                try lives.start()
                let file = try lives.write(Self.large, to: "source")
                try lives.call(
                    "reference/putFile", ["reference": "gs://default-bucket/a", "file": .string(file), "wait": true])
                let held = Signal()
                defer { held.fire() }
                if let fixture = lives.fixture {
                    let place = Int64(Self.large.count * kill / Self.kills + kill % 2)
                    fixture.faults = [.init(.byte(place), .stall(until: held))]
                }
                let task = try Self.fetch(lives)
                if lives.fixture != nil { try lives.until { $0.unfired.isEmpty } } else { try lives.hear(1 + kill % 2) }
                try lives.kill()
                held.fire()
                try lives.start()
                let found = try Self.found(task, lives, "download")
                if found.state == "paused", found.completed > 0 {
                    let parts = try FileManager.default.contentsOfDirectory(atPath: lives.directory)
                    let arrived = parts.first { $0.hasSuffix(".part") || $0 == "target" }
                    #expect(try Int64(lives.bytes(try #require(arrived)).count) >= found.completed)
                }
                _ = try Self.finish(found, lives, "download")
                #expect(try lives.bytes("target") == Self.large)
                if let fixture = lives.fixture, found.completed > 0 {
                    let asked = fixture.log.requests(.media).last?.headers["Range"] ?? ""
                    #expect(Int64(asked.dropFirst("bytes=".count).dropLast()) ?? 0 >= found.completed)
                }
                try lives.terminate()
                try lives.expectNothingLeft(objects: 1)
            }
        }
    }
}

/// Counts on any thread.
private final class Counter: @unchecked Sendable {
    private let lock = NSLock()
    private var value = 0

    func add() { lock.withLock { value += 1 } }
    var count: Int { lock.withLock { value } }
}
