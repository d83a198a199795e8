import Foundation
import JSONText
import TestSupport
import Testing

/// What others write after a task over a folder has made its plan, and before it has dealt with all files.
@Suite(.watchdog) struct FolderPlanTests {
    private static let newer = noise(100, seed: 99)

    /// Begins a task, calls `change` when its first transfer is held, and returns how the task ends.
    private static func ended(
        _ method: String, _ params: JSON, holding operation: String, _ program: RestartableService,
        _ change: () throws -> Void
    ) throws -> JSON {
        try program.call("harness/arm", ["on": .string(operation), "do": ["hold": true]])
        let task = try program.call(method, params)
        try blockUntil { try program.call("harness/settled")["held"]?.array?.count == 1 }
        try change()
        try program.call("harness/release")
        _ = try program.answer("folderTask/wait", ["task": .string(task.id)])
        return try program.call("folderTask/snapshot", ["task": .string(task.id)])
    }

    private static func store(_ name: String, _ bytes: [UInt8], _ program: RestartableService) throws {
        let data = JSON.string(Data(bytes).base64EncodedString())
        let reference = JSON.string("gs://default-bucket/up/\(name)")
        try program.call("reference/putData", ["reference": reference, "data": data, "wait": true])
    }

    @Test func `Uploads replace objects that were stored after the plan, and no deletion removes one`() async throws {
        try await RestartableService.run(.embedded) { program in
            try FileManager.default.createDirectory(atPath: program.path("files"), withIntermediateDirectories: true)
            for name in ["a", "b"] { _ = try program.write(noise(10), to: "files/" + name) }
            try program.start("--harness")
            for name in ["b", "old", "replaced"] { try Self.store(name, [1], program) }
            let files = JSON.string(program.path("files"))
            let params: JSON = ["reference": "gs://default-bucket/up", "directory": files, "delete": true, "atOnce": 1]
            let end = try Self.ended("reference/putDirectory", params, holding: "whole", program) {
                for name in ["a", "b", "replaced"] { try Self.store(name, Self.newer, program) }
            }
            #expect(end.state == "failed" && end["files"]?["completed"] == 2)
            #expect(end["files"]?["deleted"] == 1 && end["files"]?["failed"] == 1)
            #expect(end["failures"]?.array?.first?["path"] == "replaced")
            for name in ["a", "b"] { _ = try program.expectObject("up/" + name, noise(10)) }
            _ = try program.expectObject("up/replaced", Self.newer)
            // It keeps what was stored after the plan.
            try program.call("reference/deleteAll", ["reference": "gs://default-bucket/up", "wait": true])
            let careful: JSON = [
                "reference": "gs://default-bucket/up", "directory": files, "ifGenerationMatch": 0, "atOnce": 1,
            ]
            let kept = try Self.ended("reference/putDirectory", careful, holding: "whole", program) {
                for name in ["a", "b"] { try Self.store(name, Self.newer, program) }
            }
            #expect(kept.state == "success" && kept["files"]?["unchanged"] == 2)
            for name in ["a", "b"] { _ = try program.expectObject("up/" + name, Self.newer) }
            try program.terminate()
        }
    }

    @Test func `Downloads replace files that were written after the plan, and no deletion removes one`() async throws {
        try await RestartableService.run(.embedded) { program in
            try FileManager.default.createDirectory(atPath: program.path("files"), withIntermediateDirectories: true)
            try program.start("--harness")
            for name in ["a", "b"] { try Self.store(name, noise(10), program) }
            for name in ["b", "changed", "old"] { _ = try program.write([1], to: "files/" + name) }
            let files = JSON.string(program.path("files"))
            let params: JSON = ["reference": "gs://default-bucket/up", "directory": files, "delete": true, "atOnce": 1]
            let end = try Self.ended("reference/writeToDirectory", params, holding: "fetch", program) {
                for name in ["b", "changed"] { _ = try program.write(Self.newer, to: "files/" + name) }
                try Self.store("b", noise(20), program)
            }
            #expect(end.state == "failed" && end["files"]?["completed"] == 2)
            #expect(end["files"]?["deleted"] == 1 && end["files"]?["failed"] == 1)
            #expect(end["failures"]?.array?.first?["path"] == "changed")
            #expect(try program.bytes("files/a") == noise(10) && program.bytes("files/b") == noise(20))
            #expect(try program.bytes("files/changed") == Self.newer)
            try program.terminate()
        }
    }

    @Test(arguments: [("reference/writeToDirectory", "fetch"), ("reference/putDirectory", "whole")])
    func `Nothing is read or changed behind a link in the place of the directory`(
        method: String, operation: String
    ) async throws {
        try await RestartableService.run(.embedded) { program in
            for name in ["files/a", "files/b", "files/old", "out/a", "out/b", "out/old"] {
                let file = URL(filePath: program.path(name))
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
                _ = try program.write(Self.newer, to: name)
            }
            try program.start("--harness")
            for name in ["a", "b", "c"] { try Self.store(name, noise(10), program) }
            let files = program.path("files")
            let params: JSON = [
                "reference": "gs://default-bucket/up", "directory": .string(files), "delete": true, "atOnce": 1,
            ]
            let end = try Self.ended(method, params, holding: operation, program) {
                try FileManager.default.moveItem(atPath: files, toPath: program.path("moved"))
                try FileManager.default.createSymbolicLink(
                    atPath: files, withDestinationPath: program.path("out"))
            }
            #expect(end.state == "failed" && end["files"]?["deleted"] == 0 && end["files"]?["failed"] != 0)
            let message = end["failures"]?.array?.last?["error"]?["message"]?.string
            #expect(message == "File \(files) cannot be used: it was moved or replaced meanwhile.")
            #expect(try FileManager.default.contentsOfDirectory(atPath: program.path("out")).count == 3)
            for name in ["out/a", "out/b", "moved/b"] { #expect(try program.bytes(name) == Self.newer) }
            _ = try program.expectObject("up/b", noise(10))
            // A retry uses what is at the path.
            let task: JSON = ["task": .string(end.id)]
            try program.call("folderTask/retry", task)
            let retried = try program.call("folderTask/wait", task)
            #expect(retried.state == "success")
            try program.terminate()
        }
    }

    @Test func `A directory at the place of a file is named as the reason, and does not count as an existing file`()
        async throws
    {
        try await RestartableService.run(.embedded) { program in
            let directory = program.path("files/a")
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try program.start("--harness")
            for name in ["a", "b", "c"] { try Self.store(name, noise(10), program) }
            _ = try program.write(Self.newer, to: "files/b")
            let params: JSON = [
                "reference": "gs://default-bucket/up", "directory": .string(program.path("files")),
                "ifGenerationMatch": 0, "atOnce": 1,
            ]
            let end = try Self.ended("reference/writeToDirectory", params, holding: "fetch", program) {}
            #expect(end.state == "failed" && end["files"]?["unchanged"] == 1 && end["files"]?["completed"] == 1)
            let failure = end["failures"]?.array?.first
            #expect(failure?["path"] == "a")
            #expect(failure?["error"]?["message"]?.string == "File \(directory) is not a regular file but a directory.")
            #expect(try program.bytes("files/b") == Self.newer && program.bytes("files/c") == noise(10))
            try program.terminate()
        }
    }
}
