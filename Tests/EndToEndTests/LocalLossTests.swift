import Foundation
import Glibc
import JSONText
import Platform
import TestSupport
import Testing

/// Commands that would lose local files, or leave something out, refuse or say so, and end with another status than 0.
@Suite(.watchdog) struct LocalLossTests {
    private let place = Place()
    private var directory: String { place.directory }

    private func sh(_ line: String) async -> (status: Int32, text: String) { await place.sh(line) }

    @Test(arguments: [
        "$R/objects/1", "$R/storage.sqlite3", "$R/storage.sqlite3-wal", "$R/lock", "$R/new", "link/storage.sqlite3",
        "objects/1", "objects/../lock", "$R/",
    ])
    func `A command does not download into its own root`(target: String) async {
        #expect(
            await sh("put x; head -c 300000 /dev/zero | $S put -q - big; ln -s $R link; ln -s $R/objects objects")
                .status
                == 0)
        let got = await sh("$S get x \(target)")
        #expect(got.status == 1 && got.text.contains("it would be in the root of the service"), "\(got.text)")
        #expect(
            await sh("$S cat -q x; $S cat -q big | wc -c; ls $R/new $R/x 2>&1 | grep -c 'No such'").text
                == "x300000\n2\n")
    }

    @Test func `A service refuses downloads into its own root only`() async throws {
        let service = try place.listeningService()
        let caller = try place.connect()
        #expect(await sh("printf x | $S put -q - x --socket socket; ln -s root/objects link").status == 0)
        let got = await sh("$S get x --socket socket root/storage.sqlite3; $S get x --socket socket link/1")
        #expect(got.text.components(separatedBy: "it would be in the root of the service").count == 3, "\(got.text)")
        try caller.call(
            "reference/writeToFile",
            #"{"reference": "gs://default-bucket/x", "file": "\#(directory)/link/2", "observe": ["success", "failure"]}"#
        )
        let end = try caller.wire.next()?["params"]?["snapshot"]
        #expect(end?["status"]?.string == "failure")
        #expect(end?.text.contains("it would be in the root of the service") == true, "\(end?.text ?? "")")
        #expect(await sh("$S get -q x --socket socket out && cat out").text == "x")
        withExtendedLifetime(service) {}
    }

    @Test func `Two targets that links make one are refused before the first write`() async {
        #expect(await sh("put a/x b/x c/y; mkdir -p out/b far; ln -s b out/a; ln -s ../far out/c").status == 0)
        let got = await sh("$S get -r a b out/")
        #expect(got.status == 1 && got.text.contains("would both become"), "\(got.text)")
        #expect(await sh("find out -type f").text == "")
        #expect(await sh("$S get -q -r a c out/ && cat out/b/x far/y").text == "a/xc/y")
    }

    @Test func `A tree is in no directory that another one is written to, by whatever links`() async {
        #expect(await sh("put a/x b/sub/x c; mkdir -p out/b/sub; ln -s b/sub out/a; ln -s b/sub out/d").status == 0)
        for words in ["a b out/", "b a out/", "c b out/ # c", "'[ab]' out/"] where !words.hasSuffix("# c") {
            let got = await sh("$S get -r \(words)")
            #expect(got.status == 1 && got.text.contains("would be in that directory"), "\(got.text)")
        }
        #expect(await sh("$S get -q c out/a/ && $S get -q -r b out/ && cat out/a/c out/b/sub/x").text == "cb/sub/x")
    }

    @Test func `An obstacle of a file of a tree is kept, and the file is named`() async {
        #expect(await sh("put d/a d/b/c d/e/f/g; mkdir -p out/d; echo kept > out/d/b").status == 0)
        let got = await sh("$S get -r d out/")
        #expect(got.status == 1 && got.text.contains("gs://default-bucket/d/b/c: "), "\(got.text)")
        #expect(await sh("find out -type f | sort; cat out/d/b").text == "out/d/a\nout/d/b\nout/d/e/f/g\nkept\n")
        let dangling = await sh("ln -sf nowhere out/d/b; $S get -r d out/; readlink out/d/b; ls nowhere")
        #expect(dangling.text.contains("out/d/b is not a directory but a symbolic link"), "\(dangling.text)")
        #expect(dangling.text.contains("\nnowhere\n") && dangling.status == 2, "\(dangling.text)")
        let pipe = await sh("rm out/d/b out/d/a; mkfifo out/d/a; $S get -r d out/; [ -p out/d/a ] && cat out/d/b/c")
        #expect(pipe.text.contains("gs://default-bucket/d/a: ") && pipe.text.hasSuffix("\nd/b/c"), "\(pipe.text)")
    }

    @Test func `put -r names what it leaves out, and ends with 1`() async {
        #expect(await sh("mkdir -p tree/empty; echo a > tree/a; ln -s a tree/link; mkfifo tree/pipe").status == 0)
        let put = await sh("$S put -q -r tree t")
        #expect(put.status == 1 && put.text.contains("tree/pipe is left out: it is a pipe."), "\(put.text)")
        #expect(await sh("$S ls -r; rm tree/pipe; $S put -q -r tree t") == (0, "t/a\n"))
    }

    @Test(arguments: ["ln -s other tree/it", "ln -s nowhere tree/it", "ln -s . tree/it"])
    func `put -r and sync name the links that they skip, and end with 0`(make: String) async {
        #expect(await sh("mkdir -p tree/other; echo a > tree/a; ln -s a tree/link; \(make)").status == 0)
        let put = await sh(
            "$S put -r tree t > told 2> errors; echo $?; grep -h 'symbolic link' errors | sort; $S ls -r t")
        func skipped(_ link: String, _ advice: String = "") -> String {
            "storage-rpc: tree/\(link) is a symbolic link: skipped\(advice)\n"
        }
        let both = skipped("it") + skipped("link", "; put uploads its file")
        #expect(put.text == "0\n\(both)a\n", "\(put.text)")
        let again = await sh("$S put -r tree t 2> errors; sort errors")
        #expect(again.text.hasPrefix("gs://default-bucket/t/  0 files of 1, 1 unchanged"), "\(again.text)")
        #expect(again.text.hasSuffix(both), "\(again.text)")
        let sync = await sh("$S sync tree gs://b 2>&1 > result | sort; $S sync -q tree gs://b; echo $?; $S ls gs://b")
        #expect(sync.text == both + "0\na\n", "\(sync.text)")
        let lines = await sh("$S sync --json tree gs://b")
        #expect(lines.status == 0 && lines.text.contains(#"{"skipped":"tree/it"}"#), "\(lines.text)")
    }

    @Test func `A reader that closes the pipe ends a command as it ends cat, without a message`() async {
        #expect(await sh("head -c 3000000 /dev/zero | $S put -q - big; put a b; mkfifo pipe").status == 0)
        #expect(await sh("$S cat -q big | head -c 1 > first; exit ${PIPESTATUS[0]}") == (141, ""))
        #expect(await sh("head -c 1 < pipe > first & $S get -q big pipe") == (141, ""))
        #expect(await sh("mkfifo p; (exec 3< p; exec 3<&-) & exec 4> p; wait; $S ls >&4") == (141, ""))
    }

    @Test func `tasks names unknown tasks, ends with 1, and counts no objects`() async {
        let two = await sh("$S tasks forget no none")
        #expect(two.status == 1 && two.text.contains("there is no task no\n"), "\(two.text)")
        #expect(two.text.contains("there is no task none") && !two.text.contains("objects"), "\(two.text)")
        #expect(await sh("$S tasks cancel no").status == 1)
    }

    @Test(arguments: ["$R/copy", "$R", "$R/objects/new/copy", "link/copy", "link/a/b/"])
    func `A backup is not made in the root that it copies`(target: String) async {
        #expect(await sh("put x; ln -s $R link").status == 0)
        let before = await sh("find $R | sort").text
        let made = await sh("$S backup \(target)")
        #expect(made.status == 1 && made.text.contains("is in the root that is copied"), "\(made.text)")
        #expect(await sh("find $R | sort").text == before)
    }

    @Test(arguments: ["$R/storage.sqlite3", "$R/lock", "notes"])
    func `A trace is appended to traces only`(file: String) async {
        #expect(await sh("put x; echo notes > notes; cp $R/storage.sqlite3 before").status == 0)
        let served = await sh("$S serve --trace \(file) < /dev/null")
        #expect(served.text.contains("it is there already, and is no trace"), "\(served.text)")
        #expect(await sh("cat notes; $S cat -q x; grep -c jsonrpc $R/storage.sqlite3") == (1, "notes\nx0\n"))
    }

    @Test func `A backup that a signal ends leaves nothing`() async {
        #expect(await sh("put x; cd $R/objects && seq -f x%g 40000 | xargs touch").status == 0)
        let ended = await sh(
            "$S backup copy & await \"compgen -G '.storage-rpc-backup-*' > found\"; kill -TERM $!; wait $!; "
                + "echo $?; ls -A")
        #expect(ended.text.hasSuffix("143\nfound\nroot\n"), "\(ended.text)")
    }
}
