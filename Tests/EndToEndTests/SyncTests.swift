import Foundation
import JSONText
import TestSupport
import Testing

/// `sync`, and the flags of `put` and `get` that skip files or resume. What is to be interrupted is `nice`:
/// on a busy machine it gets less time than the command that looks how far it is.
@Suite(.watchdog) final class SyncTests {
    private let place = Place()

    private func sh(_ line: String) async -> (status: Int32, text: String) { await place.sh(line) }

    private func made() async {
        let line = "mkdir -p d/sub; echo 1 > d/a.txt; echo 2 > d/b.jpg; echo 3 > d/sub/c.txt"
        #expect(await sh(line).status == 0)
    }

    @Test func `sync uploads what is new or has other bytes, and deletes only with --delete`() async {
        await made()
        let first = await sh("$S sync d gs://b/f")
        #expect(first.status == 0 && first.text.hasPrefix("gs://b/f/  3 files, 6 bytes  on this disk: "), "\(first)")
        #expect(await sh("$S sync d/ gs://b/f/").text.hasPrefix("gs://b/f/  0 files of 3, 3 unchanged  "))
        #expect(
            await sh("echo 4 > d/a.txt; rm d/b.jpg; $S sync d gs://b/f").text.contains(
                "gs://b/f/  1 file (2 bytes) of 2, 1 unchanged  "))
        #expect(await sh("$S ls -r gs://b/f; $S cat gs://b/f/a.txt").text == "a.txt\nb.jpg\nsub/c.txt\n4\n")
        let planned = await sh("$S sync --dry-run --delete d gs://b/f && $S ls gs://b/f")
        #expect(planned.text == "would delete gs://b/f/b.jpg\na.txt\nb.jpg\nsub/\n", "\(planned)")
        #expect(await sh("$S sync --delete d gs://b/f").text.contains("0 files of 2, 2 unchanged, 1 deleted"))
        #expect(await sh("$S ls -r gs://b/f").text == "a.txt\nsub/c.txt\n")
        #expect(await sh("$S tasks").text.contains("4 tasks have ended"), "a plan that was shown leaves no task")
    }

    @Test func `With --delete objects whose names no file can have are kept`() async {
        await made()
        let put = """
            for name in f/../x f/sub/.. f/$(printf %300s | tr ' ' n) f/$(printf %300s | tr ' ' n)/x; do
            $S call reference/putData '{"reference":{"bucket":"b","object":"'$name'"},"text":"1","wait":true}' > task || exit
            done
            """
        #expect(await sh("\(put)\n$S sync -q d gs://b/f && $S ls -r gs://b/f | wc -l").text == "7\n")
        let end = await sh("$S sync --delete d gs://b/f")
        #expect(end.status == 0 && end.text.contains("0 files of 3, 3 unchanged"), "\(end)")
        #expect(await sh("$S ls -r gs://b/f | wc -l").text == "7\n")
    }

    @Test func `sync downloads in the same way`() async {
        await made()
        #expect(await sh("$S put -q -r d gs://b && mkdir out && echo x > out/old && $S sync gs://b out").status == 0)
        #expect(await sh("diff -r d out").text == "Only in out: old\n")
        let planned = await sh("rm out/a.txt; $S sync --dry-run --json --delete gs://b out")
        #expect(
            planned.text == """
                {"would":"download","source":"gs://b/a.txt","target":"out/a.txt"}
                {"would":"delete","target":"out/old"}

                """, "\(planned)")
        #expect(await sh("$S sync -q --delete gs://b out && diff -r d out") == (0, ""))
        #expect(
            await sh("$S sync -q --exclude sub/ --exclude '*.jpg' gs://b some && find some -type f").text
                == "some/a.txt\n")
        let included = await sh(
            "rm out/a.txt out/b.jpg; $S sync -q --include '*.jpg' --delete gs://b out; find out -type f | sort")
        #expect(included.text == "out/b.jpg\nout/sub/c.txt\n")
    }

    @Test(arguments: [
        ("sync d e", "on one side: storage-rpc sync d gs://default-bucket/e"),
        ("sync e d --bucket b", "on one side: storage-rpc sync --bucket b gs://b/e d"),
        ("sync gs://b gs://c", "between folders: storage-rpc cp -r gs://b gs://c"),
        ("sync d gs://b/", "the whole bucket is gs://b, without a slash"),
        ("sync --delete d 'gs://b//'", "the whole bucket is gs://b"),
        ("sync none gs://b", "there is no directory none"),
        ("sync gs://none d", "there is no bucket gs://none"), ("sync gs://b/none d", "there is nothing at gs://b/none"),
        ("sync --delete gs://b/f /", "the whole machine"), ("sync d gs://b/f//", "ends with an empty name"),
        ("sync d gs://b/f --include '[z-a]'", "which stands for no character"), ("sync d", "sync takes SOURCE DEST"),
    ])
    func `Impossible combinations are refused`(words: String, message: String) async {
        await made()
        #expect(await sh("$S put -q d/a.txt gs://b/f/a.txt").status == 0)
        let refused = await sh("$S \(words)")
        #expect(refused.status != 0 && refused.text.contains(message), "\(refused)")
        #expect(await sh("$S ls -r gs://b; find d -type f | sort").text == "f/a.txt\nd/a.txt\nd/b.jpg\nd/sub/c.txt\n")
    }

    @Test(arguments: [
        ("put d/a.txt gs://b/x --include '*'", "--include is for -r"), ("get gs://b/f/a.txt --exclude a", "is for -r"),
        ("sync gs://b d --content-type a/b", "--content-type is for uploads"),
        ("sync gs://b d --custom k=v", "--custom is for uploads"),
        ("sync gs://b d --if-metageneration-match 1", "--if-metageneration-match is for uploads"),
        ("put d/a.txt gs://b/f/a.txt --no-clobber --if-generation-match 1", "contradict each other"),
        ("sync d gs://b --no-clobber --if-generation-match 0", "contradict each other"),
        ("get gs://b/f/a.txt - --no-clobber", "--no-clobber is for files"),
        ("tasks forget 1 --all", "--all is for the list"),
    ])
    func `A flag that would mean nothing is refused by name`(words: String, message: String) async {
        await made()
        #expect(await sh("$S put -q d/a.txt gs://b/f/a.txt").status == 0)
        let refused = await sh("$S \(words)")
        #expect(refused.status == 64 && refused.text.contains(message), "\(refused)")
    }

    @Test func `trustTimes without changed is refused by name`() async {
        let params = #"'{"reference":"gs://b","directory":"'$PWD'","trustTimes":true}'"#
        for method in ["putDirectory", "writeToDirectory"] {
            let refused = await sh("$S call reference/\(method) \(params)")
            #expect(refused.status == 1 && refused.text.contains("trustTimes"), "\(refused)")
            #expect(refused.text.contains("nothing is compared"), "\(refused)")
        }
    }

    @Test func `With --no-clobber existing objects and files are skipped by name`() async {
        await made()
        #expect(await sh("$S put -q d/a.txt gs://b/a.txt && $S put -q d/b.jpg gs://b/c").status == 0)
        let put = await sh("$S put --no-clobber d/b.jpg gs://b/a.txt; $S cat gs://b/a.txt")
        #expect(put.text == "storage-rpc: gs://b/a.txt is there already: skipped\n1\n", "\(put)")
        #expect(
            await sh("echo 5 > d/a.txt; $S put -r --no-clobber d gs://b").text.contains(
                "2 files (4 bytes) of 3, 1 skipped"))
        let again = await sh("$S put -r --no-clobber d gs://b; $S put -r --no-clobber --json d gs://b")
        #expect(again.text.contains("0 files of 3, 2 unchanged, 1 skipped"), "\(again)")
        #expect(again.text.hasSuffix(#"{"skipped":"gs://b/a.txt"}"# + "\n"), "\(again)")
        let got = await sh("echo mine > c; $S get --no-clobber gs://b/c c; cat c")
        #expect(got.text == "storage-rpc: c is there already: skipped\nmine\n", "\(got)")
    }

    @Test func `put and get show what they would do`() async {
        await made()
        let put = await sh("$S put --dry-run d/a.txt gs://b/x; $S put --dry-run -r --exclude '*.jpg' d e/; $S ls -r")
        #expect(
            put.text == """
                would upload d/a.txt to gs://b/x
                would upload d/a.txt to gs://default-bucket/e/d/a.txt
                would upload d/sub/c.txt to gs://default-bucket/e/d/sub/c.txt

                """, "\(put)")
        let written = await sh("$S put -q d/a.txt y; $S get --dry-run y -")
        #expect(written.text == "would download gs://default-bucket/y to stdout\n", "\(written)")
        let got = await sh("$S put -q -r d t; $S get --dry-run -r t out; $S get --dry-run t/a.txt; ls out a.txt")
        #expect(got.text.contains("would download gs://default-bucket/t/sub/c.txt to out/sub/c.txt\n"), "\(got)")
        #expect(got.text.contains("would download gs://default-bucket/t/a.txt to a.txt\n") && got.status != 0)
    }

    @Test(arguments: [
        "put none x", "put f none g/", "get none f2", "get none -", "get x no/f", "get x none g/",
        "put f x --if-generation-match 7",
        "cp none y", "set x --content-type a/b --if-generation-match 7",
        "set x --content-type a/b --if-metageneration-match 2",
        "rm x --if-generation-match 7", "rm none",
    ])
    func `With --dry-run a command refuses what it refuses without`(words: String) async {
        let line = "printf x > f; mkdir g; $S put -q f x; $S \(words) -q --dry-run; echo $?; $S \(words) -q; echo $?"
        let statuses = await sh("{ \(line); } 2> errors")
        #expect(statuses.text.hasSuffix("1\n1\n"), "\(words): \(statuses.text)")
    }

    @Test func `Other bytes are found, whatever the size and the times of a file say`() async {
        await made()
        #expect(await sh("$S sync -q d gs://b && $S sync -q d gs://b").status == 0)
        #expect(
            await sh("touch -r d/a.txt old; echo 7 > d/a.txt; touch -r old d/a.txt; $S sync -q d gs://b").status == 0)
        #expect(await sh("$S cat gs://b/a.txt").text == "7\n")
        #expect(await sh("$S sync -q d gs://b && $S sync -q d gs://b").status == 0)
        let moved = "echo 8 > d/new; touch -r d/a.txt d/new; $S sync -q d gs://b; mv d/new d/a.txt"
        #expect(
            await sh("\(moved); $S sync -q --delete d gs://b; $S cat gs://b/a.txt; $S ls gs://b").text
                == "8\na.txt\nb.jpg\nsub/\n")
        #expect(await sh("$S sync -q --checksum d gs://b; $S sync -q gs://b d; cat d/a.txt").text == "8\n")
    }

    @Test func `A line for each file of a tree is printed with -v, and its metadata with --json`() async throws {
        await made()
        let put = await sh("$S put -r -v d gs://b/f")
        let lines = put.text.split(separator: "\n").dropLast().sorted()
        #expect(lines == ["a.txt", "b.jpg", "sub/c.txt"].map { "gs://b/f/\($0)  2 bytes" }, "\(put)")
        #expect(put.text.contains("\ngs://b/f/  3 files, 6 bytes  on this disk: "), "\(put)")
        let synced = await sh("echo 44 > d/a.txt; rm d/b.jpg; $S sync -v --delete d gs://b/f")
        #expect(
            synced.text.hasPrefix("gs://b/f/a.txt  3 bytes\nremoved gs://b/f/b.jpg\ngs://b/f/  1 file (3 bytes) of 2"))
        let got = try await sh("$S get -r --json gs://b/f out").text.split(separator: "\n").map {
            try JSON(parsing: String($0))
        }
        #expect(
            got.compactMap { $0["fullPath"]?.string }.sorted() == ["f/a.txt", "f/sub/c.txt"]
                && got.allSatisfy { $0["md5Hash"] != nil })
        #expect(await sh("$S sync --json gs://b/f out") == (0, ""))
        #expect(
            await sh("rm out/a.txt; touch out/x; $S sync -v --delete gs://b/f out").text.hasPrefix(
                "out/a.txt  3 bytes\nremoved out/x\nout  1 file (3 bytes) of 2, 1 unchanged, 1 deleted\n"))
        #expect(await sh("$S tasks --all --json | grep -c '\"files\"'").text == "0\n", "what was told is forgotten")
    }

    @Test func `A resumed tree is reported like one of a command`() async throws {
        let line = """
            mkdir d; truncate -s 400M d/large; echo 1 > d/a; nice $S put -r d t --progress lines 2> told & P=$!
            await '$S tasks | grep -q "running *[1-9][0-9]*% *of [0-9.]* MiB"'; kill -INT $P; wait $P
            $S tasks resume -v "$($S tasks --json | grep -o '[0-9a-f]\\{8\\}-[-0-9a-f]*' | head -n 1)"
            """
        let told = await sh(line)
        #expect(told.text.hasSuffix("gs://default-bucket/t  2 files, 400.0 MiB\n"), "\(told)")
    }

    @Test func `The same command resumes what was interrupted`() async throws {
        #expect(await sh("mkdir d; truncate -s 400M d/large; echo 1 > d/a").status == 0)
        for words in ["put d/large large", "put -r d t", "sync d gs://b/s"] {
            let line = """
                nice $S \(words) --progress lines 2> told & P=$!
                await '$S tasks | grep -q "running *[1-9][0-9]*% *of [0-9.]* MiB"'; kill -\(words.hasPrefix("put d") ? "KILL" : "INT") $P; wait $P
                await '$S tasks | grep -q paused'; $S tasks; cat told
                """
            let stopped = await sh(line)
            #expect(stopped.text.contains("paused"), "\(stopped)")
            if !words.hasPrefix("put d") { #expect(stopped.text.contains("The same command resumes"), "\(stopped)") }
            let again = await sh("$S \(words); $S tasks")
            #expect(again.text.contains("resuming ") && !again.text.contains("paused"), "\(words): \(again)")
        }
        #expect(await sh("$S ls -r; $S ls -r gs://b").text == "large\nt/a\nt/large\ns/a\ns/large\n")
    }

    @Test func `What was changed since the interruption is transferred, too`() async {
        #expect(await sh("mkdir d; truncate -s 400M d/large; echo 1 > d/a; echo 2 > d/gone").status == 0)
        let line = """
            nice $S put -r d t -q & P=$!; await '$S tasks --json | grep -q isPlanned.:true'; kill -INT $P; wait $P
            echo 22 > d/a; echo 3 > d/new; rm d/gone; truncate -s 1 d/large; $S put -r d t > told 2>&1; echo $?
            $S cat t/a t/new; $S cat t/large | wc -c
            """
        let again = await sh(line)
        let told = await sh("cat told").text
        #expect(again.text == "0\n22\n3\n1\n", "\(again) \(told)")
    }

    @Test func `A task whose source has shrunk leaves nothing in the root when the same command has ended`() async {
        let line = """
            truncate -s 400M large; nice $S put large x -q & P=$!
            await '$S tasks | grep -q "running *[1-9][0-9]*% *of [0-9.]* MiB"'; kill -INT $P; wait $P
            echo 1 > large; $S put -q large x; $S cat x; $S tasks -q
            """
        #expect(await sh(line) == (0, "1\n"))
    }

    @Test func `What ends a transfer can be pasted, and failures are counted once`() async {
        let line = #"""
            truncate -s 400M large; mkdir "a root'"; cd "a root'"; nice $S put -q ../large x --root "$PWD" & P=$!
            await '$S tasks --root "$PWD" | grep -q "running *[1-9][0-9]*% *of [0-9.]* MiB"'; kill -INT $P; wait $P
            nice $S put ../large x --root "$PWD" 2> told & P=$!; await 'grep -q "resuming " told'; kill -INT $P; wait $P
            eval "$(sed -n 's/.*; storage-rpc \(.*\) ends it/$S \1/p' told) -q"; $S tasks -q --root "$PWD"
            """#
        #expect(await sh(line) == (0, ""))
        let failed = await sh("mkdir d; mkfifo d/a d/b; echo 1 > d/c; $S put -r d t; $S ls t")
        #expect(failed.text.contains("2 failed; the lines above") && failed.text.hasSuffix("\nc\n"), "\(failed)")
    }

    @Test func `An empty bucket does not empty a directory, and flags of metadata are for all files`() async {
        await made()
        let refused = await sh("$S sync --delete gs://default-bucket d; ls d")
        #expect(
            refused.text.contains("there is nothing in gs://default-bucket") && refused.text.contains("a.txt"),
            "\(refused)")
        #expect(
            await sh("$S sync -q d gs://b && $S sync -q d gs://b --custom k=v && $S stat gs://b/a.txt | grep k").text
                .contains("v"))
        let plan = await sh("$S put d/a.txt gs://b/a.txt --no-clobber --dry-run")
        #expect(plan == (0, "storage-rpc: gs://b/a.txt is there already: skipped\n"), "\(plan)")
    }

    @Test func `A file takes the place of a directory, and a directory that of a file, with --delete`() async {
        #expect(await sh("mkdir -p one/d/e; echo 1 > one/f; echo 2 > one/d/e/x; echo 3 > one/d/y").status == 0)
        #expect(await sh("$S sync -q one gs://b && $S sync -q gs://b two && diff -r one two").status == 0)
        #expect(
            await sh("rm -r one/f one/d; mkdir one/f; echo 4 > one/f/g; echo 5 > one/f/h; echo 6 > one/d").status == 0)
        #expect(await sh("$S sync -q --delete one gs://b").status == 0)
        let kept = await sh("$S sync gs://b two; cat two/f two/d/y")
        #expect(kept.text.hasSuffix("1\n3\n") && kept.text.contains("is not a directory but a regular file"), "\(kept)")
        #expect(await sh("mkdir two/d/empty; $S sync -q --delete gs://b two && diff -r one two") == (0, ""))
        // An object that others are below becomes no file: the directory at its path stays.
        let line = """
            for n in u u/u/v u/z; do $S put -q two/f/g gs://c/$n; done; mkdir -p three/u
            cd three/u; touch u z old; cd ..; $S sync --delete gs://c . > ../log 2>&1; echo $?
            find . -type f | sort; cat ../log
            """
        let mixed = await sh(line)
        #expect(mixed.text.hasPrefix("1\n./u/u/v\n./u/z\n"), "\(mixed)")
        // An excluded file is not deleted, nor is its directory with all that is in it.
        #expect(await sh("rm two/d; mkdir -p two/d/e; touch two/d/keep.txt two/d/e/x two/d/old").status == 0)
        for line in ["true", "rm two/d/keep.txt; ln -s x two/d/e/link"] {
            let refused = await sh("\(line); $S sync --delete --exclude keep.txt gs://b two; ls two/d/old two/d/e/x")
            #expect(refused.text.contains("failed; the lines above"), "\(refused)")
            #expect(refused.text.hasSuffix("two/d/e/x\ntwo/d/old\n"), "\(refused)")
        }
    }
}
