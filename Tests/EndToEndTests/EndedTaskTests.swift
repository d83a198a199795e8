import Foundation
import JSONText
import TestSupport
import Testing

/// Tasks of an earlier process, and objects that were stored since.
@Suite(.serialized, .timeLimit(.minutes(10))) struct EndedTaskTests {
    private static let size = 12 << 20
    private static let newer = noise(1000, seed: 2)

    /// An upload of a file that is paused in its middle.
    private static func paused(_ lives: Lives, _ name: String = "a") throws -> JSON {
        let file = try lives.write(noise(size), to: "source")
        let held = Signal()
        defer { held.fire() }
        lives.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
        let task = try lives.call(
            "reference/putFile", ["reference": .string("gs://default-bucket/\(name)"), "file": .string(file)])
        try lives.until { $0.unfired.isEmpty }
        #expect(try lives.call("uploadTask/pause", ["task": .string(task.id)])["accepted"]?.bool == true)
        return task
    }

    private static func store(_ lives: Lives, _ name: String = "a") throws {
        let text = Data(newer).base64EncodedString()
        try lives.call(
            "reference/putData",
            ["reference": .string("gs://default-bucket/\(name)"), "data": .string(text), "wait": true])
    }

    @Test(arguments: Lives.Engine.allCases)
    func `A task that ended while the disk was full is ended in the next process`(engine: Lives.Engine)
        async throws
    {
        try await Lives.run(engine) { lives in
            try lives.start()
            try lives.call("storage/updateSettings", ["uploadChunkSizeBytes": 262_144])
            let cancelled = try Self.paused(lives), failed = try Self.paused(lives, "b")
            try lives.fillDisk()
            #expect(try lives.call("uploadTask/cancel", ["task": .string(cancelled.id)])["accepted"]?.bool == true)
            if engine == .embedded {
                try lives.call("uploadTask/resume", ["task": .string(failed.id)])
                let error = try lives.refused { try lives.call("uploadTask/wait", ["task": .string(failed.id)]) }
                #expect(error["data"]?["name"] == "quotaExceeded")
            }
            try lives.kill()
            try lives.start()
            for name in ["a", "b"] { try Self.store(lives, name) }
            try lives.terminate()
            try lives.start("--tasks", "resume")
            let states = try lives.tasks().prefix(2).map(\.state)
            #expect(states.first == "cancelled" && (engine != .embedded || states.last == "failed"))
            for name in ["a", "b"] { _ = try lives.expectObject(name, Self.newer) }
            try lives.terminate()
        }
    }

    @Test(arguments: Lives.Engine.allCases)
    func `An upload that resumes by itself does not replace a newer object`(engine: Lives.Engine) async throws {
        try await Lives.run(engine) { lives in
            try lives.start()
            try lives.call("storage/updateSettings", ["uploadChunkSizeBytes": 262_144])
            let task = try Self.paused(lives)
            try Self.store(lives)
            try lives.kill()
            try lives.start("--tasks", "resume")
            try lives.call("uploadTask/observe", ["task": .string(task.id), "status": "pause"])
            try lives.hear(1)
            let held = try lives.call("uploadTask/snapshot", ["task": .string(task.id)])
            #expect(held.state == "paused")
            #expect(held["error"]?["message"]?.string?.contains("since this upload began") == true)
            _ = try lives.expectObject("a", Self.newer)
            try lives.call("uploadTask/resume", ["task": .string(task.id)])
            let last = try lives.call("uploadTask/wait", ["task": .string(task.id)])
            #expect(last.state == "success" && last["error"] == nil)
            _ = try lives.expectObject("a", noise(Self.size))
            try lives.terminate()
        }
    }
}
