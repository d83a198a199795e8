import Foundation
import Testing

/// Compares the table of rooms in `Sources/README.md` with `Package.swift`.
@Suite struct ArchitectureTests {
    private let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    private func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `The README of the sources names each target and its dependencies`() throws {
        let target = /\.(?:executableTarget|target)\(\s*name: "([^"]+)"(?:,\s*dependencies: \[([^\]]*)\])?/
        let targets = try text("Package.swift").matches(of: target)
            .map { match in
                let names = (match.2 ?? "").matches(of: /"([^"]+)"/).map { String($0.1) }
                return "\(match.1): \(names.joined(separator: ", "))"
            }
            .filter { !$0.hasPrefix("TestSupport") && !$0.hasPrefix("Fuzz") }
        let rows = try text("Sources/README.md").matches(of: /\| `([^`]+)` \| [^|]+ \| ([^|]+) \|/)
            .map { "\($0.1): \($0.2 == "–" ? "" : $0.2)" }
        #expect(targets.count > 20 && rows == targets)
    }
}
