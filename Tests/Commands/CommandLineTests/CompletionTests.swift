import CommandLine
import Foundation
import TestSupport
import Testing

@Suite(.watchdog) struct CompletionTests {
    private func lines(_ words: [String]) throws -> [String] {
        guard case .complete(let request) = try Command(["complete"] + words) else { return ["no completion"] }
        return request.lines
    }

    /// The candidates for the last word, without their notes.
    private func candidates(_ words: String...) throws -> [String] {
        try lines(["zsh", "--"] + words).map { $0.split(separator: "\t")[0].description }
    }

    /// What bash puts in the place of the last word of a line.
    private func typed(_ line: String) throws -> [String] {
        try lines(["bash", "storage-rpc", line, " \t\n\"'><=;|&(:"])
    }

    @Test func `Commands, flags and topics of help begin with the word`() throws {
        #expect(try candidates("ca") == ["cat", "call"])
        #expect(try candidates("put", "--no-") == ["--no-clobber"])
        #expect(try candidates("help", "c").contains("copying"))
        #expect(try candidates("help", "ga") == ["gateway", "gateway.md"])
        #expect(try candidates("help", "--completions", "") == ["bash", "zsh", "fish"])
        #expect(try candidates("--allow-o") == ["--allow-origin"])
        #expect(try candidates("nothing", "-").isEmpty)
        #expect(try lines(["fish", "--", "cat", "--qui"]) == ["--quiet\tprint only errors and JSON"])
    }

    @Test func `Flags with a few values have them behind a space and behind a sign of equality`() throws {
        #expect(try candidates("ls", "--engine", "") == ["embedded", "firebase", "gcs", "s3"])
        #expect(try candidates("ls", "--engine=f") == ["--engine=firebase"])
        #expect(try candidates("put", "--progress", "b") == ["bar"])
        #expect(try candidates("--log-level", "w") == ["warning"])
        #expect(try candidates("ls", "--custom", "").isEmpty)
        #expect(try candidates("cat", "--", "--exa").isEmpty)
    }

    @Test func `Words are of the kinds that the synopsis says`() throws {
        #expect(try candidates("tasks", "re") == ["resume", "retry"])
        #expect(try candidates("call", "service/pi") == ["service/ping"])
        #expect(try candidates("call", "service/ping", "").isEmpty)
        #expect(try candidates("serve", "").isEmpty)
    }

    @Test func `Files are completed with a slash behind directories, but for odd and hidden names`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "completion-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory + "/a dir", withIntermediateDirectories: true)
        for name in ["a$b", "b", ".hidden", "a\nline"] {
            #expect(FileManager.default.createFile(atPath: "\(directory)/\(name)", contents: nil))
        }
        #expect(
            try candidates("put", directory + "/") == ["\(directory)/a dir/", "\(directory)/a$b", "\(directory)/b"])
        #expect(try candidates("trace", directory + "/.h") == [directory + "/.hidden"])
        #expect(try candidates("cat", directory + "/").isEmpty)
        #expect(try typed("storage-rpc put \(directory)/a") == [#"\#(directory)/a\ dir/"#, #"\#(directory)/a\$b"#])
        #expect(try typed("storage-rpc put '\(directory)/a") == ["\(directory)/a dir/", "\(directory)/a$b"])
        #expect(try typed("storage-rpc put \"\(directory)/a$") == ["\(directory)/a\\$b"])
    }

    @Test func `Of a word bash replaces what follows the last break`() throws {
        #expect(try typed("storage-rpc ls --engine=f") == ["firebase"])
        #expect(try typed("echo a; X=1 storage-rpc ls --engine gc") == ["gcs"])
        #expect(try typed("storage-rpc ls '--engine=f") == ["--engine=firebase"])
    }

    @Test func `Only shells ask for completions`() {
        #expect(throws: UsageError.self) { try Command(["complete"]) }
        #expect(throws: UsageError.self) { try Command(["complete", "bash", "put"]) }
    }
}
