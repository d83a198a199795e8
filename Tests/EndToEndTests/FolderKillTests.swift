import Foundation
import JSONText
import TestSupport
import Testing

/// The program is ended while it works at folders, at many moments, and every engine ends what it began.
@Suite(.watchdog(minutes: 10)) struct FolderKillTests {
    private static let small = 150
    /// The names of the files, and their bytes. Two are transferred in pieces.
    private static let files: [String: [UInt8]] = {
        var files: [String: [UInt8]] = [
            "large/one.bin": noise(3 << 20, seed: 1), "large/two.bin": noise(2_500_001, seed: 2),
        ]
        for number in 0..<small { files["\(number % 7)/\(number).txt"] = noise(number * 17, seed: UInt64(number)) }
        return files
    }()

    @Test(arguments: RestartableService.Engine.allCases)
    func `Folders continue after a kill with the missing files, and have the same result as without it`(
        engine: RestartableService.Engine
    ) async throws {
        for kill in 0..<5 {
            try await RestartableService.run(engine) { program in
                try program.start()
                let source = try Self.makeFiles(program), copy = program.path("copy")
                let up: JSON = ["reference": "gs://default-bucket/up", "directory": .string(source), "delete": true]
                try Self.killed("reference/putDirectory", up, after: kill * 40, program)
                try Self.expectSame(try Self.goOn(program), "completed")
                let down: JSON = ["reference": "gs://default-bucket/up", "directory": .string(copy)]
                try Self.killed("reference/writeToDirectory", down, after: kill * 40, program)
                try Self.expectSame(try Self.goOn(program), "completed")
                #expect(try Self.files(in: copy) == Self.files)
                try Self.killed(
                    "reference/deleteAll", ["reference": "gs://default-bucket/up"], after: kill * 20, program)
                try Self.expectSame(try Self.goOn(program), "deleted")
                let left = try program.call(
                    "reference/listAll", ["reference": "gs://default-bucket", "recursive": true])
                #expect(left["items"]?.array?.isEmpty == true)
                try program.terminate()
            }
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `Folders that are copied and moved have each object once after a kill`(
        engine: RestartableService.Engine
    ) async throws {
        for kill in 0..<3 {
            try await RestartableService.run(engine) { program in
                try program.start()
                let source = try Self.makeFiles(program), copy = program.path("copy")
                let up: JSON = ["reference": "gs://default-bucket/up", "directory": .string(source), "wait": true]
                try program.call("reference/putDirectory", up)
                func killed(_ from: String, _ to: String, moves: Bool) throws {
                    let params: JSON = [
                        "reference": .string("gs://default-bucket/" + from), "to": .string("gs://default-bucket/" + to),
                        "move": .bool(moves), "atOnce": 8,
                    ]
                    try Self.killed("reference/copyAll", params, after: kill * 40 + 1, program)
                    try Self.expectSame(try Self.goOn(program), "completed")
                }
                try killed("up", "two", moves: false)
                try killed("up", "three/deep", moves: true)
                let left = try program.call(
                    "reference/listAll", ["reference": "gs://default-bucket", "recursive": true])
                let names = (left["items"]?.array ?? []).compactMap { $0["fullPath"]?.string }
                let expected = Self.files.keys.flatMap { ["two/" + $0, "three/deep/" + $0] }
                #expect(names.sorted() == expected.sorted())
                for folder in ["two", "three/deep"] {
                    let down: JSON = [
                        "reference": .string("gs://default-bucket/" + folder), "directory": .string(copy + folder),
                        "wait": true,
                    ]
                    try program.call("reference/writeToDirectory", down)
                    #expect(try Self.files(in: copy + folder) == Self.files)
                }
                try program.terminate()
            }
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `A move that is paused and resumed again and again moves each object once`(
        engine: RestartableService.Engine
    ) async throws {
        try await RestartableService.run(engine) { program in
            try program.start()
            let source = try Self.makeFiles(program)
            let up: JSON = ["reference": "gs://default-bucket/up", "directory": .string(source), "wait": true]
            try program.call("reference/putDirectory", up)
            let task = try program.call(
                "reference/copyAll",
                ["reference": "gs://default-bucket/up", "to": "gs://default-bucket/down", "move": true])
            for _ in 0..<20 {
                _ = try program.call("folderTask/pause", ["task": .string(task.id)])
                _ = try program.call("folderTask/resume", ["task": .string(task.id)])
            }
            try Self.expectSame(try program.call("folderTask/wait", ["task": .string(task.id)]), "completed")
            let left = try program.call("reference/listAll", ["reference": "gs://default-bucket", "recursive": true])
            let names = (left["items"]?.array ?? []).compactMap { $0["fullPath"]?.string }
            #expect(names.sorted() == Self.files.keys.map { "down/" + $0 }.sorted())
            try program.terminate()
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func
        `A folder that is paused and resumed again and again transfers each file once, and one that is cancelled stops`(
            engine: RestartableService.Engine
        ) async throws
    {
        try await RestartableService.run(engine) { program in
            try program.start()
            let source = try Self.makeFiles(program)
            let params: JSON = [
                "reference": "gs://default-bucket/up", "directory": .string(source), "ifGenerationMatch": 0,
            ]
            let task = try program.call("reference/putDirectory", params)
            for _ in 0..<20 {
                _ = try program.call("folderTask/pause", ["task": .string(task.id)])
                _ = try program.call("folderTask/resume", ["task": .string(task.id)])
            }
            let end = try program.call("folderTask/wait", ["task": .string(task.id)])
            let counts = try #require(end["files"])
            // What was stored when its answer was stopped counts as unchanged.
            let ended = (counts["completed"]?.number?.int64 ?? 0) + (counts["unchanged"]?.number?.int64 ?? 0)
            #expect(ended == Int64(Self.files.count) && counts["failed"]?.number?.int64 == 0)
            var cancelled = JSON.null
            for _ in 0..<100 where cancelled["accepted"] != true {
                // Nothing has changed: it may end before it is cancelled.
                let again = try program.call("reference/putDirectory", params)
                cancelled = try program.call("folderTask/cancel", ["task": .string(again.id)])
            }
            #expect(cancelled["snapshot"]?["state"]?.string == "cancelled")
            let listed = try program.tasks("upload").filter {
                $0["reference"]?["fullPath"]?.string?.hasPrefix("up") == true
            }
            #expect(listed.isEmpty, "the files of folders are no tasks of their own")
            try program.terminate()
        }
    }

    @Test(arguments: RestartableService.Engine.allCases)
    func `A folder that continues by itself replaces and removes nothing that is newer than its task`(
        engine: RestartableService.Engine
    ) async throws {
        for kill in 0..<3 {
            try await RestartableService.run(engine) { program in
                try program.start()
                let source = try Self.makeFiles(program), copy = program.path("copy")
                let newer = noise(1000, seed: 99), names = ["large/two.bin", "6/146.txt", "extra"]
                let up: JSON = [
                    "reference": "gs://default-bucket/up", "directory": .string(source), "delete": true, "atOnce": 4,
                ]
                // The clock of the fixture's server runs ahead with each change, so it does not show what is newer.
                if engine == .embedded {
                    try Self.continued("reference/putDirectory", up, after: kill * 40, program) {
                        for name in names { try Self.store(newer, "up/" + name, program) }
                    }
                    for name in names { _ = try program.expectObject("up/" + name, newer) }
                    _ = try program.expectObject("up/large/one.bin", Self.files["large/one.bin"] ?? [])
                } else {
                    let task = try program.call("reference/putDirectory", up)
                    try program.call("folderTask/wait", ["task": .string(task.id)])
                }

                let down: JSON = [
                    "reference": "gs://default-bucket/up", "directory": .string(copy), "delete": true, "atOnce": 4,
                ]
                try Self.continued("reference/writeToDirectory", down, after: kill * 40, program) {
                    for name in names + ["other"] {
                        let path = copy + "/" + name
                        try FileManager.default.createDirectory(
                            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
                        try Data(newer + [1]).write(to: URL(filePath: path))
                    }
                }
                for name in names + ["other"] {
                    #expect(try program.bytes("copy/" + name) == newer + [1], "\(name)")
                }

                guard engine == .embedded else { return try program.terminate() }
                let across: JSON = [
                    "reference": "gs://default-bucket/up", "to": "gs://default-bucket/across", "atOnce": 4,
                ]
                try Self.continued("reference/copyAll", across, after: kill * 40, program) {
                    for name in names { try Self.store(newer + [3], "across/" + name, program) }
                }
                for name in names { _ = try program.expectObject("across/" + name, newer + [3]) }
                _ = try program.expectObject("across/large/one.bin", Self.files["large/one.bin"] ?? [])

                let all: JSON = ["reference": "gs://default-bucket/up", "atOnce": 4]
                try Self.continued("reference/deleteAll", all, after: kill * 40, program) {
                    for name in ["up/large/two.bin", "up/other"] { try Self.store(newer + [2], name, program) }
                }
                let left = try program.call(
                    "reference/listAll", ["reference": "gs://default-bucket/up", "recursive": true])
                #expect(left["items"]?.array?.count == 2, "\(left.text)")
                for name in ["up/large/two.bin", "up/other"] { _ = try program.expectObject(name, newer + [2]) }
                try program.terminate()
            }
        }
    }

    private static func store(_ bytes: [UInt8], _ name: String, _ program: RestartableService) throws {
        let text = Data(bytes).base64EncodedString()
        try program.call(
            "reference/putData",
            ["reference": .string("gs://default-bucket/\(name)"), "data": .string(text), "wait": true])
    }

    /// Begins a task, pauses it once so many files were dealt with, changes something, kills the program, and waits until
    /// the task has continued by itself and ended.
    private static func continued(
        _ method: String, _ params: JSON, after files: Int, _ program: RestartableService, _ change: () throws -> Void
    ) throws {
        let task = try program.call(method, params)
        try untilDealt(files, of: task, program)
        _ = try program.call("folderTask/pause", ["task": .string(task.id)])
        try change()
        try program.kill()
        try program.start("--tasks", "resume")
        // It fails where it keeps something.
        _ = try program.answer("folderTask/wait", ["task": .string(task.id)])
    }

    private static func makeFiles(_ program: RestartableService) throws -> String {
        for (name, bytes) in files {
            let path = program.path("source/" + name)
            let directory = (path as NSString).deletingLastPathComponent
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data(bytes).write(to: URL(filePath: path))
        }
        return program.path("source")
    }

    private static func files(in directory: String) throws -> [String: [UInt8]] {
        var found: [String: [UInt8]] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
            guard let bytes = try? Data(contentsOf: URL(filePath: directory + "/" + name)) else { continue }
            found[name] = Array(bytes)
        }
        return found
    }

    /// Begins a task, kills the program once so many files were dealt with, and starts it again.
    private static func killed(_ method: String, _ params: JSON, after files: Int, _ program: RestartableService) throws
    {
        try untilDealt(files, of: try program.call(method, params), program)
        try program.kill()
        try program.start()
    }

    /// Returns once so many files were transferred or deleted, or the task has ended.
    private static func untilDealt(_ files: Int, of task: JSON, _ program: RestartableService) throws {
        try blockUntil {
            let snapshot = try program.call("folderTask/snapshot", ["task": .string(task.id)])
            let counts = snapshot["files"]
            let dealt = (counts?["completed"]?.number?.int64 ?? 0) + (counts?["deleted"]?.number?.int64 ?? 0)
            return dealt >= files || snapshot["state"]?.string != "running" && snapshot["state"]?.string != "queued"
        }
    }

    /// Resumes the task that was begun last, unless it has ended, and returns its end.
    private static func goOn(_ program: RestartableService) throws -> JSON {
        let task = try #require(try program.tasks("folder").last)
        if task.state == "paused" {
            try program.call("folderTask/resume", ["task": .string(task.id)])
        } else {
            #expect(task.state == "success")
        }
        return try program.call("folderTask/wait", ["task": .string(task.id)])
    }

    private static func expectSame(_ end: JSON, _ count: String) throws {
        #expect(end.state == "success")
        #expect(end["files"]?[count]?.number?.int64 == Int64(files.count), "\(end.text)")
    }
}
