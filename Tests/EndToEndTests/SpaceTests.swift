import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// The spaces of `serve --harness`, with the real program.
@Suite(.watchdog(minutes: 10)) struct SpaceTests {
    private let place = Place()

    @Test func `A space that its last client leaves frees threads, descriptors, memory and files`() async throws {
        try await onThread {
            let (service, client) = try place.service(["--harness"])
            func visit(_ numbers: Range<Int>) throws {
                for number in numbers {
                    try client.call("harness/space", #"{"space":"s\#(number)"}"#)
                    _ = try client.call("harness/seed", #"{"objects":[{"reference":"gs://b/a","text":"x"}]}"#)
                    try #require(try names(client) == ["a"])
                }
                try client.call("harness/space", #"{"space":"main"}"#)
                // They end in the background.
                try blockUntil { try FileManager.default.contentsOfDirectory(atPath: place.root + "/spaces").isEmpty }
            }
            try visit(0..<50)
            let before = try (threads(service), descriptors(service), service.residentBytes)
            try visit(50..<150)
            // Threads of spaces that have ended end by themselves.
            try blockUntil { try threads(service) <= before.0 + 4 && descriptors(service) <= before.1 + 4 }
            try #require(try service.residentBytes < before.2 + 16 << 20)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    private func threads(_ service: ServiceProcess) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(service.id)/task").count
    }

    private func descriptors(_ service: ServiceProcess) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(service.id)/fd").count
    }

    private func names(_ client: Caller, _ bucket: String = "b") throws -> [String] {
        try client.call("reference/listAll", #"{"reference":"gs://\#(bucket)"}"#)["items"]?.array?
            .compactMap { $0["fullPath"]?.string } ?? []
    }

    @Test func `Clients in separate spaces do not see each other's objects and tasks`() async throws {
        let service = try place.listeningService(["--harness"])
        try await withThrowingTaskGroup { group in
            for worker in 1...8 {
                group.addTask {
                    try await onThread {
                        let test = try place.connect()
                        let space = try test.call("harness/space", #"{"quota":1000}"#)
                        let program = Caller(try WireClient(connectingTo: space["socket"]?.string ?? ""))
                        for round in 1...20 {
                            let object = "\(worker)-\(round)"
                            let put = try program.call(
                                "reference/putData", #"{"reference":"gs://b/\#(object)","text":"x","wait":true}"#)
                            // Each reset starts the ids of tasks again, independently of other spaces.
                            let expected = try names(test)
                            try #require(put["state"] == "success" && expected == [object])
                            try test.call("harness/reset")
                            try #require(try names(program) == [])
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        try #require(try place.connect().call("uploadTask/list")["tasks"]?.array == [])
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
        #expect(try !FileManager.default.contentsOfDirectory(atPath: place.root).contains { $0.hasSuffix(".socket") })
    }

    @Test func `A space with keep survives its last connection, and another one does not`() async throws {
        try await onThread {
            let service = try place.listeningService(["--harness"])
            for keeps in [true, false] {
                let enter = #"{"space":"w-\#(keeps)","keep":\#(keeps)}"#
                var client: Caller? = try place.connect()
                let socket = try #require(try client?.call("harness/space", enter)["socket"]?.string)
                try client?.call("harness/seed", #"{"objects":[{"reference":"gs://b/a","text":"x"}]}"#)
                client = nil
                let next = try place.connect()
                // The metric counts the connections of all spaces; service/status counts those of one.
                try blockUntil {
                    let families = try next.call("service/metrics")["metrics"]?.array
                    let open = families?.first { $0["name"] == "storage_rpc_connections" }
                    return open?["samples"]?.array?.first?["value"] == 1
                }
                try #require(FileManager.default.fileExists(atPath: socket) == keeps)
                try #require(try next.call("harness/space", enter)["isNew"] == .bool(!keeps))
                try #require(try names(next) == (keeps ? ["a"] : []))
            }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A reset to a snapshot restores objects of every size, repeatedly`() async throws {
        try await onThread {
            let (service, client) = try place.service(["--harness"])
            let large = Data(noise(3 << 20))
            try large.write(to: URL(filePath: place.directory + "/film"))
            try client.call(
                "harness/seed",
                #"{"objects":[{"reference":"gs://b/film","file":"\#(place.directory)/film"},{"reference":"gs://b/note","text":"hi"}]}"#
            )
            let saved = try client.call("harness/save", #"{"snapshot":"two"}"#)
            try #require(saved["objects"] == 2 && saved["bytes"] == JSON(Int64(large.count + 2)))
            let url = try client.call("reference/downloadURL", #"{"reference":"gs://b/film"}"#)["url"]?.string
            for _ in 1...3 {
                try client.call("reference/delete", #"{"reference":"gs://b/film"}"#)
                try client.call("reference/putData", #"{"reference":"gs://b/note","text":"other","wait":true}"#)
                try client.call("harness/reset", #"{"snapshot":"two"}"#)
                let copy = place.directory + "/copy"
                try client.call("reference/writeToFile", #"{"reference":"gs://b/film","file":"\#(copy)","wait":true}"#)
                try #require(try Data(contentsOf: URL(filePath: copy)) == large)
                try #require(try client.call("reference/getMetadata", #"{"reference":"gs://b/note"}"#)["size"] == 2)
            }
            let again = try client.call("reference/downloadURL", #"{"reference":"gs://b/film"}"#)["url"]?.string
            try #require(url != nil && again == url)
            try #require(try client.refusal("harness/reset", #"{"snapshot":"three"}"#)["data"]?["param"] == "snapshot")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A reset ends requests in flight without leaking threads and descriptors`() async throws {
        try await onThread {
            let service = try place.listeningService(["--harness"])
            let (test, program) = (try place.connect(), try place.connect())
            let large = String(repeating: "x", count: 600_000)
            func rounds(_ count: Int) throws {
                for _ in 0..<count {
                    for number in 0..<5 {
                        program.say("reference/putData", #"{"reference":"gs://b/\#(number)","text":"\#(large)"}"#)
                        program.say("reference/getMetadata", #"{"reference":"gs://b/\#(number)"}"#)
                    }
                    try test.call("harness/reset")
                }
                // Requests that were sent before the reset may begin after it.
                try program.call("service/ping")
                try test.call("harness/settled")
            }
            try rounds(5)
            let before = try (threads(service), descriptors(service))
            try rounds(40)
            try blockUntil { try threads(service) <= before.0 + 8 && descriptors(service) <= before.1 + 8 }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `Requests behind a reset on the same connection are executed after it`() async throws {
        try await onThread {
            let (service, client) = try place.service(["--harness"])
            for _ in 0..<20 {
                client.say("harness/reset")
                // Requests of one connection run concurrently: one that needs the result of another waits for its
                // answer.
                try client.call("harness/seed", #"{"objects":[{"reference":"gs://b/a","text":"x"}]}"#)
                try #require(try names(client) == ["a"])
                client.say("harness/reset")
                client.say("harness/arm", #"{"on":"getMetadata","do":{"fail":{"error":"unauthorized"}}}"#)
                let error = try client.refusal("reference/getMetadata", #"{"reference":"gs://b/a"}"#)
                try #require(error["code"] == -13021)
                try #require(try names(client) == [])
            }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `Held requests count as settled, and restored objects count against the quota`() async throws {
        try await onThread {
            let service = try place.listeningService(["--harness"])
            let (test, program) = (try place.connect(), try place.connect())
            try test.call("harness/arm", #"{"on":"list","times":null,"do":{"hold":true}}"#)
            for _ in 0..<20 { program.say("reference/list", #"{"reference":"gs://b"}"#) }
            while try test.call("harness/settled")["held"]?.array?.count ?? 0 < 16 {}
            try test.call("harness/disarm")
            try program.call("service/ping")
            let full = try place.connect()
            try full.call("harness/space", #"{"quota":100}"#)
            let put = #"{"reference":"gs://b/a","text":"\#(String(repeating: "x", count: 80))","wait":true}"#
            try full.call("reference/putData", put)
            try full.call("harness/save", #"{"snapshot":"s"}"#)
            try full.call("harness/reset", #"{"snapshot":"s"}"#)
            let other = put.replacing("gs://b/a", with: "gs://b/b")
            try #require(try full.refusal("reference/putData", other)["code"] == -13013)
            try full.call("harness/reset")
            try full.call("reference/putData", other)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `After a kill during a reset the root is in the old or the new state`() async throws {
        try await onThread {
            for delay in 0..<12 {
                let (service, client) = try place.service(["--harness"])
                try client.call("harness/seed", #"{"objects":[{"reference":"gs://b/saved","text":"x"}]}"#)
                try client.call("harness/save", #"{"snapshot":"s"}"#)
                try client.call("harness/seed", #"{"objects":[{"reference":"gs://b/later","text":"x"}]}"#)
                client.say("harness/reset", #"{"snapshot":"s"}"#)
                usleep(UInt32(delay) * 700)
                service.signal(SIGKILL)
                _ = try service.waitForExit()
                let (next, other) = try place.service(["--harness"])
                let left = try names(other)
                try #require(left == ["saved"] || left == ["later", "saved"])
                try other.call("harness/reset")
                next.signal(SIGTERM)
                try #require(try next.waitForExit() == 0)
            }
        }
    }

    @Test func `harness/seed stores the files of an allowed directory as objects`() async throws {
        try await onThread {
            let tree = place.directory + "/tree"
            for directory in ["photos/2026", "docs"] {
                try FileManager.default.createDirectory(
                    atPath: "\(tree)/\(directory)", withIntermediateDirectories: true)
            }
            for file in ["photos/2026/a.png", "photos/b.png", "docs/c.txt"] {
                try Data(file.utf8).write(to: URL(filePath: "\(tree)/\(file)"))
            }
            let (service, client) = try place.service(["--harness", "--allow-read", tree])
            try #require(try client.call("harness/seed", #"{"directory":"\#(tree)"}"#) == ["objects": 3, "bytes": 39])
            try #require(try names(client, "photos") == ["b.png"])
            let png = try client.call("reference/getMetadata", #"{"reference":"gs://photos/2026/a.png"}"#)
            try #require(png["contentType"] == "image/png")
            try client.call("harness/seed", #"{"directory":"\#(tree)/docs","into":"gs://b/all"}"#)
            try #require(try client.call("reference/getMetadata", #"{"reference":"gs://b/all/c.txt"}"#)["size"] == 10)
            let outside = try client.refusal("harness/seed", #"{"directory":"\#(place.directory)"}"#)
            try #require(outside["code"] == -13021)
            try FileManager.default.createSymbolicLink(atPath: "\(tree)/docs/link", withDestinationPath: "c.txt")
            let link = try client.refusal("harness/seed", #"{"directory":"\#(tree)"}"#)
            try #require(link["message"]?.string?.contains("docs/link") == true)
            try Data().write(to: URL(filePath: "\(tree)/alone"))
            let alone = try client.refusal("harness/seed", #"{"directory":"\#(tree)"}"#)
            try #require(alone["message"]?.string?.contains("is in no bucket") == true)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `On a remote engine a reset deletes only the objects that the space has stored`() async throws {
        try await RestartableService.run(.gcs) { program in
            func put(_ name: String) throws {
                let params: JSON = ["reference": .string("gs://default-bucket/\(name)"), "text": "x", "wait": true]
                #expect(try program.call("reference/putData", params)["state"] == "success")
            }
            func names() throws -> [String] {
                try program.call("reference/listAll", ["reference": "gs://default-bucket"])["items"]?.array?
                    .compactMap { $0["name"]?.string } ?? []
            }
            try program.start()
            try put("there")
            try program.terminate()
            try program.start("--harness")
            _ = try program.call("harness/space", ["quota": 100])
            try put("mine")
            let generate: JSON = ["reference": "gs://default-bucket/{n}", "count": 3, "size": 10]
            #expect(try program.call("harness/seed", ["generate": generate]) == ["objects": 3, "bytes": 30])
            #expect(try names() == ["0", "1", "2", "mine", "there"])
            let refusal = try program.refused { try program.call("harness/save", ["snapshot": "s"]) }
            #expect(refusal["code"] == -13050)
            try program.call("harness/reset")
            #expect(try names() == ["there"])
            let exceeded = try program.answer(
                "harness/seed", ["generate": ["reference": "gs://default-bucket/{n}", "count": 3, "size": 40]])
            #expect(exceeded["error"]?["code"] == -13013)
            #expect(try names() == ["there"])
            try program.terminate()
        }
    }
}
