import Foundation
import JSONText
import TestSupport
import Testing

/// Tasks that have failed, and are retried: over restarts and kills.
@Suite(.watchdog(minutes: 10)) struct RetriedTaskTests {
    private static let size = 3 << 20

    /// An upload of a file that has failed, since its retry time is 0 and its server is down.
    private static func failed(_ program: RestartableService) throws -> JSON {
        try program.call(
            "storage/updateSettings",
            ["maxUploadRetryTime": 0, "maxDownloadRetryTime": 0, "uploadChunkSizeBytes": 262_144])
        let file = try program.write(noise(size), to: "source")
        program.fixture?.faults = [.init(.first(.chunk), .answer(503))]
        let task = try program.call(
            "reference/putFile", ["reference": "gs://default-bucket/a", "file": .string(file)])
        let error = try program.refused { try program.call("uploadTask/wait", ["task": .string(task.id)]) }
        #expect(error["data"]?["name"] == "retryLimitExceeded")
        return task
    }

    @Test(arguments: [RestartableService.Engine.firebase, .gcs])
    func `A failed task is retried after a restart, and survives a kill`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { program in
            try program.start()
            let task = try Self.failed(program)
            try program.kill()
            try program.start("--tasks", "resume")
            #expect(try program.tasks().map(\.state) == ["failed"])
            let held = Signal()
            defer { held.fire() }
            program.fixture?.faults = [.init(.byte(600_000), .stall(until: held))]
            let again = try program.call("uploadTask/retry", ["task": .string(task.id)])
            #expect(again["accepted"] == true && again["snapshot"]?.id == task.id)
            try program.until { $0.unfired.isEmpty }
            try program.kill()
            held.fire()
            try program.start()
            #expect(try program.tasks().map(\.state) == ["paused"])
            #expect(try program.call("uploadTask/retry", ["task": .string(task.id)])["accepted"] == false)
            #expect(try program.call("uploadTask/resume", ["task": .string(task.id)])["accepted"] == true)
            #expect(try program.call("uploadTask/wait", ["task": .string(task.id)]).state == "success")
            _ = try program.expectObject("a", noise(Self.size))
            #expect(try program.tasks().map(\.id) == [task.id])
            try program.terminate()
        }
    }

    @Test func `A retried upload that is killed immediately is restored`() async throws {
        try await RestartableService.run(.gcs) { program in
            try program.start()
            let task = try Self.failed(program)
            let held = Signal()
            defer { held.fire() }
            program.fixture?.faults = [.init(.first(.start), .stall(until: held))]
            #expect(try program.call("uploadTask/retry", ["task": .string(task.id)])["accepted"] == true)
            try program.kill()
            try program.start()
            #expect(try program.tasks().map(\.state) == ["paused"])
            try program.terminate()
        }
    }

    @Test func `A retried upload to the embedded engine continues after a kill, and replaces an older object`()
        async throws
    {
        try await RestartableService.run(.embedded) { program in
            let bytes = noise(1000, seed: 5)
            try program.start("--harness")
            try program.call("reference/putData", ["reference": "gs://default-bucket/a", "text": "old", "wait": true])
            try program.call("storage/updateSettings", ["maxUploadRetryTime": 0])
            try program.call("harness/arm", ["on": "whole", "do": ["fail": ["httpStatus": 503]]])
            let file = try program.write(bytes, to: "source")
            // It is recorded only now that it has ended.
            let error = try program.refused {
                try program.call(
                    "reference/putFile",
                    ["reference": "gs://default-bucket/a", "file": .string(file), "wait": true])
            }
            #expect(error["data"]?["name"] == "retryLimitExceeded")
            let id = try program.tasks().last?.id ?? ""
            try program.kill()
            try program.start("--harness")
            try program.call("harness/arm", ["on": "whole", "do": ["hold": true]])
            #expect(try program.call("uploadTask/retry", ["task": .string(id)])["accepted"] == true)
            #expect(try program.call("harness/settled")["held"]?.array?.count == 1)
            try program.kill()
            try program.start("--tasks", "resume")
            #expect(try program.call("uploadTask/wait", ["task": .string(id)]).state == "success")
            _ = try program.expectObject("a", bytes)
            try program.terminate()
        }
    }

    @Test func `A file that was changed since is not uploaded by a retry`() async throws {
        try await RestartableService.run(.gcs) { program in
            try program.start()
            let task = try Self.failed(program)
            _ = try program.write(noise(Self.size, seed: 9), to: "source")
            #expect(try program.call("uploadTask/retry", ["task": .string(task.id)])["accepted"] == true)
            let error = try program.refused { try program.call("uploadTask/wait", ["task": .string(task.id)]) }
            #expect(error["data"]?["retryable"] != true)
            #expect(try program.call("uploadTask/retry", ["task": .string(task.id)])["accepted"] == false)
            try program.terminate()
        }
    }

    @Test func `A failed download is retried after a kill`() async throws {
        try await RestartableService.run(.gcs) { program in
            try program.start()
            let task = try Self.failed(program)
            try program.call("uploadTask/retry", ["task": .string(task.id)])
            try program.call("uploadTask/wait", ["task": .string(task.id)])
            program.fixture?.faults = [.init(.first(.media), .answer(503))]
            let file = program.directory + "/copy"
            let download = try program.call(
                "reference/writeToFile", ["reference": "gs://default-bucket/a", "file": .string(file)])
            _ = try program.refused { try program.call("downloadTask/wait", ["task": .string(download.id)]) }
            try program.kill()
            try program.start()
            #expect(try program.call("downloadTask/retry", ["task": .string(download.id)])["accepted"] == true)
            #expect(try program.call("downloadTask/wait", ["task": .string(download.id)]).state == "success")
            #expect(try Data(contentsOf: URL(filePath: file)) == Data(noise(Self.size)))
            try program.terminate()
        }
    }
}
