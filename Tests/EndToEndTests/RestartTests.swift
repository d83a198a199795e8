import Foundation
import JSONText
import TestSupport
import Testing

/// Tasks after the service was killed and started again.
@Suite(.serialized, .timeLimit(.minutes(10))) struct RestartTests {
    static let remotes = [Lives.Engine.firebase, .gcs]

    private static func put(_ lives: Lives, _ name: String, _ file: String, wait: Bool = false) throws -> JSON {
        try lives.call(
            "reference/putFile",
            [
                "reference": .string("gs://default-bucket/\(name)"), "file": .string(file), "wait": .bool(wait),
                "metadata": ["customMetadata": ["k": "v"]],
            ])
    }

    @Test(arguments: Lives.Engine.allCases)
    func `The outcome of a task is known after a kill right after the answer`(engine: Lives.Engine) async throws {
        try await Lives.run(engine) { lives in
            let small = try lives.write(noise(1000), to: "small")
            let large = try lives.write(noise(600_000), to: "large")
            var ended: [JSON] = []
            for (name, file) in [("small", small), ("large", large)] {
                try lives.start()
                ended.append(try Self.put(lives, name, file, wait: true))
                try lives.kill()
            }
            try lives.start()
            let error = try lives.refused { _ = try Self.put(lives, "lost", lives.path("missing"), wait: true) }
            try lives.kill()
            try lives.start()
            let tasks = try lives.tasks()
            #expect(tasks.map(\.state) == ["success", "success", "failed"])
            #expect(Array(tasks.prefix(2)) == ended)
            #expect(tasks.last?["error"] == error && error["message"]?.string?.contains("does not exist") == true)
            let again = try lives.refused { try lives.call("uploadTask/wait", ["task": .string(tasks[2].id)]) }
            #expect(again == error)
            let forgotten = try lives.call("uploadTask/forget", ["task": .string(tasks[2].id)])
            #expect(forgotten["accepted"]?.bool == true)
            try lives.kill()
            try lives.start()
            #expect(try lives.tasks() == ended)
            try lives.terminate()
        }
    }

    @Test(arguments: Lives.Engine.allCases)
    func `A large putData survives a kill of the process`(engine: Lives.Engine) async throws {
        try await Lives.run(engine) { lives in
            let bytes = noise(2 << 20)
            let held = Signal()
            defer { held.fire() }
            lives.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
            try lives.start()
            let task = try lives.call(
                "reference/putData",
                ["reference": "gs://default-bucket/a", "data": .string(Data(bytes).base64EncodedString())])
            try lives.kill()
            held.fire()
            try lives.start()
            let found = try #require(lives.tasks().first)
            #expect(found.id == task.id)
            if found.state != "success" {
                #expect(found.state == "paused")
                try lives.call("uploadTask/resume", ["task": .string(task.id)])
            }
            #expect(try lives.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            _ = try lives.expectObject("a", bytes)
            try lives.terminate()
            try lives.expectNothingLeft(objects: 1)
        }
    }

    @Test(arguments: remotes)
    func `A small putData that was paused survives a kill of the process`(engine: Lives.Engine) async throws {
        try await Lives.run(engine) { lives in
            let held = Signal()
            defer { held.fire() }
            lives.fixture?.faults = [.init(.first(.multipart), .stall(until: held))]
            try lives.start()
            let task = try lives.call(
                "reference/putData",
                ["reference": "gs://default-bucket/a", "data": .string(Data(noise(4096)).base64EncodedString())])
            try lives.until { $0.unfired.isEmpty }
            #expect(try lives.call("uploadTask/pause", ["task": .string(task.id)])["accepted"]?.bool == true)
            try lives.kill()
            try lives.start()
            #expect(try lives.tasks().map(\.id) == [task.id])
            try lives.call("uploadTask/resume", ["task": .string(task.id)])
            #expect(try lives.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            _ = try lives.expectObject("a", noise(4096))
            try lives.terminate()
            try lives.expectNothingLeft(objects: 1)
        }
    }

    /// Kills the service during an upload; the fixture holds the bytes in flight until the signal.
    private static func interrupted(_ lives: Lives, until held: Signal) throws -> JSON {
        let file = try lives.write(noise(600_000), to: "source")
        lives.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
        try lives.start()
        let task = try put(lives, "a", file)
        try lives.until { $0.unfired.isEmpty }
        try lives.kill()
        return task
    }

    @Test(arguments: remotes)
    func `With --tasks resume unfinished tasks continue at the start`(engine: Lives.Engine) async throws {
        try await Lives.run(engine) { lives in
            let held = Signal()
            defer { held.fire() }
            let task = try Self.interrupted(lives, until: held)
            try lives.start("--tasks", "resume")
            #expect(try lives.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            #expect(lives.fixture?.bytes("default-bucket", "a") == noise(600_000))
            #expect(lives.fixture?.log.sessions.count == 1)
            try lives.terminate()
        }
    }

    @Test(arguments: remotes)
    func `With --tasks forget unfinished tasks are cancelled and removed at the start`(engine: Lives.Engine)
        async throws
    {
        try await Lives.run(engine) { lives in
            let held = Signal()
            defer { held.fire() }
            _ = try Self.interrupted(lives, until: held)
            try lives.start("--tasks", "forget")
            #expect(try lives.tasks().isEmpty)
            try lives.until { $0.cancelledSessions.count == 1 }
            try lives.terminate()
            try lives.start()
            #expect(try lives.tasks().isEmpty && lives.fixture?.objects.isEmpty == true)
            try lives.terminate()
            try lives.expectNothingLeft(objects: 0)
        }
    }

    @Test(arguments: remotes)
    func `Services that share a root have separate tasks, and the next one takes over all`(engine: Lives.Engine)
        async throws
    {
        try await Lives.run(engine) { one in
            let two = try Lives(engine, in: one.directory, sharing: one)
            let held = Signal()
            defer { held.fire() }
            let file = try one.write(noise(600_000), to: "source")
            one.fixture?.faults = [
                .init(.first(.start), .stall(until: held)), .init(.nth(2, .start), .stall(until: held)),
            ]
            for lives in [one, two] {
                try lives.start()
                try lives.call("service/ping")
            }
            let first = try Self.put(one, "one", file), second = try Self.put(two, "two", file)
            #expect(try one.tasks().map(\.id) == [first.id] && two.tasks().map(\.id) == [second.id])
            try one.until { $0.unfired.isEmpty }
            for lives in [one, two] { try lives.kill() }
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
            for lives in [one, two] { try lives.terminate() }
        }
    }
}
