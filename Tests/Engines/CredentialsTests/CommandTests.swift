import Platform
import Foundation
import Storage
import TestSupport
import Testing

@testable import Credentials

@Suite(.watchdog(minutes: 10)) struct CommandTests {
    private let day = TestDay()
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(_ line: String, _ kind: Token.Kind = .accessToken) -> CachedTokenSource {
        CachedTokenSource(kind, ShellCommand(line: Secret(line)), now: { [day] in day.now })
    }

    private func run(_ line: String, limit: Duration = .seconds(3600)) async -> Result<String, ShellCommand.Failure> {
        let command = ShellCommand(line: Secret(line), limit: limit)
        return await onThread { command.run() }.map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `A token command is ended if no thread can wait for it`() async throws {
        var command = ShellCommand(line: Secret("sleep 1000"))
        command.startThread = { _, _, _ throws(ThreadUnavailable) in throw ThreadUnavailable(code: EAGAIN) }
        let outcome = await onThread { [command] in command.run() }
        #expect(outcome == .failure(.notStarted("no thread can be started: Resource temporarily unavailable")))
    }

    @Test func `A command's token is kept until it is refused`() async throws {
        let path = try scratch.write("")
        let source = source("echo >> \(path); wc -l < \(path)")
        let first = try await source.token(.accessToken, insteadOf: nil)
        #expect(first == Token(.accessToken, "1"))
        #expect(try await source.token(.accessToken, insteadOf: nil) == first)
        #expect(try await source.token(.accessToken, insteadOf: first)?.secret == "2")
        #expect(try await source.token(.accessToken, insteadOf: first)?.secret == "2")
        #expect(try await source.token(.idToken, insteadOf: nil) == nil)
    }

    @Test func `A command runs again when its token is about to expire`() async throws {
        let path = try scratch.write("")
        let source = source(#"echo >> \#(path); echo "{\"access_token\":\"t$(wc -l < \#(path))\",\"expires_in\":100}""#)
        #expect(try await source.token(.accessToken, insteadOf: nil)?.secret == "t1")
        day.pass(seconds: 39)
        #expect(try await source.token(.accessToken, insteadOf: nil)?.secret == "t1")
        day.pass(seconds: 1)
        #expect(try await source.token(.accessToken, insteadOf: nil)?.secret == "t2")
    }

    @Test func `A token command that returns the refused token again gives no token`() async throws {
        let source = source("echo secret")
        let token = try await source.token(.accessToken, insteadOf: nil)
        let error = try await failure(of: source, insteadOf: token)
        #expect(
            error.message == "The command of --access-token-command gave again the token that the server had refused.")
        #expect(try await source.token(.accessToken, insteadOf: nil) == token)
    }

    @Test(arguments: [
        ("echo secret; exit 3", "--id-token-command ended with status 3."), ("kill -9 $$", "ended by signal 9"),
        ("true", "printed is empty."),
        (#"echo '{"token":"a","token":"b"}'"#, "JSON in which a name occurs twice."),
        ("echo '{\"secret\":1}'", "JSON without id_token or token."),
        ("echo a secret", "there is a space in it."), ("exec no-such-command 2>/dev/null", "ended with status 127."),
        ("yes secret", "printed more than 65536 bytes and was ended."),
        (#"echo '{"id_token":"secret","expiry":"2001-01-01T00:00:00Z"}'"#, "had expired at 2001-01-01T00:00:00.000Z."),
    ])
    func `A failed command is an error with its flag and its exit`(line: String, reason: String) async throws {
        let error = try await failure(of: source(line, .idToken), .idToken)
        #expect(error.message.hasSuffix(reason) || error.message.contains(reason))
        #expect(error.message.contains("--id-token-command") && !error.message.contains("secret"))
    }

    @Test func `A command that exceeds the time limit is ended with its processes`() async throws {
        let (pipe, reader) = try openPipe()
        defer { close(reader) }
        let outcome = await run(
            "exec 5> \(pipe); echo >&5; trap '' TERM; sleep 1000 & sleep 1000", limit: .milliseconds(300))
        #expect(outcome == .failure(.tooSlow(.milliseconds(300))))
        // The end of a pipe can be read only after it was opened for writing: sh may have been ended before it did.
        close(open(pipe, O_WRONLY | O_NONBLOCK))
        while try await nextByte(of: reader) {}
    }

    @Test func `A command whose callers are cancelled is ended with its processes`() async throws {
        let (pipe, reader) = try openPipe()
        defer { close(reader) }
        let line = "exec 5> \(pipe); echo >&5; trap '' TERM; sleep 1000 & sleep 1000"
        let command = ShellCommand(line: Secret(line), limit: .seconds(1000))
        let source = CachedTokenSource(.accessToken, command, now: { [day] in day.now })
        let asking = Task { try await source.token(.accessToken, insteadOf: nil) }
        #expect(try await nextByte(of: reader))
        asking.cancel()
        let error = await #expect(throws: StorageError.self) { try await asking.value }
        #expect(error?.code == .cancelled)
        #expect(try await !nextByte(of: reader), "somebody still has the pipe open")
    }

    @Test func `The end of the service ends its commands, and no other starts`() async throws {
        let (pipe, reader) = try openPipe()
        defer { close(reader) }
        let command = ShellCommand(line: Secret("exec 5> \(pipe); echo >&5; sleep 1000 & sleep 1000"))
        async let outcome = onThread { command.run() }
        #expect(try await nextByte(of: reader))
        command.running.stopAll()
        #expect(await outcome == .failure(.killed(signal: SIGKILL)))
        #expect(try await !nextByte(of: reader), "somebody still has the pipe open")
        #expect(await onThread { command.run() } == .failure(.stopped))
    }

    /// A named pipe and its read end.
    private func openPipe() throws -> (path: String, reader: Int32) {
        let path = try scratch.makePipe()
        let reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        return (path, reader)
    }

    /// False when no process can write any more.
    private func nextByte(of reader: Int32) async throws -> Bool {
        try await onThread {
            try blockUntilReadable(reader)
            var byte: UInt8 = 0
            return read(reader, &byte, 1) > 0
        }
    }

    @Test func `A command that closes its output is waited for until it exits`() async throws {
        #expect(
            await run("echo early; exec >&-; sleep 1000", limit: .milliseconds(300))
                == .failure(.tooSlow(.milliseconds(300))))
        #expect(await run("echo early; exec >&-; exit 4") == .failure(.ended(status: 4)))
    }

    @Test func `A background process of a command does not delay the token`() async throws {
        let process = try #require(try await pid_t(run("sleep 1000 & echo $!").get().dropLast()))
        #expect(kill(process, SIGKILL) == 0)
    }

    @Test func `A command that prints more than the maximum size of a token fails`() async throws {
        let line = "head -c 65536 /dev/zero | tr '\\0' x"
        #expect(try await run(line).get().utf8.count == 65_536)
        #expect(await run("\(line); echo") == .failure(.tooMuch(bytes: 65_536)))
    }

    @Test func `A command has an empty stdin and the stderr of the service`() async throws {
        #expect(try await run("cat; echo done").get() == "done\n")
        let ours = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/2")
        #expect(try await run("readlink /proc/$$/fd/2").get() == ours + "\n")
    }

    @Test func `A command inherits no other descriptors`() async throws {
        let leaky = dup(STDERR_FILENO)
        defer { close(leaky) }
        #expect(
            try await run("exec 2>/dev/null; cd /proc/$$/fd; for f in *; do test -e $f && echo $f; done; true").get()
                .split(
                    separator: "\n"
                ).filter { $0.count < 2 } == ["0", "1", "2"])
        #expect(try await run("test -e /proc/$$/fd/\(leaky) && echo leaked || echo none").get() == "none\n")
    }

    /// Except the two signals that glibc reserves.
    private func isEmptySet(_ line: Substring) -> Bool {
        UInt64(line.suffix(16), radix: 16).map { $0 & ~0x1_8000_0000 == 0 } ?? false
    }

    @Test func `A command has the default signal handlers and mask`() async throws {
        let outcome = await withCheckedContinuation { waiter in
            startTestThread("blocked") {
                var all = sigset_t()
                sigfillset(&all)
                pthread_sigmask(SIG_BLOCK, &all, nil)
                waiter.resume(returning: ShellCommand(line: Secret("grep -E 'Sig(Blk|Ign)' /proc/self/status")).run())
            }
        }
        let lines = try String(decoding: outcome.get(), as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2 && lines.allSatisfy(isEmptySet), "\(lines)")
    }
}
