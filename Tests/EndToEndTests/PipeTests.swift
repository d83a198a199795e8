import Foundation
import JSONText
import TestSupport
import Testing

/// Standard input and output, whose bytes pass through the process.
@Suite(.watchdog) final class PipeTests {
    private let place = Place()

    private func sh(_ line: String, _ variables: [String: String] = [:]) async -> (status: Int32, text: String) {
        await place.sh(line, variables)
    }

    @Test(arguments: [0, 1, 768 << 10, 5_000_000]) func `Bytes of any number pass, without a temporary file`(
        count: Int
    ) async {
        let line =
            "head -c \(count) /dev/urandom > in; cat in | $S put -q - x && $S cat x | cmp - in && $S get x - > out && cmp in out"
        #expect(await sh(line, ["TMPDIR": "/nonexistent"]) == (0, ""))
    }

    @Test func `Pieces fit a service that takes short messages only`() async {
        let line = "seq 5000 > in; $S put -q - x --max-message-bytes 2048 < in; $S cat x | cmp - in"
        #expect(await sh(line) == (0, ""))
    }

    @Test func `An upload that a signal ends leaves no object and no task`() async {
        let line = """
            mkfifo in; $S put -q - x < in & exec 3> in; head -c 300000 /dev/zero >&3
            await '[ "$($S tasks --json | grep -c running)" = 1 ]'; kill -TERM $!; wait $!; echo $?
            $S ls; $S tasks -q
            """
        #expect(await sh(line) == (0, "143\n"))
    }

    @Test func `A failing read of standard input fails the command and stores nothing`() async {
        let put = await sh("$S put -q - x < /")
        #expect(put.status == 1 && put.text.contains("standard input cannot be read: Is a directory"), "\(put)")
        #expect(await sh("$S ls; $S tasks -q").text == "")
    }

    @Test func `Preconditions and the flag that skips existing objects hold for standard input`() async {
        #expect(
            await sh("put x; echo 2 | $S put - x --dry-run; $S cat x").text
                == "would upload standard input to gs://default-bucket/x\nx")
        let kept = await sh("echo 2 | $S put - x --no-clobber; $S cat x")
        #expect(kept.status == 0 && kept.text.contains("is there already: skipped"), "\(kept)")
        #expect(kept.text.hasSuffix("\nx"))
        let refused = await sh("echo 2 | $S put -q - x --if-generation-match 1")
        #expect(refused.status == 1 && refused.text.contains("preconditionFailed"), "\(refused)")
    }

    @Test func `An object that is replaced while it comes is an error`() async {
        let line = """
            $S serve --shared > log 2>&1 & await '[ -S $R/socket ]'
            head -c 30000000 /dev/zero | $S put -q - x; mkfifo out
            { $S cat x > out; echo $? > status; } 2> error & exec 3< out; head -c 10 <&3 > /dev/null
            echo new | $S put -q - x; cat <&3 > /dev/null; await '[ -s status ]'
            cat status; grep -c incomplete error; $S call service/stop > /dev/null
            """
        #expect(await sh(line) == (0, "1\n1\n"))
    }

    @Test func `A reader that closes the pipe ends the command with the status of a broken pipe`() async {
        let line = "head -c 5000000 /dev/zero | $S put -q - x; $S cat x | head -c 1 > /dev/null; echo ${PIPESTATUS[0]}"
        #expect(await sh(line) == (0, "141\n"))
    }

    @Test func `PARAMS that are too long for memory are refused`() async {
        #expect(await sh("echo '{}' | $S call service/ping -") == (0, "\"pong\"\n"))
        let refused = await sh("head -c 68000000 /dev/zero | $S call service/ping -")
        #expect(refused.status == 1 && refused.text.contains("more than the 64.0 MiB of PARAMS"), "\(refused)")
    }

    /// A completion gives up after a second: it is asked for again where nothing came.
    private func completed(_ line: String) async -> String {
        for _ in 0..<60 { if case let text = await sh(line).text, !text.isEmpty { return text } }
        return ""
    }

    @Test func `Objects, buckets and tasks are completed, and no root is made for it`() async {
        #expect(await sh("$S complete zsh -- cat ''; ls") == (0, ""))
        #expect(await sh("put 'a b/c d' 'a:b' z").status == 0)
        #expect(await completed("$S complete zsh -- cat a") == "a b/\na:b\n")
        #expect(
            await completed(#"$S complete bash s 's cat gs://default-bucket/a' ' :'"#)
                == "//default-bucket/a\\ b/\n//default-bucket/a:b\n")
        #expect(await completed(#"$S complete bash s 's rm a\ b/' ' :'"#) == "a\\ b/c\\ d\n")
        #expect(await completed(#"$S complete bash s "s rm 'a b/" ' :'"#) == "a b/c d\n")
        #expect(await completed("$S complete fish -- get z gs") == "gs://\n")
        #expect(await completed("$S complete fish -- ls --bucket d") == "default-bucket\n")
        #expect(await completed("$S complete fish -- tasks forget '' | grep success").split(separator: "\n").count == 3)
        let other = await sh(
            "$S complete zsh -- cat --engine gcs --endpoint http://127.0.0.1:1 --access-token-command false ''")
        #expect(other == (0, ""))
    }

    @Test func `The reads of a stream are answered in their order`() async throws {
        #expect(await sh("head -c 20000000 /dev/zero | $S put -q - x").status == 0)
        let (service, caller) = try place.service(root: place.root + "/storage-rpc")
        defer { withExtendedLifetime(service) {} }
        let stream = try caller.call("reference/getStream", #"{"reference":"gs://default-bucket/x"}"#)["task"]?.string
        let first = caller.lastID + 1
        for number in 0..<40 {
            let length = number % 2 == 0 ? 1_000_000 : 10
            caller.say("downloadTask/read", #"{"task":"\#(stream ?? "")","length":\#(length)}"#)
        }
        let answers = try (0..<40).map { _ in try caller.wire.next() }
        #expect(answers.allSatisfy { $0?["result"] != nil })
        #expect(answers.map { $0?["id"]?.number?.int64 } == (first..<first + 40).map { Int64($0) })
    }

    @Test func `What is left of an upload of standard input is named, and does not wait for ever`() async {
        let ran = await sh(
            #"""
            serve() { rm -f log; $S serve --root r --socket s --log-level info 2> log & P=$!; await 'grep -q listens log'; }
            serve; mkfifo in; $S put - x --socket s < in 2> err & C=$!; exec 3> in; head -c 900000 /dev/zero >&3
            await '$S tasks -q --socket s | grep -q running'
            kill -9 $P; wait $P 2> /dev/null; { head -c 90000 /dev/zero >&3; } 2> /dev/null
            exec 3>&-; wait $C; tail -n 1 err
            serve; ID=$($S tasks -q --socket s | cut -c 1-8)
            for verb in resume retry; do $S tasks $verb $ID --socket s; echo $?; done
            $S tasks cancel $ID --socket s; $S tasks -q --socket s; kill $P; wait $P
            """#)
        let lines = ran.text.replacing(/[^\n]*Killed[^\n]*\n/, with: "").split(separator: "\n")
        #expect(lines.first?.contains("tasks --socket s lists what stays of gs://default-bucket/x") == true, "\(ran)")
        let left = lines.dropFirst()
        #expect(left.filter { $0.contains("tasks --socket s cancel") }.count == 2, "\(ran)")
        #expect(left.filter { $0 == "1" }.count == 2 && left.count == 4, "\(ran)")
    }
}
