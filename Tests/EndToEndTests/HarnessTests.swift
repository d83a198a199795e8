import Foundation
import JSONText
import TestSupport
import Testing

/// `serve --harness`, with the real program.
@Suite(.watchdog) struct HarnessTests {
    private func run(
        _ words: [String], in directory: String, environment: [String: String] = [:]
    ) async -> Command.Outcome {
        await Command(
            ServiceProcess.program, words, environment: environment.merging(["TMPDIR": directory]) { $1 },
            in: directory, withErrors: true
        ).run()
    }

    private func withDirectory(_ body: (String) async throws -> Void) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "harness-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try await body(directory.path)
    }

    @Test(arguments: [
        ["--engine", "firebase"], ["--engine", "gcs"], ["--engine", "gcs", "--endpoint", "https://example.com"],
    ])
    func `The harness refuses a service that is not on this machine`(flags: [String]) async throws {
        try await withDirectory { directory in
            let outcome = await run(
                ["serve", "--harness"] + flags, in: directory,
                environment: ["STORAGE_EMULATOR_HOST": "", "FIREBASE_STORAGE_EMULATOR_HOST": ""])
            #expect(outcome.status == 64 && outcome.text.contains("needs an --endpoint on this machine"))
        }
    }

    @Test(arguments: ["put", "connect"]) func `Commands other than serve refuse --harness`(command: String) async throws
    {
        try await withDirectory { directory in
            #expect(await run([command, "--harness"], in: directory).status == 64)
        }
    }

    @Test func `A harness without a root removes its temporary root at the end`() async throws {
        try await withDirectory { directory in
            let outcome = await run(["serve", "--harness"], in: directory)
            #expect(outcome.status == 0 && outcome.text.contains("clients may change faults"))
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left == [])
        }
    }

    @Test func `A start removes the temporary root of a harness that was killed`() async throws {
        try await withDirectory { directory in
            func shell(_ line: String) async -> Int32 {
                await Command("/bin/sh", ["-c", line], environment: ["TMPDIR": directory], in: directory).run().status
            }
            let lines = [
                #"{"jsonrpc":"2.0","id":1,"method":"harness/arm","params":{"on":"list","do":{"exit":9}}}"#,
                #"{"jsonrpc":"2.0","id":2,"method":"reference/list","params":{"reference":"gs://b"}}"#,
            ]
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: "\(directory)/input"))
            #expect(await shell("exec \(ServiceProcess.program) serve --harness < input") == 9)
            let before = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(before.count == 2)
            // Waits until only the input and the new root exist.
            let root = before.first { $0 != "input" } ?? ""
            let wait = "while [ $(ls | wc -l) != 2 ] || [ -e \(root) ]; do sleep 0.1; done"
            #expect(await shell("(\(wait)) | \(ServiceProcess.program) serve --harness") == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["input"])
        }
    }

    @Test func `A service that a rule ends at a byte restores the task afterwards`() async throws {
        try await RestartableService.run(.embedded) { program in
            let file = program.path("film")
            try Data(count: 1 << 20).write(to: URL(filePath: file))
            try program.start("--harness")
            let rule = #"{"on":"send","at":524288,"do":{"exit":9}}"#
            _ = try program.call("harness/arm", JSON(parsing: rule))
            let put = #"{"reference":"gs://b/film","file":"\#(file)"}"#
            let task = try program.call("reference/putFile", JSON(parsing: put))["task"]?.string ?? ""
            #expect(try program.ended() == 9)
            try program.start("--harness")
            let params: JSON = ["task": .string(task)]
            #expect(try program.call("uploadTask/snapshot", params)["state"] == "paused")
            _ = try program.call("uploadTask/resume", params)
            #expect(try program.call("uploadTask/wait", params)["state"] == "success")
            try program.terminate()
        }
    }

    @Test func `A repeated session gives the same output byte for byte`() async throws {
        try await withDirectory { directory in
            try Data(count: 1 << 20).write(to: URL(filePath: "\(directory)/film"))
            let calls = [
                #""harness/clock","params":{"at":"2026-01-01T00:00:00Z"}"#,
                #""storage/updateSettings","params":{"uploadChunkSizeBytes":262144}"#,
                #""harness/arm","params":{"on":"send","nth":2,"times":2,"do":{"fail":{"httpStatus":503}}}"#,
                #""reference/putFile","params":{"reference":"gs://b/f","file":"\#(directory)/film","observe":["pause"]}"#,
                #""harness/settled""#, #""harness/clock","params":{"advance":100}"#, #""harness/settled""#,
                #""reference/putData","params":{"reference":"gs://b/g","text":"x","wait":true}"#, #""harness/settled""#,
                #""uploadTask/list""#, #""reference/getMetadata","params":{"reference":"gs://b/f"}"#,
                #""harness/settled""#,
                #""harness/journal""#,
            ]
            let lines = calls.enumerated().map { #"{"jsonrpc":"2.0","id":\#($0),"method":\#($1)}"# }
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: "\(directory)/input"))
            let command = "\(ServiceProcess.program) serve --harness --max-requests 1 < input"
            let first = await Command("/bin/sh", ["-c", command], in: directory).run()
            let second = await Command("/bin/sh", ["-c", command], in: directory).run()
            #expect(first.status == 0 && first.text.contains(#""state":"success""#))
            #expect(first.text == second.text)
        }
    }

    @Test func `A service that cannot start leaves no temporary root`() async throws {
        try await withDirectory { directory in
            let words = ["serve", "--harness", "--socket", "\(directory)/none/socket"]
            #expect(await run(words, in: directory).status == 1)
            let left = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(left == [])
        }
    }

    @Test func `At the end of stdin, held tasks are paused and held requests are answered`() async throws {
        try await withDirectory { directory in
            try Data(count: 1 << 20).write(to: URL(filePath: "\(directory)/film"))
            let lines = [
                #"{"jsonrpc":"2.0","id":1,"method":"harness/arm","params":{"on":"send","do":{"hold":true}}}"#,
                #"{"jsonrpc":"2.0","id":2,"method":"harness/arm","params":{"on":"list","do":{"hold":true}}}"#,
                #"{"jsonrpc":"2.0","id":3,"method":"reference/putFile","params":{"reference":"gs://b/f","file":"\#(directory)/film"}}"#,
                #"{"jsonrpc":"2.0","id":4,"method":"reference/list","params":{"reference":"gs://b"}}"#,
            ]
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: "\(directory)/input"))
            let command = "\(ServiceProcess.program) serve --harness < input"
            let outcome = await Command("/bin/sh", ["-c", command], in: directory, withErrors: true).run()
            #expect(outcome.status == 0 && outcome.text.contains(#""id":4"#))
        }
    }
}
