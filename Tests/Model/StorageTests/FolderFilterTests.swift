import Storage
import TestSupport
import Testing

/// Which files of a folder a task takes.
@Suite(.watchdog) struct FolderFilterTests {
    private func takes(_ path: String, include: [String] = [], exclude: [String] = []) throws -> Bool {
        try FolderFilter(include: include, exclude: exclude).takes(path)
    }

    @Test func `Without patterns every file is taken`() throws { #expect(try takes("a/b.jpg")) }

    @Test(arguments: [
        ("*.jpg", "a/b.jpg", true), ("*.jpg", "b.jpg", true), ("*.jpg", "a.jpg/c.txt", true),
        ("*.jpg", "a/b.png", false),
        ("a/*.jpg", "a/b.jpg", true), ("a/*.jpg", "x/a/b.jpg", false), ("a/*.jpg", "a/c/b.jpg", false),
        ("a/**", "a/c/b.jpg", true), ("**/b.jpg", "b.jpg", true), ("/b.jpg", "b.jpg", true),
        ("/b.jpg", "a/b.jpg", false),
        ("build/", "x/build/a", true), ("build/", "x/build", false), ("build", "x/build", true), ("a", "a/b/c", true),
        ("?", "é", true), ("*/b", "a/b/c", true), ("*/c", "a/b/c", false), ("**/b", "a/b/c", true),
        ("b/", "a/b/c/d", true), ("[a-c].txt", "b.txt", true), ("[!a-c].txt", "b.txt", false),
    ])
    func `A pattern with a slash is compared with the path, any other with names`(
        _ pattern: String, _ path: String, _ matches: Bool
    ) throws {
        #expect(try takes(path, include: [pattern]) == matches)
        #expect(try takes(path, exclude: [pattern]) != matches)
    }

    @Test func `A file that is both included and excluded is left out`() throws {
        #expect(try !takes("a/b.jpg", include: ["*.jpg"], exclude: ["a/"]))
        #expect(try takes("c/b.jpg", include: ["*.png", "*.jpg"], exclude: ["a/"]))
    }

    @Test func `Folders that are left out are not entered`() throws {
        let filter = try FolderFilter(include: ["*.jpg"], exclude: [".git/", "/out", "tmp*"])
        #expect(filter.mayEnter("a/b"))
        for folder in [".git", "a/.git", "a/.git/b", "out", "a/tmp1"] { #expect(!filter.mayEnter(folder), "\(folder)") }
        #expect(filter.mayEnter("a/out"))
    }
}
