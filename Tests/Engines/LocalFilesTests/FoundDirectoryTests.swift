import Glibc
import Platform
import TestSupport
import Testing

@testable import LocalFiles

/// What shows that a path still leads to the directory that a download writes to.
@Suite(.watchdog) struct FoundDirectoryTests {
    private let scratch: Scratch
    private let tree: TreeDirectories
    private var path: String { tree.root + "/d" }

    init() throws {
        scratch = try Scratch()
        tree = TreeDirectories(scratch.path + "/tree", in: nil) { _ in }
        for name in ["real", "real/d", "other"] { try #require(mkdir(at(name), 0o700) == 0) }
        try #require(symlink(at("real"), tree.root) == 0)
    }

    private func at(_ name: String) -> String { "\(scratch.path)/\(name)" }

    private func found() throws -> FoundDirectory {
        let directory = try OpenFile(placeAt: path, isDirectory: true, noMagicLinks: true)
        let location = try #require(directory.locationBytes)
        return FoundDirectory(
            directory, try directory.status().key, at: location, path, below: tree,
            try tree.check(location, of: path, for: path))
    }

    @Test func `A directory that was moved or replaced is not at its path`() throws {
        let found = try found()
        #expect(found.isCurrent)
        try #require(rename(at("real/d"), at("real/e")) == 0)
        #expect(!found.isCurrent)
        try #require(mkdir(at("real/d"), 0o700) == 0)
        #expect(!found.isCurrent)
        try #require(rmdir(at("real/d")) == 0 && rename(at("real/e"), at("real/d")) == 0)
        #expect(found.isCurrent)
    }

    @Test func `A link to the directory below another tree is not followed`() throws {
        let found = try found()
        try #require(symlink(at("real/d"), at("other/d")) == 0 && unlink(tree.root) == 0)
        try #require(symlink(at("other"), tree.root) == 0)
        #expect(!found.isCurrent)
    }

    @Test func `A directory is shared while a download uses it`() throws {
        var found: FoundDirectory? = try found()
        #expect(FoundDirectory.shared(path, below: tree) === found && found != nil)
        #expect(FoundDirectory.shared(path, below: nil) === nil)
        #expect(FoundDirectory.shared(tree.root, below: tree) === nil)
        found = nil
        #expect(FoundDirectory.shared(path, below: tree) === nil)
    }

    @Test func `Downloads that begin and end at the same time find a directory or none`() async throws {
        try await forEachAtOnce(Array(0..<4)) { number in
            for _ in 0..<10_000 {
                if number.isMultiple(of: 2) { _ = try found() } else { _ = FoundDirectory.shared(path, below: tree) }
            }
        }
    }
}
