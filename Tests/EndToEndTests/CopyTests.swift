import Foundation
import JSONText
import TestSupport
import Testing

/// What `put`, `get`, `cp`, `mv` and `rm` make of many names, and what they refuse.
@Suite(.watchdog) struct CopyTests {
    private let place = Place()
    private func sh(_ line: String) async -> (status: Int32, text: String) { await place.sh(line) }

    private func list(_ words: String = "") async -> String { await sh("$S ls -r \(words)").text }

    @Test(arguments: [
        "mv '*/report.txt' all/", "cp '*/report.txt' all/", "get '*/report.txt' all/", "mv -r jan/t feb/t dst/",
        "get -r jan feb/../feb jan out/", "mv -r gs://one gs://two gs://all/", "cp -r '*/t' gs://all",
        "get jan/report.txt feb/report.txt o/", "get -r jan/t feb/t o/", "put -r c1/. c2/. t/", "put c1/x c2/x t/",
        "put -r c1/x c2/x gs://all", "mv jan/report.txt jan/report.txt all/", "mv '**/report.txt' jan/report.txt all/",
        "get -r jan/t 'feb/*' jan/report.txt o/",
    ])
    func `Several sources of one name are refused before anything is written`(words: String) async {
        let objects = ["jan/report.txt", "feb/report.txt", "jan/t/x", "feb/t/x", "gs://one/x", "gs://two/x"]
        #expect(
            await sh("put \(objects.joined(separator: " ")); mkdir c1 c2; echo 1 > c1/x; echo 2 > c2/x").status == 0)
        let before = await sh("$S ls -r; $S ls -r gs://one; $S ls -r gs://two; find c* o -type f").text
        let refused = await sh("$S \(words)")
        let isNamed = refused.text.contains("would both become") || refused.text.contains("is named twice")
        let isPath = words.contains("..") || words.contains("/.")
        #expect(isPath ? refused.status == 64 : [1, 64].contains(refused.status) && isNamed, "\(refused.text)")
        #expect(await sh("$S ls -r; $S ls -r gs://one; $S ls -r gs://two; find c* o -type f").text == before)
        #expect(await sh("$S ls -r gs://all").text == "storage-rpc: there is no bucket gs://all\n")
    }

    @Test func `A whole bucket keeps every name, with its first folder`() async {
        #expect(await sh("put 2025/report.txt 2026/report.txt a//b").status == 0)
        let got = await sh("$S get -r gs://default-bucket dump")
        #expect(got.status == 1 && got.text.contains("a//b is left out: it is no path of a file"), "\(got.text)")
        #expect(
            await sh("cd dump && find . -type f | sort && cat 2025/*").text
                == "./2025/report.txt\n./2026/report.txt\n2025/report.txt")
        #expect(await sh("$S mv -q -r gs://default-bucket gs://archive/all && $S ls -r").text == "")
        #expect(await list("gs://archive") == "all/2025/report.txt\nall/2026/report.txt\nall/a//b\n")
        #expect(
            await sh("$S cp -q -r gs://archive gs://copy && $S ls -r gs://copy").text == (await list("gs://archive")))
    }

    @Test(arguments: [
        "cp -r a a/z", "mv -r a a/z/", "cp -r a a", "mv -r a a", "cp -r gs://default-bucket gs://default-bucket/e",
        "mv -r gs://default-bucket gs://default-bucket", "cp -r a gs://default-bucket/", "mv -r 'a*' a/",
        "mv a/b/c a/b/c",
        "mv -r a/b a", "mv -r a b a/b/", "mv 'a/*' a/",
    ])
    func `Nothing is copied to itself or below itself`(words: String) async {
        #expect(await sh("put a/b/c a/b/b/c a/d b").status == 0)
        let before = await list()
        let refused = await sh("$S \(words)")
        let status: Int32 = words.contains("*") || words == "mv -r a/b a" ? 1 : 64
        #expect(refused.status == status && refused.text.contains("; nothing was "), "\(refused.text)")
        #expect(await list() == before)
    }

    @Test func `A target that another copy still reads is refused`() async {
        #expect(await sh("put a/1 a/b/1 a/b/c/1").status == 0)
        let refused = await sh("$S mv 'a/**1' a/b/")
        #expect(
            refused.status == 1 && refused.text.contains("would replace gs://default-bucket/a/b/1"), "\(refused.text)")
        #expect(await list() == "a/1\na/b/1\na/b/c/1\n")
    }

    @Test func `A file and a directory of one name are refused before anything is got`() async {
        #expect(await sh("put d/a d/a/b d/c").status == 0)
        let beside = await sh("$S get -r d beside; ls beside/a")
        #expect(
            beside.text.contains("gs://default-bucket/d/a is left out: ") && beside.text.hasSuffix("\nb\n"), "\(beside)"
        )
        let refused = await sh("$S get 'd/**' out/")
        #expect(refused.status == 1 && refused.text.contains("would be in that directory"), "\(refused.text)")
        let file = await sh("touch out; $S get -r d out; $S get 'd/*' out")
        #expect(file.text.contains("out is no directory") && file.text.contains("end out with /"), "\(file.text)")
        let taken = await sh("rm out; mkdir -p out/c; $S get 'd/*' out/")
        #expect(taken.status == 1 && taken.text.contains("cannot replace the directory out/c"), "\(taken.text)")
        #expect(await sh("find out").text == "out\nout/c\n")
    }

    @Test(arguments: [
        "rm -r ''", "rm ''", "mv -r '' x/", "cp '' x", "cp a ''", "put '' x", "put in ''", "get ''", "get a ''",
        "cat ''",
        "ls ''", "stat ''", "set '' --custom a=b", "url ''", "tasks ''", "tasks cancel ''", "call ''", "call ping ''",
        "trace ''", "serve ''", "backup ''", "ls --bucket ''", "ls --root=", "put in a --content-type ''",
        "set a / --custom k=v", "cat a /", "rm a /", "rm -r /", "rm -r //", "rm / -r --yes", "mv -r / x/",
        "cp -r // x/", "get -r / x/", "ls /", "put in /",
        "cp a //",
        "rm -r gs://default-bucket/", "rm -r gs://default-bucket//", "mv -r gs://default-bucket/ x/", "rm '/*'",
        "rm '/**'", "get -r gs://default-bucket/ x/", "rm -r http://127.0.0.1:9/v0/b/default-bucket/o/",
    ])
    func `Every command refuses an empty argument, and a bucket that is not named by its URL`(words: String) async {
        #expect(await sh("put a b/c; touch in").status == 0)
        let refused = await sh("$S \(words)")
        #expect([1, 64].contains(refused.status) && !refused.text.isEmpty, "\(refused.text)")
        if !words.contains("http") { #expect(refused.status == 64, "\(refused.text)") }
        #expect(await list() == "a\nb/c\n")
        #expect(await sh("$S stat a").text.contains("customMetadata") == false)
    }

    @Test func `A bucket needs -r, and its URL`() async {
        #expect(await sh("put a b/c").status == 0)
        for words in ["rm gs://default-bucket", "cp gs://default-bucket x/", "get gs://default-bucket"] {
            let refused = await sh("$S \(words)")
            #expect(refused.status == 64 && refused.text.contains("is a bucket: -r takes all"), "\(refused.text)")
        }
        #expect(await sh("$S stat gs://default-bucket").text.contains("'gs://default-bucket/*' is what is in it"))
        #expect(await sh("$S ls gs://default-bucket/").text == "a\nb/\n")
        #expect(await sh("$S rm -r -y gs://default-bucket; $S ls").text == "2 removed\n")
        #expect(await sh("$S rm -r -y gs://default-bucket").text == "0 removed\n")
    }

    @Test func `A folder with its slash is not the object of that name`() async {
        #expect(await sh("put docs docs/a docs/b").status == 0)
        #expect(await sh("$S cp -q -r docs/ copy && $S ls -r copy").text == "a\nb\n")
        #expect(await sh("$S mv -q -r docs/ new/ && $S ls -r").text == "copy/a\ncopy/b\ndocs\nnew/docs/a\nnew/docs/b\n")
        #expect(await sh("$S rm -r docs/").status == 1)
        for words in [
            "rm docs/", "stat docs/", "cat docs/", "get docs/", "url docs/", "cp docs/ x", "set docs/ --custom a=b",
        ] {
            let refused = await sh("$S \(words)")
            #expect(refused.status == 64 && !refused.text.contains("removed"), "\(refused.text)")
        }
        #expect(await sh("$S ls docs/").status == 1)
        #expect(
            await sh("put docs/a && $S cp -q -r docs x && $S ls -r gs://default-bucket").text.contains("\nx\n") == true)
        #expect(await sh("$S rm -r docs").text == "2 removed\n", "without its slash it is both")
    }

    @Test func `An existing name takes precedence over a pattern`() async {
        #expect(await sh("put 'app/[id]/x' app/d app/i 'a[1].txt' a1.txt 'w?' wx").status == 0)
        #expect(await sh("$S rm -r 'app/[id]'").text == "1 removed\n")
        #expect(await sh("$S mv -q 'a[1].txt' moved.txt && $S cat -q moved.txt").text == "a[1].txt")
        #expect(await sh("$S cp -q --exact 'w?' 'copy?' && $S cat -q 'copy?'").text == "w?")
        #expect(await sh("$S get -q 'w?' got && cat got && $S get -q --exact 'w?' got2 && cat got2").text == "w?w?")
        #expect(await list() == "a1.txt\napp/d\napp/i\ncopy?\nmoved.txt\nw?\nwx\n")
        #expect(
            await sh("put 'app/[id]/x' 'app/[id]/y'; $S mv -q -r --exact 'app/[id]' ids; $S ls -r").text.contains(
                "ids/x\nids/y\n"))
        #expect(await sh("$S ls 'app/[id]'").text == "app/d\napp/i\n", "it is a pattern where nothing has this name")
        #expect(await sh("put 'app/[id]/x'; $S rm 'app/[id]'").text.contains("is a folder: -r takes all"))
        #expect(await sh("$S rm --exact 'app/[x]'; $S ls app").text.hasSuffix("[id]/\nd\ni\n"))
    }

    @Test func `A pattern with -r takes folders`() async {
        #expect(await sh("put t/one/a t/one/b/c t/two t/other/x/one").status == 0)
        #expect(
            await sh("$S cp -q -r 't/o*' 't/tw?' all/ && $S ls -r all").text == "one/a\none/b/c\nother/x/one\ntwo\n")
        #expect(
            await sh("$S get -q -r 't/*' out/ && cd out && find . -type f | sort").text
                == "./one/a\n./one/b/c\n./other/x/one\n./two\n")
        #expect(await sh("$S cp -q -r 't/**/one' deep/ && $S ls -r deep").text == "one/a\none/b/c\nother/x/one\n")
        #expect(await sh("$S ls -r 't/o*/'").text == "t/one/a\nt/one/b/c\nt/other/x/one\n")
        #expect(await sh("$S rm 't/o*/'").text.contains("is a folder: -r takes all"))
        #expect(await sh("$S rm -r 't/o*'; $S ls -r t").text == "3 removed\ntwo\n")
        #expect(await sh("$S rm -r 't/none*'").text.contains("nothing matches t/none*"))
    }

    @Test func `The same command given twice does the same`() async {
        #expect(await sh("put d/a d/b/c f; mkdir -p tree/sub; echo 1 > tree/x; echo 2 > tree/sub/y").status == 0)
        for words in [
            "cp -r d copy", "cp -r d/ copy2/", "cp f plain", "cp f copy/", "cp -r f alone", "cp 'd/a*' f many/",
            "get -r d out", "get -r d out2/", "get f out", "get -r gs://default-bucket/d/ out3", "put tree/x up",
            "put -r tree up2", "put -r tree up3/", "put -r tree/. up4/", "put -r tree tree/x up5/", "cp f gs://other",
            "put tree/x gs://other", "cp -r d gs://other",
        ] {
            let seen =
                "$S ls -r gs://default-bucket; $S ls -r gs://other; find . -path ./root -prune -o -type f -print | sort"
            let first = await sh("$S \(words) -q && { \(seen); }")
            #expect(first.status == 0, "\(words) \(first.text)")
            #expect(await sh("$S \(words) -q && { \(seen); }").text == first.text || words.contains("."), "\(words)")
        }
        #expect(await sh("$S ls -r copy").text == "a\nb/c\nf\n")
        #expect(await sh("$S ls -r copy2").text == "d/a\nd/b/c\n")
        #expect(await sh("$S ls up3; $S ls up4; $S ls up5").text == "tree/\nsub/\nx\ntree/\nx\n")
        #expect(await sh("ls out out2").text == "out:\na\nb\nf\n\nout2:\nd\n")
        #expect(await sh("$S ls -r plain; $S ls -r alone; $S cat -q up").text == "plain\nalone\n1\n")
    }

    @Test func `A single object goes into an existing folder, and takes the name of an existing object`() async {
        #expect(await sh("put a.txt b.txt docs/x both both/x").status == 0)
        #expect(await sh("$S cp -q -r a.txt b.txt && $S cat -q b.txt").text == "a.txt")
        #expect(await sh("$S cp -q a.txt docs && $S cat -q docs/a.txt").text == "a.txt")
        #expect(await sh("$S cp -q a.txt both && $S cat -q both").text == "a.txt")
        let many = await sh("$S cp a.txt b.txt none")
        #expect(many.status == 64 && many.text.contains("end none with /"), "\(many.text)")
        let over = await sh("$S cp -r docs a.txt")
        #expect(over.status == 1 && over.text.contains("a.txt is an object"), "\(over.text)")
        #expect(await list() == "a.txt\nb.txt\nboth\nboth/x\ndocs/a.txt\ndocs/x\n")
    }

    @Test func `Names that differ only in their Unicode form remain two names`() async {
        #expect(await sh("put d/caf\u{E9} d/cafe\u{301}").status == 0)
        #expect(await sh("$S cp -q -r d e && $S mv -q 'e/*' f/ && $S get -q -r f out && ls out | wc -l").text == "2\n")
        #expect(
            await sh("$S mv -q d/caf\u{E9} d/cafe\u{301}2 && $S cp -q d/cafe\u{301} d/caf\u{E9} && $S ls d | wc -l")
                .text == "3\n")
        #expect(await sh("$S cp d/caf\u{E9} d/caf\u{E9}").status == 64)
        #expect(
            await sh(
                "$S put -q -r out g --custom caf\u{E9}=1 --custom cafe\u{301}=2 && $S stat g/caf\u{E9} | grep -o 'caf.*='"
            ).status == 1)
        #expect(await sh("$S stat --json g/caf\u{E9}").text.utf8.count(where: { $0 == UInt8(ascii: "\u{22}") }) > 0)
        #expect(await sh("$S rm -q 'd/caf\u{E9}*' && $S ls d").text == "cafe\u{301}\ncafe\u{301}2\n")
    }

    @Test func `put names each file that no object can be named like, and stores the others`() async {
        let long = String(repeating: "n/", count: 600)
        #expect(
            await sh("mkdir -p t/\(long); touch t/a t/z $'t/line\\nfeed' $'t/carriage\\rreturn' t/\(long)x").status == 0
        )
        let put = await sh("$S put -r t t")
        #expect(put.status == 1 && put.text.contains("t/  2 files, 0 bytes"), "\(put.text)")
        #expect(put.text.contains("t/line\\u{a}feed is left out: "), "\(put.text)")
        #expect(put.text.contains("n/x is left out: ") && put.text.contains("1203 bytes"), "\(put.text)")
        #expect(put.text.contains("3 failed") && put.text.contains("t/carriage\\u{d}return is left out"), "\(put.text)")
        #expect(await list("t") == "a\nz\n")
    }

    @Test func `cp and mv name each object that no target can be named like, and copy the others`() async {
        let long = String(repeating: "n", count: 1022)
        #expect(await sh("echo a | $S put -q - l/\(long) && echo a | $S put -q - l/short").status == 0)
        for (command, target) in [("cp", "mm"), ("mv", "nn")] {
            let copied = await sh("$S \(command) -r l/ \(target)")
            #expect(copied.status == 1 && copied.text.contains("1025 bytes"), "\(copied.text)")
            #expect(!copied.text.contains("no folder task") && copied.text.contains("1 failed"), "\(copied.text)")
            #expect(await list(target) == "short\n")
        }
        #expect(await list("l") == "\(long)\n")
    }

    @Test func `Listing what does not exist is an error`() async {
        #expect(await sh("put docs").status == 0)
        for words in [
            "ls -r nothing", "ls nothing", "ls -r docs/", "ls docs/", "ls --exact -r no", "ls 'no*'", "ls -r 'no*'",
        ] {
            let refused = await sh("$S \(words)")
            #expect(refused.status == 1 && refused.text.contains("noth"), "\(words) \(refused.text)")
        }
        #expect(await sh("$S ls -r docs").text == "docs\n")
    }

    @Test(arguments: [
        "ls --engine gcs --socket s", "ls --root r --socket s", "put f a --endpoint http://127.0.0.1:1 --socket s",
        "get a --max-tasks=3 --socket s", "rm a --log-level debug --socket s", "ls --id-token-file f --socket s",
        "ls --id-token-file f", "serve --service-account f", "connect --access-token-command true",
        "stat a --application-default",
        "backup d --bucket b", "backup d --http 127.0.0.1:0", "ls --user-project p",
        "ls --engine gcs --http 127.0.0.1:0", "serve --allow-host h", "serve --allow-origin http://x",
        "serve --max-upload-sessions 5", "serve --max-upload-session-seconds 5", "put f a --max-upload-sessions 5",
        "connect --max-upload-sessions 5", "serve --allow-insecure", "ls --allow-insecure",
        "serve --engine gcs --id-token-file f", "ls --engine gcs --app-check-token-command true",
        "ls --engine gcs --access-key-file f", "serve --engine firebase --access-key-command true", "ls --profile p",
        "ls --engine firebase --profile p", "ls --anonymous", "serve --engine gcs --anonymous",
    ])
    func `Flags that the chosen service cannot use are refused`(words: String) async throws {
        let refused = await sh("$S \(words)")
        let flag = try #require(
            words.split(separator: " ").last { $0.hasPrefix("--") && $0 != "--socket" }?.prefix { $0 != "=" })
        #expect(refused.status == 64 && refused.text.contains("\(flag) is for"), "\(refused.text)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory) == [])
    }

    @Test
    func `A running service gets the default bucket of the command, also for params that name none`()
        async
    {
        let line = "$S serve --socket s --log-level info 2> log & await 'grep -q listens log'"
        let told = await sh(
            "\(line); touch f; $S put -q f a --bucket b --socket s; $S ls gs://b --socket s; $S call storage/reference --bucket c --socket s | grep -o 'gs://c'; kill %1; wait"
        )
        #expect(told.text == "a\ngs://c\n")
    }

    @Test(arguments: ["cp", "mv"])
    func `A tree continues after the service was killed, by the same command`(verb: String) async {
        let ran = await sh(
            #"""
            serve() { rm -f log; $S serve --root r --socket s --log-level info 2> log & P=$!; await 'grep -q listens log'; }
            mkdir d; for n in {1..400}; do echo $n > d/$n; done
            serve; $S put -q -r d d --socket s
            $S \#(verb) -q -r d e -p 1 --socket s 2> /dev/null & C=$!
            await '[ $($S ls e --socket s | wc -l) -gt 5 ]'; kill -9 $P; wait $P $C 2> /dev/null
            serve; $S tasks -q --socket s > tasks; grep -q ' \#(verb) ' tasks && was=unfinished
            $S \#(verb) -r d e -p 1 --socket s > out 2>&1 || cat out
            [ "$was" = unfinished ] && ! grep -q 'resuming' out && cat out
            $S get -q -r e got --socket s && diff -r d got && $S ls d --socket s | wc -l
            $S tasks -q --socket s; kill $P; wait $P
            """#)
        let left = ran.text.replacing(/[^\n]*Killed[^\n]*\n/, with: "")
        #expect(left == (verb == "cp" ? "400\n" : "0\n") || verb == "mv" && left.contains("nothing at"), "\(ran.text)")
    }

    @Test(arguments: ["mv -r d e", "mv -r 'd*' e/", "rm -r d", "rm -r 'd*'"])
    func `A killed command that is repeated ends its task, even if no name leads to a source`(
        command: String
    ) async {
        let ran = await sh(
            #"""
            $S serve --root r --socket s --log-level info 2> log & P=$!; await 'grep -q listens log'
            mkdir d; for n in {1..400}; do echo $n > d/$n; done; $S put -q -r d d --socket s
            $S \#(command) -p 1 --socket s > /dev/null 2>&1 & C=$!
            await '[ $($S ls d --socket s 2> /dev/null | wc -l) -lt 395 ]'; kill -9 $C; wait $C 2> /dev/null
            await '! $S tasks -q --socket s | grep -q running'
            $S tasks -q --socket s | grep -q paused && echo paused
            $S \#(command) -q -p 2 --socket s
            $S \#(command) -p 1 --socket s > out 2>&1; echo $?; grep -o 'resuming' out
            $S tasks -q --socket s; $S ls d --socket s 2> /dev/null; kill $P; wait $P
            """#)
        let left = ran.text.replacing(/[^\n]*Killed[^\n]*\n/, with: "")
        // It may have ended before it was killed.
        #expect(left == "paused\n0\nresuming\n" || left.contains("noth"), "\(ran.text)")
    }

    /// Begins a command with a task over the objects `d/a`, `d/b` and `d/c`, and kills it when the task has dealt with one
    /// of them. Then `rest` runs, with `$X` as the command.
    private func killed(_ command: String, _ operation: String, _ rest: String) async -> String {
        let ran = await sh(
            #"""
            $S serve --harness --root r --socket s --log-level info 2> log & P=$!; await 'grep -q listens log'
            store() { printf %s "$1" | $S put -q - "$2" --socket s; }
            show() { for name; do $S cat "$name" --socket s; printf ' '; done; echo; }
            for n in a b c; do store $n d/$n; done
            $S call harness/arm '{"on":"\#(operation)","nth":2,"do":{"hold":true}}' --socket s > /dev/null
            X="$S \#(command) -p 1 --socket s"; $X > /dev/null 2>&1 & C=$!
            await '$S call harness/settled "{}" --socket s | grep -q ""hold""'; kill -9 $C; wait $C 2> /dev/null
            await '$S tasks -q --socket s | grep -q paused'
            \#(rest)
            $S tasks -q --socket s; kill $P; wait $P
            """#)
        return ran.text.replacing(/[^\n]*Killed[^\n]*\n/, with: "")
    }

    @Test(arguments: ["cp", "mv"])
    func `The same command copies additions to its sources, and keeps additions to its targets`(verb: String) async {
        let ran = await killed(
            "\(verb) -r d e", verb == "cp" ? "copy" : "move",
            """
            store new d; store new d/new; store new d/both; store theirs e/both
            $X > out 2>&1; echo $?; grep -o 'd/both: ' out; grep '^[0-9]* files' out; $S ls -r d --socket s
            show e e/a e/b e/c e/new e/both; $S ls -r e --socket s
            """)
        let left = verb == "cp" ? "a\nb\nboth\nc\nnew\nd\n" : "both\n"
        let lines = ran.split(separator: "\n")
        #expect(lines.first == "1" && lines[1...].first == "d/both: " && ran.contains(left), "\(ran)")
        #expect(ran.contains("\n5 files, 9 bytes"), "\(ran)")
        #expect(ran.contains("\nnew a b c new theirs \n") && !ran.contains("e/d"), "\(ran)")
    }

    @Test func `A repeated removal also removes additions to the folder`() async {
        let ran = await killed(
            "rm -r d", "delete",
            "store new d/a; store new d/new; $X > out 2>&1; echo $?; tail -n 1 out; $S ls d --socket s 2>&1 | grep -c nothing"
        )
        #expect(ran == "0\n4 removed\n1\n", "\(ran)")
    }

    @Test func `A repeated move moves new objects, also to names that it has moved to before`() async {
        let ran = await killed(
            "mv -r d e", "move",
            "store new d/a; $X > out 2>&1; echo $?; grep '^[0-9]* files' out; show e/a e/b e/c; $S ls d --socket s 2>&1 | grep -c nothing"
        )
        #expect(ran.hasPrefix("0\n3 files, 5 bytes") && ran.hasSuffix("\nnew b c \n1\n"), "\(ran)")
    }

    @Test(arguments: ["cp", "mv"])
    func `A command that continues says so once, and names its total once`(verb: String) async {
        let ran = await killed(
            "\(verb) -r d e", verb == "cp" ? "copy" : "move",
            """
            store new d/new; $X > out 2>&1; echo $?; grep -c 'resuming' out; grep '^[0-9]* files' out
            """)
        #expect(ran.hasPrefix("0\n1\n4 files, 6 bytes") && ran.split(separator: "\n").count == 3, "\(ran)")
    }

    @Test(arguments: ["mv -r nothing/ d/ t/", "rm -r nothing/ d/"])
    func `A word that has never named anything is an error of the command that continues, too`(
        command: String
    ) async {
        let ran = await killed(
            command, command.hasPrefix("mv") ? "move" : "delete",
            """
            $X > out 2>&1; echo $?; grep -o 'there is nothing at [^ ]*' out; $S ls -r d --socket s 2>&1 | grep -c nothing
            $S call reference/copyAll '{"reference":"gs://b/x","to":"gs://b/y","refresh":true}' --socket s 2>&1 | grep -o 'needs "key"'
            """)
        #expect(ran == "1\nthere is nothing at gs://default-bucket/nothing\n1\nneeds \"key\"\n", "\(ran)")
    }

    /// The command waits for the reader of its output.
    @Test func `A move whose command was killed before its output is reported when the command is repeated`() async {
        let line = """
            mkdir d; for i in {1..150}; do printf x > d/$(printf %0200d $i); done; $S put -q -r d t; mkfifo pipe
            $S mv -v -r t e > pipe & P=$!; exec 8< pipe
            await '$S tasks --all | grep -q "success .* mv "'; kill -9 $P; wait $P 2> killed; exec 8<&-
            for round in 1 2; do
                $S mv -r t e 2> told; echo $?; grep -o -e "150 files" -e "there is nothing at gs://default-bucket/t" told
            done
            $S tasks --all | grep -c " mv "; $S ls e | wc -l
            """
        let told = await sh(line)
        #expect(told.text == "0\n150 files\n1\nthere is nothing at gs://default-bucket/t\n0\n150\n", "\(told.text)")
    }

    @Test func `A pause of a task that was resumed immediately does not end the command that follows it`() async throws
    {
        let service = #"""
            import json, socket
            server = socket.socket(socket.AF_UNIX)
            server.bind("s"); server.listen()
            lines = server.accept()[0].makefile("rw")
            def snapshot(state, status="progress"):
                return {"task": "t", "kind": "copy", "state": state, "status": status, "isPlanned": True, "files": {},
                        "progress": {}, "reference": {"bucket": "b", "fullPath": "d", "name": "d"}}
            def send(**message):
                lines.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n"); lines.flush()
            def tell(state, status):
                send(method="folderTask/event", params={"observer": "o", "status": status, "snapshot": snapshot(state, status)})
            for line in lines:
                request = json.loads(line)
                method, status = request["method"], request.get("params", {}).get("status")
                kind, _, verb = method.partition("/")
                result = {"list": {"tasks": [snapshot("running")] if kind == "folderTask" else []},
                          "resume": {"accepted": True, "snapshot": snapshot("running")},
                          "observe": {"observer": "o"}, "snapshot": snapshot("running")}.get(verb, {})
                send(id=request.get("id"), result=result)
                if status == "failure": tell("paused", "pause"); tell("running", "resume")
                if verb == "snapshot": tell("success", "success")
            """#
        try Data(service.utf8).write(to: URL(filePath: place.directory + "/service.py"))
        let ran = await sh("python3 service.py & await '[ -S s ]'; $S tasks resume t --socket s; echo $?; wait")
        #expect(ran.text.hasSuffix("\n0\n") && !ran.text.contains("paused"), "\(ran.text)")
    }

    @Test func `Equal commands at one time follow one task`() async {
        let ran = await sh(
            #"""
            $S serve --root r --socket s --log-level info 2> log & P=$!; await 'grep -q listens log'
            mkdir d; for n in {1..200}; do echo $n > d/$n; done; $S put -q -r d d --socket s
            for n in 1 2 3; do $S mv -q -r d e -p 1 --socket s & done; wait %2 %3 %4
            $S ls e --socket s | wc -l; $S tasks -q --socket s; kill $P; wait $P
            """#)
        #expect(!ran.text.contains("task"), "\(ran.text)")
        #expect(ran.text.hasSuffix("200\n"), "\(ran.text)")
    }

    @Test func `mv moves an object with the metadata that it has in that moment`() async throws {
        let service = try place.listeningService(["--harness"])
        async let moved = sh("await '[ -e armed ]'; $S mv a c --socket socket")
        let (place, armed) = (self.place, place.directory + "/armed")
        try await onThread {
            let caller = try place.connect()
            try caller.call("harness/seed", #"{"objects":[{"reference":"gs://default-bucket/a","text":"x"}]}"#)
            try caller.call("harness/arm", #"{"on":"move","do":{"hold":true}}"#)
            try Data().write(to: URL(filePath: armed))
            while try caller.call("harness/settled")["held"]?.array?.isEmpty != false {}
            let change = #"{"reference":"gs://default-bucket/a","metadata":{"cacheControl":"no-store"}}"#
            try caller.call("reference/updateMetadata", change)
            try caller.call("harness/release")
        }
        let outcome = await moved
        #expect(outcome.status == 0, "\(outcome.text)")
        let (list, metadata) = try await onThread {
            let caller = try place.connect()
            return (
                try caller.call("reference/list", #"{"reference":"gs://default-bucket"}"#),
                try caller.call("reference/getMetadata", #"{"reference":"gs://default-bucket/c"}"#)
            )
        }
        #expect(list["items"]?.array?.map { $0["name"] } == ["c"] && metadata["cacheControl"] == "no-store")
        withExtendedLifetime(service) {}
    }

    @Test(arguments: ["rm -r", "rm -r -y", "cp -r", "mv -r", "get -r"])
    func `A name that ends with an empty segment means exactly that folder, and never its parent`(command: String)
        async
    {
        #expect(await sh("put docs/1 docs/sub/2 a/1 a//2 a//3/4").status == 0)
        let target = command.hasPrefix("rm") ? "" : " out/"
        for words in ["docs//", "gs://default-bucket/docs//", "docs/sub//", "docs///", "'d*//'", "'docs//*'"] {
            let refused = await sh("$S \(command) \(words)\(target)")
            #expect([1, 64].contains(refused.status), "\(words): \(refused.text)")
            #expect(refused.text.contains("docs//") || refused.text.contains("//\""), "\(words): \(refused.text)")
        }
        #expect(await list() == "a//2\na//3/4\na/1\ndocs/1\ndocs/sub/2\n")
        let taken = await sh("$S \(command) a//\(target)")
        switch command {
        case "cp -r": #expect(await list("out") == "a//2\na//3/4\n", "\(taken.text)")
        case "get -r": #expect(taken.text.contains("is no path of a file"), "\(taken.text)")
        default: #expect(await list("a") == "1\n", "\(taken.text)")
        }
    }

    @Test func `A copy of an object without a content type has none`() async {
        #expect(await sh("put page.txt && $S set -q page.txt --remove content-type").status == 0)
        #expect(
            await sh("$S cp -q page.txt copy.html && $S mv -q page.txt page.html && $S ls").text
                == "copy.html\npage.html\n")
        #expect(await sh("$S stat copy.html page.html").text.contains("contentType") == false)
        #expect(
            await sh("$S set -q page.html --content-type a/b && $S cp -q page.html c && $S stat c").text.contains("a/b")
        )
    }

    @Test func `A pattern instead of a bucket is refused in the form that was typed`() async {
        for pattern in ["gs://m*", "gs://*/x", "gs://[ab]"] {
            let refused = await sh("$S rm -r '\(pattern)'")
            #expect(refused.status == 64 && refused.text.contains("\"\(pattern)\" is no pattern"), "\(refused.text)")
        }
    }

    @Test func `A pattern with many stars is matched in linear time`() async {
        let name = String(repeating: "a", count: 60)
        let stars = String(repeating: "**a", count: 12)
        #expect(await sh("put \(name) x/\(name)b; $S ls '\(stars)**b'").text == "x/\(name)b\n")
        #expect(
            await sh("$S ls '**/\(name)b'; $S ls '**/*?b'; $S ls 'x**b'; $S ls '[!a]/*[b-c]'").text
                == String(repeating: "x/\(name)b\n", count: 4))
        #expect(await sh("$S ls '*b'; $S ls '??'").status == 1)
    }

    @Test func `A pattern that cannot be is refused by its name, unless something has just this name`() async {
        #expect(await sh("put a '[b' '[c/x'").status == 0)
        for pattern in ["[a-", "[]", "[!]", "*/[z-a]", "a[/]"] {
            for command in ["ls", "rm", "rm -r", "get"] {
                let refused = await sh("$S \(command) '\(pattern)'")
                #expect(refused.status == 64 && refused.text.contains("is no pattern"), "\(command) \(refused.text)")
            }
        }
        #expect(await sh("$S rm a '[a-'").status == 64)
        #expect(await list() == "[b\n[c/x\na\n", "nothing was removed")
        #expect(await sh("$S rm -q '[b'; $S rm -q -r '[c'; $S ls").text == "a\n")
    }

    @Test func `Standard input becomes DEST, also where DEST is a folder`() async {
        #expect(await sh("put docs/a; echo 1 | $S put -q - docs; $S cat -q docs").text == "1\n")
        for target in ["docs/", "gs://default-bucket", "gs://default-bucket/"] {
            let refused = await sh("$S put - \(target) < /dev/null")
            #expect(refused.status == 64 && refused.text.contains("needs a REFERENCE of its own"), "\(refused.text)")
        }
    }

    @Test func `With --exact a folder does not replace an object either`() async {
        #expect(await sh("put a d/x 'e[1]/y'").status == 0)
        #expect(await sh("$S cp -r --exact d a").text.contains("a is an object"))
        #expect(await sh("$S cp -q -r --exact 'e[1]' 'f[1]' && $S cp -q -r --exact 'e[1]' 'f[1]'").status == 0)
        #expect(
            await sh("$S cp -q -r --exact d 'f[1]/' && $S cp -q -r --exact d a 'f[1]' && $S ls -r 'f[1]'").text
                == "a\nd/x\nx\ny\n")
    }

    @Test func `Random commands do what help copying says`() async {
        let program =
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().path + "/CommandWalk/run"
        let walk = await sh("PYTHONDONTWRITEBYTECODE=1 python3 \(program) --binary $S --steps 120")
        #expect(walk.status == 0, "\(walk.text)")
    }

    @Test func `A marker of a folder is skipped silently; one with bytes is named`() async {
        #expect(
            await sh("printf '' | $S put -q --exact - m/; put m/x; printf '' | $S put -q --exact - m/empty/").status
                == 0)
        #expect(
            await sh("$S get -q -r m out && $S sync -q gs://default-bucket/m two && ls out two").text
                == "out:\nx\n\ntwo:\nx\n")
        let named = await sh("printf 1 | $S put -q - --exact m/; $S get -r m out")
        #expect(named.status == 1 && named.text.contains("An empty name is no path of a file"), "\(named)")
    }

    @Test func `A URL is no file of this machine`() async {
        #expect(await sh("put a d/b").status == 0)
        for words in ["get a gs://zz/", "get -r d gs://zz", "get a d/b gs://zz/"] {
            let refused = await sh("$S \(words); ls")
            #expect(
                refused.text.contains("storage-rpc cp copies objects") && !refused.text.contains("gs:\n"), "\(refused)")
        }
        let both = await sh("put m m/x; $S get -r m")
        #expect(both.text.contains("gs://default-bucket/m and gs://default-bucket/m/ would both become m"), "\(both)")
    }

    @Test func `A word that is a file of this machine is for put`() async {
        #expect(await sh("echo 1 > file; mkdir dir; echo 2 > dir/x").status == 0)
        for (words, put) in [
            ("cp file gs://b/", "put file gs://b/"), ("mv file docs/", "put file docs/"),
            ("cp -r dir gs://b/", "put -r dir gs://b/"), ("get file gs://b/", "put file gs://b/"),
            ("cp a file docs/", "put file docs/"), ("cp 'file' dir/x docs/", "put file dir/x docs/"),
        ] {
            let refused = await sh("$S \(words)")
            #expect(refused.status == 64 && refused.text.contains(": storage-rpc \(put) uploads it"), "\(refused)")
        }
        for words in ["cp gs://b/x .", "mv gs://b/x ./dir/"] {
            let refused = await sh("$S \(words)")
            #expect(refused.status == 64 && refused.text.contains("storage-rpc get gs://b/x ."), "\(refused)")
        }
        #expect(await sh("put file; $S cp -q file copy; $S cat copy").text == "file", "an object counts more")
    }

    @Test func `Folders of one last name are merged, unless two files have one name`() async {
        #expect(await sh("mkdir -p a/t/s b/t/s; echo 1 > a/t/s/1; echo 2 > b/t/s/2; echo 3 > b/t/3").status == 0)
        #expect(await sh("$S put -q -r a/t b/t o/ && $S ls -r o").text == "t/3\nt/s/1\nt/s/2\n")
        #expect(await sh("$S put -q -r a b gs://c/ && $S get -q -r gs://c/a/t gs://c/b/t got/").status == 0)
        #expect(await sh("cd got && find . -type f | sort").text == "./t/3\n./t/s/1\n./t/s/2\n")
        let same = await sh("echo 4 > b/t/s/1; $S put -r a/t b/t p/; $S ls -r p")
        #expect(
            same.text.contains("a/t/s/1 and b/t would both become gs://default-bucket/p/t/s/1; nothing was"), "\(same)")
        #expect(same.text.contains("there is nothing at"), "\(same)")
        #expect(await sh("$S put -r -q --exclude 1 a/t b/t p/ && $S ls -r p").text == "t/3\nt/s/2\n", "filters count")
        let inWay = await sh("put x/t/s y/t/s/1; $S get -r x/t y/t q/; ls q")
        #expect(inWay.status != 0 && inWay.text.contains("would both become q/t/s; nothing was downloaded"), "\(inWay)")
        #expect(await sh("$S put -r a/t a/t p2/").text.contains("is named twice"))
    }

}
