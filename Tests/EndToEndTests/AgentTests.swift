import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// `storage-rpc mcp` as hosts of agents start it.
@Suite(.watchdog) struct AgentTests {
    private let place = Place()

    struct Unexpected: Error { let description: String }

    /// A client of the program, in the stateless revision.
    final class Agent {
        let process: ServiceProcess
        let wire: WireClient
        private let root: String
        private var lastID = 0
        /// The notifications that came before an answer.
        private(set) var heard: [JSON] = []

        init(_ place: Place, _ flags: [String] = []) throws {
            root = place.root + "/storage-rpc"
            process = try ServiceProcess(["mcp", "--root", root] + flags)
            wire = WireClient(reading: process.output, writing: process.input)
        }

        @discardableResult
        func say(_ method: String, _ params: [JSON.Member] = [], token: JSON? = nil) -> Int {
            lastID += 1
            let meta: [JSON.Member] = .init(present: [
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": [:], "progressToken": token,
            ])
            let message: JSON = [
                "jsonrpc": "2.0", "id": JSON(Int64(lastID)), "method": .string(method),
                "params": .object(params + [.init(key: "_meta", value: .object(meta))]),
            ]
            wire.send(message.text)
            return lastID
        }

        func answer(to id: Int) throws -> JSON {
            while let message = try wire.next() {
                if message["id"]?.number?.int64 == Int64(id) { return message }
                heard.append(message)
            }
            throw Unexpected(description: "the program has ended")
        }

        func ask(_ method: String, _ params: [JSON.Member] = []) throws -> JSON {
            try answer(to: say(method, params))
        }

        func begin(_ tool: String, _ arguments: JSON, token: JSON? = nil) -> Int {
            say("tools/call", .init(present: ["name": .string(tool), "arguments": arguments]), token: token)
        }

        func call(_ tool: String, _ arguments: JSON) throws -> JSON {
            try answer(to: begin(tool, arguments))["result"] ?? .null
        }

        /// The structured answer of a call that must succeed.
        func good(_ tool: String, _ arguments: JSON) throws -> JSON {
            let result = try call(tool, arguments)
            guard result["isError"] == false else { throw Unexpected(description: result.text) }
            return result["structuredContent"] ?? .null
        }

        /// The sentence of a call that must fail.
        func bad(_ tool: String, _ arguments: JSON) throws -> String {
            let result = try call(tool, arguments)
            guard result["isError"] == true else { throw Unexpected(description: result.text) }
            return result["content"]?.array?.first?["text"]?.string ?? ""
        }

        func read(_ uri: String) throws -> JSON { try ask("resources/read", .init(present: ["uri": .string(uri)])) }

        /// Ends the program, and the service that it has started.
        func end(stopping: Bool = true) throws -> Int32 {
            wire.endInput()
            let status = try process.waitForExit()
            if stopping { try AgentTests.stopService(of: root) }
            return status
        }
    }

    /// Ends the service of a root, if one runs.
    static func stopService(of root: String) throws {
        guard let wire = try? WireClient(connectingTo: root + "/socket") else { return }
        let service = Caller(wire)
        try service.call("service/stop")
        try service.waitForEnd()
    }

    @Test(arguments: ["handshake", "stateless"])
    func `The conversations of both generations are answered as written`(name: String) async throws {
        let path = "\(TranscriptTests.directory)/agents/\(name).io"
        let transcript = try Transcript(name, String(contentsOfFile: path, encoding: .utf8))
        let root = place.root
        try await TranscriptPlayer.play(transcript) { _ in
            try ServiceOnStdio(["mcp", "--root", root, "--allow-changes"])
        }
        try await onThread { try Self.stopService(of: root) }
    }

    private func file(_ name: String, _ text: String) throws -> String {
        let path = place.directory + "/" + name
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        return path
    }

    @Test func `Completion of the template leads, value by value, to URIs that read their objects`() async throws {
        let names = ["a b?.txt", "dir/é", "dir/p%41", "dir/x//y", "dir/../q"]
        #expect(await place.sh("put \(names.map { "'\($0)'" }.joined(separator: " "))").status == 0)
        try await onThread {
            let agent = try Agent(place)
            func complete(_ variable: String, _ value: String, bucket: String? = nil) throws -> [String] {
                let answer = try agent.ask(
                    "completion/complete",
                    .init(present: [
                        "ref": ["type": "ref/resource", "uri": "gs://{bucket}/{+object}"],
                        "argument": ["name": .string(variable), "value": .string(value)],
                        "context": bucket.map { ["arguments": ["bucket": .string($0)]] },
                    ]))
                return try #require(answer["result"]?["completion"]?["values"]?.array).compactMap(\.string)
            }
            #expect(try complete("bucket", "def") == ["default-bucket"])
            #expect(try complete("bucket", "other") == [])
            #expect(try complete("object", "") == [])
            // A value that ends with a slash is a folder, which completes further.
            var (objects, folders) = ([String](), [""])
            while let folder = folders.popLast() {
                for value in try complete("object", folder, bucket: "default-bucket") where value != folder {
                    value.hasSuffix("/") ? folders.append(value) : objects.append(value)
                }
            }
            let texts = try objects.map { object in
                let result = try agent.read("gs://default-bucket/\(object)")["result"]
                return result?["contents"]?.array?.first?["text"]?.string
            }
            #expect(Set(texts) == Set(names), "\(objects)")
            #expect(try complete("object", "a%20b", bucket: "default-bucket") == ["a%20b%3F.txt"])
            #expect(try agent.ask("completion/complete")["error"]?["code"] == -32602)
            #expect(try agent.end() == 0)
            let confined = try Agent(place, ["--within", "gs://other/f"])
            let id = confined.say(
                "completion/complete",
                [
                    .init(key: "ref", value: ["type": "ref/resource", "uri": "gs://{bucket}/{+object}"]),
                    .init(key: "argument", value: ["name": "object", "value": ""]),
                    .init(key: "context", value: ["arguments": ["bucket": "default-bucket"]]),
                ])
            #expect(try confined.answer(to: id)["result"]?["completion"]?["values"] == [])
            #expect(try confined.end() == 0)
        }
    }

    @Test func `Every listed reference and URI reads exactly its object`() async throws {
        let names = ["plain.txt", "a b?.txt", "x//y", "p/../q", "folder/", "100%25", "deep/er/one", "é"]
        let quoted = names.map { "'\($0)'" }.joined(separator: " ")
        #expect(await place.sh("put \(quoted)").status == 0)
        try await onThread {
            let agent = try Agent(place)
            let list = try agent.good("list_objects", ["reference": "gs://default-bucket", "recursive": true])
            let items = try #require(list["items"]?.array)
            #expect(Set(items.compactMap { $0["reference"]?.string }) == Set(names.map { "gs://default-bucket/\($0)" }))
            for item in items {
                let reference = item["reference"]?.string ?? ""
                let name = String(reference.dropFirst("gs://default-bucket/".count))
                let text = try agent.call("read_object", ["reference": .string(reference)])["content"]?.array
                #expect(text?.first?["text"]?.string == name)
                let size = name.utf8.count
                #expect(text?.last?["text"]?.string?.hasPrefix("bytes 0 to \(size) of \(size), generation ") == true)
                let uri = try agent.good("object_info", ["reference": .string(reference)])["uri"]?.string ?? ""
                #expect(try agent.read(uri)["result"]?["contents"]?.array?.first?["text"]?.string == name, "\(uri)")
            }
            let resources = try agent.ask("resources/list")["result"]
            #expect(resources?["resources"]?.array?.map { $0["uri"]?.string } == ["gs://default-bucket/"])
            let cursor = try #require(resources?["nextCursor"])
            let page = try agent.ask("resources/list", [.init(key: "cursor", value: cursor)])["result"]
            #expect(page?["resources"]?.array?.count == names.count && page?["nextCursor"] == nil)
            let folder = try agent.read("gs://default-bucket/")["result"]?["contents"]?.array?.first?["text"]?.string
            #expect(folder?.contains(#""gs://default-bucket/deep/""#) == true)
            #expect(try agent.end() == 0)
        }
    }

    @Test func `Without flags objects are read, and neither objects nor files are touched`() async throws {
        #expect(await place.sh("put a").status == 0)
        let secret = try file("secret", "secret")
        try await onThread {
            let agent = try Agent(place)
            #expect(try agent.bad("read_object", ["reference": "gs://default-bucket/none"]).contains("list_objects"))
            for tool in ["upload", "download", "write_object", "delete_objects"] {
                let answer = try agent.answer(
                    to: agent.begin(tool, ["reference": "gs://default-bucket/a", "path": .string(secret), "text": "x"]))
                #expect(answer["error"]?["code"] == -32602, "\(tool)")
            }
            #expect(try agent.end() == 0)
        }
    }

    @Test func `Nothing is replaced or deleted without the generation that was looked at`() async throws {
        try await onThread {
            let agent = try Agent(place, ["--allow-changes"])
            let a: JSON = "gs://default-bucket/d/a"
            let first = try agent.good("write_object", ["reference": a, "text": "one"])
            #expect(try agent.bad("write_object", ["reference": a, "text": "two"]).contains("object_info"))
            let second = try agent.good(
                "write_object", ["reference": a, "text": "two", "ifGenerationMatch": first["generation"] ?? .null])
            #expect(second["size"] == 3 && second["generation"] != first["generation"])
            _ = try agent.good("copy_objects", ["reference": a, "to": "gs://default-bucket/d/b"])
            #expect(
                try agent.bad("copy_objects", ["reference": a, "to": "gs://default-bucket/d/b"]).contains("replaced"))

            let folder: JSON = ["reference": "gs://default-bucket/d", "recursive": true]
            #expect(try agent.bad("delete_objects", ["reference": "gs://default-bucket"]).contains("bucket"))
            let plan = try agent.good("delete_objects", folder)
            #expect(plan["wouldDelete"] == 2 && plan["bytes"] == 6 && plan["names"]?.array?.count == 2)
            let confirmed: JSON = [
                "reference": "gs://default-bucket/d", "recursive": true, "confirm": plan["confirm"] ?? .null,
            ]
            _ = try agent.good("write_object", ["reference": "gs://default-bucket/d/c", "text": "new"])
            #expect(try agent.bad("delete_objects", confirmed).contains("Nothing was deleted"))
            #expect(try agent.good("list_objects", folder)["items"]?.array?.count == 3)
            let again = try agent.good("delete_objects", folder)
            let deleted = try agent.good(
                "delete_objects",
                ["reference": "gs://default-bucket/d", "recursive": true, "confirm": again["confirm"] ?? .null])
            #expect(deleted == ["deleted": 3])
            #expect(try agent.good("list_objects", folder)["items"] == [])
            #expect(try agent.end() == 0)
        }
    }

    @Test func `Files are used in the allowed directories alone, and a refusal does not reveal whether they exist`()
        async throws
    {
        let outside = try file("outside", "secret")
        let (inside, target) = (place.directory + "/in", place.directory + "/out")
        for directory in [inside, target] {
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        }
        try "mine".write(toFile: inside + "/file", atomically: false, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: inside + "/link", withDestinationPath: outside)
        try await onThread {
            let agent = try Agent(
                place, ["--allow-changes", "--allow-read", inside, "--allow-write", target])
            func upload(_ path: String, _ name: String) -> JSON {
                ["path": .string(path), "reference": .string("gs://default-bucket/\(name)")]
            }
            let refusals = try [outside, outside + "none", inside + "/link"].map { path in
                try agent.bad("upload", upload(path, "x")).replacing(path, with: "PATH")
            }
            #expect(Set(refusals).count == 1 && refusals[0].contains(inside), "\(refusals)")
            #expect(try agent.good("upload", upload(inside + "/file", "file"))["state"] == "success")
            // The same call again finds the transfer.
            let (one, two) = (
                try agent.good("upload", upload(inside + "/file", "file")),
                try agent.good("upload", upload(inside + "/file", "file"))
            )
            #expect(one["task"] == two["task"])
            #expect(try agent.bad("upload", upload(place.directory + "/in/none", "y")).contains("does not exist"))
            func download(_ path: String) -> JSON {
                ["path": .string(path), "reference": "gs://default-bucket/file"]
            }
            #expect(try agent.bad("download", download(place.directory + "/file")).contains(target))
            #expect(try agent.bad("download", download(outside)).contains(target))
            #expect(try agent.good("download", download(target + "/file"))["path"]?.string == target + "/file")
            #expect(try String(contentsOfFile: target + "/file", encoding: .utf8) == "mine")
            try "other".write(toFile: target + "/other", atomically: false, encoding: .utf8)
            #expect(try agent.bad("download", download(target + "/other")).contains("exist"))
            #expect(try String(contentsOfFile: target + "/other", encoding: .utf8) == "other")
            #expect(try String(contentsOfFile: outside, encoding: .utf8) == "secret")
            #expect(try agent.end() == 0)
        }
    }

    @Test func `Within a folder nothing outside is read, listed, written or observed`() async throws {
        #expect(await place.sh("put pub/a public private").status == 0)
        try await onThread {
            let agent = try Agent(
                place, ["--allow-changes", "--within", "gs://default-bucket/pub"])
            #expect(try agent.good("list_objects", [:])["prefixes"] == ["gs://default-bucket/pub/"])
            #expect(
                try agent.good("list_objects", ["reference": "gs://default-bucket/pub"])["items"]?.array?.count == 1)
            for name in ["public", "private", "none"] {
                let object: JSON = .string("gs://default-bucket/\(name)")
                for (tool, arguments) in [
                    ("read_object", ["reference": object]), ("object_info", ["reference": object]),
                    ("write_object", ["reference": object, "text": "x"]), ("delete_objects", ["reference": object]),
                    ("copy_objects", ["reference": object, "to": "gs://default-bucket/pub/b"]),
                    ("copy_objects", ["reference": "gs://default-bucket/pub/a", "to": object]),
                    ("share_url", ["reference": object]),
                    ("set_metadata", ["reference": object, "contentType": "a/b"]),
                    ("list_objects", ["reference": object]),
                ] as [(String, JSON)] {
                    #expect(try agent.bad(tool, arguments).contains("outside"), "\(tool) \(name)")
                }
                #expect(try agent.read("gs://default-bucket/\(name)")["error"]?["code"] == -32602)
            }
            #expect(try agent.bad("list_objects", ["reference": "gs://default-bucket"]).contains("outside"))
            let listen = try agent.ask(
                "subscriptions/listen",
                .init(present: ["notifications": ["resourceSubscriptions": ["gs://default-bucket/public"]]]))
            #expect(listen["error"]?["code"] == -32602)
            #expect(try agent.end() == 0)
        }
    }

    @Test func `Streams report changes of their resources, below a folder too`() async throws {
        try await onThread {
            let agent = try Agent(place, ["--allow-changes"])
            let stream = agent.say(
                "subscriptions/listen",
                .init(present: [
                    "notifications": ["resourceSubscriptions": ["gs://default-bucket/f/", "gs://default-bucket/one"]]
                ]))
            let mark: JSON = .object([
                .init(key: "io.modelcontextprotocol/subscriptionId", value: JSON(Int64(stream)))
            ])
            let first = try #require(try agent.wire.next())
            #expect(first["method"] == "notifications/subscriptions/acknowledged" && first["params"]?["_meta"] == mark)
            for name in ["other", "f/a", "one", "one/below"] {
                _ = try agent.good("write_object", ["reference": .string("gs://default-bucket/\(name)"), "text": "x"])
            }
            _ = try agent.good("list_objects", [:])
            let changed = agent.heard.filter { $0["method"] == "notifications/resources/updated" }
            #expect(
                changed.map { $0["params"]?["uri"]?.string } == ["gs://default-bucket/f/a", "gs://default-bucket/one"])
            #expect(changed.allSatisfy { $0["params"]?["_meta"] == mark })
            agent.wire.send(
                #"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":\#(stream)}}"#)
            _ = try agent.good("write_object", ["reference": "gs://default-bucket/f/b", "text": "x"])
            _ = try agent.good("list_objects", [:])
            #expect(agent.heard.count { $0["method"] == "notifications/resources/updated" } == 2)
            #expect(try agent.end() == 0)
        }
    }

    @Test func `A running transfer is answered, followed, cancelled, and continues after the process`() async throws {
        let directory = place.directory + "/in"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try "mine".write(toFile: directory + "/file", atomically: false, encoding: .utf8)
        let flags =
            Place.unreachable + ["--allow-changes", "--allow-read", directory, "--max-upload-retry-time", "3600"]
        let task: String = try await onThread {
            let agent = try Agent(place, flags)
            let upload: JSON = ["path": .string(directory + "/file"), "reference": "gs://b/file", "wait": 0]
            let running = try agent.good("upload", upload)
            #expect(running["state"] != "success")
            #expect(try agent.good("upload", upload)["task"] == running["task"])
            let listed = try agent.good("list_transfers", ["task": running["task"] ?? .null])["transfers"]?.array
            #expect(listed?.first?["path"]?.string == directory + "/file")
            // A cancelled call has no answer, and cancels its task.
            let other: JSON = ["path": .string(directory + "/file"), "reference": "gs://b/other"]
            let call = agent.begin("upload", other)
            var id: String?
            while id == nil {
                let all = try agent.good("list_transfers", [:])["transfers"]?.array ?? []
                id = all.first { $0["reference"] == "gs://b/other" }?["task"]?.string
            }
            agent.wire.send(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":\#(call)}}"#)
            while try agent.good("list_transfers", ["task": .string(id ?? "")])["transfers"]?.array?.first?["state"]
                != "cancelled"
            {}
            #expect(!agent.heard.contains { $0["id"]?.number?.int64 == Int64(call) })
            // The end of the input ends the process in the middle of a call.
            _ = agent.begin("list_transfers", ["task": running["task"] ?? .null, "wait": 50])
            #expect(try agent.end() == 0)
            return running["task"]?.string ?? ""
        }
        try await onThread {
            let agent = try Agent(place, flags)
            let state = try agent.good("list_transfers", ["task": .string(task)])["transfers"]?.array?.first?["state"]
            #expect(state == "running" || state == "queued")
            let end = try agent.good("control_transfer", ["task": .string(task), "action": "cancel"])
            #expect(end["state"] == "cancelled")
            agent.process.signal(SIGTERM)
            #expect(try agent.process.waitForExit() == 0)
        }
        _ = await place.sh(
            "$S call service/stop --root \(place.root)/storage-rpc --engine firebase --endpoint http://127.0.0.1:1")
    }

    @Test func `Progress rises, carries the token of its call, and ends with it`() async throws {
        let directory = place.directory + "/in"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        #expect(await place.sh("truncate -s 200M in/large").status == 0)
        try await onThread {
            let agent = try Agent(place, ["--allow-changes", "--allow-read", directory])
            let call = agent.begin(
                "upload",
                ["path": .string(directory + "/large"), "reference": "gs://default-bucket/large", "wait": 48],
                token: "")
            let answer = try agent.answer(to: call)
            #expect(answer["result"]?["isError"] == false)
            let reports = agent.heard.filter { $0["method"] == "notifications/progress" }.map { $0["params"] }
            #expect(reports.allSatisfy { $0?["progressToken"] == "" })
            let values = reports.compactMap { $0?["progress"]?.number?.int64 }
            #expect(values.count == reports.count && zip(values, values.dropFirst()).allSatisfy { $0 < $1 })
            _ = try agent.good("list_objects", [:])
            #expect(agent.heard.count { $0["method"] == "notifications/progress" } == reports.count)
            #expect(try agent.end() == 0)
        }
    }

    @Test func `A page of a list or of a text is bounded whatever is asked, and pages join to the whole`() async throws
    {
        let name = String(repeating: "\"", count: 200)
        let line = "mkdir d; for n in {100..399}; do : > d/$n'\(name)'; done"
        #expect(
            await place.sh("\(line); $S put -r -q d gs://default-bucket/; seq 20000 | $S put -q - text").status == 0)
        try await onThread {
            let agent = try Agent(place)
            var (names, token): ([String], JSON?) = ([], nil)
            repeat {
                let arguments: [JSON.Member] = .init(present: [
                    "reference": "gs://default-bucket/d", "maxResults": 1000, "pageToken": token,
                ])
                let result = try agent.call("list_objects", .object(arguments))
                #expect(result.text.utf8.count < 130_000)
                let page = result["structuredContent"]
                #expect((page?["items"]?.text.utf8.count ?? 0) <= 31_000)
                names += page?["items"]?.array?.compactMap { $0["reference"]?.string } ?? []
                token = page?["nextPageToken"]
            } while token != nil
            #expect(names.count == 300 && Set(names).count == 300)
            var (text, offset) = ("", Int64(0))
            while true {
                let content = try agent.call(
                    "read_object", ["reference": "gs://default-bucket/text", "offset": JSON(offset)])["content"]?.array
                let page = try #require(content?.first?["text"]?.string)
                #expect(page.utf8.count <= 32 << 10)
                text += page
                offset += Int64(page.utf8.count)
                guard content?.last?["text"]?.string?.contains("go on with offset \(offset)") == true else { break }
            }
            #expect(text == (1...20000).map { "\($0)\n" }.joined())
            #expect(try agent.end() == 0)
        }
    }

    @Test func `The process ends with its input, even if its output is not read`() async throws {
        try await onThread {
            let agent = try Agent(place, ["--allow-changes"])
            let params =
                #"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#
                + #""io.modelcontextprotocol/clientCapabilities":{}}}"#
            // They fit into the pipe, and their answers do not.
            let lines = (0..<250).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"tools/list","params":\#(params)}"# }
            agent.wire.send(lines.joined(separator: "\n"))
            #expect(try agent.end() == 0)
        }
    }

    /// The first text of a good answer.
    private func note(_ agent: Agent, _ tool: String, _ arguments: JSON) throws -> String {
        let result = try agent.call(tool, arguments)
        #expect(result["isError"] == false, "\(result.text)")
        return result["content"]?.array?.first?["text"]?.string ?? ""
    }

    @Test func `A folder tool counts what it kept although it differs, and names the next step`() async throws {
        let line = """
            mkdir -p in out; echo 1 > in/same; echo 2 > in/other; echo 3 > in/new; ln -s same in/link; echo x > out/same
            $S put -q in/same gs://default-bucket/d/same; echo 4 | $S put -q - gs://default-bucket/d/other
            """
        #expect(await place.sh(line).status == 0)
        let (inside, target) = (place.directory + "/in", place.directory + "/out")
        try await onThread {
            let agent = try Agent(place, ["--allow-changes", "--allow-read", inside, "--allow-write", target])
            func folder(_ from: String, _ to: String? = nil) -> JSON {
                .object(
                    .init(present: [
                        "reference": .string("gs://default-bucket/\(from)"), "recursive": true,
                        "to": to.map { .string("gs://default-bucket/\($0)") },
                    ]))
            }
            func file(_ path: String, _ reference: String) -> JSON {
                .object((folder(reference).object ?? []) + [.init(key: "path", value: .string(path))])
            }
            let upload = try agent.call("upload", file(inside, "d"))
            let counts = upload["structuredContent"]
            #expect(counts?["files"] == 1 && counts?["filesUnchanged"] == 1 && counts?["filesKept"] == 1)
            let said = upload["content"]?.array?.first?["text"]?.string ?? ""
            #expect(said.contains("ifGenerationMatch") && said.contains("link"), "\(said)")
            #expect(counts?["filesRefused"] == 1)
            #expect(try note(agent, "download", file(target, "d")).contains("1 existing files were kept, whether"))
            _ = try agent.good("write_object", ["reference": "gs://default-bucket/e/other", "text": "5"])
            #expect(try note(agent, "copy_objects", folder("d", "e")).contains("1 existing objects differ"))
            #expect(try note(agent, "move_objects", folder("d", "e")).contains("3 objects were not moved"))
            let again = try agent.good("copy_objects", folder("d", "f"))
            #expect(again["files"] == 3 && again["filesKept"] == 0)

            for tool in ["copy_objects", "move_objects"] {
                for source in ["none", "d/new"] {
                    #expect(try agent.bad(tool, folder(source, "g")).contains("There is no object below"), "\(tool)")
                }
            }
            #expect(try agent.bad("download", file(target + "/x", "none")).contains("There is no object below"))

            let download: JSON = ["reference": "gs://default-bucket/d/new", "path": .string(target + "/same")]
            let refusal = try agent.bad("download", download)
            #expect(refusal.contains("replace true") && !refusal.contains("ifGenerationMatch"), "\(refusal)")
            #expect(try agent.end() == 0)
        }
    }

    @Test func `The files of the root cannot be uploaded, even below an allowed directory`() async throws {
        #expect(await place.sh("head -c 300000 /dev/zero | $S put -q - gs://default-bucket/private/large").status == 0)
        let root = place.root + "/storage-rpc"
        let objects = try FileManager.default.contentsOfDirectory(atPath: root + "/objects").map { "objects/" + $0 }
        #expect(!objects.isEmpty)
        try await onThread {
            let agent = try Agent(
                place, ["--allow-changes", "--allow-read", place.directory, "--within", "gs://default-bucket/pub"])
            for name in objects + ["objects/none", "storage.sqlite3", "lock"] {
                let upload: JSON = ["path": .string("\(root)/\(name)"), "reference": "gs://default-bucket/pub/x"]
                #expect(try agent.bad("upload", upload).contains("in the root of the service"), "\(name)")
            }
            #expect(try agent.end() == 0)
        }
    }

    @Test func `Bytes that are not an image are never sent to the model as one, whatever their type says`() async throws
    {
        try await onThread {
            let agent = try Agent(place, ["--allow-changes"])
            func read(_ bytes: [UInt8]) throws -> JSON? {
                let object: JSON = "gs://default-bucket/image"
                let old = try agent.call("object_info", ["reference": object])["structuredContent"]?["generation"]
                _ = try agent.good(
                    "write_object",
                    .object(
                        .init(present: [
                            "reference": object, "data": .string(Data(bytes).base64EncodedString()),
                            "contentType": "image/png",
                            "ifGenerationMatch": old,
                        ])))
                return try agent.call("read_object", ["reference": object])["content"]?.array?.first
            }
            #expect(try read(Array("no image".utf8))?["text"] == "no image")
            #expect(try read([0, 1, 2, 3])?["text"]?.string?.contains("binary") == true)
            #expect(try read([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0])?["mimeType"] == "image/png")
            #expect(try read([0xFF, 0xD8, 0xFF, 0xE0])?["mimeType"] == "image/jpeg")
            #expect(try read(Array("GIF89a".utf8))?["mimeType"] == "image/gif")
            #expect(try read(Array("RIFF....WEBPVP8 ".utf8))?["mimeType"] == "image/webp")
            #expect(try agent.end() == 0)
        }
    }

    @Test func `An answer is bounded in its escaped form`() async throws {
        try await onThread {
            let agent = try Agent(place, ["--allow-changes"])
            let control = String(repeating: "\u{1}", count: 1000)
            for number in 10..<35 {
                let name = "gs://default-bucket/c/\(number)\(control)"
                _ = try agent.good("write_object", ["reference": .string(name), "text": "x"])
            }
            for (tool, arguments) in [
                ("delete_objects", ["reference": "gs://default-bucket/c", "recursive": true]),
                ("list_objects", ["reference": "gs://default-bucket/c", "maxResults": 1000]), ("list_transfers", [:]),
            ] as [(String, JSON)] {
                let result = try agent.call(tool, arguments)
                #expect(result["isError"] == false && result.text.utf8.count < 100_000, "\(tool)")
            }
            let completion = try agent.ask(
                "completion/complete",
                [
                    .init(key: "ref", value: ["type": "ref/resource", "uri": "gs://{bucket}/{+object}"]),
                    .init(key: "argument", value: ["name": "object", "value": "c/"]),
                    .init(key: "context", value: ["arguments": ["bucket": "default-bucket"]]),
                ])
            #expect(completion.text.utf8.count < 100_000 && completion["result"]?["completion"]?["hasMore"] == true)
            let last = try agent.ask(
                "completion/complete",
                [
                    .init(key: "ref", value: ["type": "ref/resource", "uri": "gs://{bucket}/{+object}"]),
                    .init(key: "argument", value: ["name": "object", "value": "c/34"]),
                    .init(key: "context", value: ["arguments": ["bucket": "default-bucket"]]),
                ])
            #expect(last["result"]?["completion"]?["values"]?.array?.count == 1)
            let notes = try agent.call("list_transfers", [:])["content"]?.array
            #expect(notes?.first?["text"]?.string?.contains("only the newest are shown") == true)
            #expect(try agent.end() == 0)
        }
    }

    @Test func `Transfers of other clients keep their local paths, and end with their own calls alone`() async throws {
        #expect(await place.sh("mkdir in; echo x > in/file").status == 0)
        let directory = place.directory + "/in"
        let flags = Place.unreachable + ["--max-upload-retry-time", "3600"]
        let files = flags + ["--allow-changes", "--allow-read", directory]
        try await onThread {
            let (first, second) = (try Agent(place, files), try Agent(place, files))
            let upload: [JSON.Member] = .init(present: [
                "path": .string(directory + "/file"), "reference": "gs://b/file",
            ])
            let running = try first.good("upload", .object(upload + [.init(key: "wait", value: 0)]))
            _ = try first.good(
                "upload",
                ["path": .string(directory), "reference": "gs://b/d", "recursive": true, "wait": 0])
            let looking = try Agent(place, flags)
            let all = try looking.good("list_transfers", [:])
            #expect(all["transfers"]?.array?.count == 2 && !all.text.contains(directory), "\(all.text)")
            #expect(try looking.end(stopping: false) == 0)

            let call = second.begin("upload", .object(upload))
            func seen() throws -> JSON? {
                try second.good("list_transfers", ["task": running["task"] ?? .null])["transfers"]?.array?.first
            }
            while try seen()?["path"] == nil {}
            second.wire.send(#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":\#(call)}}"#)
            for _ in 0..<20 { #expect(try ["running", "queued"].contains(seen()?["state"]?.string ?? "")) }
            let control: [JSON.Member] = .init(present: ["task": running["task"]])
            for action in ["pause", "pause", "resume", "resume", "cancel", "cancel"] {
                _ = try second.good(
                    "control_transfer", .object(control + [.init(key: "action", value: .string(action))]))
            }
            #expect(
                try second.bad("control_transfer", .object(control + [.init(key: "action", value: "pause")]))
                    .contains("cancelled"))
            #expect(try second.end(stopping: false) == 0 && first.end(stopping: false) == 0)
        }
        _ = await place.sh(
            "$S call service/stop --root \(place.root)/storage-rpc --engine firebase --endpoint http://127.0.0.1:1")
    }

    @Test func `Within a folder its name completes, and streams acknowledge what is honoured, each resource once`()
        async throws
    {
        #expect(await place.sh("put pub/a private").status == 0)
        try await onThread {
            let agent = try Agent(place, ["--allow-changes", "--within", "gs://default-bucket/pub"])
            for (value, found) in [("", ["pub/"]), ("p", ["pub/"]), ("pub", ["pub/"]), ("pub/", ["pub/a"]), ("x", [])] {
                let answer = try agent.ask(
                    "completion/complete",
                    [
                        .init(key: "ref", value: ["type": "ref/resource", "uri": "gs://{bucket}/{+object}"]),
                        .init(key: "argument", value: ["name": "object", "value": .string(value)]),
                        .init(key: "context", value: ["arguments": ["bucket": "default-bucket"]]),
                    ])
                let values = answer["result"]?["completion"]?["values"]?.array?.compactMap(\.string)
                #expect(values == found, "\(value)")
            }
            let uris = ["gs://default-bucket/pub/", "gs://default-bucket/private", "gs://default-bucket/pub/%61"]
            let wanted = (uris + ["gs://default-bucket/pub/a"]).map(JSON.string)
            agent.say(
                "subscriptions/listen",
                [.init(key: "notifications", value: ["resourceSubscriptions": .array(wanted)])])
            let first = try #require(try agent.wire.next())
            #expect(first["method"] == "notifications/subscriptions/acknowledged", "\(first.text)")
            let honoured = first["params"]?["notifications"]?["resourceSubscriptions"]?.array?.compactMap(\.string)
            #expect(honoured == [uris[0], uris[2], "gs://default-bucket/pub/a"])
            let generation = try agent.good("object_info", ["reference": "gs://default-bucket/pub/a"])["generation"]
            _ = try agent.good(
                "write_object",
                [
                    "reference": "gs://default-bucket/pub/a", "text": "x", "ifGenerationMatch": generation ?? .null,
                ])
            _ = try agent.good("write_object", ["reference": "gs://default-bucket/pub/b", "text": "x"])
            _ = try agent.good("list_objects", [:])
            let changed = agent.heard.filter { $0["method"] == "notifications/resources/updated" }
            #expect(changed.map { $0["params"]?["uri"]?.string } == [uris[2], "gs://default-bucket/pub/b"])
            #expect(try agent.end() == 0)
        }
    }
}
