import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// Several clients of one service that listens on a socket.
@Suite(.watchdog) struct SharedServiceTests {
    private let place = Place()
    private static let upload = #"{"reference":"gs://b/a","text":"x"}"#

    @Test(arguments: [["shutdown", "exit"], ["exit"]])
    func `exit ends only the connection of the client, and its tasks continue`(words: [String]) async throws {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let (one, other) = (try place.connect(), try place.connect())
            let task = try one.begin("reference/putData", Self.upload)
            let wait = one.lastID + 1
            one.say("uploadTask/wait", #"{"task":"\#(task)"}"#)
            for word in words { one.say(word) }
            var answers: [JSON] = []
            while let answer = try one.wire.next() { answers.append(answer) }
            try #require(answers.count == words.count + 1)
            let cancelled = answers.first { $0["id"]?.number?.int64 == Int64(wait) }?["error"]
            try #require(cancelled?["code"]?.number?.int64 == -32800 && cancelled?["data"]?["task"]?.string == task)
            try #require(cancelled?["message"]?.string == "The connection ends before this has happened.")
            let snapshot = try other.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)
            try #require(snapshot["state"]?.string == "running")
            service.signal(SIGTERM)
            try service.waitForLog("ends with status 0: a signal")
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `service/stop ends the service for all clients, and the log names the connection`() async throws {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let (one, other) = (try place.connect(), try place.connect())
            let task = try one.begin("reference/putData", Self.upload)
            one.say("uploadTask/wait", #"{"task":"\#(task)"}"#)
            try #require(try other.call("service/stop") == .null)
            try #require(try one.wire.next()?["error"]?["code"]?.number?.int64 == -32800)
            try service.waitForLog("ends with status 0: service/stop of connection ")
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `On stdio exit ends the process, and the log states the cause`() async throws {
        for (words, status) in [(["shutdown", "exit"], Int32(0)), (["exit"], 1), (["service/stop"], 0), ([], 0)] {
            try await onThread {
                let (service, client) = try place.service()
                for word in words { client.say(word) }
                if words.isEmpty { client.wire.endInput() }
                let cause = words.isEmpty ? "the end of stdin" : words.last == "exit" ? "exit on stdio" : "service/stop"
                try service.waitForLog("ends with status \(status): \(cause)")
                try #require(try service.waitForExit() == status)
            }
        }
    }

    @Test func `Settings apply to one connection and start with the values of the command line`() async throws {
        try await onThread {
            let flags = [
                "--max-upload-retry-time", "1.5", "--max-download-retry-time=2", "--max-operation-retry-time", "3",
                "--upload-chunk-size-bytes", "1",
            ]
            let service = try place.listeningService(flags)
            let (one, other) = (try place.connect(), try place.connect())
            let first = try one.call("storage/getSettings")
            try #require(
                try first
                    == JSON(
                        parsing: #"{"maxUploadRetryTime":1.5,"maxDownloadRetryTime":2,"maxOperationRetryTime":3,"#
                            + #""uploadChunkSizeBytes":262144}"#))
            let changed = try one.call("storage/updateSettings", #"{"maxOperationRetryTime":0}"#)
            try #require(try one.call("storage/getSettings") == changed && changed != first)
            try #require(try other.call("storage/getSettings") == first)
            try #require(try place.connect().call("storage/getSettings") == first)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `The retry time of one client does not change that of another`() async throws {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let (hasty, patient) = (try place.connect(), try place.connect())
            try hasty.call("storage/updateSettings", #"{"maxUploadRetryTime":0}"#)
            let task = try patient.begin("reference/putData", Self.upload)
            let waiting = #"{"reference":"gs://b/b","text":"x","wait":true}"#
            try #require(try hasty.refusal("reference/putData", waiting)["code"]?.number?.int64 == -13030)
            let snapshot = try patient.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)
            try #require(snapshot["state"]?.string == "running")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `service/status counts active and waiting requests`() async throws {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let (one, other) = (try place.connect(), try place.connect())
            let task = try one.begin("reference/putData", Self.upload)
            func requests() throws -> [Int64?] {
                let told = try other.call("service/status")["requests"]
                return [told?["active"]?.number?.int64, told?["waiting"]?.number?.int64]
            }
            try #require(try requests() == [0, 0])
            one.say("uploadTask/wait", #"{"task":"\#(task)"}"#)
            one.say("reference/getMetadata", #"{"reference":"gs://b/a"}"#)
            while try requests() != [1, 1] {}
            try one.call("uploadTask/cancel", #"{"task":"\#(task)"}"#)
            while try requests() != [1, 0] {}
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }
}
