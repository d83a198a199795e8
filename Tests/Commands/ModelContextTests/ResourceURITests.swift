import TestSupport
import Testing

@testable import ModelContext

@Suite(.watchdog) struct ResourceURITests {
    @Test(arguments: [
        ("a", "gs://b/a"), ("a b?.txt", "gs://b/a%20b%3F.txt"), ("a/b.c", "gs://b/a/b.c"), ("x//y", "gs://b/x%2F%2Fy"),
        ("p/../q", "gs://b/p%2F..%2Fq"), ("./a", "gs://b/.%2Fa"), ("folder/", "gs://b/folder%2F"), ("/", "gs://b/%2F"),
        ("100%", "gs://b/100%25"), ("%2F", "gs://b/%252F"), ("é#", "gs://b/%C3%A9%23"), ("..", "gs://b/.."),
    ])
    func `Names come back from their URIs`(name: String, uri: String) throws {
        let object = ObjectName(bucket: "b", object: name)
        #expect(ResourceURI.text(of: object) == uri)
        let read = try #require(ResourceURI.name(in: uri))
        #expect(read.name == object && !read.isFolder)
    }

    @Test(arguments: [("", "gs://b/"), ("a", "gs://b/a/"), ("a/b/", "gs://b/a/b/"), ("x//", "gs://b/x%2F/")])
    func `The URI of a folder ends with a slash`(name: String, uri: String) throws {
        let folder = ObjectName(bucket: "b", object: name)
        #expect(ResourceURI.text(ofFolder: folder) == uri)
        let read = try #require(ResourceURI.name(in: uri))
        #expect(read.name == folder.folder && read.isFolder)
    }

    @Test(arguments: ["file:///a", "gs://", "gs:///a", "gs://b/%zz", "gs://b/%ff", "gs://b/%"])
    func `A URI of anything else names no object`(uri: String) { #expect(ResourceURI.name(in: uri) == nil) }

    @Test func `A page of a text ends and begins with whole characters`() throws {
        let bytes = Array("aé€😀z".utf8)
        for start in 0..<bytes.count {
            for end in start..<bytes.count {
                let page = try #require(TextPage(Array(bytes[start..<end]), isLast: false, isFirst: start == 0))
                #expect("aé€😀z".contains(page.text) || page.text.isEmpty)
            }
        }
        var (text, offset) = ("", 0)
        while offset < bytes.count {
            let piece = Array(bytes[offset..<min(offset + 4, bytes.count)])
            let page = try #require(TextPage(piece, isLast: offset + 4 >= bytes.count, isFirst: offset == 0))
            text += page.text
            offset += page.skipped + page.text.utf8.count
        }
        #expect(text == "aé€😀z")
        #expect(TextPage([0x61, 0], isLast: true, isFirst: true) == nil)
        #expect(TextPage([0xFF, 0xFE], isLast: true, isFirst: true) == nil)
    }
}
