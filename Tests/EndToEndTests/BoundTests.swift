import Glibc
import JSONText
import Methods
import TestSupport
import Testing

/// The bounds of the whole service, as the command line sets them.
@Suite(.watchdog) struct BoundTests {
    private let place = Place()

    private func isNoRoom(_ error: JSON?, _ flag: String) -> Bool {
        error?["code"]?.number?.int64 == -13013 && error?["message"]?.string?.contains(flag) == true
            && error?["data"]?["name"] == "quotaExceeded" && error?["data"]?["retryable"] == true
    }

    @Test func `Each bound has a flag, a line in the help and a value in the answer to initialize`() async throws {
        let help = await Command(ServiceProcess.program, ["help", "bounds"]).run().text
        let flags = Bound.all.flatMap { [$0.flag, "\($0.range.upperBound)"] }
        for bound in Bound.all {
            try #require(help.contains("\(bound.flag) \(Limits()[keyPath: bound.value])"))
            let low = await Command(ServiceProcess.program, [bound.flag, "\(bound.range.lowerBound - 1)"]).run()
            try #require(low.status == 64)
        }
        try await onThread {
            let (service, client) = try place.service(flags + ["--gateway", "127.0.0.1:0"])
            let limits = try client.call("initialize")["limits"]
            for bound in Bound.all {
                try #require(limits?[bound.name]?.number?.int64 == Int64(bound.range.upperBound), "\(bound.name)")
            }
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A connection beyond the limit is refused with an error until another one ends`() async throws {
        try await onThread {
            let service = try place.listeningService(["--max-connections", "2"])
            let first = try place.connect()
            try {
                let second = try place.connect()
                for client in [first, second] { try #require(try client.call("service/ping") == "pong") }
                let third = try place.connect()
                third.say("service/ping")
                let refusal = try #require(try third.wire.next())
                try #require(refusal["id"] == .null && isNoRoom(refusal["error"], "--max-connections"))
                try third.waitForEnd()
                try #require(try second.call("service/ping") == "pong")
            }()
            while try first.call("service/status")["connections"] != 1 {}
            try #require(try place.connect().call("service/ping") == "pong")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A request beyond a limit of tasks, observers or waiting requests creates no task`() async throws {
        try await onThread {
            let flags = ["--max-tasks", "2", "--max-connection-observers", "2", "--max-waiting-requests", "1"]
            let (service, client) = try place.service(Place.unreachable + flags)
            func put(_ more: String) -> String { #"{"reference":"gs://b/a","text":"x"\#(more)}"# }
            let task = try client.begin("reference/putData", put(#","observe":["success"]"#))
            client.say("uploadTask/wait", #"{"task":"\#(task)"}"#)
            try #require(
                isNoRoom(try client.refusal("uploadTask/wait", #"{"task":"\#(task)"}"#), "--max-waiting-requests"))
            try #require(
                isNoRoom(try client.refusal("reference/putData", put(#","wait":true"#)), "--max-waiting-requests"))
            try #require(
                isNoRoom(
                    try client.refusal("reference/putData", put(#","observe":["pause","resume"]"#)),
                    "--max-connection-observers"))
            func observe() -> String { #"{"task":"\#(task)","status":"pause"}"# }
            let handle = try #require(try client.call("uploadTask/observe", observe())["handle"]?.text)
            try #require(isNoRoom(try client.refusal("uploadTask/observe", observe()), "--max-connection-observers"))
            try client.call("uploadTask/removeObserver", #"{"handle":\#(handle)}"#)
            try client.call("uploadTask/observe", observe())
            try #require(try client.call("uploadTask/list")["tasks"]?.array?.count == 1, "nothing was begun")
            try client.call("reference/putData", put(""))
            try #require(isNoRoom(try client.refusal("reference/putData", put("")), "--max-tasks"))
            try #require(
                isNoRoom(
                    try client.refusal("reference/writeToFile", #"{"reference":"gs://b/a","file":"/f"}"#), "--max-tasks"
                ))
            try client.call("uploadTask/cancel", #"{"task":"\#(task)"}"#)
            try client.call("reference/putData", put(#","observe":["pause","resume"]"#))
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `Simultaneous uploads create no more tasks than the limit`() async throws {
        try await onThread {
            let (service, client) = try place.service(Place.unreachable + ["--max-tasks", "10"])
            // The bytes are spooled before the task is created, so that all requests wait for the disk together.
            let text = String(repeating: "x", count: 300_000)
            for _ in 0..<100 { client.say("reference/putData", #"{"reference":"gs://b/a","text":"\#(text)"}"#) }
            var (made, refused) = (0, 0)
            for _ in 0..<100 {
                let answer = try #require(try client.wire.next())
                if answer["result"] != nil { made += 1 }
                if isNoRoom(answer["error"], "--max-tasks") { refused += 1 }
            }
            try #require(made == 10 && refused == 90, "\(made) were made, \(refused) were refused")
            try #require(try client.call("uploadTask/list")["tasks"]?.array?.count == 10)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test(arguments: ["putFile", "writeToFile"])
    func `A path that is too long creates no task, and the error does not repeat it`(method: String) async throws {
        try await onThread {
            let (service, client) = try place.service()
            for prefix in ["", "file://"] {
                let path = prefix + "/" + String(repeating: "x", count: 4095)
                let error = try client.refusal("reference/\(method)", #"{"reference":"gs://b/a","file":"\#(path)"}"#)
                try #require(error["code"] == -13050 && error["data"]?["param"] == "file")
                try #require(error["message"] == "file has 4096 bytes, but a path has at most 4095.")
            }
            for kind in ["upload", "download"] { try #require(try client.call("\(kind)Task/list")["tasks"] == []) }
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A client that does not read is disconnected without affecting others`() async throws {
        try await onThread {
            let service = try place.listeningService(Place.unreachable + ["--max-unread-bytes", "100000"])
            let (stalled, other) = (try place.connect(), try place.connect())
            let task = try other.begin("reference/putData", #"{"reference":"gs://b/a","text":"x"}"#)
            for _ in 1...100 { try stalled.call("uploadTask/observe", #"{"task":"\#(task)","status":"pause"}"#) }
            while try other.call("service/status")["connections"] == 2 {
                try other.call("uploadTask/pause", #"{"task":"\#(task)"}"#)
                try other.call("uploadTask/resume", #"{"task":"\#(task)"}"#)
            }
            try service.waitForLog("left 100000 bytes unread (--max-unread-bytes) and was disconnected")
            try stalled.waitForEnd()
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }
}
