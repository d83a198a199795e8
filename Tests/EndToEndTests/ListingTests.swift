import Foundation
import JSONText
import TestSupport
import Testing

/// What the commands over objects show: sizes, sums, hashes, filters, plans, and JSON.
@Suite(.watchdog) struct ListingTests {
    private let place = Place()

    private func sh(_ line: String) async -> (status: Int32, text: String) { await place.sh(line) }

    /// What `line` prints, as an object for each line.
    private func lines(_ line: String) async throws -> [JSON] {
        try await sh(line).text.split(separator: "\n").map { try JSON(parsing: String($0)) }
    }

    // MARK: - ls

    @Test func `ls -l shows local times`() async throws {
        let list = await sh("put a; $S stat a | grep updated; for z in UTC0 XYZ-5; do TZ=$z $S ls -l; done").text
        let found = list.matches(of: /\d\d\d\d-\d\d-\d\d[T ](\d\d):(\d\d:\d\d)/)
        try #require(found.count == 3, "\(list)")
        #expect(Set(found.map(\.2)).count == 1 && found[0].1 == found[1].1, "\(list)")
        #expect((Int(found[1].1) ?? 0) + 5 == (Int(found[2].1) ?? 0) + (found[2].1 < found[1].1 ? 24 : 0), "\(list)")
    }

    @Test func `ls -l ends with a total, and -h shows sizes in units`() async {
        #expect(await sh("put d/a d/bb d/sub/c; head -c 4096 /dev/zero | $S put -q - d/large").status == 0)
        let long = await sh("$S ls -l d")
        #expect(long.text.hasSuffix("\nTOTAL: 3 objects, 1 folder, 4103 bytes\n"), "\(long.text)")
        let human = await sh("$S ls -lh d")
        #expect(human.text.contains("4.0 KiB") && human.text.hasSuffix(", 4.0 KiB\n"), "\(human.text)")
        #expect(await sh("$S ls -l d --json").text.contains("TOTAL") == false)
        #expect(await sh("$S ls -h").text.contains("storage-rpc ls "), "alone it is help")
        #expect(await sh("$S put -h").text.contains("storage-rpc put "))
    }

    @Test func `ls lists several references, each below its name, and continues after one that is missing`() async {
        #expect(await sh("put d/a e/b gs://other/x").status == 0)
        let listed = await sh("$S ls d none e/b gs://other 2>&1")
        #expect(listed.status == 1)
        let expected = [
            "d:", "a", "storage-rpc: there is nothing at gs://default-bucket/none", "e/b", "", "gs://other:", "x",
            "storage-rpc: 1 failed; the lines above say why", "",
        ]
        #expect(listed.text == expected.joined(separator: "\n"))
        #expect(await sh("$S ls gs://").text == "gs://default-bucket\ngs://other\n")
        #expect(await sh("$S ls gs:// --engine firebase --endpoint http://127.0.0.1:1 --allow-insecure").status == 1)
    }

    // MARK: - du and hash

    @Test func `du sums up each folder after those in it, and -s only what was named`() async throws {
        #expect(await sh("put d/a d/sub/bb d/sub/deep/c d/x/e d gs://other/y").status == 0)
        func rows(_ words: String) async -> [[String]] {
            await sh("$S du \(words)").text.split(separator: "\n").map { line in
                line.split(separator: " ").map(String.init)
            }
        }
        let below = [
            ["10", "1", "object", "gs://default-bucket/d/sub/deep/"],
            ["18", "2", "objects", "gs://default-bucket/d/sub/"],
            ["5", "1", "object", "gs://default-bucket/d/x/"], ["26", "4", "objects", "gs://default-bucket/d/"],
        ]
        #expect(await sh("printf %s d/sub/deep/c | wc -c").text == "12\n")
        let all = await rows("d/")
        #expect(all.map { $0.last } == below.map { $0.last })
        #expect(all.map { $0[1] } == ["1", "2", "1", "4"])
        #expect(all.map { $0[0] } == ["12", "20", "5", "28"])
        #expect(await rows("-s d/").map { $0.last } == ["gs://default-bucket/d/"])
        #expect(await rows("d").first == ["1", "1", "object", "gs://default-bucket/d"], "the object of this name")
        #expect(await rows("-s d/ gs://other/").map { $0[0] } == ["28", "12"])
        #expect(await rows("-s d/ --exclude deep/").map { $0[0] } == ["16"])
        let json = try await lines("$S du --json -s gs://default-bucket")
        #expect(json.count == 1 && json[0]["kind"] == "bucket" && json[0]["objects"]?.number?.int64 == 5)
        #expect(await sh("$S du none").status == 1)
    }

    @Test func `du counts names with empty segments in the folders of just these names`() async throws {
        #expect(await sh("put a//b a//c a/d /e").status == 0)
        let names = try await lines("$S du --json").map { $0["object"]?.string ?? $0["fullPath"]?.string }
        #expect(names == ["/", "a//", "a", ""])
    }

    @Test func `hash shows the same of an object and of its file, as md5sum does`() async throws {
        #expect(await sh("seq 1000 > f && $S put -q f f").status == 0)
        let object = await sh("$S hash f").text.split(separator: "\n").map { $0.split(separator: " ").prefix(3) }
        let file = await sh("$S hash --local f").text.split(separator: "\n").map { $0.split(separator: " ").prefix(3) }
        #expect(object == file && object.count == 2)
        #expect(await sh("$S hash f | cut -d' ' -f6 | head -n 1").text == sh("md5sum f | cut -d' ' -f1").text)
        #expect(
            await sh("$S hash --local - < f | head -n 1 | cut -d' ' -f6").text == sh("md5sum f | cut -d' ' -f1").text)
        let json = try #require(try await lines("$S hash --json f").first)
        #expect(json["md5"]?["hex"]?.string?.utf8.count == 32 && json["crc32c"]?["base64"]?.string?.utf8.count == 8)
        let refused = await sh("mkdir d; $S hash --local d none f")
        #expect(
            refused.status == 1 && refused.text.contains("d cannot be read: it is a directory\n"), "\(refused.text)")
        #expect(refused.text.contains("none cannot be read: ") && refused.text.contains("md5 "))
    }

    // MARK: - Filters

    @Test func `Filters hold for ls -r, du, cp -r, mv -r and rm -r`() async {
        #expect(await sh("put d/a.txt d/b.jpg d/sub/c.txt d/cache/x.txt").status == 0)
        #expect(await sh("$S ls -r d --include '*.txt' --exclude cache/").text == "a.txt\nsub/c.txt\n")
        #expect(await sh("$S ls -r d --include '*.png'") == (0, ""))
        #expect(await sh("$S cp -q -r d e --exclude '*.txt' && $S ls -r e").text == "b.jpg\n")
        #expect(
            await sh("$S mv -q -r 'd/*' f/ --exclude cache/ --exclude '*.jpg' && $S ls -r f").text
                == "a.txt\nsub/c.txt\n")
        #expect(await sh("$S rm -r d --include '*.txt'").text == "1 removed\n")
        #expect(await sh("$S ls -r d").text == "b.jpg\n")
        for words in ["ls d --include x", "rm d/b.jpg --exclude x", "cp d/b.jpg x --include x"] {
            let refused = await sh("$S \(words)")
            #expect(refused.status == 64 && refused.text.contains("is for -r"), "\(refused.text)")
        }
        let pattern = await sh("$S rm -r d --exclude '[a'")
        #expect(pattern.status == 64 && pattern.text.contains("[a"), "\(pattern.text)")
        #expect(await sh("$S ls -r d").text == "b.jpg\n")
    }

    // MARK: - Plans and existing objects

    @Test(arguments: [
        ("rm -r d", "would remove gs://default-bucket/d/a\nwould remove gs://default-bucket/d/b\n"),
        ("rm -r gs://default-bucket", "would remove gs://default-bucket/d/a\nwould remove gs://default-bucket/d/b\n"),
        ("cp d/a e", "would copy gs://default-bucket/d/a to gs://default-bucket/e\n"),
        ("mv d/a e", "would move gs://default-bucket/d/a to gs://default-bucket/e\n"),
        ("set d/a --custom k=v", "would change gs://default-bucket/d/a\n"),
        (
            "mv --json d/a e",
            #"{"would":"move","source":"gs://default-bucket/d/a","target":"gs://default-bucket/e"}"# + "\n"
        ),
    ])
    func `A dry run prints what would be done, and changes nothing`(words: String, told: String) async {
        #expect(await sh("put d/a d/b").status == 0)
        let before = await sh("$S stat 'd/*'").text
        #expect(await sh("$S \(words) --dry-run") == (0, told))
        #expect(await sh("$S stat 'd/*'").text == before)
        #expect(await sh("$S ls -r").text == "d/a\nd/b\n")
        let missing = await sh("$S rm none 'd/*' --dry-run")
        #expect(missing.status == 1 && !missing.text.contains("would remove gs://default-bucket/none"), "\(missing)")
    }

    @Test(arguments: ["cp", "mv"])
    func `With --no-clobber existing objects and files are skipped by name`(verb: String) async throws {
        #expect(await sh("put d/a d/b e/a").status == 0)
        let copied = await sh("$S \(verb) --no-clobber -r d/ e")
        #expect(copied.status == 0 && copied.text.contains("gs://default-bucket/e/a is there already: skipped"))
        #expect(copied.text.contains("gs://default-bucket/d/b -> gs://default-bucket/e/b\n"), "\(copied.text)")
        #expect(await sh("$S cat -q e/a e/b d/a").text == "e/ad/bd/a")
        #expect(try await lines("$S \(verb) --no-clobber d/a e/a --json") == [["skipped": "gs://default-bucket/e/a"]])
    }

    @Test func `rm -r of a bucket needs -y without a terminal`() async {
        #expect(await sh("put a gs://other/b").status == 0)
        for bucket in ["gs://default-bucket", "gs://other"] {
            let refused = await sh("$S rm -r \(bucket) < /dev/null")
            #expect(refused.status == 64 && refused.text.contains("-y says that this is meant"), "\(refused.text)")
        }
        #expect(await sh("$S ls && $S ls gs://other").text == "a\nb\n")
        #expect(await sh("$S rm -r -y gs://other < /dev/null").text == "1 removed\n")
    }

    @Test func `Many objects are moved and removed, and only their number is shown`() async {
        let names = (0..<60).map { "d/\($0)" }
        #expect(
            await sh("mkdir d; for n in \(names.joined(separator: " ")); do echo $n > $n; done; $S put -q -r d d")
                .status == 0)
        let moved = await sh("$S mv -r d e -p 7")
        #expect(moved.status == 0 && moved.text.hasPrefix("60 files, ") && moved.text.split(separator: "\n").count == 1)
        #expect(await sh("$S ls -r e | wc -l; $S ls d").text.hasPrefix("60\n"))
        #expect(await sh("$S cp -r -v e f 2> err | grep -c '^generation'").text == "60\n")
        #expect(await sh("$S rm -r -v e 2> err | grep -c '^removed gs://'").text == "60\n")
        #expect(await sh("$S get -q -r f out && diff -r d out").status == 0)
    }

    // MARK: - JSON

    @Test func `With --json results and errors are lines of stdout`() async throws {
        #expect(await sh("put d/a d/b").status == 0)
        let failed = try await lines("$S rm d/a none --json 2> err")
        #expect(failed.count == 3 && failed[0]["removed"]?["fullPath"] == "d/a", "\(failed)")
        let error = failed[1]["error"]
        #expect(error?["code"]?.number?.int64 == -13010 && error?["name"] == "objectNotFound")
        #expect(error?["message"] == "Object none does not exist.")
        #expect(error?["reference"] == ["bucket": "default-bucket", "object": "none"])
        #expect(failed[2]["error"]?["code"]?.number?.int64 == 1)
        #expect(await sh("cat err").text == "")
        for words in ["lss", "ls --what", "rm", "stat a/../b", "rm -r gs://default-bucket"] {
            let refused = try await lines("$S \(words) --json 2>&1")
            #expect(refused.count == 1 && refused[0]["error"]?["name"] == "usage", "\(words) \(refused)")
            #expect(await sh("$S \(words) --json").status == 64)
        }
        #expect(await sh("$S serve --json").text.hasPrefix("storage-rpc: "), "stdout is of JSON-RPC")
        #expect(await sh("$S stat -- --json none").text.hasPrefix("storage-rpc: "), "a name is no flag")
        let copied = try await lines("$S cp d/b c --json")
        #expect(copied.count == 1 && copied[0]["fullPath"] == "c" && copied[0]["size"]?.number?.int64 == 3)
        #expect(try await lines("$S set c --custom k=v --json").first?["customMetadata"] == ["k": "v"])
        #expect(try await lines("$S ls gs:// --json") == [["kind": "bucket", "bucket": "default-bucket"]])
        #expect(try await lines("$S stat c d/b --json").count == 2)
    }

    // MARK: - Words of others

    @Test(arguments: [
        ("upload a b", "did you mean put?"), ("download a", "did you mean get?"), ("list", "did you mean ls?"),
        ("dir", "did you mean ls?"), ("del a", "did you mean rm?"), ("copy a b", "did you mean cp?"),
        ("rename a b", "did you mean mv?"), ("rsync a b", "did you mean sync?"), ("size", "did you mean du?"),
        ("md5sum a", "did you mean hash?"), ("describe a", "did you mean stat?"), ("head a", "did you mean cat?"),
        ("mb gs://x", "exist while they have objects"),
        ("login", "help credentials"), ("cp -m a b", "-p N says how many"),
        ("cp -n a b", "--no-clobber of cp and gsutil"), ("rm -R a", "did you mean -r?"),
        ("put -P a b", "--progress HOW"), ("rm -f a", "did you mean -y?"), ("ls -m", "transfers run at once anyway"),
        ("ls --recursive=true", "--recursive takes no value"),
    ])
    func `A word of another program is refused with what does the same`(words: String, hint: String) async {
        let refused = await sh("$S \(words)")
        #expect(refused.status == 64 && refused.text.contains(hint), "\(refused.text)")
    }

    @Test(arguments: ["cp", "mv"]) func `With --no-clobber a missing source is an error`(command: String)
        async
    {
        let place = Place()
        let told = await place.sh("put x; $S \(command) --no-clobber none x; echo $?; $S cat x")
        #expect(told.text.hasSuffix("\n1\nx") && told.text.contains("Object none does not exist"), "\(told.text)")
    }

    @Test func `A text with an empty name is refused where it may mean two objects`() async {
        #expect(await sh("put a//b a/b /c c; $S ls -r").text == "/c\na//b\na/b\nc\n")
        for words in ["rm a//b", "cat a//b", "rm /c", "mv gs://default-bucket//c d", "put /dev/null a//b", "rm -r a//"]
        {
            let refused = await sh("$S \(words)")
            #expect(refused.status != 0 && refused.text.contains("--exact") || words == "rm -r a//", "\(refused)")
        }
        #expect(await sh("$S ls -r").text == "/c\na/b\nc\n")
        #expect(await sh("put p//x p/y; $S ls p//; $S ls p; $S rm -q p/y").text == "p//x\ny\n")
        let hinted = await sh("$S ls p")
        #expect(hinted.text.contains("ls --exact gs://default-bucket/p/"), "\(hinted)")
        #expect(await sh("$S rm -q -r p//; $S rm -q --exact /c; $S cat //c; $S rm /c; $S ls -r").text == "ca/b\n")
    }
}
