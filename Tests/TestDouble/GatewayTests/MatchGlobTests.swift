import Storage
import TestSupport
import Testing

@testable import Gateway

/// Patterns with alternatives, as lists of objects have them.
@Suite(.watchdog) struct MatchGlobTests {
    private func matches(_ pattern: String, _ name: String) throws -> Bool {
        try Glob.combinations(pattern).contains { $0.matcher.matches(name) }
    }

    @Test(arguments: [
        ("{a,b}.txt", "b.txt", true), ("{a,b}.txt", "c.txt", false), ("{a,}b", "b", true), ("{}a", "a", true),
        ("x{a,{b,c}d}y", "xcdy", true), ("x{a,{b,c}d}y", "xcy", false), ("{a,b}{c,d}", "bc", true),
        ("a,b", "a,b", true),
        ("{a,b}/**/{c,d}*", "a/x/dd", true), ("\u{E9}{\u{E9},x}", "\u{E9}\u{E9}", true), ("{[ab],c}", "b", true),
        (#"\*"#, "*", true), (#"\*"#, "a", false), (#"\?\[\]\\"#, #"?[]\"#, true), (#"\{a,b\}"#, "{a,b}", true),
        (#"{a\,b,c\}}"#, "a,b", true), (#"{a\,b,c\}}"#, "c}", true), (#"[\]\-x]"#, "-", true), (#"[\]-a]"#, "^", true),
        (#"[!\]]"#, "]", false), (#"\\*"#, #"\abc"#, true), (#"\é"#, "é", true), ("[]]", "]", true),
    ])
    func `Each choice is a pattern`(_ pattern: String, _ name: String, _ isMatch: Bool) throws {
        #expect(try matches(pattern, name) == isMatch)
    }

    @Test(arguments: [
        "{", "}", "{a", "a}", "{a}}", "{{a}", "{[,a]}", "]", "a]", "[a]]", #"\"#, #"a\"#, #"[\]"#, #"{a\}"#,
    ])
    func `A malformed pattern is refused`(_ pattern: String) {
        #expect(throws: GatewayError.self) { try Glob.combinations(pattern) }
    }

    @Test func `A pattern is refused before its combinations are made`() throws {
        func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }
        for pattern in [
            repeated("a", 4097), "{" + repeated(",", 2000) + "}" + repeated("a", 2000), repeated("{a,b}", 800),
            "{" + repeated(",", 90) + "}" + repeated("a", 3000), repeated("{", 2000) + repeated("}", 2000),
            repeated("{a,{", 17) + repeated("}", 34),
        ] {
            let error = #expect(throws: GatewayError.self) { try Glob.combinations(pattern) }
            #expect(error?.status == 400 && error?.message.utf8.count ?? 0 < 200)
        }
        #expect(try Glob.combinations("{" + repeated("a,", 99) + "b}").count == 100)
        #expect(try matches(repeated("{a}", 1000), repeated("a", 1000)))
    }
}
