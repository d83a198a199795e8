import Foundation
import JSONText
import TestSupport
import Testing

/// The program with another endpoint, on the root of an earlier one.
@Suite(.watchdog(minutes: 10)) struct OtherEndpointTests {
    static let remotes = [RestartableService.Engine.firebase, .gcs]

    /// An upload that was killed in its middle, one that has failed, and a download that was paused in its middle.
    private static func begun(_ program: RestartableService, until held: Signal) throws -> (
        uploads: [JSON], download: JSON
    ) {
        let file = try program.write(noise(600_000), to: "source")
        func put(_ name: String, _ file: String) -> JSON {
            ["reference": .string("gs://default-bucket/\(name)"), "file": .string(file)]
        }
        try program.start()
        let stored = try program.call("reference/putFile", put("stored", file))
        try program.call("uploadTask/wait", ["task": .string(stored.id)])
        let failed = try program.call("reference/putFile", put("failed", program.path("missing")))
        _ = try program.refused { try program.call("uploadTask/wait", ["task": .string(failed.id)]) }
        program.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
        let download = try program.call("reference/writeToFile", put("stored", program.path("target")))
        try program.until { $0.unfired.isEmpty }
        try program.call("downloadTask/pause", ["task": .string(download.id)])
        program.fixture?.faults = [.init(.byte(300_000), .stall(until: held))]
        _ = try program.call("reference/putFile", put("a", file))
        try program.until { $0.unfired.isEmpty }
        try program.kill()
        try program.start()
        let found = (try program.tasks(), try #require(program.tasks("download").first))
        try program.kill()
        return found
    }

    private static func told(_ tasks: [JSON], with endpoint: String) -> [JSON] {
        tasks.map { .object(($0.object ?? []) + [.init(key: "endpoint", value: .string(endpoint))]) }
    }

    @Test(arguments: remotes, ["pause", "resume", "forget"])
    func `Tasks of another endpoint are listed with that endpoint and resume only there`(
        engine: RestartableService.Engine, wish: String
    )
        async throws
    {
        try await RestartableService.run(engine) { one in
            let two = try RestartableService(engine, in: one.directory)
            let held = Signal()
            defer { held.fire() }
            let (uploads, download) = try Self.begun(one, until: held)
            #expect(uploads.map(\.state) == ["success", "failed", "paused"] && download.state == "paused")
            let (endpoint, paused) = (try #require(one.fixture).url, uploads[2].id)
            try two.start("--tasks", wish)
            #expect(try two.tasks() == Self.told(uploads, with: endpoint))
            #expect(try two.tasks("download") == Self.told([download], with: endpoint))
            let task: JSON = ["task": .string(paused)]
            #expect(try [two.call("uploadTask/snapshot", task)] == Self.told([uploads[2]], with: endpoint))
            let error = try two.refused { try two.call("uploadTask/resume", task) }
            #expect(error["code"]?.number?.int64 == -13050 && error["data"]?["param"]?.string == "task")
            #expect(error["message"]?.string?.contains("--endpoint \(endpoint) ") == true)
            #expect(try two.call("uploadTask/pause", task)["accepted"]?.bool == false)
            try two.terminate()
            #expect(two.fixture?.requests.isEmpty == true)
            held.fire()
            try one.start()
            #expect(try one.tasks() == uploads && one.tasks("download") == [download])
            try one.call("uploadTask/resume", task)
            #expect(try one.call("uploadTask/wait", task).state == "success")
            _ = try one.expectObject("a", noise(600_000))
            try one.terminate()
        }
    }

    @Test(arguments: remotes)
    func `Tasks of another endpoint can be cancelled without a request to a server`(engine: RestartableService.Engine)
        async throws
    {
        try await RestartableService.run(engine) { one in
            let two = try RestartableService(engine, in: one.directory)
            let held = Signal()
            defer { held.fire() }
            let (uploads, download) = try Self.begun(one, until: held)
            try two.start()
            let upload: JSON = ["task": .string(uploads[2].id)], fetch: JSON = ["task": .string(download.id)]
            try two.call("uploadTask/observe", ["task": .string(uploads[2].id), "status": "failure"])
            #expect(try two.call("uploadTask/cancel", upload)["accepted"]?.bool == true)
            try two.hear(1)
            #expect(try two.call("downloadTask/cancel", fetch)["accepted"]?.bool == true)
            try two.terminate()
            held.fire()
            try one.start()
            #expect(try one.call("uploadTask/snapshot", upload).state == "cancelled")
            #expect(try one.call("downloadTask/snapshot", fetch).state == "cancelled")
            try one.terminate()
            #expect(one.fixture?.log.cancelledSessions.isEmpty == true && two.fixture?.requests.isEmpty == true)
            try one.expectNothingLeft(objects: 1)
        }
    }
}
