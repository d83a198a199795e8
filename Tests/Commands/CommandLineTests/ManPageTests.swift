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
