import TestSupport
import Testing

/// `storage-rpc gateway`, as scripts use it: it stays until a signal ends it.
@Suite(.watchdog) struct GatewayCommandTests {
    private let place = Place()

    /// `start ENV FLAG...` starts one in the background, whose variables are in the file ENV; `ask METHOD PATH` prints the
    /// first line of an answer; `stop` ends it and prints its status; `roots` lists temporary roots.
    private static let functions = #"""
        start() { local env=$1; shift; "$S" gateway 127.0.0.1:0 "$@" > $env & await "[ -s $env ]"; . ./$env; }
        ask() {
            exec 3<> /dev/tcp/${FIREBASE_STORAGE_EMULATOR_HOST/://} || return
            printf '%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n' $1 $2 >&3
            head -n 1 <&3 | tr -d '\r'
            exec 3>&-
        }
        stop() { kill -${1:-TERM} $!; wait $!; echo $?; }
        roots() { ls | grep -c ^storage-rpc-temporary; }

        """#

    private func sh(_ line: String) async -> (status: Int32, text: String) { await place.sh(Self.functions + line) }

    @Test(arguments: ["<&-", "< /dev/null", "< <(:)"])
    func `It runs without an input, answers health checks, and ends with status 0`(input: String) async {
        let ran = await sh(
            """
            "$S" gateway 127.0.0.1:0 > env \(input) &
            await '[ -s env ]'; . ./env
            ask GET /healthz; ask HEAD /healthz
            echo ${STORAGE_EMULATOR_HOST%:*} ${FIREBASE_STORAGE_EMULATOR_HOST%:*}; wc -l < env
            roots; stop; roots
            """)
        #expect(ran.text == "HTTP/1.1 200 OK\nHTTP/1.1 200 OK\nhttp://127.0.0.1 127.0.0.1\n2\n1\n0\n0\n")
    }

    @Test func `A gateway of serve says why it ends with its input, and what serves without one`() async {
        let ran = await sh("$S serve --gateway 127.0.0.1:0 --root r < /dev/null")
        #expect(
            ran.status == 0 && ran.text.contains("ends with status 0: the end of stdin; `storage-rpc gateway`"),
            "\(ran)")
        #expect(await sh("printf x | $S put -q - x --root r; $S backup copy --root r").text == "1 object, 1 byte\n")
    }

    @Test func `It runs without an output, too, and ends if its output fails`() async {
        let ran = await sh(
            """
            start env; kill -TERM $!; wait $!
            "$S" gateway $FIREBASE_STORAGE_EMULATOR_HOST <&- >&- 2>&- &
            await 'ask GET /healthz'; ask GET /healthz; stop
            "$S" gateway 127.0.0.1:0 > /dev/full; echo $?; roots
            """)
        #expect(
            ran.text == "HTTP/1.1 200 OK\nHTTP/1.1 200 OK\n0\n"
                + "storage-rpc: nothing can be written to stdout: No space left on device\n1\n0\n")
    }

    @Test func `A health check fails if the root is missing`() async {
        let ran = await sh("start env --root r; ask GET /healthz; rm -r r; ask GET /healthz; stop")
        #expect(ran.text.hasPrefix("HTTP/1.1 200 OK\nHTTP/1.1 503 "), "\(ran.text)")
    }

    @Test(arguments: ["storage:9199", "http://storage", "a b", "*"])
    func `A host that no request can name is refused`(host: String) async {
        let ran = await sh("\"$S\" gateway 127.0.0.1:0 --allow-host '\(host)' < /dev/null; echo $?")
        #expect(ran.text.contains("--allow-host \(host): not the name of a host") && ran.text.hasSuffix("64\n"))
    }

    @Test func `The next one removes the temporary root of one that was killed`() async {
        let ran = await sh("start a; stop KILL 2> killed; roots; start b; await '[ $(roots) = 1 ]'; stop; roots")
        #expect(ran.text.hasSuffix("137\n1\n0\n0\n"), "\(ran.text)")
    }

    @Test func `A root that is named serves commands, too, and keeps its objects`() async {
        let ran = await sh(
            """
            start env --root r; printf x | "$S" put -q - note --root r; ask GET /default-bucket/note; stop
            "$S" cat note --root r
            """)
        #expect(ran.text == "HTTP/1.1 200 OK\n0\nx")
    }

    @Test func `An address that is taken is an error, which is JSON with --json`() async throws {
        let ran = await sh(
            """
            start env; for flag in --quick --json; do
                "$S" gateway $FIREBASE_STORAGE_EMULATOR_HOST ${flag/--quick/}; echo $?
            done; roots; stop
            """)
        let lines = ran.text.split(separator: "\n")
        try #require(lines.count == 6, "\(ran.text)")
        #expect(lines[0].hasPrefix("storage-rpc: 127.0.0.1:") && lines[0].contains("cannot be listened on"))
        #expect(lines[2].hasPrefix(#"{"error":{"code":1,"#) && lines[2].contains("cannot be listened on"))
        #expect([lines[1], lines[3], lines[4], lines[5]] == ["1", "1", "1", "0"])
    }

    @Test func `With --json it prints variables, process and root`() async {
        let ran = await sh(
            """
            "$S" gateway 127.0.0.1:0 --json > json & await '[ -s json ]'
            sed -E "s/:[0-9]+\\"/:P\\"/g; s/:$!,/:PID,/; s/-temporary-[^\\"]+//; s#$PWD#DIR#" json; stop
            """)
        #expect(
            ran.text == #"{"environment":{"STORAGE_EMULATOR_HOST":"http://127.0.0.1:P","#
                + #""FIREBASE_STORAGE_EMULATOR_HOST":"127.0.0.1:P"},"pid":PID,"root":"DIR/storage-rpc"}"# + "\n0\n")
    }

    @Test func `Where no temporary root can be made, the error names the directory`() async {
        let ran = await sh("TMPDIR=/proc/none \"$S\" gateway 127.0.0.1:0; echo $?")
        let reason = "no temporary root can be made in /proc/none: No such file or directory; name one with --root"
        #expect(ran.text == "storage-rpc: \(reason)\n1\n")
    }

    @Test func `Where it listens on all addresses, its variables name the loopback`() async {
        let ran = await sh(
            """
            "$S" gateway 0.0.0.0:0 --allow-insecure > env & await '[ -s env ]'; . ./env
            echo ${STORAGE_EMULATOR_HOST%:*}; ask GET /healthz; stop INT
            """)
        #expect(ran.text == "http://127.0.0.1\nHTTP/1.1 200 OK\n0\n")
    }

    @Test func `With --harness tests reset it, and rules reach it over a socket`() async {
        let ran = await sh(
            """
            start env --harness --socket s 2> log
            "$S" call -q harness/authorize '{"default": "deny"}' --socket s > /dev/null; ask GET /v0/b/default-bucket/o/a
            ask POST /internal/reset; stop
            """)
        #expect(ran.text == "HTTP/1.1 403 Forbidden\nHTTP/1.1 200 OK\n0\n")
    }

    @Test(arguments: [
        ["9199"], ["localhost"], ["0.0.0.0:0"], ["127.0.0.1:0", "127.0.0.1:0"], ["--engine", "gcs"], ["--stdio"],
        ["--idle-timeout", "1"],
    ])
    func `What makes no sense is refused with status 64`(words: [String]) async {
        let ran = await sh("\"$S\" gateway \(words.joined(separator: " ")); roots")
        #expect(ran.text.hasSuffix("\n0\n") && ran.text.hasPrefix("storage-rpc: "), "\(ran.text)")
        #expect(await sh("\"$S\" gateway \(words.joined(separator: " "))").status == 64)
    }
}
