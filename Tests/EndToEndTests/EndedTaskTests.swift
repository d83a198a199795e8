import Foundation
import JSONText
import TestSupport
import Testing

/// Tasks of an earlier process, and objects that were stored since.
@Suite(.watchdog(minutes: 10)) struct EndedTaskTests {
    private static let size = 12 << 20
    private static let newer = noise(1000, seed: 2)

    /// An upload of a file that is paused in its middle.
    private static func paused(_ program: RestartableService, _ name: String = "a") throws -> JSON {
        let file = try program.write(noise(size), to: "source")
        let held = Signal()
        defer { held.fire() }
        program.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
        for _ in 0..<100 {
            let task = try program.call(
                "reference/putFile", ["reference": .string("gs://default-bucket/\(name)"), "file": .string(file)])
            try program.until { $0.unfired.isEmpty }
            if try program.call("uploadTask/pause", ["task": .string(task.id)])["accepted"] == true { return task }
            // The embedded engine was faster.
            try program.call("uploadTask/forget", ["task": .string(task.id)])
        }
        throw RestartableService.Silence()
    }

    private static func store(_ program: RestartableService, _ name: String = "a") throws {
        let text = Data(newer).base64EncodedString()
        try program.call(
            "reference/putData",
            ["reference": .string("gs://default-bucket/\(name)"), "data": .string(text), "wait": true])
    }

    @Test func `A stream that has ended has the same snapshot in the next process`() async throws {
        try await RestartableService.run(.embedded) { program in
            try program.start()
            var ended: [JSON] = []
            for (name, end) in [("a", "finish"), ("b", "cancel")] {
                let params: JSON = ["reference": .string("gs://default-bucket/\(name)")]
                let id = try program.call("reference/putStream", params).id
                try program.call("uploadTask/append", ["task": .string(id), "text": "abc"])
                try program.call("uploadTask/\(end)", ["task": .string(id)])
                ended.append(try program.call("uploadTask/snapshot", ["task": .string(id)]))
            }
            try program.terminate()
            try program.start()
            for snapshot in ended {
                #expect(snapshot["origin"] == "stream")
                #expect(try program.call("uploadTask/snapshot", ["task": .string(snapshot.id)]) == snapshot)
            }
            try program.terminate()
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `A task that ended while the disk was full is ended in the next process`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            try program.start()
            try program.call("storage/updateSettings", ["uploadChunkSizeBytes": 262_144])
            let cancelled = try Self.paused(program), failed = try Self.paused(program, "b")
            try program.fillDisk()
            #expect(try program.call("uploadTask/cancel", ["task": .string(cancelled.id)])["accepted"]?.bool == true)
            if engine == .embedded {
                try program.call("uploadTask/resume", ["task": .string(failed.id)])
                let error = try program.refused { try program.call("uploadTask/wait", ["task": .string(failed.id)]) }
                #expect(error["data"]?["name"] == "quotaExceeded")
            }
            try program.kill()
            try program.start()
            for name in ["a", "b"] { try Self.store(program, name) }
            try program.terminate()
            try program.start("--tasks", "resume")
            let states = try program.tasks().prefix(2).map(\.state)
            #expect(states.first == "cancelled" && (engine != .embedded || states.last == "failed"))
            for name in ["a", "b"] { _ = try program.expectObject(name, Self.newer) }
            try program.terminate()
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `An upload that resumes by itself does not replace a newer object`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            try program.start()
            try program.call("storage/updateSettings", ["uploadChunkSizeBytes": 262_144])
            let task = try Self.paused(program)
            try Self.store(program)
            try program.kill()
            try program.start("--tasks", "resume")
            try program.call("uploadTask/observe", ["task": .string(task.id), "status": "pause"])
            try program.hear(1)
            let held = try program.call("uploadTask/snapshot", ["task": .string(task.id)])
            #expect(held.state == "paused")
            #expect(held["error"]?["message"]?.string?.contains("since this task began") == true)
            _ = try program.expectObject("a", Self.newer)
            try program.call("uploadTask/resume", ["task": .string(task.id)])
            let last = try program.call("uploadTask/wait", ["task": .string(task.id)])
            #expect(last.state == "success" && last["error"] == nil)
            _ = try program.expectObject("a", noise(Self.size))
            try program.terminate()
        }
    }
}
