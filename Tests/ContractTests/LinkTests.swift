import Foundation
import TestSupport
import Testing

/// Links between the documents of the project.
@Suite(.watchdog) struct LinkTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized
    private static let folders = ["protocol", "clients", "Sources", "Tests", ".github"]

    private static func documents() throws -> [String] {
        let names = try folders.flatMap { folder in
            try FileManager.default.subpathsOfDirectory(atPath: root.appending(path: folder).path)
                .filter { !$0.contains("node_modules") }.map { "\(folder)/\($0)" }
        }
        return ["README.md"] + names.filter { $0.hasSuffix(".md") }
    }

    /// The anchors of headings, as GitHub makes them.
    private static func anchors(_ text: String) -> Set<String> {
        Set(
            text.matches(of: /\n#+ (.+)/).map { heading in
                String(heading.1.lowercased().filter { $0.isLetter || $0.isNumber || "-_ ".contains($0) })
                    .replacing(" ", with: "-")
            })
    }

    @Test func `A link leads to a file of the project, and to a heading in it`() throws {
        var texts: [String: String] = [:]
        for path in try Self.documents() {
            texts[path] = "\n" + (try String(contentsOf: Self.root.appending(path: path), encoding: .utf8))
        }
        var count = 0
        for (path, text) in texts {
            for link in text.matches(of: /\]\(([^)#\s:]*)(?:#([^)\s]+))?\)/) {
                let url = Self.root.appending(path: path)
                let target = link.1.isEmpty ? url : url.deletingLastPathComponent().appending(path: link.1).standardized
                #expect(FileManager.default.fileExists(atPath: target.path), "\(path): \(link.0)")
                guard let anchor = link.2 else { continue }
                let page = try String(contentsOf: target, encoding: .utf8)
                #expect(Self.anchors("\n" + page).contains(String(anchor)), "\(path): \(link.0)")
                count += 1
            }
        }
        #expect(count > 20)
    }
}
