import Glibc
import JSONText
import TestSupport
import Testing

/// Commands that give tokens, as the program starts them and ends them.
@Suite(.watchdog) struct TokenCommandTests {
    private let place = Place()
    private static let object = #"{"reference":"gs://b/a"}"#

    private func service(_ command: String, setUp: String = ":") throws -> (ServiceProcess, Caller) {
        try place.service(Place.unreachable + ["--id-token-command", command], setUp: setUp)
    }

    /// Starts the service with SIGCHLD ignored. Not every shell keeps that setting.
    private static let ignoringChildren = """
        exec python3 -c 'import os, signal, sys
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        os.execv(sys.argv[1], sys.argv[1:])' "$0" "$@"
        """

    @Test func `A token command that hangs is ended with the service`() async throws {
        try await onThread {
            let (service, client) = try service("echo asked >&2; trap '' TERM; sleep 1000 & sleep 1000")
            client.say("reference/getMetadata", Self.object)
            try service.waitForLog("asked")
            service.signal(SIGTERM)
            // The commands share stderr, so it ends only after all of them have ended.
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A request waits for a token command no longer than its retry time`() async throws {
        try await onThread {
            let (service, client) = try service("exec sleep 1000")
            try client.call("storage/updateSettings", #"{"maxOperationRetryTime":1}"#)
            let refusal = try client.refusal("reference/getMetadata", Self.object)
            try #require(refusal["code"]?.number?.int64 == -13020)
            try #require(refusal["message"]?.string == "The wait for a token took more than 1 seconds.")
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A cancelled request ends the token command that it waits for`() async throws {
        try await onThread {
            let (service, client) = try service("echo asked >&2; exec sleep 1000")
            client.say("reference/getMetadata", Self.object)
            try service.waitForLog("asked")
            client.wire.send(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#)
            try #require(try client.wire.next()?["error"]?["code"]?.number?.int64 == -32800)
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `The exit status of a token command is known although the parent ignores SIGCHLD`() async throws {
        try await onThread {
            let (service, client) = try service("exit 3", setUp: Self.ignoringChildren)
            let refusal = try client.refusal("reference/getMetadata", Self.object)
            try #require(refusal["message"]?.string == "The command of --id-token-command ended with status 3.")
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A command that is interrupted ends its token command`() async throws {
        let words =
            ["ls"] + Place.unreachable + [
                "--id-token-command", "echo $$; exec >&-; sleep 1000 & kill -INT $PPID; sleep 1000",
            ]
        let outcome = await Command(ServiceProcess.program, words, withErrors: true).run()
        try #require(outcome.status == 128 + 2, "SIGINT: \(outcome.text)")
    }
}
