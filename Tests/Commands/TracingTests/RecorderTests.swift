import Platform
import Foundation
import Glibc
import JSONRPC
import JSONText
import TestSupport
import Testing
import Tracing

/// The lines of a trace: all messages in order, or the number of missing ones.
@Suite(.watchdog) struct RecorderTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "trace-\(UUID().uuidString)").path

    private func recorder(capacity: Int = 16 << 20, report: @escaping @Sendable (String) -> Void = { _ in }) throws
        -> TraceRecorder
    {
        try TraceRecorder(
            path, version: "1", engine: "embedded", process: 7, time: .system, capacity: capacity, report: report)
    }

    private func lines() throws -> [JSON] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { try json(String($0)) }
    }

    private func cleanUp() { unlink(path) }

    @Test func `The trace has the messages of all connections in order`() throws {
        defer { cleanUp() }
        let recorder = try recorder()
        let taps = [recorder.trace(1), recorder.trace(2)]
        recorder.began(1, "stdio")
        for number in 0..<2000 {
            tell(taps[number % 2], number % 3 == 0 ? .client : .service, #"{"id":\#(number),"method":"m"}"#)
        }
        recorder.ended(1)
        recorder.flush(milliseconds: 60_000)
        let lines = try lines()
        #expect(lines.count == 2003)
        #expect(lines[0]["trace"] == 1 && lines[0]["version"] == "1" && lines[0]["pid"] == 7)
        #expect(lines[1]["began"] == "stdio" && lines[2002]["ended"] == true)
        for number in 0..<2000 {
            let line = lines[number + 2]
            #expect(line["message"]?["id"] == JSON(Int64(number)))
            #expect(line["connection"] == JSON(Int64(number % 2 + 1)))
            #expect(line["from"]?.string == (number % 3 == 0 ? "client" : "service"))
        }
        let times = lines.compactMap { $0["at"]?.number?.double }
        #expect(times.count == lines.count && times == times.sorted())
    }

    @Test func `A change of a task is a line without a connection, and without secrets`() throws {
        defer { cleanUp() }
        let recorder = try recorder()
        recorder.changed(
            Array(
                #"{"task":"t","state":"running","retry":{"error":{"message":"Refused: https://h/?upload_id=Tq7-secret"}}}"#
                    .utf8))
        recorder.flush(milliseconds: 60_000)
        let line = try #require(try lines().last)
        #expect(line["task"]?["task"] == "t" && line["connection"] == nil && line["pid"] == 7)
        #expect(!line.text.contains("Tq7"))
    }

    @Test(arguments: [0o644, 0o666, 0o640, 0o777, 0o4700, 0o200] as [mode_t])
    func `An existing file becomes private, and keeps its lines`(mode: mode_t) throws {
        defer { cleanUp() }
        try Data("{}\n".utf8).write(to: URL(filePath: path))
        #expect(chmod(path, mode) == 0)
        // Only root can read a file without permissions.
        guard mode & 0o400 != 0 || geteuid() == 0 else { return }
        try recorder().flush(milliseconds: 60_000)
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o7777 == 0o600)
        #expect(try lines().count == 2)
    }

    @Test(arguments: [
        ("symbolic link", "it is a symbolic link"), ("dangling link", "it is a symbolic link"),
        ("hard link", "it has other names, too (hard links)"), ("pipe", "it is not a regular file"),
        ("socket", ""), ("directory", ""), ("another's", "it belongs to another user"),
    ])
    func `A file that is not regular, private and of this user is refused unchanged`(kind: String, reason: String)
        throws
    {
        let other = path + ".other"
        defer {
            cleanUp()
            rmdir(path)
            unlink(other)
        }
        try Data("other".utf8).write(to: URL(filePath: other))
        #expect(chmod(other, 0o644) == 0)
        switch kind {
        case "symbolic link": #expect(symlink(other, path) == 0)
        case "dangling link": #expect(symlink(path + ".none", path) == 0)
        case "hard link": #expect(link(other, path) == 0)
        case "pipe": #expect(mkfifo(path, 0o600) == 0)
        case "socket": #expect(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        case "directory": #expect(mkdir(path, 0o700) == 0)
        default:
            // Only root can change the owner of a file.
            guard geteuid() == 0 else { return }
            #expect(rename(other, path) == 0 && chown(path, 65534, 65534) == 0)
        }
        var (before, after) = (stat(), stat())
        #expect(lstat(path, &before) == 0)
        let error = #expect(throws: TraceUnavailable.self) { try recorder() }
        #expect(error?.message.hasPrefix("no trace can be written to \(path): \(reason)") == true)
        #expect(lstat(path, &after) == 0 && before.st_mode == after.st_mode && before.st_size == after.st_size)
        #expect(kind == "another's" || (stat(other, &after) == 0 && after.st_mode & 0o777 == 0o644))
        #expect(stat(path + ".none", &after) != 0)
    }

    @Test func `The file is private, and a second run continues after an incomplete line`() throws {
        defer { cleanUp() }
        do { try recorder().flush(milliseconds: 60_000) }
        var status = stat()
        #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(#"{"at":1,"#.utf8))
        try recorder().flush(milliseconds: 60_000)
        let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 3 && lines[1] == #"{"at":1,"# && lines[2].hasPrefix(#"{"trace":1"#))
    }

    @Test func `Messages beyond the capacity are counted, without a wait for the disk`() throws {
        defer { cleanUp() }
        let recorder = try recorder(capacity: 1)
        let trace = recorder.trace(1)
        let many = 10_000
        for number in 0..<many { tell(trace, .client, #"{"id":\#(number)}"#) }
        recorder.flush(milliseconds: 60_000)
        let lines = try lines()
        let dropped = lines.compactMap { $0["dropped"]?.number?.int64 }.reduce(0, +)
        let told = lines.filter { $0["message"] != nil }.count
        #expect(dropped > 0 && told > 0 && told + Int(dropped) == many)
        #expect(lines.last?["message"]?["id"] != nil || lines.last?["dropped"] != nil)
    }

    @Test func `Messages beyond the time limit at the end are counted`() throws {
        defer { cleanUp() }
        let recorder = try recorder()
        let trace = recorder.trace(1)
        let many = 20_000
        for number in 0..<many { tell(trace, .client, #"{"id":\#(number)}"#) }
        recorder.flush(milliseconds: 0)
        recorder.flush(milliseconds: 60_000)
        let lines = try lines()
        let dropped = lines.compactMap { $0["dropped"]?.number?.int64 }.reduce(0, +)
        #expect(lines.filter { $0["message"] != nil }.count + Int(dropped) == many)
    }

    @Test func `A message longer than the capacity is kept if nothing waits`() throws {
        defer { cleanUp() }
        let recorder = try recorder(capacity: 10)
        tell(
            recorder.trace(1), .client,
            #"{"method":"reference/putData","params":{"text":"\#(String(repeating: "a", count: 5000))"}}"#)
        recorder.flush(milliseconds: 60_000)
        #expect(try lines().last?["message"]?["params"]?["text"] == "<5000 bytes>")
    }

    @Test func `A malformed message is marked, and a deep or large one costs little`() throws {
        defer { cleanUp() }
        let recorder = try recorder()
        let trace = recorder.trace(1)
        tell(trace, .client, "{\"id\":1,}")
        tell(trace, .client, String(repeating: "[", count: 500) + String(repeating: "]", count: 500))
        let wide =
            "[" + Array(repeating: "\"\(String(repeating: "x y ", count: 500))\"", count: 30).joined(separator: ",")
            + "]"
        tell(trace, .service, #"{"id":2,"result":[\#(Array(repeating: wide, count: 30).joined(separator: ","))]}"#)
        recorder.flush(milliseconds: 60_000)
        let lines = try lines()
        #expect(lines.count == 4)
        #expect(lines[1]["broken"] == "{\"id\":1,}" && lines[1]["bytes"] == 9)
        #expect(lines[2]["broken"]?.string?.hasPrefix("[[[") == true)
        #expect(lines[3]["message"] == ["id": 2])
    }

    @Test func `A path that cannot be written to is an error at the start`() throws {
        defer { cleanUp() }
        symlink("/dev/null", path)
        for (path, reason) in [
            (path, "symbolic link"), ("/dev/null", "not a regular file"), ("/", "directory"),
            ("/none/x", "No such file"),
        ] {
            let error = #expect(throws: TraceUnavailable.self) {
                _ = try TraceRecorder(path, version: "1", engine: "embedded", process: 7, time: .system) { _ in }
            }
            #expect(error?.message.contains(path) == true && error?.message.contains(reason) == true)
        }
    }

    private func tell(_ trace: TraceHook, _ sender: MessageSender, _ text: String) {
        Array(text.utf8).withUnsafeBytes { trace(sender, $0) }
    }
}
