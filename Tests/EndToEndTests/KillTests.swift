import Foundation
import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// The program is ended during transfers, at many offsets; the variable `KILLS` sets how many.
@Suite(.watchdog(minutes: 10)) struct KillTests {
    static let kills = ProcessInfo.processInfo.environment["KILLS"].flatMap { Int($0) } ?? 12
    static let granule = 256 << 10
    static let source = noise(8 * granule + 1000)
    static let large = noise(12 << 20)
    static let remotes = [RestartableService.Engine.firebase, .gcs]

    enum End: CaseIterable {
        case kill, terminate, hangUp

        func strike(_ program: RestartableService) throws {
            switch self {
            case .kill: try program.kill()
            case .terminate: try program.terminate()
            case .hangUp: try program.hangUp()
            }
        }
    }

    private static func put(_ program: RestartableService, _ file: String) throws -> JSON {
        try program.call("storage/updateSettings", ["uploadChunkSizeBytes": JSON(Int64(granule))])
        return try program.call(
            "reference/putFile",
            ["reference": "gs://default-bucket/a", "file": .string(file), "observe": ["progress"]])
    }

    private static func fetch(_ program: RestartableService) throws -> JSON {
        try program.call(
            "reference/writeToFile",
            [
                "reference": "gs://default-bucket/a", "file": .string(program.path("target")),
                "observe": ["progress", "success"],
            ])
    }

    /// The task with the same id: paused, or succeeded if that happened before the kill.
    private static func found(_ task: JSON, _ program: RestartableService, _ kind: String = "upload") throws -> JSON {
        let tasks = try program.tasks(kind)
        let found = try #require(tasks.first)
        #expect(tasks.count == 1 && found.id == task.id)
        #expect(found.state == "paused" || found.state == "success", "\(found.text)")
        return found
    }

    private static func finish(_ task: JSON, _ program: RestartableService, _ kind: String = "upload") throws -> JSON {
        if task.state == "paused" {
            let resumed = try program.call("\(kind)Task/resume", ["task": .string(task.id)])
            #expect(resumed["accepted"]?.bool == true)
        }
        let last = try program.call("\(kind)Task/wait", ["task": .string(task.id)])
        #expect(last.state == "success" && last.completed == last["metadata"]?["size"]?.number?.int64 ?? 0)
        return last
    }

    // MARK: - Uploads

    @Test(arguments: End.allCases)
    func `An upload to the embedded engine continues after a kill, a signal or a closed stdin`(end: End) async throws {
        let interrupted = Counter()
        let count = end == .kill ? Self.kills : 3
        // More attempts where all came too late.
        for kill in 0..<max(count, Self.kills) where kill < count || interrupted.count == 0 {
            try await RestartableService.run(.embedded) { program in
                let file = try program.write(Self.large, to: "source")
                try program.start()
                let task = try Self.put(program, file)
                try program.hear(1 + kill % count * 30 / count)
                try end.strike(program)
                try program.start()
                let found = try Self.found(task, program)
                if found.state == "paused" {
                    // The first chunk may be staged and not yet recorded, and before it is, the file belongs to no task.
                    if found.completed > 0 { interrupted.add() }
                    #expect(try found.completed <= program.staged.first ?? 0)
                }
                let last = try Self.finish(found, program)
                let object = try program.expectObject("a", Self.large)
                #expect(last["metadata"] == object && object["metageneration"]?.string == "1")
                try program.terminate()
                try program.start()
                #expect(try program.tasks().map(\.state) == ["success"])
                try program.terminate()
                try program.expectNothingLeft(objects: 1)
            }
        }
        #expect(interrupted.count > 0, "it was too fast to be interrupted")
    }

    @Test(arguments: remotes, End.allCases)
    func `An upload to a server continues after a kill, a signal or a closed stdin`(
        engine: RestartableService.Engine, end: End
    )
        async throws
    {
        let size = Self.source.count
        let count = end == .kill ? Self.kills : 3
        for kill in 0..<count {
            try await RestartableService.run(engine) { program in
                let file = try program.write(Self.source, to: "source")
                let fixture = try #require(program.fixture)
                let held = Signal()
                defer { held.fire() }
                fixture.faults = [.init(.byte(Int64(size * kill / count + kill % 2)), .stall(until: held))]
                try program.start()
                let task = try Self.put(program, file)
                try program.until { $0.unfired.isEmpty }
                try end.strike(program)
                held.fire()
                try program.start()
                let found = try Self.found(task, program)
                #expect(found.completed <= fixture.log.sessions.first?.persisted ?? 0)
                #expect(found.completed >= Int64((size * kill / count) / Self.granule * Self.granule - Self.granule))
                _ = try Self.finish(found, program)
                #expect(fixture.bytes("default-bucket", "a") == Self.source && fixture.objects.count == 1)
                #expect(fixture.log.sessions.count == 1 && fixture.log.resentPersistedBytes == 0)
                let carried = fixture.log.requests(.chunk, .finalize).reduce(0) { $0 + $1.bytesReceived }
                #expect(carried <= size + Self.granule, "at most one chunk is sent again")
                _ = try program.expectObject("a", Self.source)
                try program.terminate()
                try program.expectNothingLeft(objects: 1)
            }
        }
    }

    @Test(arguments: remotes)
    func `An upload that was killed before its last response succeeds without a second upload`(
        engine: RestartableService.Engine
    )
        async throws
    {
        try await RestartableService.run(engine) { program in
            let file = try program.write(Self.source, to: "source")
            let fixture = try #require(program.fixture)
            let held = Signal()
            defer { held.fire() }
            fixture.faults = [.init(.first(.finalize), .answerLate(held))]
            try program.start()
            let task = try Self.put(program, file)
            try program.until { $0.sessions.first?.state == .final }
            try program.kill()
            try program.start()
            let last = try Self.finish(Self.found(task, program), program)
            #expect(fixture.log.requests(.finalize).count { $0.bytesReceived > 0 } == 1)
            #expect(try last["metadata"] == program.expectObject("a", Self.source))
            try program.terminate()
        }
    }

    // MARK: - Downloads

    @Test(arguments: RestartableService.Engine.allCases)
    func `A download continues after a kill with the received bytes`(engine: RestartableService.Engine) async throws {
        for kill in 0..<Self.kills {
            try await RestartableService.run(engine) { program in
                try program.start()
                let file = try program.write(Self.large, to: "source")
                try program.call(
                    "reference/putFile", ["reference": "gs://default-bucket/a", "file": .string(file), "wait": true])
                let held = Signal()
                defer { held.fire() }
                if let fixture = program.fixture {
                    let place = Int64(Self.large.count * kill / Self.kills + kill % 2)
                    fixture.faults = [.init(.byte(place), .stall(until: held))]
                }
                let task = try Self.fetch(program)
                if program.fixture != nil {
                    try program.until { $0.unfired.isEmpty }
                } else {
                    try program.hear(1 + kill % 2)
                }
                try program.kill()
                held.fire()
                try program.start()
                let found = try Self.found(task, program, "download")
                if found.state == "paused", found.completed > 0 {
                    let parts = try FileManager.default.contentsOfDirectory(atPath: program.directory)
                    let arrived = parts.first { $0.hasSuffix(".part") || $0 == "target" }
                    #expect(try Int64(program.bytes(try #require(arrived)).count) >= found.completed)
                }
                _ = try Self.finish(found, program, "download")
                #expect(try program.bytes("target") == Self.large)
                if let fixture = program.fixture, found.completed > 0 {
                    let asked = fixture.log.requests(.media).last?.headers["Range"] ?? ""
                    #expect(Int64(asked.dropFirst("bytes=".count).dropLast()) ?? 0 >= found.completed)
                }
                try program.terminate()
                try program.expectNothingLeft(objects: 1)
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
