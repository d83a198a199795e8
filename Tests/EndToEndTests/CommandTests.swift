import Foundation
import JSONText
import TestSupport
import Testing

/// The commands that people type.
@Suite(.watchdog) struct CommandTests {
    let directory = FileManager.default.temporaryDirectory.appending(path: "commands-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

    @Test func `put, ls, get and rm store, list, download and delete objects`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let bytes = Data("Hello, world!".utf8)
        try bytes.write(to: directory.appending(path: "in"))
        for name in ["a/c", "a-b", "a/b"] {
            #expect(try await run("put", "in", name).status == 0)
        }
        #expect(try await run("ls") == (0, "a-b\na/\n"))
        #expect(try await run("ls", "gs://default-bucket/a") == (0, "b\nc\n"))
        #expect(try await run("ls", "nothing") == (1, ""))
        #expect(try await run("ls", "a-b") == (0, "a-b\n"))
        let got = try await run("get", "a/b", "out", "--json")
        #expect(got.status == 0 && got.output.contains(#""size":13"#))
        #expect(try Data(contentsOf: directory.appending(path: "out")) == bytes)
        #expect(try await run("rm", "a/b", "none", "a-b") == (1, ""))
        #expect(try await run("rm", "none") == (1, ""))
        #expect(try await run("ls") == (0, "a/\n"))
        #expect(try await run("get", "a/b", "out") == (1, ""))
        #expect(try Data(contentsOf: directory.appending(path: "out")) == bytes)
    }

    @Test(arguments: ["--if-generation-match", "--if-metageneration-match"])
    func `put and rm fail if the stored version does not match the precondition`(flag: String) async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data("Hello".utf8).write(to: directory.appending(path: "in"))
        #expect(try await run("put", "in", "a", flag, "1").status == 1)
        let put = try await run("put", "in", "a", "--json", "\(flag)=0")
        let stored = try #require(put.status == 0 ? JSON(parsing: put.output) : nil)
        let generation = try #require(stored["generation"]?.string)
        for words in [["put", "in", "a"], ["rm", "a"]] {
            let refused = await Command(
                Self.program.path, words + [flag, "0"] + root, environment: ["TMPDIR": directory.path],
                in: directory.path, withErrors: true
            ).run()
            let present = "generation \(generation), metageneration 1. (preconditionFailed)"
            #expect(refused.status == 1 && refused.text.contains(present), "\(refused.text)")
        }
        let version = flag == "--if-generation-match" ? generation : "1"
        #expect(try await run("rm", "a", flag, version).status == 0)
        #expect(try await run("ls") == (0, ""))
    }

    @Test func `With --exact the commands list and use names with empty segments`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data().write(to: directory.appending(path: "in"))
        #expect(try await run("put", "in", "gs://default-bucket/a/", "--exact").status == 0)
        #expect(try await run("put", "in", "a//b", "--exact").status == 0)
        #expect(try await run("ls", "a") == (1, ""))
        #expect(try await run("ls", "--exact") == (0, "a/\n"))
        #expect(try await run("ls", "a", "--exact") == (0, "a/\na//\n"))
        #expect(try await run("ls", "a//", "--exact") == (0, "a//b\n"))
        #expect(try await run("rm", "gs://default-bucket/a/") == (64, ""))
        #expect(try await run("rm", "gs://default-bucket/a/", "a//b", "--exact").status == 0)
        #expect(try await run("ls", "gs://default-bucket", "--exact") == (0, ""))
    }

    @Test(arguments: [[], ["--exact"]])
    func `Names are compared by bytes, and a slash before a combining character separates`(flags: [String]) async throws
    {
        defer { try? FileManager.default.removeItem(at: directory) }
        let names = ["cafe\u{301}", "caf\u{E9}", "\u{600}/\u{301}x"]
        for (number, name) in names.enumerated() {
            let file = directory.path + "/\u{301}\(number)"
            try Data([0x30 + UInt8(number)]).write(to: URL(filePath: file))
            #expect(try await run(["put", file, "gs://default-bucket/" + name] + flags).status == 0)
        }
        let (status, list) = try await run(["ls"] + flags)
        let lines = "cafe\u{301}\ncaf\u{E9}\n\u{600}/\n"
        #expect(status == 0 && list.utf8.elementsEqual(lines.utf8), "\(list.debugDescription)")
        #expect(
            try await run(["ls", "\u{600}"] + flags).output.utf8.elementsEqual(
                (flags.isEmpty ? "\u{301}x\n" : "\u{600}/\u{301}x\n").utf8))
        #expect(try await run(["rm", names[1]] + flags).status == 0)
        for (number, name) in names.enumerated() {
            let got = try await run(["get", name, "-"] + flags)
            #expect(got == (number == 1 ? (1, "") : (0, "\(number)")))
        }
    }

    @Test func `The value of a flag may begin with a combining character`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let root = directory.path + "/root/\u{301}"
        let program = Self.program.path
        let put = ["put", "/dev/null", "a", "--bucket=\u{301}b", "--root", root]
        #expect(Command(program, put).runHere().status == 1, "a device is no file")
        #expect(FileManager.default.fileExists(atPath: root + "/storage.sqlite3"))
    }

    @Test func `A download to stdout writes the bytes of the object and nothing else`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let bytes = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7919 >> 4) })
        try bytes.write(to: directory.appending(path: "in"))
        #expect(try await run("put", "in", "a").status == 0)
        let got = await Command(
            Self.program.path, ["get", "a", "-"] + root, environment: ["TMPDIR": directory.path], in: directory.path
        ).run()
        #expect(got.status == 0 && Data(got.output) == bytes)
        #expect(try await run("get", "none", "-") == (1, ""))
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path)
        #expect(left.sorted() == ["in", "root"])
    }

    @Test(arguments: [
        ["get"], ["get", "a", "b", "c"], ["cp", "a"], ["set", "a"], ["set", "--custom", "a"], ["tasks", "end", "1"],
        ["call"], ["call", "service/ping", "{"], ["call", "service/ping", "3"], ["put", "a", "az://b/c"], ["rm", "."],
        ["ls", "a/../b"], ["help", "nothing"], ["put", "-", "b", "c/"], ["rm"], ["url"],
        ["url", "a", "b"], ["put", "a"],
        ["ls", "--what"], ["lst"], ["--help=1"], ["ls", "--help=1"], ["--version=1"], ["--max-tasks", "0"],
        ["ls", "--engine", "gcs", "--endpoint", "http://127.0.0.1:99999"], ["trace"], ["trace", "a", "b"],
        ["trace", "a", "--html"], ["url", "a", "--expires-in", "604801"], ["ls", "--user-project", "payer"],
        ["ls", "--engine", "s3", "--anonymous", "--profile", "p"],
        ["ls", "--engine", "s3", "--access-key-file", "f", "--anonymous"],
        ["ls", "--engine", "gcs", "--user-project", "a b"], ["rm", "a", "--if-generation-match", "-1"],
        ["ls", "--bucket", "a/b"], ["ls", "--bucket", "gs://a/b"], ["ls", "--bucket", "https://a.example"],
        ["ls", "--max-upload-retry-time", "-1"], ["ls", "--max-download-retry-time", "nan"],
        ["--max-operation-retry-time", "soon"], ["--upload-chunk-size-bytes", "0"],
        ["put", "a", "b", "--if-metageneration-match"], ["get", "a", "b", "--if-generation-match", "1"],
    ])
    func `An invalid command line exits with status 64`(words: [String]) async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        #expect(try await run(words) == (64, ""))
    }

    @Test(arguments: ["photos", "gs://photos", "gs://photos/"])
    func `--bucket accepts a bucket name or its gs URL`(bucket: String) async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data().write(to: directory.appending(path: "in"))
        #expect(try await run("put", "in", "a", "--bucket", bucket).status == 0)
        #expect(try await run("ls", "gs://photos") == (0, "a\n"))
    }

    @Test(arguments: ["get", "ls", "rm", "url", "trace"])
    func `Each command has a help page`(command: String) async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let help = try await run(command, "--help")
        #expect(help.status == 0 && help.output.contains("storage-rpc \(command) "))
    }

    private var root: [String] { ["--root", directory.appending(path: "root").path] }

    @Test func `A command reports the reason and the delay of a retry`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data([1]).write(to: directory.appending(path: "in"))
        let fixture = try StorageFixture()
        fixture.faults = [.init(.first(.multipart), .answer(503))]
        let words = ["put", "in", "a", "--engine", "gcs", "--endpoint", fixture.url]
        let outcome = await Command(
            Self.program.path, words + root, environment: ["TMPDIR": directory.path], in: directory.path,
            withErrors: true
        ).run()
        #expect(outcome.status == 0, "\(outcome.text)")
        let line = /The server answered 503.*\. Attempt 1 of upload, next in [01] s\./
        #expect(outcome.text.contains(line), "\(outcome.text)")
    }

    @Test func `A command says what it waits for at a server that is away`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let fixture = try StorageFixture()
        fixture.faults = [.init(.first(.list), .reset), .init(.nth(2, .list), .answer(503))]
        let words = ["ls", "gs://b", "--engine", "gcs", "--endpoint", fixture.url]
        let outcome = await Command(
            Self.program.path, words + root, environment: ["TMPDIR": directory.path], in: directory.path,
            withErrors: true
        ).run()
        #expect(outcome.status == 0, "\(outcome.text)")
        let away = /No answer from 127\.0\.0\.1:[0-9]+: .* Attempt 1, next in [01] s\./
        #expect(outcome.text.contains(away), "\(outcome.text)")
        #expect(outcome.text.contains(/The server answered 503.*\. Attempt 2, next in [0-4] s\./), "\(outcome.text)")
    }

    private func run(_ words: String...) async throws -> (status: Int32, output: String) { try await run(words) }

    private func run(_ words: [String]) async throws -> (status: Int32, output: String) {
        let outcome = await Command(
            Self.program.path, words + root, environment: ["TMPDIR": directory.path], in: directory.path
        ).run()
        return (outcome.status, outcome.text)
    }

    /// Beside the program that runs the tests.
    private static let program =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "storage-rpc")
}
