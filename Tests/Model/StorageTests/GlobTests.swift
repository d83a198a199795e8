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
        #expect(try Glob(pattern).matcher.matches(name) == matches)
    }

    @Test(arguments: [
        "[", "[a", "a[b/c]", "[]", "[!]", "[!", "x[a-", "[b-a]", "[/]", String(repeating: "a", count: 4097),
    ])
    func `A pattern with brackets that stand for no character is refused`(_ pattern: String) {
        #expect(throws: Glob.Invalid.self) { try Glob(pattern) }
        for (include, exclude) in [([pattern], []), ([], ["*", pattern])] {
            let error = #expect(throws: StorageError.self) { try FolderFilter(include: include, exclude: exclude) }
            #expect(error?.code == .invalidArgument && error?.message.contains("\"\(pattern)\"") == true)
        }
    }

    @Test(arguments: ["**a", "*a", "**/", "?*", "[a]**", "*", "\u{E9}*"])
    func `Matching looks once at each 64 steps of the pattern for each character of the name`(_ part: String) throws {
        for count in [1, 200, 700] {
            let pattern = String(repeating: part, count: count) + "b"
            let matcher = try Glob(pattern).matcher
            for (letter, length) in [("a", 60), ("a", 1000), ("a/", 500), ("\u{E9}", 500)] {
                let name = String(repeating: letter, count: length)
                var work = 0
                #expect(!matcher.matches(name, &work))
                #expect(work <= (pattern.unicodeScalars.count / 64 + 1) * (name.unicodeScalars.count + 1))
            }
        }
    }

    @Test func `Long patterns match as short ones do`() throws {
        var random = SeededGenerator(state: 7)
        for _ in 0..<300 {
            let parts = (0..<Int.random(in: 1...90, using: &random)).map { _ in
                ["a", "b", "/", "*", "**", "?", "[!b]", "[ab]", "/**/", "\u{E9}"].randomElement(using: &random) ?? "a"
            }
            let pattern = parts.joined()
            // A name that the pattern may match.
            let name = parts.map { part in
                let some = ["a", "b", "ab", "", "a/", "\u{E9}"].randomElement(using: &random) ?? ""
                return "ab/\u{E9}".contains(part) ? part : some
            }.joined()
            #expect(try Glob(pattern).matcher.matches(name) == Self.matches(pattern, name), "\(pattern) \(name)")
        }
    }

    /// As a table of all beginnings of the pattern and the name.
    private static func matches(_ pattern: String, _ name: String) -> Bool {
        let (pattern, name) = (Array(pattern.unicodeScalars), Array(name.unicodeScalars))
        /// Whether the rest of the pattern matches the rest of the name.
        var isMatch = [[Bool]](
            repeating: [Bool](repeating: false, count: name.count + 1), count: pattern.count + 1)
        isMatch[pattern.count][name.count] = true
        for place in pattern.indices.reversed() {
            let isSegment = place == 0 || pattern[place - 1] == "/"
            let stars = pattern[place...].prefix { $0 == "*" }.count
            let isSet = pattern[place] == "["
            let next = place + (isSet ? (pattern[place...].firstIndex(of: "]") ?? place) - place + 1 : max(1, stars))
            for index in (0...name.count).reversed() {
                let rest = name[index...]
                if stars > 1, isSegment, next < pattern.count, pattern[next] == "/" {
                    isMatch[place][index] =
                        isMatch[next + 1][index]
                        || rest.indices.contains { name[$0] == "/" && isMatch[next + 1][$0 + 1] }
                } else if stars > 0 {
                    let reach = stars > 1 ? rest.count : rest.prefix { $0 != "/" }.count
                    isMatch[place][index] = (index...index + reach).contains { isMatch[next][$0] }
                } else if let scalar = rest.first {
                    let members = pattern[place..<next].dropFirst().dropLast()
                    let takes =
                        switch pattern[place] {
                        case "?": scalar != "/"
                        case "[": scalar != "/" && members.contains(scalar) != (members.first == "!")
                        case let own: scalar == own
                        }
                    isMatch[place][index] = takes && isMatch[next][index + 1]
                }
            }
        }
        return isMatch[0][0]
    }

    @Test func `Folders below which nothing can match are recognized`() throws {
        let glob = try Glob("a*/b/c").matcher
        #expect(glob.mayMatchBelow("a1") && glob.mayMatchBelow("a1/b"))
        #expect(!glob.mayMatchBelow("b") && !glob.mayMatchBelow("a1/c") && !glob.mayMatchBelow("a1/b/c"))
        #expect(try Glob("x/**/c").matcher.mayMatchBelow("x/1/2"))
    }

    @Test func `Only stars are special in the patterns of the harness`() throws {
        #expect(try Glob("gs://b/[a]?*", .stars).matcher.matches("gs://b/[a]?x"))
        #expect(try Glob("**/a", .stars).matcher.matches("gs://b/a"))
        #expect(try !Glob("**/a", .stars).matcher.matches("a"))
        #expect(try !Glob("gs://b/[a]", .stars).matcher.matches("gs://b/a"))
    }
}
