import Foundation
import JSONText
import TestSupport
import Testing

/// The commands of the shell, as people and scripts use them.
@Suite(.watchdog) final class ShellTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "shell-\(UUID().uuidString)").path
    private var root: String { directory + "/root" }

    init() throws {
        for name in ["", "/tree/sub"] {
            try FileManager.default.createDirectory(atPath: directory + name, withIntermediateDirectories: true)
        }
        for (name, text) in [("a.txt", "a"), ("b.jpg", "bb"), ("sub/c d.txt", "ccc"), ("sub/[x].txt", "")] {
            try write(text, "tree/" + name)
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    private func write(_ text: String, _ name: String) throws {
        try Data(text.utf8).write(to: URL(filePath: directory + "/" + name))
    }

    private func read(_ name: String) throws -> String {
        try String(contentsOfFile: directory + "/" + name, encoding: .utf8)
    }

    /// Functions for `sh`, besides those of `Place`: `hold` starts a service that uses its root until `release`,
    /// and that no other process can reach.
    private static let functions =
        Place.functions + """
            hold() {
                mkfifo input; $S serve --harness --wait-for-root 100 "$@" < input > said & exec 9> input
                echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' >&9; await '[ -s said ]'
            }
            release() { exec 9>&-; wait; rm input said; }

            """

    /// A line of the shell in the directory; `$S` is the program. What it writes to stderr comes with the rest, without
    /// notices of waiting unless the test is about them.
    private func sh(_ line: String, withNotices: Bool = false) async -> (status: Int32, text: String) {
        let environment = ["S": ServiceProcess.program, "XDG_DATA_HOME": root, "TMPDIR": directory]
        let outcome = await Command(
            "/bin/bash", ["-c", Self.functions + line], environment: environment, in: directory, withErrors: true
        ).run()
        return (outcome.status, withNotices ? outcome.text : Place.withoutNotices(outcome.text))
    }

    /// A program on a terminal of 50 columns. Each key is pressed when the text before it has been shown.
    private func terminal(_ words: [String], _ keys: [(after: String, press: String)]) async throws -> (
        status: Int32, shown: String
    ) {
        let terminal = Terminal(directory: directory, environment: ["XDG_DATA_HOME": root, "TMPDIR": directory])
        return await terminal.run(words, keys)
    }

    private func temporaryFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { !["tree", "root"].contains($0) }
    }

    @Test func `A removal that was killed asks again before it continues`() async throws {
        let killed = await sh(
            #"""
            mkdir d; for n in {1..600}; do echo $n > d/$n; done; $S put -q -r d d
            $S rm -q -r d -p 1 & C=$!; await '[ $($S ls d | wc -l) -lt 590 ]'; kill -9 $C; wait $C 2> /dev/null
            await '$S tasks -q | grep -q paused'; echo paused
            """#)
        #expect(killed.text.hasSuffix("paused\n"), "\(killed.text)")
        let again = ["rm", "-r", "d", "-p", "1"]
        let refused = try await terminal(again, [("[y/N]", "n\r")])
        #expect(refused.status == 1 && refused.shown.contains("nothing was removed"), "\(refused.shown)")
        #expect(await sh("$S tasks -q | grep -c paused; $S ls d > list; [ -s list ] && echo some").text == "1\nsome\n")
        let confirmed = try await terminal(again, [("[y/N]", "y\r")])
        #expect(
            confirmed.status == 0 && confirmed.shown.contains("resuming gs://default-bucket/d/ at "),
            "\(confirmed.shown)")
        #expect(await sh("$S tasks -q; $S ls").text == "")
    }

    @Test func `The commands upload, list, match, copy, move, download and remove a tree`() async throws {
        #expect(await sh("$S put -r tree gs://default-bucket/ -q") == (0, ""))
        #expect(await sh("$S ls -r tree").text == "a.txt\nb.jpg\nsub/[x].txt\nsub/c d.txt\n")
        #expect(await sh("$S ls 'tree/*.txt'").text == "tree/a.txt\n")
        #expect(await sh("$S ls '**.txt'").text == "tree/a.txt\ntree/sub/[x].txt\ntree/sub/c d.txt\n")
        #expect(await sh("$S ls 'tree/[!a].*'").text == "tree/b.jpg\n")
        #expect(await sh("$S ls 'tree/sub/[x].txt'").text == "[x].txt\n", "a name before a pattern")
        #expect(await sh("$S ls 'tree/*.png'").status == 1)
        #expect(try await sh("$S ls -l tree").text.contains(Regex("(?m)^ +1  [-0-9]{10} [:0-9]{8}  a.txt$")))
        let list = try await sh("$S ls --json tree").text.split(separator: "\n").map { try JSON(parsing: String($0)) }
        #expect(list.map { $0["kind"] } == ["folder", "object", "object"])
        #expect(list.map { $0["size"]?.number?.int64 } == [nil, 1, 2])

        #expect(await sh("$S set tree/a.txt --content-type text/x --custom by=me --custom k=").status == 0)
        #expect(await sh("$S cp -q -r tree copy && $S mv -q copy/a.txt gs://other/x/").status == 0)
        #expect(await sh("$S ls -r copy").text == "b.jpg\nsub/[x].txt\nsub/c d.txt\n")
        let moved = try JSON(parsing: await sh("$S stat --json gs://other/x/a.txt").text)
        #expect(moved["contentType"] == "text/x" && moved["customMetadata"] == ["by": "me", "k": ""])
        #expect(await sh("$S set gs://other/x/a.txt --remove content-type --remove by").status == 0)
        let changed = try JSON(parsing: await sh("$S stat --json gs://other/x/a.txt").text)
        #expect(changed["contentType"] == nil && changed["customMetadata"] == ["k": ""])

        #expect(await sh("$S get -q -r tree out && diff -r tree out").status == 0)
        #expect(await sh("$S get -q -r tree out && diff -r tree out").status == 0, "twice is the same")
        #expect(await sh("$S get -q -r tree out/ && diff -r tree out/tree").status == 0, "below, by its name")
        #expect(await sh("$S get -q 'tree/*.*' into/ && ls into").text == "a.txt\nb.jpg\n")
        #expect(await sh("cd out && $S get -q gs://other/x/a.txt new.txt && cat new.txt").text == "a")
        #expect(await sh("$S cat 'tree/?.*' -q").text == "abb")
        #expect(await sh("$S mv -q tree/a.txt tree/a.txt").status == 64)
        for line in ["get -q tree", "cp -q tree/ t2", "rm tree"] {
            let folder = await sh("$S \(line)")
            let isFolder = folder.text.contains("is a folder: -r takes all")
            #expect(folder.status == (line.contains("tree/") ? 64 : 1) && isFolder, "\(folder.text)")
        }
        #expect(await sh("$S stat tree").text == "storage-rpc: tree is a folder: 'tree/*' is what is in it\n")
        #expect(
            await sh("$S put -q tree/a.txt gs://third && $S put -q tree/b.jpg gs://third/ && $S ls gs://third").text
                == "a.txt\nb.jpg\n")
        #expect(await sh("$S rm -q -r tree copy && $S ls").text == "")
        #expect(await sh("$S rm tree").status == 1)
    }

    @Test func `put -r names each file of a tree that it leaves out`() async throws {
        let made = await sh("cd tree && mkfifo pipe && ln -s . loop && ln -s a.txt link && touch $'caf\\xe9'")
        #expect(made.status == 0)
        let put = await sh("$S put -r tree t")
        #expect(put.status == 1 && put.text.contains("t/  4 files, 6 bytes"), "\(put.text)")
        #expect(put.text.contains("tree/link is a symbolic link: skipped; put uploads its file\n"))
        #expect(put.text.contains("tree/pipe is left out: it is a pipe."))
        #expect(put.text.contains("tree/loop is a symbolic link: skipped\n"))
        #expect(put.text.contains("is left out: it has a name that is not UTF-8"))
        #expect(await sh("$S put tree t").text.contains("tree is a directory; -r uploads all that is in it"))
        let word = await sh("$S put $'caf\\xe9' t")
        #expect(word.status == 64 && word.text.contains("argument 2 is not UTF-8"))
    }

    @Test func `get refuses names that lead outside of the directory or to the same file`() async throws {
        for name in ["t/../../evil", "t//evil", "t/evil/", "t/good"] {
            #expect(await sh("$S put -q tree/a.txt --exact '\(name)'").status == 0)
        }
        let got = await sh("mkdir -p in/deep && $S get -r t in/deep/")
        #expect(got.status == 1 && got.text.components(separatedBy: "is no path of a file").count == 4, "\(got.text)")
        #expect(await sh("find in -type f").text == "in/deep/t/good\n")
        for name in ["a/x", "b/x"] { #expect(await sh("$S put -q tree/a.txt \(name)").status == 0) }
        let two = await sh("$S get a/x b/x in/")
        #expect(two.status == 64 && two.text.contains("would both become in/x; nothing was downloaded"))
    }

    @Test func `put, cat and get transfer pipes unchanged`() async throws {
        #expect(await sh("seq 100000 | $S put -q - numbers").status == 0)
        #expect(await sh("$S cat -q numbers | cmp - <(seq 100000)") == (0, ""))
        #expect(await sh("set -o pipefail; $S cat -q numbers | head -c 2") == (141, "1\n"), "no error")
        #expect(await sh("$S get -q numbers - | tail -n 1").text == "100000\n")
        #expect(
            await sh(#"echo '{"reference":"gs://default-bucket/numbers"}' | $S call reference/getMetadata -"#).text
                .contains(#""size":588895"#))
        #expect(try temporaryFiles() == [])
    }

    @Test(arguments: [
        ("lss", "did you mean ls?"), ("ls --recursiv", "did you mean --recursive?"),
        ("put -x a b", "unknown flag -x; try: storage-rpc help put"),
        ("-x put a b", "unknown flag -x; try: storage-rpc help put"),
        ("ls --hlep", "did you mean --help?"), ("put -r tree t --exclude '*' --include '*.js'", "--include alone"),
        ("put gs://b/x .", "storage-rpc get gs://b/x . downloads"),
        ("frobnicate", "try: storage-rpc help"), ("put tree/a.txt az://b/c", "is no reference"),
        ("put tree/a.txt ./x", "is no reference"), ("put tree/a.txt gs:/b/c", "is no reference"),
        ("set a", "needs something to change"), ("tasks end x", "takes resume, retry, cancel or forget"),
        ("call service/ping 3", "PARAMS is a JSON object"),
    ])
    func `An invalid argument is refused with an error that names it`(words: String, sentence: String) async {
        let outcome = await sh("$S \(words)")
        #expect(outcome.status == 64 && outcome.text.contains(sentence), "\(outcome.text)")
        #expect(await sh("$S ls -q").text == "")
    }

    @Test func `url without a running service is refused`() async throws {
        #expect(await sh("$S put -q tree/a.txt a").status == 0)
        let refused = await sh("$S url a")
        #expect(refused.status == 1 && refused.text.contains("needs a running service"))
        let served = try await terminal(["url", "a", "--serve"], [("http://", "\u{3}")])
        #expect(served.status == 128 + 2 && served.shown.contains("alt=media"), "\(served.shown)")
    }

    @Test func `Help pages fit a screen, and completions and the man page are generated`() async throws {
        let commands = [
            "put", "get", "sync", "cat", "ls", "du", "hash", "stat", "set", "cp", "mv", "rm", "url", "tasks", "call",
            "serve", "mcp", "gateway", "backup",
        ]
        for page in commands + [
            "connect", "trace", "copying", "patterns", "metadata", "storage", "credentials", "bounds", "",
        ] {
            let help = await sh("$S help \(page)")
            let lines = help.text.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(help.status == 0 && lines.count <= 25 && lines.allSatisfy { $0.count <= 80 }, "\(page)")
            if commands.contains(page) {
                #expect(await sh("$S \(page) --help") == help)
                #expect(await sh("$S help").text.contains(try Regex("\n  (\\w+, )?\(page)[ ,]")))
            }
        }
        #expect(await sh("$S help --completions bash > c && bash -n c && . ./c && complete -p storage-rpc").status == 0)
        #expect(await sh("$S help --completions fish | grep -c '^complete -c storage-rpc'").text == "1\n")
        #expect(await sh("$S help --completions zsh | head -n 1").text == "#compdef storage-rpc\n")
        #expect(await sh("$S help --man | grep -c '^.SS'").text == "21\n")
    }

    @Test func `Progress bars fit the width of the terminal`() async throws {
        let long = String(repeating: "long-", count: 20)
        for name in [long, "b", "c"] {
            #expect(await sh("truncate -s 64M tree/\(name)").status == 0)
        }
        let files = ["tree/\(long)", "tree/b", "tree/c"]
        let (status, shown) = try await terminal(["put", "--json"] + files + ["t/"], [])
        #expect(status == 0, "\(shown.suffix(300))")
        let lines = shown.unicodeScalars.split { $0 == "\r" || $0 == "\n" }.map { line in
            String(line).replacing(/\x1B\[[0-9]*[A-Z]/, with: "")
        }
        #expect(lines.allSatisfy { $0.count <= 50 || $0.hasPrefix("{") }, "\(lines.filter { $0.count > 50 })")
        #expect(lines.contains { $0.contains("…") && $0.contains("%") })
    }

    @Test func `Ctrl-C ends a command by SIGINT and leaves no temporary files`() async throws {
        #expect(await sh("truncate -s 20G tree/large; $S put -q tree/a.txt a").status == 0)
        for words in [["put", "tree/large", "large"], ["put", "-r", "tree", "t"]] {
            let (status, shown) = try await terminal(words, [("%", "\u{3}")])
            #expect(status == 128 + 2, "\(shown.suffix(300))")
        }
        #expect(await sh("$S ls -r").text.contains("large") == false)
        let typed = try await terminal(["put", "-", "typed"], [("waits for standard input", "\u{3}")])
        #expect(typed.status == 128 + 2, "\(typed.shown)")
        #expect(try temporaryFiles() == [])
    }

    @Test func `rm -r asks for confirmation on a terminal`() async throws {
        #expect(await sh("$S put -q -r tree t").status == 0)
        for answer in ["n\n", "\u{4}"] {
            let refused = try await terminal(["rm", "-r", "t"], [("[y/N]", answer)])
            #expect(refused.status == 1 && refused.shown.contains("nothing was removed"), "\(refused.shown)")
        }
        let removed = try await terminal(["rm", "-r", "t"], [("[y/N]", "y\n")])
        #expect(removed.status == 0 && removed.shown.contains("4 removed"), "\(removed.shown)")
        #expect(await sh("$S put -q -r tree t && $S rm -r -y t").text.contains("4 removed"))
    }

    @Test func `A command waits for a root in use, or uses the service that listens on it`() async throws {
        #expect(await sh("$S put -q tree/a.txt a").status == 0)
        let line = """
            hold --root root/storage-rpc
            $S ls > list 2>&1 9>&- & await 'grep -q waits.for.the.root list'; release; cat list
            """
        let waited = await sh(line, withNotices: true)
        #expect(waited.text.contains("waits for the root") && waited.text.contains("\na\n"), "\(waited.text)")
        let next = await sh(
            """
            hold --root root/storage-rpc
            $S serve --socket s --log-level info 2> next 9>&- & N=$!; exec 9>&-; await 'grep -q listens next'; kill $N; release
            """)
        #expect(next.status == 0, "\(next.text)")
        let both = await sh("$S put -q tree/a.txt b & $S put -q tree/b.jpg c & wait; $S ls")
        #expect(both.text == "a\nb\nc\n")
        let shared = await sh(
            "$S serve --socket s --log-level info 2> log & await 'grep -q listens log'; $S ls; $S url a; $S ls --max-tasks 3; kill %1; wait"
        )
        #expect(shared.text.hasPrefix("a\nb\nc\nhttp://"), "\(shared.text)")
        #expect(shared.text.contains("has --max-tasks 10000, not 3"), "\(shared.text)")
    }

    @Test func `A waiting command prints what it waits for`() async throws {
        for (words, notice, key, status) in [
            ([], "waits for JSON-RPC on standard input", "\u{4}", 0),
            (["serve", "--socket", "s"], "serves s; Ctrl-C ends it", "\u{3}", 0),
            (["connect", "--idle-timeout", "1"], "connected; waits for JSON-RPC", "\u{4}", 0),
            (["trace", "-"], "waits for a trace on standard input", "\u{4}", 1),
        ] as [([String], String, String, Int32)] {
            let (ended, shown) = try await terminal(words, [(notice, key)])
            #expect(ended == status && shown.contains(notice), "\(words) \(shown)")
        }
        let root = """
            hold --root r
            $S serve --root r --wait-for-root 600 < /dev/null > list 2>&1 9>&- & await 'grep -q waits.for.the.root list'; release; cat list
            """
        #expect(await sh(root, withNotices: true).text.contains("waits for the root r, which process "))
        let silent = """
            $S serve --socket s --log-level info 2> log & P=$!; await 'grep -q listens log'; stop $P
            $S ls --socket s > list 2>&1 & L=$!; await 'grep -q waits.for.the.service list'; kill -CONT $P; wait $L; kill $P; wait; cat list
            """
        #expect(await sh(silent, withNotices: true).text.contains("waits for the service at s (process "))
        let command = """
            export TOKEN='until [ -e go ]; do sleep 0.05; done; exit 1'
            $S ls --engine firebase --endpoint http://127.0.0.1:1 --id-token-command "$TOKEN" > list 2>&1 &
            await 'grep -q waits.for.the.command list'; touch go; wait; cat list
            """
        #expect(await sh(command, withNotices: true).text.contains("waits for the command of --id-token-command"))
    }

    @Test func `tasks lists, resumes and forgets the tasks of a killed process`() async throws {
        #expect(await sh("truncate -s 20M tree/large").status == 0)
        let file = directory + "/tree/large"
        let messages = """
            {"jsonrpc":"2.0","id":1,"method":"storage/updateSettings","params":{"uploadChunkSizeBytes":262144}}
            {"jsonrpc":"2.0","id":2,"method":"harness/arm","params":{"on":"send","at":1048576,"do":{"hold":true}}}
            {"jsonrpc":"2.0","id":3,"method":"reference/putFile","params":{"reference":"gs://b/large","file":"\(file)","observe":["progress"]}}
            """
        try write(messages + "\n", "tree/messages")
        let line =
            "mkfifo input; $S serve --root root/storage-rpc --harness < input > said & exec 9> input; cat tree/messages >&9; "
            + "await 'grep -q Task/event said'; kill -9 $!; wait"
        let killed = await sh("touch said; \(line); rm said; $S tasks")
        let task = try #require(killed.text.split(separator: "\n").first { $0.contains("gs://b/large") })
        let id = try #require(task.split(separator: " ").first)
        let early = await sh("$S tasks forget \(id.prefix(8))")
        #expect(early.status == 1 && early.text.contains("is paused; cancel it first"), "\(early.text)")
        let resumed = await sh("$S tasks resume \(id.prefix(8)); $S tasks --all; $S ls gs://b")
        #expect(resumed.text.contains("success   100%") && resumed.text.hasSuffix("\nlarge\n"), "\(resumed.text)")
        #expect(await sh("$S tasks -q forget \(id) && $S tasks -q") == (0, ""))
        #expect(await sh("$S tasks cancel nothing").text.contains("there is no task nothing"))
    }

    @Test func `tasks retries what an earlier process could not carry out`() async throws {
        let file = directory + "/tree/a.txt"
        let messages = """
            {"jsonrpc":"2.0","id":1,"method":"storage/updateSettings","params":{"maxUploadRetryTime":0}}
            {"jsonrpc":"2.0","id":2,"method":"harness/arm","params":{"on":"whole","do":{"fail":{"httpStatus":503}}}}
            {"jsonrpc":"2.0","id":3,"method":"reference/putFile","params":{"reference":"gs://b/late","file":"\(file)","wait":true}}
            """
        try write(messages + "\n", "tree/messages")
        let failed = await sh(
            "$S serve --root r --harness < tree/messages 2> log | grep -c 13030; $S tasks --all --root r")
        let task = try #require(failed.text.split(separator: "\n").first { $0.contains("gs://b/late") })
        #expect(task.contains("failed") && failed.text.hasPrefix("1\n"), "\(failed.text)")
        let id = try #require(task.split(separator: " ").first)
        let retried = await sh(
            "$S tasks retry \(id.prefix(8)) --root r; $S tasks --all --root r; $S ls gs://b --root r")
        #expect(retried.text.contains("success   100%") && retried.text.hasSuffix("\nlate\n"), "\(retried.text)")
        let again = await sh("$S tasks retry \(id) --root r")
        #expect(again.status == 1 && again.text.contains("is success; only one that failed"), "\(again.text)")
    }

    @Test func `call --events prints the events of a task until it ends`() async throws {
        let params = #"{"reference":"gs://b/a","file":"'$PWD'/tree/a.txt","observe":["success"]}"#
        let lines = await sh("$S call -q --events reference/putFile '\(params)'").text.split(separator: "\n")
        #expect(try JSON(parsing: String(lines[0]))["task"]?.string != nil)
        #expect(try JSON(parsing: String(lines[1]))["params"]?["snapshot"]?["status"] == "success")
        #expect(lines.count == 2)
    }

    @Test func `A service uses the socket of a service manager and reports readiness and stop`() async throws {
        let script = """
            import os, socket, sys
            manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            manager.bind(b"\\0" + sys.argv[2].encode())
            manager.settimeout(60)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            listener.bind(sys.argv[2])
            listener.listen()
            process = os.fork()
            if process == 0:
                os.dup2(listener.fileno(), 3)
                os.set_inheritable(3, True)
                variables = {"LISTEN_FDS": "1", "LISTEN_PID": str(os.getpid()), "NOTIFY_SOCKET": "@" + sys.argv[2]}
                os.execve(sys.argv[1], [sys.argv[1], "serve"], {**os.environ, **variables})
            client = socket.socket(socket.AF_UNIX)
            client.connect(sys.argv[2])
            print(manager.recv(100).decode())
            client.sendall(b'{"jsonrpc":"2.0","id":1,"method":"service/stop"}\\n')
            print(client.recv(1000).decode().strip())
            print(manager.recv(100).decode(), os.waitpid(process, 0)[1], os.path.exists(sys.argv[2]))
            """
        try write(script, "manager.py")
        let told = await sh("python3 manager.py $S $PWD/manager 2> /dev/null")
        let lines = ["READY=1", #"{"jsonrpc":"2.0","id":1,"result":null}"#, "STOPPING=1 0 True", ""]
        #expect(told.text == lines.joined(separator: "\n"))
        #expect(
            await sh(
                "LISTEN_FDS=1 exec $S serve --shared --log-level info < /dev/null 2> log & await '[ -s log ]'; kill $!; wait $!"
            ).status == 0)
        let other = """
            import os, sys
            os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
            os.dup2(1, 3)
            os.execv(sys.argv[1], [sys.argv[1], "serve"])
            """
        try write(other, "other.py")
        let refused = await sh("python3 other.py $S")
        #expect(refused.status == 1 && refused.text.contains("Descriptor 3 (LISTEN_FDS) is no Unix stream socket"))
    }

    @Test func `A backup of a root with concurrent writes is complete and undamaged`() async throws {
        let script = """
            import json, os, subprocess, sys, threading
            program, root = sys.argv[1:]
            service = subprocess.Popen([program, "--root", root], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            lock, number = threading.Lock(), 0
            def call(method, **params):
                global number
                number += 1
                service.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\\n")
                service.stdin.flush()
                while True:
                    answer = json.loads(service.stdout.readline())
                    if answer.get("id") == number: return answer
            def put(name, size):
                with open(root + ".file", "wb") as file: file.write(name.encode() * (size // len(name)))
                assert "result" in call("reference/putFile", reference=f"gs://b/{name}", file=root + ".file", wait=True)
            for n in range(20): put(f"stays{n:02}", 700_000)
            done = threading.Event()
            def churn():
                n = 0
                while not done.is_set():
                    put(f"moves{n % 5}", 700_000 if n % 2 else 700)
                    if n % 3 == 0: call("reference/delete", reference=f"gs://b/moves{n % 5}")
                    n += 1
            thread = threading.Thread(target=churn, daemon=True)
            thread.start()
            for n in range(8):
                subprocess.run([program, "backup", f"{root}-{n}", "--root", root], check=True, stdout=subprocess.DEVNULL)
            done.set()
            thread.join()
            service.stdin.close()
            service.wait()
            for n in range(8):
                names = subprocess.run([program, "ls", "gs://b", "--root", f"{root}-{n}"], check=True, capture_output=True, text=True)
                names = names.stdout.split()
                assert len([name for name in names if name.startswith("stays")]) == 20, names
                for name in names:
                    got = subprocess.run([program, "cat", "-q", f"gs://b/{name}", "--root", f"{root}-{n}"], check=True, capture_output=True)
                    assert got.stdout == name.encode() * (len(got.stdout) // len(name)) and got.stdout, name
            print(len(names) >= 20)
            """
        try write(script, "churn.py")
        #expect(await sh("python3 churn.py $S $PWD/churned") == (0, "True\n"))
        #expect(try temporaryFiles().filter { $0.contains("unfinished") } == [])
        let full = await sh("$S backup churned-0 --root churned")
        #expect(full.status == 1 && full.text.contains("churned-0 is not empty"))
        let named = await sh("$S backup new/slash// --root churned-0 && $S ls gs://b --root new/slash && ls new")
        #expect(named.status == 0 && named.text.contains("stays00") && named.text.hasSuffix("slash\n"), "\(named.text)")
        let none = await sh("$S backup other --root nowhere")
        #expect(none.status == 1 && none.text.contains("nowhere is no root"))
        #expect(await sh("$S backup other --engine gcs").status == 64)
    }
}
