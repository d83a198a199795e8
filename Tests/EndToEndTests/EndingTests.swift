import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// How the process ends, and what it survives: signals, parents, and descriptors that are closed, full or unread.
@Suite(.watchdog) struct EndingTests {
    private let place = Place()
    private static let upload = #"{"reference":"gs://b/a","text":"x"}"#

    @Test(arguments: [SIGTERM, SIGINT, SIGHUP])
    func `A signal ends the service with status 0 while a task runs`(signal: Int32) async throws {
        try await onThread {
            let (service, client) = try place.service(Place.unreachable)
            _ = try client.begin("reference/putData", Self.upload)
            service.signal(signal)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A stdin that cannot be read ends the service with status 1, and it says so`() async throws {
        let line = """
            $S < . 2>&1 | grep -o 'stdin cannot be read: .*'; echo ${PIPESTATUS[0]}
            $S serve --shared --log-level info 2> log & P=$!; await 'grep -q listens log'
            $S < . 2>&1; echo $?; $S connect < . 2>&1; echo $?; kill $P; wait $P
            """
        let said = await place.sh(line).text
        let reason = "stdin cannot be read: Is a directory\n"
        #expect(said == "\(reason)1\nstorage-rpc: \(reason)1\nstorage-rpc: \(reason)1\n")
    }

    @Test func `SIGHUP that was ignored at the start remains ignored`() async throws {
        try await onThread {
            let service = try place.listeningService(setUp: "trap '' HUP")
            let client = try place.connect()
            try client.call("service/ping")
            service.signal(SIGHUP)
            for _ in 1...3 { try client.call("service/ping") }
            try place.connect().call("service/ping")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `The service ends when its parent has ended, even while a task runs`() async throws {
        try await onThread {
            let service = try {
                let (service, client) = try place.service(Place.unreachable)
                _ = try client.begin("reference/putData", Self.upload)
                return service
            }()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `The service ends when its stdout is closed, even if its stdin is open`() async throws {
        try await onThread {
            let (service, client) = try place.service(Place.unreachable)
            _ = try client.begin("reference/putData", Self.upload)
            service.stopReading()
            try #require(try service.waitForExit() == 0)
            client.say("service/ping")
        }
    }

    @Test func `At the end of stdin the service continues while tasks run, then it ends`() async throws {
        try await onThread {
            let (service, client) = try place.service(Place.unreachable)
            let task = try client.begin("reference/putData", Self.upload)
            client.say("uploadTask/wait", #"{"task":"\#(task)"}"#)
            client.wire.endInput()
            service.signal(SIGTERM)
            try #require(try client.wire.next()?["error"]?["code"]?.number?.int64 == -32800)
            try #require(try service.waitForExit() == 0)
        }
    }

    /// The connection on stdio stays open after `exit` while answers are unread.
    @Test func `An exit without shutdown is status 1 if the other clients leave before the answers are read`()
        async throws
    {
        try await onThread {
            let (service, client) = try place.service(["--log-level", "debug"])
            try client.call("service/ping")
            var other: Caller? = Caller(try WireClient(connectingTo: place.root + "/socket"))
            try other?.call("service/ping")
            for _ in 1...10 { client.say("rpc.discover") }
            client.wire.send(#"{"jsonrpc":"2.0","method":"exit"}"#)
            try service.waitForLog("notification exit succeeded")
            other = nil
            try service.waitForLog("connection 2 closed")
            try client.waitForEnd()
            try #require(try service.waitForExit() == 1)
        }
    }

    @Test func `Unread answers do not prevent the service from ending`() async throws {
        try await onThread {
            let (service, client) = try place.service()
            for _ in 1...100 { client.say("rpc.discover") }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test(arguments: ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-"])
    func `The service does not start if stdin or stdout is closed`(closed: String) async throws {
        try await onThread {
            let (service, _) = try place.service(redirect: closed)
            if !closed.contains("2") { try service.waitForLog("stdin and stdout must be open to be served on") }
            try #require(try service.waitForExit() == 1)
        }
    }

    @Test func `A service whose stdout is full ends with status 1, and says that answers were lost`() async throws {
        try await onThread {
            let (service, client) = try place.service(redirect: ">/dev/full")
            client.say("service/ping")
            try service.waitForLog("answers were lost, since stdout cannot be written to: No space left on device")
            try #require(try service.waitForExit() == 1)
        }
        let ping = #"echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}'"#
        let connected = await place.sh("\(ping) | $S connect --idle-timeout 1 > /dev/full; echo $? >&2")
        #expect(
            connected.text.hasSuffix("nothing can be written to stdout: No space left on device\n1\n"), "\(connected)")
    }

    @Test func `A file that reaches the size limit causes an error, and the service continues`() async throws {
        try await onThread {
            let (service, client) = try place.service(setUp: "ulimit -f 2048")
            let file = place.directory + "/large"
            try Data(count: 8 << 20).write(to: URL(filePath: file))
            func failure(_ method: String, _ params: String) throws -> String {
                try client.refusal(method, params)["message"]?.string ?? ""
            }
            let large = try failure("reference/putFile", #"{"reference":"gs://b/a","file":"\#(file)","wait":true}"#)
            try #require(large.contains("\(place.root)/objects/1: File too large"), "\(large)")
            let text = String(repeating: "x", count: 60_000)
            var (small, stored) = ("", -1)
            while small.isEmpty {
                stored += 1
                small = try failure("reference/putData", Self.upload(text, to: "\(stored)"))
            }
            try #require(
                small.contains("\(place.root)/storage.sqlite3: database or disk is full: File too large"), "\(small)")
            try #require(try client.call("reference/list", #"{"reference":"gs://b"}"#)["items"]?.array?.count == stored)
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    private static func upload(_ text: String, to name: String) -> String {
        #"{"reference":"gs://b/\#(name)","text":"\#(text)","wait":true}"#
    }

    @Test func `A client that disconnects before its answers does not affect others`() async throws {
        try await onThread {
            let service = try place.listeningService()
            for _ in 1...5 {
                let hasty = try place.connect()
                for _ in 1...5 { hasty.say("rpc.discover") }
            }
            try #require(try place.connect().call("service/ping") == "pong")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `With a full stderr the service continues, and later logs how many lines were lost`() async throws {
        try await onThread {
            let service = try place.listeningService(["--max-connections", "1"])
            let client = try place.connect()
            try #require(try client.call("service/ping") == "pong")
            service.narrowLog(to: 8192)
            // Each refusal logs a line; together they exceed the capacity of the pipe.
            for _ in 1...200 { try turnAway() }
            try #require(try client.call("service/ping") == "pong")
            try service.waitForLog("turned a client away")
            try turnAway()
            try service.waitForLog("lines lost before this one")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A full stderr does not prevent the service from ending`() async throws {
        try await onThread {
            let service = try place.listeningService(["--max-connections", "1"])
            let client = try place.connect()
            try #require(try client.call("service/ping") == "pong")
            service.narrowLog(to: 8192)
            for _ in 1...200 { try turnAway() }
            try client.call("service/stop")
            try client.waitForEnd()
            try #require(try service.waitForExit() == 0)
        }
    }

    private func turnAway() throws {
        try place.connect().waitForEnd()
    }
}
