import Glibc
import Platform
import TestSupport
import Testing

@Suite(.watchdog) struct FileTreeTests {
    private let directory: Scratch

    init() throws { directory = try Scratch() }

    @Test("A tree is removed with all that is in it; what its links lead to stays") func remove() throws {
        let (tree, other) = (directory.path + "/tree", directory.path + "/other")
        let deep = tree + String(repeating: "/d", count: 300)
        try FileSystem.makeDirectories(deep)
        try FileSystem.makeDirectories(other)
        for path in [deep + "/file", other + "/file"] { _ = try OpenFile(path, .create) }
        try #require(symlink(other, tree + "/link") == 0 && symlink(tree, directory.path + "/outside") == 0)
        #expect(FileSystem.remove(directory.path + "/outside"))
        #expect(FileSystem.exists(deep))
        #expect(FileSystem.remove(tree))
        #expect(try OpenFile.entries(of: directory.path).map(\.name) == ["other"])
        #expect(FileSystem.exists(other + "/file"))
        #expect(FileSystem.remove(tree), "nothing is left of what was not there")
    }

    @Test("A copy has the bytes, is private, and replaces nothing") func copy() throws {
        let (source, copy) = (directory.path + "/source", directory.path + "/copy")
        let bytes = noise(3 << 20 | 17)
        try OpenFile(source, [.writing, .create]).write(bytes, at: 0)
        try FileSystem.copy(source, to: copy)
        #expect(try OpenFile(copy, []).readAll(atMost: bytes.count + 1) == bytes)
        #expect(try FileStatus(ofPath: copy).permissions & 0o777 == 0o600)
        #expect(throws: SystemError.exists) { try FileSystem.copy(source, to: copy) }
        #expect(throws: SystemError.notFound) { try FileSystem.copy(source + "2", to: copy + "2") }
    }

    @Test("Missing directories are made private; there may be some already") func directories() throws {
        let path = directory.path + "/a/b/c"
        try FileSystem.makeDirectories(path)
        try FileSystem.makeDirectories(path)
        #expect(try FileStatus(ofPath: directory.path + "/a").permissions & 0o777 == 0o700)
        #expect(throws: SystemError.self) { try FileSystem.makeDirectories("/proc/a/b") }
        let tooLong = directory.path + "/new/" + String(repeating: "d", count: 300)
        #expect(throws: SystemError.nameTooLong) { try FileSystem.makeDirectories(tooLong) }
        #expect(!FileSystem.exists(directory.path + "/new"), "after a failure none of them is left")
    }
}
