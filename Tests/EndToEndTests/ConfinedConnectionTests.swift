import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// Connections that give up rights in `initialize`.
@Suite(.watchdog) struct ConfinedConnectionTests {
    private let place = Place()

    /// The methods about objects that change nothing.
    private static let reading: Set = [
        "reference/exists", "reference/getMetadata", "reference/list", "reference/listAll", "reference/getData",
        "reference/writeToFile", "reference/writeToDirectory", "reference/getStream", "storage/observe",
    ]
    /// The methods that compute names.
    private static let naming: Set = ["reference/child", "reference/parent", "reference/root"]

    /// The methods with a reference, and params for it.
    private func calls(_ reference: String, to: String) throws -> [(method: String, params: String)] {
        let contract = try JSON(
            parsing: String(contentsOfFile: TranscriptTests.directory + "/openrpc.json", encoding: .utf8))
        let values: [String: JSON] = [
            "reference": .string(reference), "to": .string(to), "metadata": [:], "maxSize": 10,
            "file": .string(place.directory + "/file"), "directory": .string(place.directory + "/tree"),
        ]
        return (contract["methods"]?.array ?? []).compactMap { method in
            let params = method["params"]?.array ?? [], name = method["name"]?.string ?? ""
            guard params.contains(where: { $0["name"] == "reference" }), !Self.naming.contains(name) else { return nil }
            var members = params.filter { $0["required"] == true }.compactMap { param -> JSON.Member? in
                guard let name = param["name"]?.string, let value = values[name] else { return nil }
                return .init(key: name, value: value)
            }
            if name == "reference/putData" { members.append(.init(key: "text", value: "x")) }
            if params.contains(where: { $0["name"] == "everything" }) {
                members.append(.init(key: "everything", value: true))
            }
            return (name, JSON.object(members).text)
        }
    }

    private static let within = #"{"within":["gs://b/pub"]}"#

    @Test(arguments: ["gs://b/public", "gs://b/there", "gs://b", "gs://other/pub"])
    func `A connection within a folder is refused every method about anything else, existing or not`(
        outside: String
    ) async throws {
        try await onThread {
            let service = try place.listeningService()
            try place.connect().call("reference/putData", #"{"reference":"gs://b/there","text":"x","wait":true}"#)
            let client = try place.connect()
            #expect(try client.call("initialize", Self.within)["rights"]?["within"] == ["gs://b/pub"])
            let calls = try calls(outside, to: "gs://b/pub/b")
            #expect(calls.count > 15)
            for (method, params) in calls {
                #expect(try client.refusal(method, params)["code"] == -13021, "\(method) \(params)")
            }
            for method in ["reference/copy", "reference/move", "reference/copyAll"] {
                let params = #"{"reference":"gs://b/pub/a","to":"\#(outside)"}"#
                #expect(try client.refusal(method, params)["code"] == -13021, "\(method)")
            }
            #expect(try client.call("storage/buckets") == ["buckets": ["b"]])
            for method in ["service/stop", "service/status", "service/metrics"] {
                #expect(try client.refusal(method)["code"] == -13021, "\(method)")
            }
            try client.call("reference/putData", #"{"reference":"gs://b/pub/a","text":"x","wait":true}"#)
            #expect(try client.call("reference/list", #"{"reference":"gs://b/pub"}"#)["items"]?.array?.count == 1)
            service.signal(SIGTERM)
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `A connection that is read-only changes nothing, by no method`() async throws {
        try await onThread {
            let service = try place.listeningService()
            try place.connect().call("reference/putData", #"{"reference":"gs://b/a","text":"x","wait":true}"#)
            let client = try place.connect()
            try client.call("initialize", #"{"readOnly":true}"#)
            for (method, params) in try calls("gs://b/a", to: "gs://b/b") {
                let code = try client.refusal(method, params)["code"]
                #expect((code == -13021) == !Self.reading.contains(method), "\(method): \(code?.text ?? "")")
            }
            for (method, params) in [("service/stop", "{}"), ("storage/updateSettings", #"{"uploadsAtOnce":1}"#)] {
                #expect(try client.refusal(method, params)["code"] == -13021, "\(method)")
            }
            #expect(try client.call("service/status")["connections"]?.number?.int64 ?? 0 > 0)
            #expect(try client.call("reference/getData", #"{"reference":"gs://b/a","maxSize":9}"#)["data"] == "eA==")
            service.signal(SIGTERM)
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `Rights are given up before the next request, and for good`() async throws {
        try await onThread {
            let (service, client) = try place.service()
            try client.call("reference/putData", #"{"reference":"gs://b/a","text":"x","wait":true}"#)
            let rights = #"{"readOnly":true,"allowWrite":["\#(place.directory)"]}"#
            // The second request is on its way while the service looks for the directory.
            let pair = [
                #"{"jsonrpc":"2.0","id":"i","method":"initialize","params":\#(rights)}"#,
                #"{"jsonrpc":"2.0","id":"d","method":"reference/delete","params":{"reference":"gs://b/a"}}"#,
            ]
            client.wire.send(pair.joined(separator: "\n"))
            #expect(try client.wire.next()?["result"]?["rights"]?["readOnly"] == true)
            #expect(try client.wire.next()?["error"]?["code"] == -13021)
            #expect(try client.call("initialize", rights)["rights"]?["readOnly"] == true)
            #expect(try client.call("initialize")["rights"]?["readOnly"] == true)
            for outside in ["/", "/none"] {
                let params = #"{"allowWrite":["\#(outside)"]}"#
                #expect(try client.refusal("initialize", params)["code"] == -13021, "\(outside)")
            }
            #expect(try client.call("initialize", #"{"readOnly":false}"#)["rights"]?["readOnly"] == true)
            #expect(try client.refusal("reference/delete", #"{"reference":"gs://b/a"}"#)["code"] == -13021)
            for wrong in [#"{"within":"gs://b"}"#, #"{"allowRead":["a"]}"#, #"{"readOnly":1}"#] {
                let code = try client.refusal("initialize", wrong)["code"]
                #expect(code == -32602 || code == -13050, "\(wrong)")
            }
            client.wire.endInput()
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `A confined connection can be narrowed further, and never widened`() async throws {
        #expect(await place.sh("mkdir -p in/deep other; for D in . in in/deep; do printf x > $D/f; done").status == 0)
        let root = place.directory
        try await onThread {
            let service = try place.listeningService()
            let relay = try ServiceProcess(["connect", "--root", place.root, "--allow-read", root + "/in"])
            let relayed = Caller(WireClient(reading: relay.output, writing: relay.input))
            let client = try place.connect()
            try client.call("initialize", #"{"allowRead":["\#(root)/in"]}"#)
            for client in [relayed, client] {
                func rights(_ params: String) throws -> JSON? { try client.call("initialize", params)["rights"] }
                func put(_ path: String, _ object: String = "b/x/f") throws -> JSON? {
                    let params = #"{"reference":"gs://\#(object)","file":"\#(root)/\#(path)","wait":true}"#
                    return try client.refusal("reference/putFile", params)["code"]
                }
                #expect(try put("in/f") == nil)
                let kept = try rights(
                    #"{"allowRead":["\#(root)/in/deep"],"within":["gs://b","gs://c/d"],"allowWrite":[]}"#)
                #expect(kept?["allowRead"] == [.string(root + "/in/deep")] && kept?["allowWrite"] == [])
                #expect(
                    kept?["within"] == ["gs://b/", "gs://c/d"] && kept?["readOnly"] == false, "\(kept?.text ?? "")")
                #expect(try put("in/f") == -13021 && put("f") == -13021 && put("in/deep/f") == nil)
                for wider in ["in", "other", "none", ""] {
                    let params = #"{"allowRead":["\#(root)/\#(wider)"]}"#
                    #expect(try client.refusal("initialize", params)["code"] == -13021, "\(wider)")
                }
                let places = #"{"within":["gs://b/x","gs://c","gs://e"]}"#
                #expect(try rights(places)?["within"] == ["gs://b/x", "gs://c/d"])
                #expect(try rights(#"{"within":["gs://b","gs://c/d/e"]}"#)?["within"] == ["gs://c/d/e", "gs://b/x"])
                #expect(try put("in/deep/f") == nil && put("in/deep/f", "b/y") == -13021)
                #expect(try rights(#"{"readOnly":true}"#)?["allowRead"] == [.string(root + "/in/deep")])
                #expect(try put("in/deep/f") == -13021)
                func many(_ name: String) -> String {
                    let places = (1..<100).map { #""gs://b/x/\#(name)\#($0)""# }
                    return #"{"within":["gs://b",\#(places.joined(separator: ","))]}"#
                }
                #expect(try rights(many("a"))?["within"]?.array?.count == 100)
                #expect(try client.refusal("initialize", many("b"))["code"] == -13050)
                #expect(try rights(#"{"within":[],"allowRead":[]}"#)?["within"] == [])
                #expect(try rights(#"{"within":["gs://b/x"],"readOnly":false}"#)?["within"] == [])
            }
            service.signal(SIGTERM)
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test(arguments: ["connect", "serve"])
    func `A relay whose directory has gone before the client's first bytes ends, and the service gets none of them`(
        command: String
    ) async {
        let line = """
            mkdir d; mkfifo in; $S serve --shared --log-level info 2> log & P=$!; await 'grep -q "listens on" log'
            $S \(command) --allow-read $PWD/d < in > said 2> told & C=$!; exec 9> in
            await 'grep -q "connection 1.* closed" log'; rmdir d
            echo '{"jsonrpc":"2.0","id":1,"method":"reference/putFile","params":'\
            '{"reference":"gs://b/a","file":"'$PWD'/log","wait":true}}' >&9
            wait $C; echo $?; cat said; grep -c -- '--allow-read' told; $S ls gs://b; kill $P; wait $P
            """
        #expect(await place.sh(line).text == "1\n1\nstorage-rpc: there is no bucket gs://b\n")
    }

    @Test func `A second serve whose directory the service does not allow says so`() async {
        let line = """
            mkdir in out; $S serve --shared --allow-read in --log-level info 2> log & P=$!; await 'grep -q "listens on" log'
            $S serve --allow-read out < /dev/null 2>&1; echo $?; kill $P; wait $P
            """
        let said = await place.sh(line).text
        let reason = "It cannot serve this client: "
        #expect(said.contains(reason) && said.contains("--allow-read names") && said.hasSuffix("one.\n75\n"), "\(said)")
    }

    @Test func `Local files are those of the connection's directories that the service allows, too`() async throws {
        let line = """
            mkdir -p in/both in/own out; for d in in in/both in/own out; do printf $d > $d/f; done
            ln -s ../../out/f in/both/link; ln -s out out-link
            """
        #expect(await place.sh(line).status == 0)
        let root = place.directory
        try await onThread {
            let service = try place.listeningService(["--allow-read", root + "/in"])
            let client = try place.connect()
            let missing = try client.refusal("initialize", #"{"allowRead":["\#(root)/none"]}"#)
            let outside = try client.refusal("initialize", #"{"allowRead":["\#(root)/out"]}"#)
            #expect(missing["code"] == -13021 && outside["code"] == -13021)
            try client.call(
                "initialize",
                #"{"allowRead":["\#(root)/in/both"],"allowWrite":["\#(root)/out-link","\#(root)/in/own"]}"#)
            func put(_ path: String) throws -> JSON? {
                let params = #"{"reference":"gs://b/f","file":"\#(root)/\#(path)","wait":true}"#
                return try client.refusal("reference/putFile", params)["code"]
            }
            #expect(try put("in/both/f") == nil)
            for path in ["in/f", "in/own/f", "out/f", "out/none", "in/both/link", "in/both/../own/f"] {
                #expect(try put(path) == -13021, "\(path)")
            }
            let tree = #"{"reference":"gs://b/t","directory":"\#(root)/in","wait":true}"#
            #expect(try client.refusal("reference/putDirectory", tree)["code"] == -13021)
            func get(_ path: String) throws -> JSON? {
                let params = #"{"reference":"gs://b/f","file":"\#(root)/\#(path)","wait":true}"#
                return try client.refusal("reference/writeToFile", params)["code"]
            }
            #expect(try get("out-link/new") == nil && get("in/own/new") == nil)
            #expect(try get("in/new") == -13021 && get("new") == -13021)
            let download = #"{"reference":"gs://b","directory":"\#(root)/in/tree","wait":true}"#
            #expect(try client.refusal("reference/writeToDirectory", download)["code"] == -13021)
            // Another connection has its own rights.
            let none = try place.connect()
            try none.call("initialize", #"{"allowRead":[],"allowWrite":[]}"#)
            for (method, name) in [("reference/putFile", "in/both/f"), ("reference/writeToFile", "out/other")] {
                let params = #"{"reference":"gs://b/f","file":"\#(root)/\#(name)","wait":true}"#
                #expect(try none.refusal(method, params)["code"] == -13021, "\(method)")
            }
            service.signal(SIGTERM)
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `A confined connection knows the tasks of its objects, and controls those that it might begin`()
        async throws
    {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let owner = try place.connect()
            let inside = try owner.begin("reference/putData", #"{"reference":"gs://b/pub/a","text":"x"}"#)
            let outside = try owner.begin("reference/putData", #"{"reference":"gs://b/a","text":"x"}"#)
            let client = try place.connect()
            try client.call("initialize", #"{"readOnly":true,"within":["gs://b/pub"]}"#)
            let list = try client.call("uploadTask/list")["tasks"]?.array
            #expect(list?.map { $0["task"]?.string } == [inside])
            let unknown = try client.refusal("uploadTask/snapshot", #"{"task":"none"}"#)["message"]?.string
            for verb in ["snapshot", "wait", "pause", "cancel", "retry", "forget", "removeAllObservers"] {
                let error = try client.refusal("uploadTask/\(verb)", #"{"task":"\#(outside)"}"#)
                #expect(error["code"] == -13050, "\(verb)")
                #expect(error["message"]?.string == unknown?.replacing("none", with: outside), "\(verb)")
            }
            for verb in ["pause", "resume", "cancel", "retry", "forget"] {
                #expect(
                    try client.refusal("uploadTask/\(verb)", #"{"task":"\#(inside)"}"#)["code"] == -13021, "\(verb)")
            }
            #expect(try client.call("uploadTask/snapshot", #"{"task":"\#(inside)"}"#)["state"] == "running")
            service.signal(SIGTERM)
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `A connection confined to directories resumes only tasks that were begun with the same directories`()
        async throws
    {
        #expect(await place.sh("mkdir in; echo x > in/f; echo x > f").status == 0)
        let root = place.directory
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            func begin(_ client: Caller, _ file: String) throws -> String {
                try client.begin("reference/putFile", #"{"reference":"gs://b/f","file":"\#(root)/\#(file)"}"#)
            }
            let rights = #"{"allowRead":["\#(root)/in"],"allowWrite":[]}"#
            let owner = try place.connect(), before = try place.connect(), client = try place.connect()
            for confined in [before, client] { try confined.call("initialize", rights) }
            let (others, own) = (try begin(owner, "f"), try begin(before, "in/f"))
            let directory = #"{"reference":"gs://b/d","directory":"\#(root)/in"}"#
            let folder = try owner.call("reference/putDirectory", directory)["task"]?.string ?? ""
            let memory = try owner.begin("reference/putData", #"{"reference":"gs://b/m","text":"x"}"#)
            for verb in ["resume", "retry"] {
                for (kind, task) in [("upload", others), ("folder", folder)] {
                    let error = try client.refusal("\(kind)Task/\(verb)", #"{"task":"\#(task)"}"#)
                    #expect(error["code"] == -13021, "\(kind) \(verb)")
                }
                for task in [own, memory] {
                    #expect(try client.refusal("uploadTask/\(verb)", #"{"task":"\#(task)"}"#)["code"] == nil)
                }
            }
            #expect(try client.call("uploadTask/cancel", #"{"task":"\#(others)"}"#)["accepted"] == true)
            service.signal(SIGTERM)
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `A confined connection continues no task with its key that it may not resume`() async throws {
        #expect(await place.sh("mkdir in; echo x > in/f; echo x > f").status == 0)
        let root = place.directory
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let owner = try place.connect(), confined = try place.connect(), other = try place.connect()
            try confined.call("initialize", #"{"allowRead":["\#(root)/in"],"allowWrite":["\#(root)/in"]}"#)
            try other.call("initialize", #"{"within":["gs://b/other"]}"#)
            for (method, param, path) in [
                ("writeToFile", "file", "g"), ("writeToFile", "file", "in/g"), ("putFile", "file", "in/f"),
                ("putDirectory", "directory", "in"), ("writeToDirectory", "directory", "d"),
            ] {
                func params(_ object: String) -> String {
                    #"{"reference":"gs://b/\#(object)","\#(param)":"\#(root)/\#(path)","key":"\#(method) \#(path)"}"#
                }
                let task = try #require(try owner.call("reference/\(method)", params("a"))["task"]?.string)
                for (client, object) in [(confined, "a"), (confined, "b"), (other, "other")] {
                    let error = try client.refusal("reference/\(method)", params(object))
                    #expect(error["code"] == -13021, "\(method) \(path): \(error.text)")
                    #expect(!error.text.contains(task), "\(method) \(path)")
                }
                let again = try owner.call("reference/\(method)", params("a"))
                #expect(again["continued"] == true && again["task"]?.string == task, "\(method) \(path)")
            }
            service.signal(SIGTERM)
            #expect(try service.waitForExit() == 0)
        }
    }

    @Test func `A download that keeps what exists fails where a file exists`() async throws {
        try "mine".write(toFile: place.directory + "/file", atomically: false, encoding: .utf8)
        try await onThread {
            let (service, client) = try place.service()
            try client.call("reference/putData", #"{"reference":"gs://b/a","text":"x","wait":true}"#)
            let params = #"{"reference":"gs://b/a","file":"\#(place.directory)/file","keepExisting":true,"wait":true}"#
            #expect(try client.refusal("reference/writeToFile", params)["code"] == -13412)
            #expect(try String(contentsOfFile: place.directory + "/file", encoding: .utf8) == "mine")
            client.wire.endInput()
            #expect(try service.waitForExit() == 0)
        }
    }
}
