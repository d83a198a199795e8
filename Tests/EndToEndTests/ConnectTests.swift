import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// `storage-rpc connect`: clients that share the service of a root without having started it.
@Suite(.watchdog) struct ConnectTests {
    private let place = Place()

    /// A client that is connected through `connect`, and the process that relays its messages.
    private struct Relayed {
        let relay: ServiceProcess
        let client: Caller

        func servicePID() throws -> pid_t {
            pid_t(try client.call("service/status")["pid"]?.number?.int64 ?? 0)
        }
    }

    private func connect(_ flags: [String] = [], root: String? = nil) throws -> Relayed {
        let idle = flags.contains("--idle-timeout") ? [] : ["--idle-timeout", "5"]
        let wait = flags.contains("--wait-for-root") ? [] : ["--wait-for-root", "60"]
        let relay = try ServiceProcess(["connect", "--root", root ?? place.root] + idle + wait + flags)
        return Relayed(relay: relay, client: Caller(WireClient(reading: relay.output, writing: relay.input)))
    }

    @Test func `Clients that connect share one service, even if they connect simultaneously`() async throws {
        try await onThread {
            let all = try (0..<8).map { _ in try connect() }
            let services = try Set(all.map { try $0.servicePID() })
            try #require(services.count == 1 && !services.contains(all[0].relay.id))
            try all[0].client.call("reference/putData", #"{"reference":"gs://b/a","text":"x","wait":true}"#)
            let metadata = try all[1].client.call("reference/getMetadata", #"{"reference":"gs://b/a"}"#)
            try #require(metadata["size"]?.number?.int64 == 1)
            try all[2].client.call("service/stop")
            for (number, one) in all.enumerated() {
                try one.client.waitForEnd()
                try #require(try one.relay.waitForExit() == (number == 2 ? 0 : 1))
                try #require(one.relay.logged == (number == 2 ? "" : gone("")))
            }
        }
    }

    @Test func `exit ends only the connection, and pending requests are answered at the end of stdin`() async throws {
        try await onThread {
            let (stays, leaves, closes) = (try connect(), try connect(), try connect())
            try leaves.client.call("shutdown")
            leaves.client.say("exit")
            try leaves.client.waitForEnd()
            try #require(try leaves.relay.waitForExit() == 0)
            closes.client.say("service/ping")
            closes.client.wire.endInput()
            try #require(try closes.client.wire.next()?["result"]?.string == "pong")
            try closes.client.waitForEnd()
            try #require(try closes.relay.waitForExit() == 0)
            try stays.client.call("service/stop")
        }
    }

    @Test func `connect finds a service with a socket elsewhere, in a root with a long path`() async throws {
        let root = place.root + "/" + String(repeating: "long/", count: 40)
        try await onThread {
            let flags = ["--root", root, "--socket", place.socket, "--bucket", "photos", "--log-level", "info"]
            let service = try ServiceProcess(["serve"] + flags)
            try service.waitForLog("listens on \(root)/socket")
            let one = try connect(root: root)
            try #require(try one.servicePID() == service.id)
            let other = try connect(["--bucket", "films"], root: root)
            try #require(try other.servicePID() == service.id)
            for (client, bucket) in [(one, "default-bucket"), (other, "films")] {
                try #require(try client.client.call("initialize")["defaultBucket"]?.string == bucket)
            }
            try one.client.call("service/stop")
            try #require(try service.waitForExit() == 0)
            let next = try connect(root: root)
            try next.client.call("service/stop")
        }
    }

    private func gone(_ loss: String, root: String = "") -> String {
        "storage-rpc: the service at \(place.root)\(root)/socket is gone\(loss); the next session finds it or starts it again\n"
    }

    @Test(arguments: ["connect", "serve"], [false, true])
    func `A relay whose service is killed says so, and how many requests have no answer`(
        command: String, endsInput: Bool
    ) async throws {
        try await onThread {
            let holder = try place.listeningService()
            let relay = try ServiceProcess([command, "--root", place.root])
            let client = Caller(WireClient(reading: relay.output, writing: relay.input))
            let task = try client.call("reference/putStream", #"{"reference":"gs://b/a"}"#)["task"]?.string ?? ""
            func wait(_ id: Int) -> String {
                #"{"jsonrpc":"2.0","id":\#(id),"method":"uploadTask/wait","params":{"task":"\#(task)"}}"#
            }
            if endsInput {
                client.wire.send(wait(2) + "\n[\(wait(3)),\(wait(4))]")
                let other = try place.connect()
                while try other.call("service/status")["requests"]?["waiting"]?.number?.int64 != 3 {}
                client.wire.endInput()
            }
            kill(holder.id, SIGKILL)
            try client.waitForEnd()
            try #require(try relay.waitForExit() == 1)
            try #require(relay.logged == gone(endsInput ? ", with 3 requests unanswered" : ""))
        }
    }

    @Test(arguments: ["connect", "serve"])
    func `A relay whose service has no room says so to its client and its user`(command: String) async throws {
        try await onThread {
            let holder = try place.listeningService(["--max-connections", "1"])
            let other = try place.connect()
            try other.call("service/ping")
            let relay = try ServiceProcess([command, "--root", place.root])
            let client = Caller(WireClient(reading: relay.output, writing: relay.input))
            client.wire.endInput()
            let answer = try client.wire.next()?["error"]
            try #require(answer?["code"] == -13013)
            try client.waitForEnd()
            try #require(try relay.waitForExit() == 1)
            let sentence = answer?["message"]?.string ?? ""
            let path = place.root + "/socket"
            try #require(
                relay.logged == "storage-rpc: the service at \(path) has refused the connection: \(sentence)\n")
            holder.signal(SIGTERM)
        }
    }

    @Test func `A service has room for as many relays as for other connections`() async throws {
        try await onThread {
            let holder = try place.listeningService(["--max-connections", "3"])
            let relays = try (0..<3).map { _ in try connect() }
            for relay in relays { try #require(try relay.client.call("service/ping") == "pong") }
            for relay in relays {
                relay.client.wire.endInput()
                try #require(try relay.relay.waitForExit() == 0)
            }
            holder.signal(SIGTERM)
        }
    }

    @Test(arguments: ["connect", "serve"])
    func `A relay ends with the status of a service of its own`(command: String) async {
        let line = """
            mkfifo in; $S serve --root $R < in > said & P=$!; exec 9> in
            echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' >&9; await '[ -s said ]'
            for WORDS in "shutdown exit" exit service/ping "" "service/stop exit"; do
                for WORD in $WORDS; do echo '{"jsonrpc":"2.0","id":1,"method":"'$WORD'"}'; done |
                    $S \(command) --root $R > answers 9>&-
                echo $? $(grep -c result answers)
            done
            wait $P
            """
        #expect(await place.sh(line).text == "0 2\n1 1\n0 1\n0 0\n0 2\n")
    }

    @Test func `connect starts a new service after the previous one was killed`() async throws {
        try await onThread {
            let one = try connect()
            let killed = try one.servicePID()
            kill(killed, SIGKILL)
            try one.client.waitForEnd()
            try #require(try one.relay.waitForExit() == 1)
            let next = try connect()
            try #require(try next.servicePID() != killed)
            try next.client.call("service/stop")
        }
    }

    @Test func `connect reports why the service cannot start`() async throws {
        try await onThread {
            let (holder, holding) = try place.service(["--harness"])
            try holding.call("service/ping")
            let refused = try connect(["--wait-for-root", "0"])
            try #require(try refused.relay.waitForExit() == 75)
            let complaint =
                "storage-rpc: The root \(place.root) is in use by process \(holder.id) (storage-rpc serve); one process may "
                + "have it at a time. To share it, start that process with --socket PATH, or use `storage-rpc connect` for all.\n"
            try #require(refused.relay.logged == complaint)
            try #require(try connect(["--what"]).relay.waitForExit() == 64)
        }
    }

    @Test func `connect waits for another process to release the root`() async throws {
        try await onThread {
            let (holder, holding) = try place.service(["--harness"])
            try holding.call("service/ping")
            let next = try connect(["--wait-for-root", "60"])
            next.client.say("service/ping")
            try blockUntil { FileManager.default.fileExists(atPath: place.root + "/service.log") }
            holding.wire.endInput()
            try #require(try holder.waitForExit() == 0)
            try #require(try next.client.wire.next()?["result"]?.string == "pong")
            try next.client.call("service/stop")
        }
    }

    /// A service that ends pauses running tasks; this upload must have failed instead.
    @Test func `A service without connections ends after its running tasks have ended`() async throws {
        try await onThread {
            let flags = Place.unreachable + ["--idle-timeout", "1", "--log-level", "info"]
            let first = try connect(flags + ["--max-upload-retry-time", "3"])
            let upload = try first.client.call("reference/putData", #"{"reference":"gs://b/a","text":"x"}"#)
            let task = try #require(upload["task"]?.string)
            let service = try first.servicePID()
            first.client.wire.endInput()
            try first.client.waitForEnd()
            try #require(try first.relay.waitForExit() == 0)
            try blockUntil { kill(service, 0) != 0 }
            let log = try String(contentsOfFile: place.root + "/firebase/service.log", encoding: .utf8)
            try #require(log.contains("ends with status 0: no client was connected and no task ran for 1 s"))
            let next = try connect(flags)
            let snapshot = try next.client.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)
            try #require(snapshot["state"]?.string == "failed")
            try next.client.call("service/stop")
        }
    }
}
