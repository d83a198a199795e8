import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// What a service inherits from its caller: umask, home, places of sockets, and the end of its pipes.
@Suite(.watchdog) final class CallerTests {
    private let place = Place()

    private func sh(_ line: String, _ variables: [String: String] = [:]) async -> (status: Int32, text: String) {
        await place.sh(line, variables)
    }

    @Test(arguments: ["000", "022", "077"])
    func `Files that are got follow the umask of the command, whatever that of the service is`(service: String) async {
        // `connect` starts the service.
        #expect(await sh("umask \(service); echo x > a; $S connect < /dev/null; $S put -q a a").status == 0)
        for (mask, mode) in [("000", "666"), ("027", "640"), ("077", "600")] {
            let line = "umask \(mask); $S get -q a \(mask); $S get -q a d\(mask)/; stat -c %a \(mask) d\(mask)/a"
            let expected = "\(mode)\n\(mode)\n"
            #expect(await sh(line).text == expected)
        }
        #expect(
            await sh("umask 077; $S get -q a 000; stat -c %a 000").text == "666\n", "what is replaced keeps its own")
        #expect(await sh("$S call service/stop").status == 0)
    }

    @Test func `Files of any client of a socket follow its umask`() async throws {
        let service = try place.listeningService(setUp: "umask 077")
        let script = """
            import json, os, socket, sys
            os.umask(0o026)
            peer = socket.socket(socket.AF_UNIX)
            peer.connect("socket")
            def call(method, **params):
                message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"reference": "gs://b/a", "wait": True, **params}}
                peer.sendall(json.dumps(message).encode() + b"\\n")
                assert "result" in json.loads(peer.makefile().readline())
            call("reference/putData", text="x")
            call("reference/writeToFile", file=os.path.abspath("got"))
            print(oct(os.stat("got").st_mode & 0o777))
            """
        try Data(script.utf8).write(to: URL(filePath: place.directory + "/client.py"))
        #expect(await sh("python3 client.py") == (0, "0o640\n"))
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    private static func user(_ id: uid_t, _ environment: String) -> String {
        "chmod 755 .; cp $S program; exec env -u HOME -u XDG_DATA_HOME \(environment) setpriv --reuid \(id) --clear-groups ./program "
    }

    @Test(
        .enabled(if: geteuid() == 0, "needs to become another user"),
        arguments: ["", "HOME=", "HOME=relative XDG_DATA_HOME=relative"])
    func `Without HOME the root is in the home of the user database`(environment: String) async throws {
        // It cannot write there.
        let nobody: uid_t = 65534
        let home = try #require(getpwuid(nobody)?.pointee.pw_dir.map { String(cString: $0) })
        let refused = await sh(Self.user(nobody, environment) + "put program a")
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.text.contains("The root \(home)/.local/share/storage-rpc cannot be used"), "\(refused)")
        #expect(!FileManager.default.fileExists(atPath: place.directory + "/relative"))
    }

    @Test(.enabled(if: geteuid() == 0, "needs to become another user"))
    func `A user without a home has to name a root`() async throws {
        let sentence = "HOME is not set, and user 54321 has no home directory; name a root with --root DIR"
        for command in ["ls", "serve", "connect", "backup copy", "ls --engine gcs"] {
            let refused = await sh(Self.user(54321, "") + command + " < /dev/null")
            #expect(refused.status == 1 && refused.text.contains(sentence), "\(command): \(refused)")
        }
    }

    @Test func `The sockets of spaces can be reached, however long the root's path is`() async throws {
        let long = place.directory + "/" + String(repeating: "x", count: 120)
        try FileManager.default.createDirectory(atPath: long, withIntermediateDirectories: true)
        try await onThread { [place] in
            let (service, client) = try place.service(
                ["--harness"], root: "\(long)/root", setUp: "export TMPDIR=\(long)")
            var directory = ""
            for name in [String(repeating: "n", count: 64), "short"] {
                let entered = try client.call("harness/space", #"{"space":"\#(name)","keep":true}"#)
                let path = try #require(entered["socket"]?.string)
                try #require(path.utf8.count <= 107)
                let mode = try FileManager.default.attributesOfItem(
                    atPath: (path as NSString).deletingLastPathComponent)
                try #require(mode[.posixPermissions] as? Int == 0o700)
                try #require(try Caller(WireClient(connectingTo: path)).call("service/ping") == "pong")
                directory = ((path as NSString).deletingLastPathComponent as NSString).deletingLastPathComponent
            }
            try #require(directory.hasPrefix("/tmp/storage-rpc-spaces-"))
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
            try #require(!FileManager.default.fileExists(atPath: directory))
        }
    }

    @Test func `Whoever holds both pipes is served when the parent has ended, and the service ends with the last one`()
        async throws
    {
        let script = """
            import json, os, subprocess, sys, time
            (inner, told), (heard, outer) = os.pipe(), os.pipe()
            parent = os.fork()
            if parent == 0:
                service = subprocess.Popen(sys.argv[1:], stdin=inner, stdout=outer)
                with open("pid", "w") as file: file.write(str(service.pid))
                os._exit(0)
            os.close(inner)
            os.close(outer)
            os.waitpid(parent, 0)
            answers = os.fdopen(heard)
            for number in range(3):
                os.write(told, json.dumps({"jsonrpc": "2.0", "id": number, "method": "service/ping"}).encode() + b"\\n")
                assert json.loads(answers.readline())["result"] == "pong"
            if os.environ["END"] == "first the input":
                os.close(told)
                assert answers.read() == ""
            os._exit(0)
            """
        try Data(script.utf8).write(to: URL(filePath: place.directory + "/sibling.py"))
        let wait = #"await '! kill -0 $(cat pid) 2> /dev/null || grep -q "^State:.Z" /proc/$(cat pid)/status'"#
        for end in ["first the input", "both at once"] {
            #expect(await sh("python3 sibling.py $S serve && \(wait)", ["END": end]) == (0, ""))
        }
    }
}
