import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct ExactReferenceTests {
    private func exact(_ name: String) throws -> Storage.Reference { try Reference(bucket: "b", object: name) }

    private func path(_ path: String) throws -> Storage.Reference { try Reference(bucket: "b", path: path) }

    @Test(arguments: [
        ("folder/", "folder"), ("a//b", "a/b"), ("/", ""), ("//", ""), ("/a", "a"), ("a/b//", "a/b"),
        ("e\u{301}//", "e\u{301}"),
    ])
    func `A name with empty segments is a separate object`(name: String, fullPath: String) throws {
        let reference = try exact(name)
        #expect(reference.object.utf8.elementsEqual(name.utf8) && reference.fullPath.utf8.elementsEqual(fullPath.utf8))
        #expect(reference.isExact && !reference.isRoot && reference.url == "gs://b/\(name)")
        #expect(try reference != path(name) && reference.withoutExactName == path(name))
        #expect(try reference.checkedAsObject("is no object") == reference)
    }

    @Test(arguments: ["a", "a/b", ".", "..", "a b", "\u{301}"])
    func `An exact name that is a path equals that path`(name: String) throws {
        #expect(try exact(name) == path(name) && !exact(name).isExact)
    }

    @Test func `An exact reference has the same children and parent as its path`() throws {
        let reference = try exact("a//b/")
        #expect(try reference.child("c") == path("a/b/c") && reference.child("/") == path("a/b"))
        #expect(try reference.parent == path("a") && reference.root == path("") && reference.name == "b")
        #expect(try exact("/").parent == nil)
    }

    @Test(arguments: ["", "a\r/", "a/\n", String(repeating: "/", count: 1025)])
    func `An invalid object name is refused`(name: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(bucket: "b", object: name) }
        #expect(error.code == .invalidArgument && error.param == "object")
    }

    @Test func `Errors name the object`() throws {
        let error = try StorageError.objectNotFound(exact("folder/"))
        #expect(error.object == "folder/" && error.message == "Object folder/ does not exist.")
    }

    @Test func `A listing contains exact names only on request`() throws {
        let names = ["f/", "f/a", "f//", "f//a", "f/a/", "f/\n", "g", "", "f"]
        let folders = ["f/x/", "f/x", "f//", "f/x//", "f/", "f", "", "/", "g/"]
        let plain = ListQuery(try path("f"), maxResults: 9)
        var query = plain
        query.isExact = true
        #expect(try names.compactMap(plain.item) == [path("f/a")])
        #expect(try names.compactMap(query.item) == ["f/", "f/a", "f//", "f//a", "f/a/"].map(exact))
        #expect(try folders.compactMap(plain.prefix) == [path("f/x"), path("f/x")])
        #expect(try folders.compactMap(query.prefix) == [path("f/x"), path("f/x"), exact("f//"), exact("f/x//")])
        query.reference = try path("")
        #expect(try query.prefix("/") == exact("/") && query.prefix("a/") == path("a"))
        #expect(try exact("f//").prefix == "f//" && exact("f/").prefix == "f/" && path("f").prefix == "f/")
    }
}
