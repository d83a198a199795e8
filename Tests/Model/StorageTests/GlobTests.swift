import Storage
import TestSupport
import Testing

/// The one matcher of patterns: of commands, of tasks over folders, and of the harness.
@Suite(.watchdog) struct GlobTests {
    @Test(arguments: [
        ("*", "a", true), ("*", "", true), ("*", "a/b", false), ("**", "a/b", true), ("***", "a/b", true),
        ("?", "a", true), ("?", "", false), ("?", "/", false), ("?", "\u{E9}", true), ("?", "e\u{301}", false),
        ("??", "e\u{301}", true), ("caf\u{E9}", "cafe\u{301}", false),
        ("**/a", "a", true), ("**/a", "b/c/a", true), ("**/a", "ba", false), ("a**/b", "ab/b", true),
        ("a**/b", "ab", false), ("x/**/y", "x/y", true), ("x/**/y", "x/1/2/y", true), ("x/**", "x/", true),
        ("[ab]", "b", true), ("[a-c]x", "bx", true), ("[!a-c]", "b", false), ("[!a-c]", "d", true),
        ("[^a]", "b", true), ("[!a]", "/", false), ("[+-9]", "/", false), ("[+-9]", ".", true), ("[]]", "]", true),
        ("[!]]", "]", false), ("[!]]", "a", true), ("[]a]", "a", true), ("[[]x]", "[x]", true), ("[*]", "*", true),
        ("[a-]", "-", true), ("[!-a]", "b", true), ("[\u{E0}-\u{FF}]", "\u{E9}", true), ("a]", "a]", true),
    ])
    func `A pattern matches whole names, by Unicode scalars`(_ pattern: String, _ name: String, _ matches: Bool) throws
    {
        #expect(try Glob(pattern).matches(name) == matches)
    }

    @Test(arguments: ["[", "[a", "a[b/c]", "[]", "[!]", "[!", "x[a-", "[b-a]", "[/]"])
    func `A pattern with brackets that stand for no character is refused`(_ pattern: String) {
        #expect(throws: Glob.Invalid.self) { try Glob(pattern) }
        for (include, exclude) in [([pattern], []), ([], ["*", pattern])] {
            let error = #expect(throws: StorageError.self) { try FolderFilter(include: include, exclude: exclude) }
            #expect(error?.code == .invalidArgument && error?.message.contains("\"\(pattern)\"") == true)
        }
    }

    @Test(arguments: ["**a**a**a**a**b", "*a*a*a*a*b", "**/**/**/**/**/b", "?*?*?*?*?*b", "[a]**[a]**[a]**[a]**b"])
    func `Matching looks at each position of the pattern twice for each character of the name`(
        _ pattern: String
    ) throws {
        let glob = try Glob(pattern)
        for letter in ["a", "a/"] {
            for length in [60, 600] {
                let name = String(repeating: letter, count: length)
                var match = Glob.Match(glob)
                for scalar in name.unicodeScalars { match.take(scalar) }
                let most = 2 * (pattern.unicodeScalars.count + 1) * (name.unicodeScalars.count + 1)
                #expect(!match.isComplete && match.work <= most)
            }
        }
    }

    @Test func `Folders below which nothing can match are told apart`() throws {
        let glob = try Glob("a*/b/c")
        #expect(glob.mayMatchBelow("a1") && glob.mayMatchBelow("a1/b"))
        #expect(!glob.mayMatchBelow("b") && !glob.mayMatchBelow("a1/c") && !glob.mayMatchBelow("a1/b/c"))
        #expect(try Glob("x/**/c").mayMatchBelow("x/1/2"))
    }

    @Test func `Only stars are special in the patterns of the harness`() {
        #expect(Glob(stars: "gs://b/[a]?*").matches("gs://b/[a]?x"))
        #expect(!Glob(stars: "gs://b/[a]").matches("gs://b/a"))
    }
}
