import Foundation
import JSONText
import TestSupport
import Testing

/// What commands take names, patterns and flags for, and what they refuse.
@Suite(.watchdog) struct NameTests {
    private let place = Place()
    private func sh(_ line: String) async -> (status: Int32, text: String) { await place.sh(line) }

    // MARK: - Patterns

    @Test func `A folder's name is literal at the beginning of a pattern`() async {
        #expect(await sh("put 'k[1]/a' 'k[1]/b[2]/c' 'k[1]/b2/d' k1/x k1/b2/y '*/z'").status == 0)
        #expect(await sh("$S ls 'k[1]/*'").text == "k[1]/a\nk[1]/b2/\nk[1]/b[2]/\n")
        #expect(await sh("$S ls 'gs://default-bucket/k[1]//a*'").text == "k[1]/a\n")
        #expect(await sh("$S ls 'k[1]/b[2]/?'").text == "k[1]/b[2]/c\n")
        #expect(await sh("$S ls 'k[1]/b[3-2]/?'").text.contains("\"b[3-2]/?\" is no pattern: it has [3-2]"))
        #expect(await sh("$S ls 'k[1]/b[3]/?'").text == "storage-rpc: nothing matches k[1]/b[3]/?\n")
        #expect(await sh("$S ls 'k[1]/**d'").text == "k[1]/b2/d\n")
        #expect(await sh("$S ls '*/*'").text == "*/z\n")
        #expect(await sh("$S rm 'k[1]/x'").text.contains("Object k[1]/x does not exist"), "k1/x is no match")
        #expect(await sh("$S cp -q -r 'k[1]/b*' all/ && $S ls -r all").text == "b2/d\nb[2]/c\n")
        #expect(await sh("$S rm -q -r 'k[1]/*' && $S ls -r 'k[1]/*'").text == "k1/b2/y\nk1/x\n", "k[1] is gone")
    }

    @Test(arguments: ["put f 'docs/*'", "put - 'docs/*'", "put -r d 'docs/**'", "cp a 'docs/*'", "mv a b 'docs/*'"])
    func `A destination is no pattern, unless it is the name of an object`(command: String) async {
        #expect(await sh("put a b; mkdir d; printf x > f; printf y > d/f").status == 0)
        let refused = await sh("$S \(command) < f")
        #expect(refused.status == 64, "\(refused.text)")
        #expect(refused.text.contains("is a pattern, and a destination has one name, such as docs/; --exact takes it"))
        #expect(await sh("$S ls -r").text == "a\nb\n")
        #expect(await sh("$S put -q f 'docs/[x] y?'; $S put -q --exact f 'c*'; $S put -q f 'c*'").text == "")
        #expect(await sh("$S ls -r").text == "a\nb\nc*\ndocs/[x] y?\n")
        #expect(await sh("$S sync d 'gs://b/*'").status == 64)
    }

    @Test func `hash of a file of this machine says how files are read`() async {
        let told = await sh("printf x > f; $S hash f; echo $?; $S put -q f f; $S hash f")
        let said = "f is a file of this machine, and there is no such object: storage-rpc hash --local f reads it"
        #expect(told.status == 0 && told.text.hasPrefix("storage-rpc: \(said)\n64\nmd5 "), "\(told.text)")
    }

    @Test func `hash of a directory of this machine advises a line that works`() async throws {
        let told = await sh("mkdir 'a d'; printf x > 'a d/f'; $S hash 'a d'; echo $?")
        let advice = try #require(
            told.text.firstMatch(of: /no such object: (find .* -exec )storage-rpc( .* \+) reads it\n64\n/))
        #expect(await sh("\(advice.1)$S\(advice.2)").text.hasPrefix("md5 "), "\(told.text)")
    }

    @Test func `A URL is a URL with --exact, too`() async {
        let line = """
            $S serve --shared --log-level info 2> log & P=$!; await 'grep -q "listens on" log'; put d/a
            U=$($S url d/a); $S cat --exact "$U"; echo; $S ls --exact http://b/d; echo $?; kill $P; wait $P
            """
        let said = "http://b/d names an object of another server: add --engine and --endpoint\n64\n"
        #expect(await sh(line).text == "d/a\nstorage-rpc: \(said)")
    }

    @Test func `Brackets escape special characters, and exact names need no escape`() async {
        #expect(await sh("put 'k[1]/a' k1/x 'w*' 'w?' ww").status == 0)
        #expect(await sh("$S ls 'k[[]1]/*'; $S ls 'k[[]?]/?'").text == "k[1]/a\nk[1]/a\n")
        #expect(await sh("$S ls 'k[1-1]/*'").text == "k1/x\n")
        #expect(await sh("$S ls '?[*]'; $S ls '?[?]'").text == "w*\nw?\n")
        #expect(await sh("$S ls --exact 'k[1]'; $S ls --exact 'k[1]/'").text == "k[1]/a\nk[1]/a\n")
        #expect(await sh("$S rm -r --exact 'k[1]'; $S ls -r k1").text == "1 removed\nx\n")
    }

    @Test func `The advice about a folder is a pattern that lists it, whatever its name is`() async throws {
        #expect(await sh("put 'k[1]/a' k1/x \"it's*/a\"").status == 0)
        for name in ["'k[1]'", "'k[1]/'", "\"it's*\""] {
            let told = await sh("$S stat \(name)")
            let advice = try #require(told.text.firstMatch(of: /is a folder: ('.*') is what is in it/)?.1)
            #expect(await sh("$S ls \(advice)").text == (name.contains("k") ? "k[1]/a\n" : "it's*/a\n"))
        }
    }

    // MARK: - Folders that match

    @Test func `ls shows folders that match a pattern, with a slash`() async throws {
        #expect(await sh("put top d/x d/y/z e/w").status == 0)
        #expect(await sh("$S ls '*'").text == "d/\ne/\ntop\n")
        #expect(
            await sh("$S ls 'gs://default-bucket/d/*'; $S ls '[d-e]'; $S ls '*/'; $S ls '*/*/'").text
                == "d/x\nd/y/\nd/\ne/\nd/\ne/\nd/y/\n")
        #expect(await sh("$S ls '**'").text == "d/x\nd/y/z\ne/w\ntop\n", "** is about objects")
        #expect(await sh("$S ls -l d* | grep -c ' - *- *d/$'").text == "1\n")
        let lines = try await sh("$S ls --json 'd/*'").text.split(separator: "\n").map { try JSON(parsing: String($0)) }
        let folder: JSON = [
            "kind": "folder", "bucket": "default-bucket", "fullPath": "d/y", "name": "y",
            "url": "gs://default-bucket/d/y",
        ]
        #expect(lines.count == 2 && lines[0] == folder)
        #expect(lines[1]["kind"] == "object" && lines[1]["fullPath"] == "d/x")
        #expect(await sh("$S ls --json d").text.contains(folder.text), "as the list of the folder has it")
    }

    @Test(arguments: [
        ("cp '*' dst/", "dst/top"), ("mv '*' dst/", "dst/top"), ("get '*' out/", ""), ("cat '*'", ""),
        ("stat '*'", ""), ("set '*' --custom a=b", ""), ("rm '*'", ""),
    ])
    func `A folder that matches is named and left out without -r`(words: String, made: String) async {
        #expect(await sh("put top d/x").status == 0)
        let ran = await sh("$S \(words)")
        #expect(ran.status == 1 && ran.text.contains("gs://default-bucket/d/ is a folder, and left out: "), "\(ran)")
        let isTree = !["cat", "stat", "set"].contains { words.hasPrefix($0) }
        #expect(ran.text.contains(isTree ? "-r takes all" : "'gs://default-bucket/d/*' is what is in it"))
        #expect(await sh("$S ls -r d").text == "x\n")
        if !made.isEmpty { #expect(await sh("$S ls -r").text.contains(made)) }
        let alone = await sh("$S \(words.replacing("*", with: "d*"))")
        #expect(alone.status == 1 && alone.text.contains("only folders match d*"), "\(alone)")
    }

    @Test func `A pattern with -r takes folders, and one that crosses folders needs no -r`() async {
        #expect(await sh("put top d/x d/y/z").status == 0)
        #expect(await sh("$S cp -q -r '*' all/ && $S ls -r all").text == "d/x\nd/y/z\ntop\n")
        #expect(await sh("$S cp -q 'd/**' flat/ && $S ls -r flat").text == "x\ny/z\n")
    }

    // MARK: - Buckets

    @Test(arguments: [
        "ls", "ls -r", "ls -l", "get -r", "rm -r", "cp -r gs://typo x/ #", "mv -r gs://typo x/ #", "ls gs://typo/a #",
        "ls 'gs://typo/*' #", "get 'gs://typo/*' out/ #", "cp 'gs://typo/**' x/ #", "rm -r gs://typo/a #",
        "ls --exact",
    ])
    func `A bucket that never had an object is an error`(words: String) async {
        #expect(await sh("put gs://other/a").status == 0)
        let refused = await sh("$S \(words) gs://typo")
        #expect(refused.status == 1 && refused.text == "storage-rpc: there is no bucket gs://typo\n", "\(refused)")
        #expect(await sh("$S stat gs://typo/a").status == 1)
        #expect(await sh("$S ls -r gs://other").text == "a\n")
    }

    @Test func `The default bucket exists, and so does an emptied one, and put makes one`() async {
        #expect(await sh("$S ls; $S ls gs://default-bucket; $S rm -r -y gs://default-bucket").text == "0 removed\n")
        #expect(await sh("$S ls --bucket photos").status == 0)
        #expect(await sh("echo 1 > f; $S put -q f gs://new && $S ls gs://new").text == "f\n")
        #expect(await sh("$S rm gs://new/f; $S ls gs://new; $S rm -r -y gs://new").text == "0 removed\n")
        #expect(
            await sh("$S put -q -r f gs://newer/ && $S cp -q gs://newer/f gs://newest && $S ls gs://newest").text
                == "f\n")
    }

    // MARK: - Dots

    @Test func `Dots are refused as names in any form of a reference, unless it is exact`() async {
        #expect(await sh("touch f").status == 0)
        for name in ["..", "./q", "a/../b", "gs://b/..", "gs://b/./q", "gs://b/a/../b", "gs://b/.", "gs://b/./*"] {
            for words in ["put f", "ls", "rm", "cp x", "stat", "get -r"] {
                let refused = await sh("$S \(words) '\(name)'")
                #expect(refused.status == 64 && refused.text.contains("unless with --exact"), "\(words) \(refused)")
            }
        }
        #expect(
            await sh("$S put -q --exact f gs://b/a/../b && $S stat --exact gs://b/a/../b | grep -c a/../b").text
                == "1\n")
        #expect(await sh("put .hidden gs://b/...; $S ls -r; $S ls gs://b/...").text == ".hidden\n...\n")
    }

    @Test func `get writes nothing outside of its directory, and names what it leaves out`() async {
        #expect(
            await sh("put gs://b/../up gs://b/t/../../../up gs://b/t/./a gs://b/t/ok gs://b/.. gs://b/t/.. gs://b//abs")
                .status == 0)
        #expect(await sh("mkdir -p in/side").status == 0)
        for words in ["-r gs://b o/", "-r gs://b", "-r gs://b o", "-r gs://b/t o/", "-r 'gs://b/*' o/"] {
            let got = await sh("cd in/side && $S get \(words)")
            #expect(got.status == 1 && got.text.contains("is no path of a file"), "\(got)")
            #expect(got.text.contains("t/../../../up is left out") && got.text.contains("t/./a is left out"), "\(got)")
        }
        #expect(await sh("$S get --exact gs://b/..").text.contains("gs://b/.. is no path of a file"))
        #expect(
            await sh("find in ! -type d | grep -v -e '/t/ok$' -e '^in/side/o/abs$'; find . -name up; ls in").text
                == "side\n")
        #expect(await sh("$S get -q --exact gs://b/../up got && cat got").text == "gs://b/../up")
    }

    // MARK: - Flags

    @Test(arguments: [
        ("put f x --custom k=1 --custom k=2", "--custom k=1 and --custom k=2 contradict each other"),
        ("put f x --custom k=1 --custom=k=1", "--custom k=1 is given twice"),
        ("set x --custom k=3 --remove k", "--custom k=3 and --remove k"),
        ("set x --remove k --custom k=3", "--remove k and --custom k=3"),
        ("set x --content-type a/b --content-type c/d", "--content-type a/b and --content-type c/d"),
        ("set x --content-type a/b --remove content-type", "--content-type a/b and --remove content-type"),
        ("set x --remove contentType --content-type=a/b", "--remove contentType and --content-type a/b"),
        ("set x --remove content-type --remove contentType", "--remove content-type and --remove contentType"),
        ("ls --bucket a --bucket=b", "--bucket a and --bucket b"), ("ls --root a --root b", "--root a and --root b"),
        ("rm x --if-generation-match 1 --if-generation-match 0", "--if-generation-match 1 and --if-generation-match 0"),
        ("url x --expires-in 5 --expires-in 6", "--expires-in 5 and --expires-in 6"),
        ("ls --engine gcs --engine firebase", "--engine gcs and --engine firebase"),
        ("ls --max-tasks 3 --max-tasks 4", "--max-tasks 3 and --max-tasks 4"),
        ("serve --socket a --socket b", "--socket a and --socket b"),
        ("--socket a --tasks pause --tasks resume", "--tasks pause and --tasks resume"),
        ("connect --idle-timeout 5 --idle-timeout 6", "--idle-timeout 5 and --idle-timeout 6"),
        ("backup d --root a --root b", "--root a and --root b"),
        ("trace f --task 1 --task 2", "--task 1 and --task 2"), ("trace f --html o --json", "--json is not for --html"),
        ("trace f --errors --html o", "--errors is not for --html"),
    ])
    func `Flags that contradict each other are refused, and both are named`(words: String, told: String) async throws {
        let refused = await sh("$S \(words)")
        #expect(refused.status == 64 && refused.text.contains(told), "\(refused)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory) == [])
    }

    @Test func `Repeatable flags, and flags without a value, may be given again`() async {
        #expect(
            await sh(
                "echo 1 > f; $S put -q -q f x --custom a=1 --custom b=2 --json | grep -c '\"a\":\"1\",\"b\":\"2\"'"
            ).text == "1\n")
        #expect(
            await sh("$S set -q x --remove a --custom c=1 && $S ls -r -r && $S ls -lr | grep -c x").text == "x\n1\n")
        #expect(await sh("$S stat --json x | grep -c '\"customMetadata\":{\"b\":\"2\",\"c\":\"1\"}'").text == "1\n")
        #expect(await sh("$S call service/ping --allow-read . --allow-read /").status == 0)
    }

    // MARK: - Metadata

    @Test func `Metadata that headers cannot carry is refused by name`() async {
        #expect(await sh("echo 1 > f; $S put -q f x").status == 0)
        for (flag, name) in [
            ("cache-control", "cacheControl"), ("content-disposition", "contentDisposition"),
            ("content-encoding", "contentEncoding"), ("content-language", "contentLanguage"),
            ("content-type", "contentType"),
        ] {
            for words in ["set x", "put f y"] {
                let refused = await sh("$S \(words) --\(flag) $'a\\r\\nb: c'")
                #expect(
                    refused.status == 1 && refused.text.contains("metadata.\(name) goes into headers"), "\(refused)")
            }
        }
        #expect(await sh("$S ls").text == "x\n")
        #expect(await sh("$S set x --custom $'k=a\\nb' --cache-control 'öffentlich' && $S stat --json x").status == 0)
    }
}
