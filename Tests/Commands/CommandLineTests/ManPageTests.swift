import CommandLine
import Foundation
import TestSupport
import Testing

@Suite(.watchdog) struct ManPageTests {
    private func page() throws -> String {
        guard case .help(let text) = try Command(["help", "--man"]) else { return "" }
        return text
    }

    @Test func `Each example of the man page is a command`() throws {
        let rest = try page().components(separatedBy: ".SH EXAMPLES\n").last ?? ""
        let examples = rest.components(separatedBy: ".SH ")[0].split(separator: "\n").filter {
            $0.contains("storage\\-rpc")
        }
        #expect(examples.count > 20)
        for example in examples {
            let text = example.replacing("\\-", with: "-").replacing("\\(aq", with: "'").replacing("\\(rs", with: "\\")
            let words = text.components(separatedBy: "storage-rpc").last?
                .matches(of: /'([^']*)'|\S+/).map { String($0.1 ?? $0.0) }
            #expect(throws: Never.self, "\(text)") { try Command(words ?? []) }
        }
    }

    /// Nil for words that are no page of the documentation.
    private func documentation(_ word: String) throws -> Handbook.Page? {
        guard case .documentation(let page) = try Command(["help", word]) else { return nil }
        return page
    }

    @Test func `Each page that the man page names is shown by help`() throws {
        let text = try page().replacing("\\-", with: "-")
        let named = Set(text.matches(of: /\bhelp ([a-z.]*[a-z])\b/).map { String($0.1) })
        #expect(named.isSuperset(of: ["copying", "pages", "protocol", "gateway.md"]))
        for word in named { #expect(throws: Never.self, "\(word)") { try Command(["help", word]) } }
        #expect(!text.contains(/(clients|protocol)\/[a-z]/), "a path is no word that help takes")
    }

    @Test func `A page of the documentation has the names of its file, its path and its folder`() throws {
        let protocolPage = try #require(try documentation("protocol"))
        #expect(try documentation("protocol/README.md")?.file == protocolPage.file)
        #expect(try documentation("gateway.md")?.file == documentation("clients/gateway.md")?.file)
        #expect(try documentation("gateway") == nil, "the command")
        #expect(throws: UsageError.self) { try documentation("nothing.md") }
        guard case .help(let list) = try Command(["help", "pages"]) else { throw POSIXError(.EINVAL) }
        #expect(list.contains("  operations.md ") && list.contains("  protocol "))
        #expect(list.contains("  harness.md ") && list.contains("  protocol/harness.md "))
    }

    @Test func `Each variable that the program reads is on the man page`() throws {
        let named = Set(Help.environment.flatMap { $0.0.components(separatedBy: ", ") })
        let sources = URL(filePath: #filePath).appending(path: "../../../../Sources").standardized
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        var read = Set<String>()
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for call in text.matches(of: /\b(?:environment|variable|first)\(((?:"\w+"(?:, )?)+)\)/) {
                read.formUnion(call.1.matches(of: /\w+/).map { String($0.0) })
            }
            // Those that are chosen elsewhere.
            read.formUnion(text.matches(of: /"([A-Z]+_[A-Z_]*(?:TOKEN|HOST|CREDENTIALS))"/).map { String($0.1) })
        }
        #expect(read.count > 15 && read.isSubset(of: named), "\(read.subtracting(named))")
    }
}
