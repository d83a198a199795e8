import CommandLine
import Foundation
import TestSupport
import Testing

/// The table of `help copying`, of `clients/commands.md` and of the commands is one.
@Suite(.watchdog) struct CopyTableTests {
    private static let page = URL(filePath: #filePath).appending(path: "../../../../clients/commands.md").standardized

    @Test func `The document shows the table`() throws {
        let rows = try String(contentsOf: Self.page, encoding: .utf8).split(separator: "\n")
            .drop { !$0.hasPrefix("| from |") }.prefix { $0.hasPrefix("|") }
            .map { row in
                row.split(separator: "|").map { $0.replacing("`", with: "").trimmingCharacters(in: .whitespaces) }
            }
        #expect(
            rows[0].dropFirst() == [
                "DEST is missing", "a file or an object", "a directory or a folder", "gs://BUCKET", "DEST/",
            ])
        #expect(rows.count == CopyOrigin.allCases.count + 2)
        for (origin, row) in zip(CopyOrigin.allCases, rows.dropFirst(2)) {
            let results = CopyDestination.allCases.map { CopyTargets(of: origin, at: $0)?.text ?? "refused" }
            #expect(Array(row.dropFirst()) == results, "\(origin)")
        }
    }

    @Test func `The page of help shows the table`() throws {
        let lines = Help.copying.split(separator: "\n").map(String.init)
        let origins: [CopyOrigin] = [.single, .tree, .unnamed, .several, .input]
        let rows = lines.drop { !$0.contains("DEST is:") }.dropFirst().prefix(origins.count)
        for (origin, row) in zip(origins, rows) {
            let cells = row.dropFirst(28).split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ")
            let results = CopyDestination.allCases.map { destination in
                guard let targets = CopyTargets(of: origin, at: destination) else { return "refused" }
                return origin == .several ? "each (1)" : targets.text.replacing("…", with: "...")
            }
            #expect(cells == results.joined(separator: " "))
        }
        #expect(lines.allSatisfy { $0.count <= 80 })
    }

    private static func sources(_ origin: CopyOrigin) -> [CopySource<String>] {
        switch origin {
        case .single, .input: [CopySource(name: "x", itself: "a/x")]
        case .tree: [CopySource(name: "d", tree: "a/d")]
        case .unnamed: [CopySource(name: "", tree: "a")]
        case .both: [CopySource(name: "d", itself: "a/d", tree: "a/d")]
        case .several: [.single, .tree, .unnamed].flatMap(sources)
        }
    }

    @Test(
        arguments: [
            (.single, .missing, ["DEST"]), (.single, .file, ["DEST"]), (.single, .folder, ["DEST/x"]),
            (.single, .bucket, ["DEST/x"]), (.single, .slash, ["DEST/x"]),
            (.tree, .missing, ["DEST/…"]), (.tree, .file, nil), (.tree, .folder, ["DEST/…"]),
            (.tree, .bucket, ["DEST/…"]), (.tree, .slash, ["DEST/d/…"]),
            (.unnamed, .missing, ["DEST/…"]), (.unnamed, .file, nil), (.unnamed, .folder, ["DEST/…"]),
            (.unnamed, .bucket, ["DEST/…"]), (.unnamed, .slash, ["DEST/…"]),
            (.both, .missing, ["DEST", "DEST/…"]), (.both, .file, ["DEST", "DEST/…"]),
            (.both, .folder, ["DEST", "DEST/…"]),
            (.both, .bucket, ["DEST/d", "DEST/…"]), (.both, .slash, ["DEST/d", "DEST/d/…"]),
            (.several, .missing, nil), (.several, .file, nil),
            (.several, .folder, ["DEST/x", "DEST/d/…", "DEST/…"]),
            (.several, .bucket, ["DEST/x", "DEST/d/…", "DEST/…"]),
            (.several, .slash, ["DEST/x", "DEST/d/…", "DEST/…"]),
            (.input, .missing, ["DEST"]), (.input, .file, ["DEST"]), (.input, .folder, ["DEST"]),
            (.input, .bucket, nil),
            (.input, .slash, nil),
        ] as [(CopyOrigin, CopyDestination, [String]?)])
    func `Each item of a source gets the name of the table`(
        _ origin: CopyOrigin, _ destination: CopyDestination, _ names: [String]?
    ) {
        let targets = CopyTargets(of: origin, at: destination)
        let placed = targets.map { targets in
            Self.sources(origin).flatMap { $0.placed(at: targets) }.map { placed in
                (placed.place.map { "DEST/\($0)" } ?? "DEST") + (placed.isTree ? "/…" : "")
            }
        }
        #expect(placed == names)
    }

    @Test func `A second run finds the same targets`() {
        for origin in CopyOrigin.allCases {
            guard let first = CopyTargets(of: origin, at: .missing) else { continue }
            let made: [CopyDestination] =
                first.item == nil ? [.folder] : first.members == nil ? [.file] : [.file, .folder]
            for destination in made { #expect(CopyTargets(of: origin, at: destination) == first, "\(origin)") }
        }
    }

    @Test func `A source is of the kind that its items have`() {
        for origin in [.single, .tree, .unnamed, .both] as [CopyOrigin] {
            #expect(Self.sources(origin).map(\.origin) == [origin])
        }
    }
}
