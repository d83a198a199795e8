import Foundation
import TestSupport
import Testing

/// The scripts of the repository leave alone what they have not made.
@Suite(.watchdog) final class ScriptTests {
    private let place = Place()
    private static let package = URL(filePath: #filePath).appending(path: "../../../clients/package").standardized.path

    /// Runs `clients/package`; it builds nothing, since `STORAGE_RPC` names a program that fails.
    private func package(_ words: String...) async -> (status: Int32, text: String) {
        let outcome = await Command(
            Self.package, words, environment: ["STORAGE_RPC": "/bin/false"], in: place.directory, withErrors: true
        ).run()
        return (outcome.status, outcome.text)
    }

    @Test func `Packages do not replace existing files`() async throws {
        let file = place.directory + "/kept"
        try Data("mine".utf8).write(to: URL(filePath: file))
        for path in [place.directory, file, ".", "kept"] {
            let refused = await package(path)
            #expect(refused.status == 1 && refused.text.contains("was not made by this script; name another DIR"))
        }
        try FileManager.default.createDirectory(atPath: place.directory + "/empty", withIntermediateDirectories: true)
        #expect(await package("empty") == (1, ""))
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory).sorted() == ["empty", "kept"])
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
    }

    @Test func `A flag is not read as a directory, and --help shows the help`() async throws {
        for flag in ["--help", "-h"] {
            let help = await package(flag)
            #expect(help.status == 0 && help.text.contains("clients/package [DIR]"))
        }
        for words in ["--", "--output", "-x", ""] {
            #expect(await package(words).status == 64, "\(words)")
        }
        #expect(await package("one", "two").status == 64)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place.directory) == [])
    }

    @Test func `No script removes a directory that a word of its command line names`() throws {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized
        let removal =
            /(?:rm -[a-z]*r[a-z]*|rmtree\(|rmSync\()[^\n]*(?:\$\{?[1-9@*]|\$\{?out\b|argv|options\.(?:dir|out))/
        let files = try ["clients", ".ci", "Tests", "protocol"].flatMap { place in
            try #require(FileManager.default.enumerator(atPath: root.appending(path: place).path)).compactMap {
                $0 as? String
            }
            .map { "\(place)/\($0)" }
        }
        for file in files where !file.hasSuffix(".swift") && !file.contains("Corpus") {
            guard let text = try? String(contentsOf: root.appending(path: file), encoding: .utf8) else { continue }
            #expect(!text.contains(removal), "\(file)")
        }
    }
}
