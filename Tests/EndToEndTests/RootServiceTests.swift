import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// Commands, services on stdio and other clients that share the one service of a root.
@Suite(.watchdog) struct RootServiceTests {
    private let place = Place()

    /// Functions for `sh`: `stdio` starts a service on stdio, which ends with `release`; `$H` is its process. `idle` waits
    /// until no service listens.
    private static let functions = """
        stdio() {
            mkfifo input; $S --root $R "$@" < input > said 2> log & H=$!; exec 9> input
            echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' >&9; await '[ -s said ]'
        }
        release() { exec 9>&-; wait $H; rm input said; }
        idle() { await '! [ -e $R/socket ]'; }

        """

    private func sh(_ line: String) async -> (status: Int32, text: String) {
        await place.sh(Self.functions + line)
    }

    @Test func `Commands that start together on a missing root all succeed, and leave no service`() async throws {
        let line = """
            printf x > f
            for round in 1 2 3; do
                for name in {1..20}; do $S put -q f $name 9>&- & done; wait
                $S ls | wc -l; idle; rm -r $R
            done
            """
        #expect(await sh(line) == (0, "20\n20\n20\n"))
    }

    @Test func `A killed command leaves its task paused with its progress, and no service`() async throws {
        let line = """
            truncate -s 20G large
            $S put --progress lines large large > /dev/null 2>&1 & P=$!
            await '$S tasks | grep -q running'; kill -9 $P; wait $P 2> /dev/null; idle
            $S tasks
            """
        let left = await sh(line)
        #expect(left.text.contains("paused") && left.text.contains("gs://default-bucket/large"), "\(left.text)")
        let ended = await sh("$S tasks cancel $($S tasks | cut -c1-8) && $S tasks -q; idle; echo $?")
        #expect(ended.text == "0\n", "\(ended.text)")
    }

    @Test(arguments: [
        "ls", "ls -r", "du", "tasks", "hash a", "stat a", "cat a", "get a b", "url a", "rm a", "rm -r d", "cp a b",
        "mv a b", "set a --custom k=v", "sync gs://b d", "put --dry-run f a", "sync --dry-run d gs://b",
    ])
    func `A command that stores nothing creates no root`(command: String) async {
        let line = """
            mkdir d empty; printf x > f; for FLAG in "" "--root named" "--root empty"; do
                $S \(command) $FLAG > said 2>&1; echo $? >> codes; grep -c "there is no root named yet" said
            done
            ls; ls -A empty d; $S put -q f a --root empty && $S ls --root empty
            """
        let codes = "0\n1\n0\n"
        let names = "codes\nd\nempty\nf\nsaid\n"
        #expect(await sh(line) == (0, "\(codes)\(names)d:\n\nempty:\na\n"))
    }

    @Test func `A list without a root is empty, and what is read from it does not exist`() async {
        #expect(await sh("$S ls; $S tasks -q; $S ls --root none -q") == (0, ""))
        let got = await sh("$S get a . --root none; echo $?")
        let said = "storage-rpc: there is no root none yet, so nothing is stored there: put and services create it\n"
        #expect(got.text.hasPrefix(said) && got.text.contains("does not exist"), "\(got.text)")
        #expect(got.text.hasSuffix("\n1\n"), "\(got.text)")
        for words in ["sync a b", "ls gs://b/../a", "get a b c", "rm gs://b/a/../b"] {
            let wrong = await sh("$S \(words) --root none; echo $?").text
            #expect(!wrong.contains("no root") && wrong.hasSuffix("\n64\n"), "\(wrong)")
        }
    }

    @Test(arguments: [
        "ls", "put f a", "sync gs://b d", "serve", "connect", "serve --harness", "gateway 127.0.0.1:0",
        "put f a --engine gcs --endpoint http://127.0.0.1:1", "backup copy",
    ])
    func `A directory with other files and no root is refused by name`(command: String) async {
        let line = "mkdir home; printf x > f; touch home/f; $S \(command) --root home < /dev/null; echo $?; ls -A home"
        let said = await sh(line)
        let sentence =
            command.hasPrefix("backup")
            ? "home is no root: it has no storage.sqlite3."
            : "The root home cannot be used: it is not empty and holds no storage; choose an empty or new directory."
        #expect(said.text.hasSuffix("storage-rpc: \(sentence)\n1\nf\n"), "\(said.text)")
    }

    @Test func `An error about a root in use names the command whose service has it, and how to share or end it`() async
    {
        let line = """
            mkfifo in; $S connect < in > said 2> lost & P=$!; exec 9> in
            echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' >&9; await '[ -s said ]'
            $S serve --socket other; echo $?; $S call service/stop --root $R > /dev/null; exec 9>&-; wait $P
            """
        let said = await sh(line).text.replacing(/process [0-9]+/, with: "process N")
        let root = place.root + "/storage-rpc"
        let expected =
            "storage-rpc: The root \(root) is in use by process N (storage-rpc connect); one process may have it at a "
            + "time. `storage-rpc call service/stop --root '\(root)'` ends it. To share it, use `storage-rpc connect` for "
            + "all. --socket other is for a new service.\n75\n"
        #expect(said == expected)
    }

    @Test func `A URL of another storage is refused if the running service has another engine`() async {
        let line = """
            $S serve --socket s --log-level info 2> log & P=$!; await 'grep -q "listens on s" log'
            $S ls s3://b --socket s; echo $?; kill $P; wait $P
            """
        let said =
            "s3://b names an object or a bucket of S3, which the service at s does not reach: start that with --engine s3; "
            + "for this disk write gs://b"
        #expect(await sh(line).text == "storage-rpc: \(said)\n64\n")
    }

    @Test func `A command that waits for its input does not delay others`() async throws {
        let line = """
            printf x > f; mkfifo pipe; $S put -q - piped < pipe & P=$!; exec 8> pipe; printf a >&8
            $S put -q f other; $S ls; exec 8>&-; wait $P; $S ls; idle
            """
        #expect(await sh(line) == (0, "other\nother\npiped\n"))
    }

    @Test func `A path is in the default bucket of its own command, whichever command runs the service`() async {
        let line = """
            printf x > f; $S put -q f d/a; $S put -q f d/b --bucket b2; mkfifo pipe
            $S put -q - piped --bucket b2 < pipe & P=$!; exec 8> pipe; printf a >&8; await '[ -e $R/socket ]'
            $S rm -r -q d; $S put -q f y; $S ls -r; exec 8>&-; wait $P; $S ls -r gs://b2; idle
            """
        #expect(await sh(line) == (0, "y\nd/b\npiped\n"))
    }

    @Test(arguments: [
        ("serve", "default-bucket"), ("connect", "default-bucket"), ("connect --bucket films", "films"),
        ("serve --bucket photos", "photos"),
    ])
    func `A session keeps its default bucket where another one runs the service`(words: String, bucket: String) async {
        let line = """
            stdio --bucket films --log-level info
            relayed() {
                $S \(words) --root $R | grep -aoE '"(defaultBucket|bucket)":"[a-z-]+"|"id":[a-z0-9" ]+,|"code":-[0-9]+'
            }
            I='{"jsonrpc":"2.0","id":1,"method":"initialize"}'; P='{"jsonrpc":"2.0","id":2,"method":"storage/reference"}'
            printf '%s\n%s' "$I" "$P" | relayed
            printf 'Content-Length: %d\r\n\r\n%s' ${#I} "$I" ${#P} "$P" | relayed
            printf '\n{}\n' | relayed; printf '' | relayed; release
            """
        let answers = #""id":1,\#n"defaultBucket":"\#(bucket)"\#n"id":2,\#n"bucket":"\#(bucket)"\#n"#
        #expect(await sh(line).text == answers + answers + "\"id\":null,\n\"code\":-32600\n")
    }

    @Test func `A session has the rights and settings of its own flags in the service of another one`() async {
        let line = """
            stdio; mkdir in; printf x > f
            printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"storage/getSettings"}' \
                '{"jsonrpc":"2.0","id":2,"method":"reference/putFile","params":{"reference":"gs://b/f","file":"'$PWD'/f","wait":true}}' |
                $S connect --root $R --allow-read in --max-upload-retry-time 7 | grep -oE '"maxUploadRetryTime":[0-9]+|"code":-[0-9]+'
            $S connect --root $R --allow-read none; echo $?
            for M in 3 10000; do
                echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' | $S connect --root $R --max-tasks $M; echo $?
            done; release
            """
        let path = place.root + "/storage-rpc/socket"
        let stop = "storage-rpc call service/stop --socket \(path) ends that one"
        #expect(
            await sh(line).text == """
                "maxUploadRetryTime":7
                "code":-13021
                storage-rpc: --allow-read none: there is no such directory
                64
                storage-rpc: the service at \(path) has --max-tasks 10000, not 3; \(stop)
                75
                {"jsonrpc":"2.0","id":1,"result":"pong"}
                0

                """)
    }

    @Test func `The flags of a command hold for it alone, whichever command runs the service`() async {
        let line = """
            mkdir in; printf x > in/f; printf x > g; mkfifo pipe; C="$S call storage/getSettings"
            $S put -q - piped --allow-read in --max-upload-retry-time 7 < pipe & P=$!; exec 8> pipe; printf a >&8
            await '[ -e $R/socket ]'; $S put -q g g; $S put -q --allow-read in in/f f; $S put -q --allow-read in g h; echo $?
            for F in "" "--max-upload-retry-time 9"; do $C $F | grep -oE '"maxUploadRetryTime":[0-9]+'; done
            $S call storage/reference --bucket b2 | grep -o 'gs://b2'; $S ls --uploads-at-once 2; echo $?
            exec 8>&-; wait $P; $S ls
            """
        let path = place.root + "/storage-rpc/socket"
        #expect(
            await sh(line).text == """
                storage-rpc: File \(place.directory)/g may not be read: it is in no directory that --allow-read names. (unauthorized)
                1
                "maxUploadRetryTime":600
                "maxUploadRetryTime":9
                gs://b2
                storage-rpc: --uploads-at-once is for a new service, but one runs already at \(path); storage-rpc call \
                service/stop --socket \(path) ends that one
                75
                f
                g
                piped

                """)
    }

    @Test func `The bounds of a command hold for no other command, which waits for its end`() async {
        let line = """
            printf x > f; mkfifo pipe; $S put -q - piped --max-message-bytes 1024 < pipe & P=$!
            exec 8> pipe; head -c 5000 /dev/zero >&8; await '[ -s $R/lock ]'
            $S put -q f b 8>&- & Q=$!; exec 8>&-; wait $P; echo $?; wait $Q; $S ls -l | grep -c ' 5000 *.*piped'; $S ls; idle
            """
        #expect(await sh(line).text == "0\n1\nb\npiped\n")
    }

    @Test(arguments: [
        "put . a", "put none a", "put f gs://b/../a", "put f f 'd/*'", "put f f d", "put gs://b/a b", "put -r . . a",
        "sync none gs://b", "sync d e", "call service/ping {", "put - - a", "put none none2 a/",
    ])
    func `A command whose words are wrong creates no root, without a temporary directory`(command: String) async {
        for flags in ["", "--engine gcs --endpoint http://127.0.0.1:1 --max-operation-retry-time 0"]
        where
            flags.isEmpty || !["'d/*'", "f d", "none", ". . a"].contains(where: command.contains)
        {
            let line = """
                export TMPDIR=/nonexistent; mkdir -p d; printf x > f
                $S \(command) \(flags) > said 2>&1; echo $?; cat said; find $R
                """
            let said = await sh(line)
            #expect(
                said.text.hasPrefix("64\n") || command.contains("none") && said.text.hasPrefix("1\n"), "\(said.text)")
            #expect(said.text.contains("storage-rpc: ") && !said.text.contains("lock"), "\(said.text)")
        }
    }

    @Test func `The first put of files and of merged directories needs no temporary directory`() async {
        let line = """
            export TMPDIR=/nonexistent; mkdir -p a/d b/d; printf A > a/d/x; printf B > b/d/y
            $S put -q -r a/d b/d all/ && $S ls -r; $S put -r a b --root other | grep -c '1 file'; $S ls -r --root other
            """
        let put = await sh(line)
        #expect(put == (0, "all/d/x\nall/d/y\n1\nb/d/x\n"), "\(put)")
    }

    @Test func `put names the files that do not exist before it uploads the others`() async {
        let put = await sh("printf x > f; $S put f none g/ -v > said 2>&1; echo $?; head -1 said; $S ls g")
        #expect(put.text.hasPrefix("1\nstorage-rpc: File ") && put.text.hasSuffix("/none does not exist.\nf\n"))
    }

    @Test(arguments: [
        "tasks", "ls", "put --dry-run f a", "get --dry-run a b", "sync --dry-run d gs://b", "rm -r --dry-run d",
    ])
    func `A command that only reads creates nothing for a remote engine`(command: String) async {
        let flags = "--engine s3 --endpoint http://127.0.0.1:1 --anonymous --max-operation-retry-time 0"
        #expect(
            await sh("mkdir d; printf x > f; $S \(command) \(flags) > said 2>&1; ls; ls $R 2>&1 | wc -l").text
                == "d\nf\nsaid\n1\n")
    }

    @Test func `In a pipe a list of tasks has whole references, and it counts ended ones in words`() async {
        let line = """
            N=$(printf 'long/%.0s' {1..40}); mkfifo pipe; $S put -q - ${N}x < pipe & P=$!; exec 8> pipe; printf abc >&8
            await '$S tasks | grep -q "gs://default-bucket/${N}x$"'; exec 8>&-; wait $P; $S tasks; idle
            """
        #expect(await sh(line).text == "1 task has ended: storage-rpc tasks --all shows it\n")
    }

    @Test func `A stream whose size is not known is listed with what it has, and no percentage`() async throws {
        let line = """
            mkfifo pipe; $S put -q - piped < pipe & P=$!; exec 8> pipe; printf abc >&8
            await '$S tasks | grep -q "running *so far  [03] bytes *put  gs://default-bucket/piped"'
            exec 8>&-; wait $P; $S tasks --all | grep -o "success.*100% of 3 bytes"; idle
            """
        let told = await sh(line)
        #expect(told.text.hasPrefix("success"), "\(told.text)")
    }

    @Test func `Commands and other clients use a service on stdio, which runs until they have left`() async throws {
        let line = """
            stdio --log-level info; printf x > f; $S put -q f a; $S ls
            echo '{"jsonrpc":"2.0","id":1,"method":"service/status"}' | $S --root $R | grep -o '"pid":'$H,
            echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' | $S --root $R --max-tasks 3; echo $?
            echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' | $S --root $R --bucket films; echo $?
            $S url a --serve > url & U=$!; await '[ -s url ]'
            echo '{"jsonrpc":"2.0","id":1,"method":"exit"}' >&9; await 'grep -q "stdio" log && grep -q "connection 1 closed" log'
            $S ls; kill -INT $U; wait $U; wait $H; echo $?; idle
            """
        let shared = await sh(line)
        let lines = shared.text.split(separator: "\n").map(String.init)
        #expect(lines.count == 8, "\(shared.text)")
        guard lines.count == 8 else { return }
        #expect(lines[0] == "a" && lines[1].hasPrefix(#""pid":"#), "\(shared.text)")
        #expect(lines[2].contains("is in use by process") && lines[3] == "75", "\(shared.text)")
        #expect(lines[4].contains(#""result":"pong""#), "\(shared.text)")
        #expect(lines[5...] == ["0", "a", "1"], "\(shared.text)")
    }

    @Test func `A service on stdio is served through another one only where no flag asks for a new one`() async throws {
        let line = """
            ping() { echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' | $S "$@" --root $R 2>&1; echo $?; }
            $S gateway 127.0.0.1:0 --root $R > said 2> log & P=$!; await '[ -s said ]'
            ping serve; ping serve --tasks pause --log-level off --stdio; ping serve --durability none
            ping serve --allow-read /; ping serve --max-upload-retry-time 1
            ping serve --durability full; ping connect --durability none; ping connect --durability full
            for F in --harness "--http 127.0.0.1:0" "--trace t" "--gateway 127.0.0.1:0" "--buckets a" "--tasks resume" \
                "--max-tasks 3" "--uploads-at-once 2"; do
                ping serve $F | sed "s/process $P (storage-rpc gateway);/process N;/" |
                    grep -oE 'is in use by process N|[-a-z]+ (is for a new service|[0-9]+, not 3)|^[0-9]+$'
            done
            kill $P; wait $P
            """
        let pong = #"{"jsonrpc":"2.0","id":1,"result":"pong"}"# + "\n0\n"
        let said = await sh(line).text
        let rest = said.split(separator: pong, omittingEmptySubsequences: false)
        try #require(rest.count == 7 && rest[..<5].allSatisfy(\.isEmpty), "\(said)")
        let path = "\(place.root)/storage-rpc/socket"
        let durability =
            "the service at \(path) has --durability none, not full; storage-rpc call service/stop --socket \(path) "
            + "ends that one"
        #expect(rest[5].contains("is in use by process") && rest[5].hasSuffix("\(durability).\n75\n"), "\(said)")
        let last = rest[6].split(separator: "\n")
        #expect(last.prefix(2) == ["storage-rpc: \(durability)", "75"], "\(said)")
        let flags = ["--harness", "--http", "--trace", "--gateway", "--buckets", "--tasks"]
        let reasons =
            flags.map { "\($0) is for a new service" } + [
                "--max-tasks 10000, not 3", "--uploads-at-once is for a new service",
            ]
        #expect(
            last.dropFirst(2).joined(separator: "\n")
                == reasons.map { "is in use by process N\n\($0)\n75" }.joined(separator: "\n"), "\(said)")
    }

    @Test(arguments: ["connect", "serve", "ls", "mcp"])
    func `A flag that has its effect at the start suits only a running service that was started with it`(
        command: String
    ) async {
        let line = """
            mkdir other; F="--uploads-at-once 3 --http 127.0.0.1:0"; T=
            case \(command) in connect|serve) T="--trace t" ;; esac
            $S serve --shared $F --idle-timeout=9 --trace t --root $R 2> log & P=$!; await '[ -S $R/socket ]'
            try() {
                case \(command) in
                ls) $S ls "$@" ;;
                mcp)
                    {
                        printf '{"jsonrpc":"2.0","id":1,"method":"%s","params":{%s}}\\n' initialize '"protocolVersion":"2025-06-18"' \
                            tools/call '"name":"list_objects","arguments":{}'
                        await '[ $(grep -c . answers) = 2 ]'
                    } | $S mcp "$@" --root $R > answers; cat answers ;;
                *) echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' | $S \(command) "$@" --root $R ;;
                esac 2>&1 | grep -oE -e '--[a-z-]+ is for a new service|pong|"isError":false'
                echo ${PIPESTATUS[0]}
            }
            try $F $T; try --uploads-at-once=3; try $F --downloads-at-once 3; try --http 127.0.0.1:1
            ln -s t link
            [ -z "$T" ] || { try $F --trace ../${PWD##*/}/./t; try $F --trace link; (cd other; try $T); }
            [ \(command) != connect ] || { try --idle-timeout 9; try --idle-timeout 10; }
            kill $P; wait $P
            """
        let fine = ["ls": "0\n", "mcp": "\"isError\":false\n0\n"][command] ?? "pong\n0\n"
        let status = command == "mcp" ? 0 : 75
        func refusal(_ flag: String) -> String { "\(flag) is for a new service\n\(status)\n" }
        let traced = ["connect", "serve"].contains(command) ? fine + fine + refusal("--trace") : ""
        let idle = command == "connect" ? fine + refusal("--idle-timeout") : ""
        #expect(
            await sh(line).text == fine + fine + refusal("--downloads-at-once") + refusal("--http") + traced + idle)
    }

    @Test func `What connect starts has no flags of its connection`() async {
        let line = """
            mkdir in; printf x > f; printf x > in/f
            say() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\\n' "$@"; }
            put() {
                {
                    say 1 reference/putFile '{"reference":"gs://b/f","file":"'$PWD/$1'","wait":true}'
                    say 2 storage/getSettings {}; say 3 storage/reference {}
                } | $S connect --root $R $2 | grep -oE '"maxUploadRetryTime":[0-9]+|"code":-[0-9]+|"bucket":"[a-z-]+"' | sort -u
            }
            put f "--allow-read in --max-upload-retry-time 7 --bucket films"; put f; put in/f "--allow-read in"
            $S call service/stop; idle; $S connect --root $R --allow-read none < /dev/null; echo $?; [ -e $R/socket ] || echo none
            """
        let unconfined = "\"bucket\":\"b\"\n\"bucket\":\"default-bucket\"\n\"maxUploadRetryTime\":600\n"
        #expect(
            await sh(line).text == "\"bucket\":\"b\"\n\"bucket\":\"films\"\n\"code\":-13021\n\"maxUploadRetryTime\":7\n"
                + unconfined
                + unconfined + "null\nstorage-rpc: --allow-read none: there is no such directory\n64\nnone\n")
    }

    @Test(arguments: ["connect", "serve", "mcp"])
    func `A client's process ends with 0 at a signal, and the service continues`(command: String) async {
        let line = """
            $S gateway 127.0.0.1:0 --root $R > said 2> log & P=$!; await '[ -s said ]'; mkfifo in
            for SIG in TERM HUP; do
                $S \(command) --root $R < in > out & Q=$!; exec 9> in
                echo '{"jsonrpc":"2.0","id":1,"method":"ping"}' >&9; await '[ -s out ]'
                kill -$SIG $Q; wait $Q; echo $?; exec 9>&-; rm out
            done
            kill $P; wait $P; echo $?
            """
        #expect(await sh(line).text == "0\n0\n0\n")
    }

    /// Commands end by the signal, as the shell expects it; what serves a client ends with 0.
    @Test(arguments: [("connect", 0), ("serve", 0), ("ls", 143), ("ls --max-tasks 5", 143)])
    func `A signal ends the wait for a root`(command: String, status: Int) async {
        let line = """
            mkfifo holding in; $S serve --harness --root $R < holding > said 2> log & P=$!; exec 9> holding
            echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' >&9; await '[ -s said ]'
            $S \(command) --root $R --wait-for-root 600 < in > out 2> waits & Q=$!; exec 8> in
            await 'grep -qE "SigBlk:.*[4-7c-f]...$" /proc/$Q/status'
            kill -TERM $Q; wait $Q; echo $?; exec 8>&- 9>&-; wait $P
            """
        #expect(await sh(line).text == "\(status)\n")
    }

    /// 64 means that the words can never be meant; what is missing, here or in the storage, is status 1.
    @Test func `Words of a wrong kind are an invalid command line, and nothing is changed`() async {
        let line = """
            printf x > f; mkdir -p d out/x; printf y > d/f; put gs://b/x gs://b/d/f
            try() { $S "$@" < /dev/null > said 2>&1; local status=$?; [ $status = $WANTED ] || { echo "$@: $status"; cat said; }; }
            WANTED=64
            try put f gs://; try put f f a/; try put -r d d a/; try put d a; try put f/ a; try put f "$(printf x%.0s {1..1100})"
            try sync f gs://b/e; try sync gs://b/d f; try get gs://b; try get gs://b/d/; try get gs://b/x gs://b/x d/
            try get gs://b/x f/; try get gs://b/x f/y; try get gs://b/x out; try get -r gs://b/d f; try get gs:// --json
            try cat gs://b; try cat gs://b/x gs://b/d/; try cat 'gs://b/d*/'; try stat gs://b; try rm gs://b/x gs://b
            try set gs://b/d/ --content-type a/b; try url gs://b; try cp gs://b/x gs://; try cp gs://b/x gs://b/x
            try mv gs://b/x gs://b/x gs://c/; try cp -r gs://b/d gs://b/d/e; try mv -r gs://b/d gs://b/d
            try hash --local d; try trace d; try backup f; try get gs://b --root none; try put f f a/ --root none
            WANTED=1
            try put none a; try sync none gs://b/e; try get gs://b/none; try cat gs://b/d; try get 'gs://b/*' 'gs://b/x*' e/
            try hash --local none; try trace none; try backup d; try stat gs://b/x gs://b/none
            $S ls -r gs://b; ls -A . none a e 2> /dev/null | grep -v '^root$'
            """
        #expect(await sh(line).text == "d/f\nx\n.:\nd\nf\nout\nsaid\n")
    }

    @Test func `A dry run that needs a temporary directory names the variable of one that cannot be used`() async {
        let said = await sh("mkdir d; printf x > d/f; TMPDIR=/none $S put -r d a/ --dry-run; [ -e $R ] || echo none")
            .text
        #expect(said.contains("/none (TMPDIR): No such file or directory.") && said.hasSuffix("none\n"), "\(said)")
    }

    @Test func `A service with other directories than a client asks for is named`() async {
        let line = """
            mkdir x y; mkfifo in; $S serve --allow-read y --root $R < in > said & P=$!; exec 9> in
            echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' >&9; await '[ -s said ]'
            for C in connect serve ls; do
                $S $C --allow-read x --root $R 2>&1 < /dev/null | grep -o "the service at $R.* with other directories"
                echo ${PIPESTATUS[0]}
            done; exec 9>&-; wait $P
            """
        let sentence = "the service at \(place.root)/storage-rpc/socket was started with other directories\n75\n"
        #expect(await sh(line).text == sentence + sentence + sentence)
    }

    @Test func `A command whose transfer another client pauses says so, and when it continues`() async throws {
        let line = """
            truncate -s 20G large; $S put -q large large 2> said & P=$!
            await '$S tasks | grep -q running'
            ID=$($S call uploadTask/list | grep -o '"task": *"[^"]*"' | head -n 1 | cut -d '"' -f 4)
            $S call uploadTask/pause '{"task":"'$ID'"}' > /dev/null; wait $P; echo $?; cat said
            $S tasks cancel $ID > /dev/null; idle
            """
        let told = await sh(line)
        #expect(told.text.contains("paused by another client; the same command resumes it"), "\(told.text)")
        #expect(told.text.hasPrefix("1\n"), "\(told.text)")
    }

    @Test func `A task continues when its client leaves a service whose owner has left before`() async throws {
        let line = """
            truncate -s 300M large; stdio --log-level info; mkfifo second; $S --root $R < second > answers 9>&- & P=$!
            exec 8> second; echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}' >&8; await '[ -s answers ]'
            exec 9>&-; await 'grep -q "connection 1 closed" log'
            printf '{"jsonrpc":"2.0","id":2,"method":"reference/putFile","params":{"reference":"%s","file":"%s"}}\\n' \
                gs://default-bucket/large $PWD/large >&8
            await 'grep -q "id.:2" answers'; exec 8>&-; wait $P $H; $S du -q
            """
        let ended = await sh(line)
        #expect(ended.status == 0 && ended.text.contains("314572800"), "\(ended.text)")
    }

    @Test func `A service listens again when its socket file was removed or replaced`() async throws {
        let line = """
            stdio; rm $R/socket; await '[ -S $R/socket ]'; $S ls; echo $?
            touch other; mv other $R/socket; rm $R/socket; await '[ -S $R/socket ]'
            echo '{"jsonrpc":"2.0","id":1,"method":"service/status"}' | $S --root $R | grep -c '"pid":'$H,
            release
            """
        #expect(await sh(line) == (0, "0\n1\n"))
    }

    @Test func `A command finds the new root when that of an idle service was removed`() async throws {
        let line = """
            printf x > f; stdio; $S put -q f old; rm -r $R; [ ! -e $R ] && $S put -q f new; $S ls; idle; release
            """
        #expect(await sh(line) == (0, "new\n"))
    }

    @Test func `A service does not wait for a root whose process listens, even if that one hangs`() async throws {
        let line = """
            $S serve --socket s --log-level info 2> log & P=$!; await 'grep -q listens log'; stop $P
            $S serve --socket other; echo $?; kill -CONT $P; kill $P; wait $P
            """
        let refused = await sh(line)
        #expect(refused.text.contains("is in use by process") && refused.text.hasSuffix("\n75\n"), "\(refused.text)")
    }

    @Test func `A service that does not answer is named by those who find it, and waited for with an end`() async throws
    {
        let line = """
            $S serve --shared --log-level info 2> log & P=$!; await 'grep -q listens log'; stop $P
            ping() { echo '{"jsonrpc":"2.0","id":1,"method":"service/ping"}'; }
            { $S ls > a 2>&1; echo $? >> a; } & A=$!
            { $S ls --socket $R/socket > b 2>&1; echo $? >> b; } & B=$!
            { ping | $S connect > c 2>&1; echo $? >> c; } & C=$!
            { ping | $S > d 2>&1; echo $? >> d; } & D=$!
            { $S ls --json -q > e 2> /dev/null; echo $? >> e; } & E=$!
            wait $A $B $C $D $E
            for F in a b c d e; do grep -c "waits for the service at $R/socket (process $P)" $F; done
            for F in a b c d e; do grep -o "the service at $R/socket (process $P) does not answer" $F; tail -n 1 $F; done
            kill -CONT $P; $S ls; echo $?; kill $P; wait $P
            """
        let told = "the service at \(place.root)/storage-rpc/socket (process N) does not answer\n75\n"
        let said = await sh(line)
        let text = said.text.replacing(/\(process [0-9]+\)/, with: "(process N)")
        #expect(text == "1\n1\n0\n0\n0\n" + String(repeating: told, count: 5) + "0\n", "\(said.text)")
    }

    @Test func `An error of the start is the error of the command`() async throws {
        let link = await sh("mkdir other; mkdir -p $R; ln -s $PWD/other $R/objects; $S ls")
        #expect(link.status == 1 && link.text.hasPrefix("storage-rpc: The root "), "\(link.text)")
        #expect(link.text.split(separator: "\n").count == 1, "\(link.text)")
        let busy = await sh("rm $R/objects; stdio --harness; $S ls --wait-for-root 0; echo $?; release")
        #expect(busy.text.hasPrefix("storage-rpc: The root \(place.root)/storage-rpc is in use by process "))
        #expect(busy.text.hasSuffix("\n75\n"), "\(busy.text)")
    }

    @Test func `A command says that a service which runs has another version`() async throws {
        let line = """
            cat > other.py << 'END'
            import json, socket
            listener = socket.socket(socket.AF_UNIX)
            listener.bind("other")
            listener.listen()
            for command in range(3):
                connection, _ = listener.accept()
                for line in connection.makefile():
                    asked = json.loads(line)
                    result = {"server": {"version": "0.0.9"}} if asked["method"] == "initialize" else "pong"
                    connection.sendall(json.dumps({"id": asked["id"], "result": result}).encode() + b"\\n")
            END
            python3 other.py & P=$!; await '$S call service/ping -q --socket other'
            $S call service/ping -q --socket other; $S call service/ping --socket other 2>&1 > /dev/null
            wait $P; stdio; $S call service/ping; release
            """
        let said = await sh(line).text.split(separator: "\n")
        #expect(said.last == "\"pong\"" && said.count > 2, "\(said)")
        let warnings = said.filter { $0.contains("version") }
        #expect(warnings.count == 1, "\(said)")
        #expect(
            warnings.first?.hasPrefix("storage-rpc: the service at other has version 0.0.9, and this program ") == true,
            "\(said)")
    }

    @Test func `An error says that the service has another version where that may be the reason`() async throws {
        let line = """
            cat > other.py << 'END'
            import json, socket
            listener = socket.socket(socket.AF_UNIX)
            listener.bind("other")
            listener.listen()
            for version in ["0.0.9", "0.1.0"]:
                connection, _ = listener.accept()
                for line in connection.makefile():
                    asked = json.loads(line)
                    answer = {"id": asked["id"], "error": {"code": -32601, "message": "There is no such method."}}
                    if asked["method"] == "initialize": answer = {"id": asked["id"], "result": {"server": {"version": version}}}
                    connection.sendall(json.dumps(answer).encode() + b"\\n")
            END
            python3 other.py & P=$!; await '[ -S other ]'
            for round in 1 2; do $S call new/method -q --socket other; echo $?; done; wait $P
            """
        let said = await sh(line).text.split(separator: "\n")
        try #require(said.count == 4, "\(said)")
        #expect(said[0].contains("no such method. The service has version 0.0.9, and this program 0.1.0"), "\(said)")
        #expect(said[0].contains("storage-rpc call service/stop ends that service"), "\(said)")
        #expect(said[1...] == ["1", "storage-rpc: There is no such method.", "1"], "\(said)")
    }

    @Test func `The log of a service that a command starts is shown by the command`() async throws {
        let shown = await sh(
            "printf x | $S put - a --log-level debug 2>&1 >/dev/null | tee log | grep -c 'listens on'; tail -n 1 log; idle"
        )
        #expect(shown.text.hasPrefix("1\n") && shown.text.contains("ends with status 0"), "\(shown.text)")
    }

    @Test func `A running service for objects elsewhere gets the tokens of the command`() async throws {
        let line = """
            F="--engine firebase --endpoint http://127.0.0.1:1"
            $S serve --shared $F --max-operation-retry-time 0 --log-level info 2> log & P=$!
            await 'grep -q "listens on" log'
            STORAGE_RPC_ID_TOKEN=secret $S ls $F --trace 2>&1 | grep auth/setToken; kill $P; wait $P
            """
        let shown = await sh(line)
        #expect(shown.text.contains("auth/setToken") && !shown.text.contains("secret"), "\(shown.text)")
    }

    @Test(arguments: [("s3", 1), ("gcs", 0)])
    func `A running service of the engine s3 gets the access key of the command`(engine: String, count: Int)
        async throws
    {
        let line = """
            F="--engine \(engine) --endpoint http://127.0.0.1:1"
            export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret
            $S serve --shared $F --max-operation-retry-time 0 --log-level info 2> log & P=$!
            await 'grep -q "listens on" log'
            $S ls $F --trace > trace 2>&1; grep -c '"method":"auth/setToken"' trace; grep -c secret trace log; kill $P; wait $P
            """
        let shown = await sh(line)
        #expect(shown.text == "\(count)\ntrace:0\nlog:0\n", "\(shown.text)")
    }

    /// Its client has a connection that is not there any more.
    @Test func `With pausesTasks the tasks of a connection pause with it, unless another one resumes them`()
        async throws
    {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let other = try place.connect()
            func state(_ task: String) throws -> String? {
                try other.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)["state"]?.string
            }
            var (paused, resumed, own) = ("", "", "")
            do {
                let first = try place.connect()
                own = try first.begin("reference/putData", #"{"reference":"gs://b/own","text":"x"}"#)
                try first.call("initialize", #"{"pausesTasks":true}"#)
                paused = try first.begin("reference/putData", #"{"reference":"gs://b/a","text":"x"}"#)
                resumed = try first.begin("reference/putData", #"{"reference":"gs://b/b","text":"x"}"#)
                try first.call("uploadTask/pause", #"{"task":"\#(resumed)"}"#)
                try other.call("uploadTask/resume", #"{"task":"\#(resumed)"}"#)
            }
            while try state(paused) != "paused" {}
            #expect(try state(resumed) == "running" && state(own) == "running")
            try #require(try other.refusal("initialize", #"{"pausesTasks":1}"#)["code"]?.number?.int64 == -32602)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `With pausesTasks a running task of others does not pause with a connection that joins it`() async throws
    {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let other = try place.connect()
            func snapshot(_ task: String) throws -> JSON {
                try other.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)
            }
            let file = place.directory + "/file"
            try Data("x".utf8).write(to: URL(filePath: file))
            let keyed = #"{"reference":"gs://b/keyed","file":"\#(file)","key":"k"}"#
            let tasks = try [
                other.begin("reference/putData", #"{"reference":"gs://b/a","text":"x"}"#),
                other.begin("reference/putData", #"{"reference":"gs://b/b","text":"x"}"#),
                other.begin("reference/putFile", keyed),
            ]
            try blockUntil { try snapshot(tasks[1])["retry"] != nil }
            var own = ""
            do {
                let first = try place.connect()
                try first.call("initialize", #"{"pausesTasks":true}"#)
                #expect(try first.call("uploadTask/resume", #"{"task":"\#(tasks[0])"}"#)["accepted"] == false)
                try blockUntil { try first.call("uploadTask/retry", #"{"task":"\#(tasks[1])"}"#)["accepted"] == true }
                #expect(try first.call("reference/putFile", keyed)["continued"] == true)
                own = try first.begin("reference/putData", #"{"reference":"gs://b/own","text":"x"}"#)
            }
            try blockUntil { try snapshot(own)["state"] == "paused" }
            for task in tasks {
                // A task that is about to pause would take the resumption.
                #expect(try other.call("uploadTask/resume", #"{"task":"\#(task)"}"#)["accepted"] == false)
            }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `With pausesTasks a task pauses with the last of the connections that have joined it`() async throws {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let other = try place.connect()
            func state(_ task: String) throws -> JSON? {
                try other.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)["state"]
            }
            var task = ""
            do {
                let last = try place.connect()
                try last.call("initialize", #"{"pausesTasks":true}"#)
                var own = ""
                do {
                    let first = try place.connect()
                    try first.call("initialize", #"{"pausesTasks":true}"#)
                    task = try first.begin("reference/putData", #"{"reference":"gs://b/a","text":"x"}"#)
                    own = try first.begin("reference/putData", #"{"reference":"gs://b/own","text":"x"}"#)
                    #expect(try last.call("uploadTask/resume", #"{"task":"\#(task)"}"#)["accepted"] == false)
                }
                try blockUntil { try state(own) == "paused" }
                #expect(try last.call("uploadTask/resume", #"{"task":"\#(task)"}"#)["accepted"] == false)
            }
            try blockUntil { try state(task) == "paused" }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A session of the gateway pauses neither with a connection nor with a command that resumes it`()
        async throws
    {
        let live = try LiveGateway(at: place)
        let url = try await live.client.start("x")
        let list = try await live.client.call("uploadTask/list", "{}")
        let task = try #require(list["tasks"]?.array?.first?["task"]?.string)
        try await onThread {
            let other = try place.connect()
            var own = ""
            do {
                let first = try place.connect()
                try first.call("initialize", #"{"pausesTasks":true}"#)
                #expect(try first.call("uploadTask/resume", #"{"task":"\#(task)"}"#)["accepted"] == false)
                try other.call("uploadTask/pause", #"{"task":"\#(task)"}"#)
                #expect(try first.call("uploadTask/resume", #"{"task":"\#(task)"}"#)["accepted"] == true)
                own = try first.begin("reference/putStream", #"{"reference":"gs://b/own"}"#)
                try first.call("uploadTask/append", #"{"task":"\#(own)","text":"x"}"#)
            }
            try blockUntil { try other.call("uploadTask/snapshot", #"{"task":"\#(own)"}"#)["state"] == "paused" }
        }
        let line = """
            $S tasks resume \(task) --socket socket --trace > told 2> trace & P=$!
            await 'grep -q "uploadTask/observe.*failure" trace'; kill -INT $P; wait $P; echo $?
            cat told; grep -c uploadTask/pause trace
            """
        let interrupted = await sh(line)
        #expect(interrupted.text.hasPrefix("130\n") && interrupted.text.hasSuffix("\n0\n"), "\(interrupted.text)")
        let resumed = try await live.client.call("uploadTask/resume", #"{"task":"\#(task)"}"#)
        #expect(resumed["accepted"] == false)
        #expect(try await live.client.command(url, "upload, finalize", "abc")["size"] == "3")
        try live.end()
    }

    @Test func `With pausesTasks a task that is retried pauses, too`() async throws {
        let fixture = try StorageFixture()
        let held = Signal()
        defer { held.fire() }
        fixture.faults = [.init(.first(.start), .answer(503)), .init(.nth(2, .start), .stall(until: held))]
        try await onThread {
            let service = try place.listeningService(["--engine", "gcs", "--endpoint", fixture.url])
            let other = try place.connect()
            func state(_ task: String) throws -> String? {
                try other.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)["state"]?.string
            }
            let file = place.directory + "/file"
            try Data(count: 600_000).write(to: URL(filePath: file))
            var task = ""
            do {
                let client = try place.connect()
                try client.call("initialize", #"{"pausesTasks":true}"#)
                try client.call("storage/updateSettings", #"{"maxUploadRetryTime":0,"uploadChunkSizeBytes":262144}"#)
                task = try client.begin("reference/putFile", #"{"reference":"gs://b/a","file":"\#(file)"}"#)
                try blockUntil { try state(task) == "failed" }
                let retried = try client.call("uploadTask/retry", #"{"task":"\#(task)"}"#)
                try #require(retried["accepted"]?.bool == true)
            }
            try blockUntil { try state(task) == "paused" }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
        #expect(fixture.unfired.isEmpty)
    }

    @Test func `With pausesTasks a stream pauses with the connection that was the last to append to it`() async throws {
        try await onThread {
            let service = try place.listeningService()
            let other = try place.connect()
            func state(_ task: String) throws -> String? {
                try other.call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)["state"]?.string
            }
            var (own, others) = ("", "")
            do {
                let client = try place.connect()
                try client.call("initialize", #"{"pausesTasks":true}"#)
                own = try client.begin("reference/putStream", #"{"reference":"gs://b/a"}"#)
                others = try client.begin("reference/putStream", #"{"reference":"gs://b/b"}"#)
                for task in [own, others] {
                    try client.call("uploadTask/append", #"{"task":"\#(task)","text":"abc"}"#)
                }
                try other.call("uploadTask/append", #"{"task":"\#(others)","text":"def"}"#)
            }
            while try state(own) != "paused" {}
            #expect(try state(others) == "running")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `With pausesTasks a task over a folder pauses, too`() async throws {
        try await onThread {
            let service = try place.listeningService(Place.unreachable)
            let other = try place.connect()
            let directory = place.directory + "/tree"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            try Data("x".utf8).write(to: URL(filePath: directory + "/a"))
            var task = ""
            do {
                let client = try place.connect()
                try client.call("initialize", #"{"pausesTasks":true}"#)
                let params = #"{"reference":"gs://b/t","directory":"\#(directory)"}"#
                task = try client.call("reference/putDirectory", params)["task"]?.string ?? ""
            }
            while try other.call("folderTask/snapshot", #"{"task":"\#(task)"}"#)["state"]?.string != "paused" {}
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }
}
