import Foundation
import JSONText
import TestSupport
import Testing

/// Tasks after the service was killed and started again.
@Suite(.watchdog(minutes: 10)) struct RestartTests {
    static let remotes = [RestartableService.Engine.firebase, .gcs]

    private static func put(_ program: RestartableService, _ name: String, _ file: String, wait: Bool = false) throws
        -> JSON
    {
        try program.call(
            "reference/putFile",
            [
                "reference": .string("gs://default-bucket/\(name)"), "file": .string(file), "wait": .bool(wait),
                "metadata": ["customMetadata": ["k": "v"]],
            ])
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `The outcome of a task is known after a kill right after the answer`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            let small = try program.write(noise(1000), to: "small")
            let large = try program.write(noise(600_000), to: "large")
            var ended: [JSON] = []
            for (name, file) in [("small", small), ("large", large)] {
                try program.start()
                ended.append(try Self.put(program, name, file, wait: true))
                try program.kill()
            }
            try program.start()
            let error = try program.refused { _ = try Self.put(program, "lost", program.path("missing"), wait: true) }
            try program.kill()
            try program.start()
            let tasks = try program.tasks()
            #expect(tasks.map(\.state) == ["success", "success", "failed"])
            #expect(Array(tasks.prefix(2)) == ended)
            #expect(tasks.last?["error"] == error && error["message"]?.string?.contains("does not exist") == true)
            let again = try program.refused { try program.call("uploadTask/wait", ["task": .string(tasks[2].id)]) }
            #expect(again == error)
            let forgotten = try program.call("uploadTask/forget", ["task": .string(tasks[2].id)])
            #expect(forgotten["accepted"]?.bool == true)
            try program.kill()
            try program.start()
            #expect(try program.tasks() == ended)
            try program.terminate()
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `A large putData survives a kill of the process`(engine: RestartableService.Engine) async throws {
        try await RestartableService.run(engine) { program in
            let bytes = noise(2 << 20)
            let held = Signal()
            defer { held.fire() }
            program.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
            try program.start()
            let task = try program.call(
                "reference/putData",
                ["reference": "gs://default-bucket/a", "data": .string(Data(bytes).base64EncodedString())])
            try program.kill()
            held.fire()
            try program.start()
            let found = try #require(program.tasks().first)
            #expect(found.id == task.id)
            if found.state != "success" {
                #expect(found.state == "paused")
                try program.call("uploadTask/resume", ["task": .string(task.id)])
            }
            #expect(try program.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            _ = try program.expectObject("a", bytes)
            try program.terminate()
            try program.expectNothingLeft(objects: 1)
        }
    }

    @Test(arguments: remotes)
    func `A small putData that was paused survives a kill of the process`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            let held = Signal()
            defer { held.fire() }
            program.fixture?.faults = [.init(.first(.multipart), .stall(until: held))]
            try program.start()
            let task = try program.call(
                "reference/putData",
                ["reference": "gs://default-bucket/a", "data": .string(Data(noise(4096)).base64EncodedString())])
            try program.until { $0.unfired.isEmpty }
            #expect(try program.call("uploadTask/pause", ["task": .string(task.id)])["accepted"]?.bool == true)
            try program.kill()
            try program.start()
            #expect(try program.tasks().map(\.id) == [task.id])
            try program.call("uploadTask/resume", ["task": .string(task.id)])
            #expect(try program.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            _ = try program.expectObject("a", noise(4096))
            try program.terminate()
            try program.expectNothingLeft(objects: 1)
        }
    }

    /// Kills the service during an upload; the fixture holds the bytes in flight until the signal.
    private static func interrupted(_ program: RestartableService, until held: Signal) throws -> JSON {
        let file = try program.write(noise(600_000), to: "source")
        program.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
        try program.start()
        let task = try put(program, "a", file)
        try program.until { $0.unfired.isEmpty }
        try program.kill()
        return task
    }

    @Test(arguments: remotes)
    func `The same request with a key joins the task after a kill`(
        engine: RestartableService.Engine
    ) async throws {
        try await RestartableService.run(engine) { program in
            let held = Signal()
            defer { held.fire() }
            let file = try program.write(noise(600_000), to: "source")
            let params: JSON = ["reference": "gs://default-bucket/a", "file": .string(file), "key": "k"]
            program.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
            try program.start()
            let task = try program.call("reference/putFile", params)
            try program.until { $0.unfired.isEmpty }
            try program.kill()
            held.fire()
            try program.start()
            let again = try program.call("reference/putFile", params)
            #expect(again.id == task.id && again.state == "paused" && again["continued"]?.bool == true)
            let end = try program.call("uploadTask/wait", ["task": .string(task.id)])
            #expect(end.state == "success" && end["key"]?.string == "k" && end["continued"] == nil)
            #expect(program.fixture?.log.sessions.count == 1)
            let ended = try program.call("uploadTask/snapshot", ["task": .string(task.id)])
            try program.kill()
            try program.start()
            #expect(try program.call("uploadTask/snapshot", ["task": .string(task.id)]) == ended)
            try program.terminate()
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `A folder with a key continues after a kill, and its key is free after the end`(
        engine: RestartableService.Engine
    ) async throws {
        try await RestartableService.run(engine) { program in
            try FileManager.default.createDirectory(atPath: program.path("site"), withIntermediateDirectories: true)
            for number in 0..<200 { _ = try program.write(noise(1000), to: "site/\(number)") }
            let params: JSON = [
                "reference": "gs://default-bucket/site", "directory": .string(program.path("site")), "key": "k",
            ]
            try program.start()
            let task = try program.call("reference/putDirectory", params)
            try program.kill()
            try program.start()
            let waiting: JSON = .object((params.object ?? []) + [.init(key: "wait", value: true)])
            let end = try program.call("reference/putDirectory", waiting)
            #expect(end.id == task.id && end.state == "success" && end["continued"]?.bool == true)
            #expect(end["files"]?["completed"]?.number?.int64 == 200 && end["key"]?.string == "k")
            let next = try program.call("reference/putDirectory", waiting)
            #expect(next.id != task.id && next["continued"] == nil)
            try program.terminate()
        }
    }

    @Test(arguments: remotes)
    func `With --tasks resume unfinished tasks continue at the start`(engine: RestartableService.Engine) async throws {
        try await RestartableService.run(engine) { program in
            let held = Signal()
            defer { held.fire() }
            let task = try Self.interrupted(program, until: held)
            try program.start("--tasks", "resume")
            #expect(try program.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            #expect(program.fixture?.bytes("default-bucket", "a") == noise(600_000))
            #expect(program.fixture?.log.sessions.count == 1)
            try program.terminate()
        }
    }

    @Test(arguments: remotes)
    func `With --tasks forget unfinished tasks are cancelled and removed at the start`(
        engine: RestartableService.Engine
    )
        async throws
    {
        try await RestartableService.run(engine) { program in
            let held = Signal()
            defer { held.fire() }
            _ = try Self.interrupted(program, until: held)
            try program.start("--tasks", "forget")
            #expect(try program.tasks().isEmpty)
            try program.until { $0.cancelledSessions.count == 1 }
            try program.terminate()
            try program.start()
            #expect(try program.tasks().isEmpty && program.fixture?.objects.isEmpty == true)
            try program.terminate()
            try program.expectNothingLeft(objects: 0)
        }
    }

    @Test(arguments: remotes)
    func `Services that share a root have separate tasks, and the next one takes over all`(
        engine: RestartableService.Engine
    )
        async throws
    {
        try await RestartableService.run(engine) { one in
            let two = try RestartableService(engine, in: one.directory, sharing: one)
            let held = Signal()
            defer { held.fire() }
            let file = try one.write(noise(600_000), to: "source")
            one.fixture?.faults = [
                .init(.first(.start), .stall(until: held)), .init(.nth(2, .start), .stall(until: held)),
            ]
            for program in [one, two] {
                try program.start()
                try program.call("service/ping")
            }
            let first = try Self.put(one, "one", file), second = try Self.put(two, "two", file)
            #expect(try one.tasks().map(\.id) == [first.id] && two.tasks().map(\.id) == [second.id])
            try one.until { $0.unfired.isEmpty }
            for program in [one, two] { try program.kill() }
            held.fire()
            // The next service takes over the tasks of both.
            try one.start()
            #expect(try Set(one.tasks().map(\.id)) == [first.id, second.id])
            try two.start()
            #expect(try two.tasks().isEmpty)
            for task in [first, second] {
                try one.call("uploadTask/resume", ["task": .string(task.id)])
                #expect(try one.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            }
            #expect(one.fixture?.objects == ["default-bucket/one", "default-bucket/two"])
            for program in [one, two] { try program.terminate() }
        }
    }
}
