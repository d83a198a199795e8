import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct ReferenceTests {
    @Test(arguments: [
        ("", ""), ("/", ""), ("///", ""), ("a", "a"), ("/a", "a"), ("a/", "a"), ("a//b", "a/b"),
        ("//a///b///", "a/b"), ("a/./b", "a/./b"), ("..", ".."), ("a/../b", "a/../b"), (" ", " "), ("a/ /b", "a/ /b"),
        ("a%2Fb", "a%2Fb"), ("a?b#c", "a?b#c"), ("a\\b", "a\\b"), ("\0", "\0"), ("\t\u{7F}", "\t\u{7F}"),
        ("ä/😀", "ä/😀"), ("a/\u{301}b", "a/\u{301}b"), ("a/\u{200D}/\u{FE0F}", "a/\u{200D}/\u{FE0F}"),
    ])
    func `Normalising a path changes only its slashes`(path: String, fullPath: String) throws {
        let reference = try reference(path)
        #expect(reference.fullPath.utf8.elementsEqual(fullPath.utf8))
        #expect(reference.url == "gs://b/\(fullPath)")
        #expect(reference.isRoot == fullPath.isEmpty)
    }

    @Test(arguments: [
        ("images", "space.jpg", "images/space.jpg"), ("", "images", "images"), ("", "", ""), ("a", "", "a"),
        ("a", "/", "a"), ("a", "//b///c///", "a/b/c"), ("a", "../b", "a/../b"), ("a/b", ".", "a/b/."),
        ("", "//a///b///", "a/b"), ("a", "gs://x/y", "a/gs:/x/y"), ("a", "\u{301}", "a/\u{301}"),
    ])
    func `A child is below its parent`(path: String, child: String, fullPath: String) throws {
        #expect(try reference(path).child(child).fullPath.utf8.elementsEqual(fullPath.utf8))
    }

    @Test(arguments: [
        ("", nil, ""), ("a", "", "a"), ("a/b", "a", "b"), ("a/b/c.txt", "a/b", "c.txt"), ("a/..", "a", ".."),
        ("e\u{301}/\u{301}x", "e\u{301}", "\u{301}x"),
    ])
    func `The parent drops the last segment and the name is that segment`(path: String, parent: String?, name: String)
        throws
    {
        let reference = try reference(path)
        #expect(reference.parent?.fullPath == parent)
        #expect(reference.name == name)
        #expect(reference.parent.map { $0.bucket == "b" } ?? true)
        #expect(reference.root == (try Storage.Reference(bucket: "b", path: "")))
    }

    @Test func `References support the navigation example of the guide`() throws {
        let storage = try reference("", in: "my-bucket")
        let images = try storage.child("images")
        var space = try images.child("space.jpg")
        #expect(space.url == "gs://my-bucket/images/space.jpg")
        #expect(space.parent == images)
        #expect(images.parent == storage)
        #expect(space.root == storage)
        #expect(try space.parent?.child("earth.jpg").fullPath == "images/earth.jpg")
        #expect(space.parent?.parent?.parent == nil)
        #expect((space.fullPath, space.name, space.bucket) == ("images/space.jpg", "space.jpg", "my-bucket"))
        space = try #require(try space.parent?.parent?.child("images/stars.jpg"))
        #expect(space.name == "stars.jpg")
    }

    @Test func `Names are compared by bytes`() throws {
        let (composed, decomposed) = (try reference("caf\u{E9}"), try reference("cafe\u{301}"))
        #expect(composed.fullPath == decomposed.fullPath, "Swift takes them for equal")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, try reference("caf\u{E9}")]).count == 2)
        #expect(try reference("a", in: "x") != reference("a", in: "y"))
    }

    @Test(arguments: [
        ("plain/name.txt", ""), ("a#b", "#"), ("a[b", "["), ("a]b", "]"), ("a*b", "*"), ("a?b", "?"),
        ("?*][#", "#[]*?"), ("##", "#"), ("a*\u{301}b", "*"), ("a%b&c+d;e", ""),
    ])
    func `A name gets one warning for each problematic character`(path: String, characters: String) throws {
        let warnings = try reference(path).warnings
        #expect(warnings.count == characters.unicodeScalars.count)
        for (warning, character) in zip(warnings, characters) { #expect(warning.contains("\"\(character)\"")) }
    }

}
