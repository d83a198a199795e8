import Foundation
import JSONText
import TestSupport
import Testing

/// Names with escape sequences: a terminal gets them escaped, a pipe unchanged.
@Suite(.watchdog) struct TerminalTests {
    private static let evil = "a\u{1B}]0;x\u{7}\u{9B}2J\u{202E}gpj.\u{7F}\u{2066}\u{85}é👩‍👧"
    private static let shown = #"a\u{1b}]0;x\u{7}\u{9b}2J\u{202e}gpj.\u{7f}\u{2066}\u{85}é👩‍👧"#

    /// What the program writes to stdout, which is a terminal or a pipe, and to stderr, which is a file.
    private static func run(
        _ words: [String], onTerminal: Bool = false, environment: [String: String] = [:], in directory: String
    ) throws -> (out: String, err: String) {
        let script = """
            import os, pty, subprocess, sys, termios
            reader, writer = pty.openpty() if sys.argv[1] == "pty" else os.pipe()
            if sys.argv[1] == "pty":
                modes = termios.tcgetattr(writer)
                modes[1] &= ~termios.OPOST
                termios.tcsetattr(writer, termios.TCSANOW, modes)
            with open(sys.argv[2], "wb") as errors:
                process = subprocess.Popen(sys.argv[3:], stdin=subprocess.DEVNULL, stdout=writer, stderr=errors)
            os.close(writer)
            while True:
                try: some = os.read(reader, 65536)
                except OSError: break
                if not some: break
                sys.stdout.buffer.write(some)
            process.wait()
            """
        let errors = directory + "/stderr"
        let outcome = Command(
            "python3", ["-c", script, onTerminal ? "pty" : "pipe", errors, ServiceProcess.program] + words,
            environment: environment.merging(["NO_COLOR": "1"]) { own, _ in own }, in: directory, withErrors: true
        ).runHere()
        return (outcome.text, try String(contentsOfFile: errors, encoding: .utf8))
    }

    private static func hasControls(_ text: String) -> Bool {
        text.unicodeScalars.contains {
            $0 != "\n" && ($0.properties.generalCategory == .control || $0.properties.isBidiControl)
        }
    }

    private static func json(_ text: String) throws -> JSON {
        try Array(text.utf8).withUnsafeBytes { try JSON(parsing: $0) }
    }

    @Test func `Control characters in names are escaped on a terminal and kept in a pipe`() async throws {
        try await onThread {
            try withTemporaryDirectory { directory in
                let (evil, root) = (Self.evil, ["--root", directory + "/root"])
                try Data("x".utf8).write(to: URL(filePath: directory + "/" + evil))
                for words in [["put", evil, "d/" + evil], ["get", "d/" + evil, evil], ["ls", "d"]] {
                    let shown = try Self.run(words + root, onTerminal: true, in: directory).out
                    #expect(!Self.hasControls(shown) && shown.contains(Self.shown), "\(words) \(shown)")
                    let piped = try Self.run(words + root, in: directory).out
                    #expect(piped.utf8.contains(Array(evil.utf8)), "\(words) \(piped)")
                }
                let list = ["ls", "d", "--json"] + root
                let shown = try Self.run(list, onTerminal: true, in: directory).out
                #expect(!Self.hasControls(shown), "\(shown)")
                #expect(try Self.json(shown) == Self.json(Self.run(list, in: directory).out))
            }
        }
    }

    @Test func `A terminal shows a page of the documentation in the pager, a pipe gets its text`() async throws {
        try await onThread {
            try withTemporaryDirectory { directory in
                let (words, pager) = (["help", "gateway.md"], ["PAGER": "basename -a -- pager"])
                let shown = try Self.run(words, onTerminal: true, environment: pager, in: directory).out
                #expect(shown == "pager\ngateway.md\n")
                let piped = try Self.run(words, in: directory).out
                #expect(piped.hasPrefix("# "))
            }
        }
    }

    @Test func `Errors and logs always escape control characters in names`() async throws {
        try await onThread {
            try withTemporaryDirectory { directory in
                let (evil, root) = (Self.evil, ["--root", directory + "/root"])
                for words in [
                    ["get", evil, "x"] + root, ["rm", evil] + root, ["rm", evil, "b"] + root,
                    ["put", evil, "x"] + root,
                    [evil], ["--" + evil], ["trace", evil], ["ls", "--socket", evil],
                    ["serve", "--trace", evil + "/x"] + root,
                ] {
                    let errors = try Self.run(words, in: directory).err
                    #expect(errors.contains(Self.shown) && !Self.hasControls(errors), "\(words) \(errors)")
                }
                let trace = try Self.run(["get", evil, "x", "--trace"] + root, in: directory).err
                #expect(trace.contains(#"a\u001b]0;x\u0007\u009b2J\u202egpj"#) && !Self.hasControls(trace), "\(trace)")
            }
        }
    }

    @Test func `A timeline escapes control characters in names`() async throws {
        try await RestartableService.run(.embedded) { program in
            try program.start("--trace", program.path("trace"))
            _ = try program.answer("reference/getMetadata", ["reference": .string("gs://b/" + Self.evil)])
            try program.terminate()
            let shown = try Self.run(["trace", program.path("trace")], in: program.directory).out
            #expect(shown.contains(Self.shown) && !Self.hasControls(shown), "\(shown)")
        }
    }
}
