import Storage
import TestSupport
import Testing

@Suite struct ReferenceURLTests {
    @Test(arguments: [
        ("gs://b", "b", ""), ("gs://b/", "b", ""), ("gs://b//", "b", ""), ("gs://b/p", "b", "p"),
        ("gs://b/a//b/", "b", "a/b"), ("gs://b/a%20b", "b", "a%20b"), ("gs://b/a?b#c", "b", "a?b#c"),
        ("gs://b/a?alt=media", "b", "a?alt=media"), ("gs://b/%", "b", "%"), ("gs://b/a+b", "b", "a+b"),
        ("gs://b/gs://c/d", "b", "gs:/c/d"), ("gs://b/\u{301}", "b", "\u{301}"), ("gs://b.app:1/x", "b.app:1", "x"),
    ])
    func `gs is taken literally`(url: String, bucket: String, path: String) throws {
        try expect(url, bucket, path)
    }

    @Test(arguments: [
        ("https://h/v0/b/B/o/p", "B", "p"), ("http://h/v0/b/B/o/p", "B", "p"), ("https://h:443/v0/b/B/o/p", "B", "p"),
        ("https://h/v0/b/B/o/images%2Fspace.jpg?alt=media&token=x", "B", "images/space.jpg"),
        ("https://h/v0/b/B/o/a/b/c", "B", "a/b/c"), ("https://h/v0/b/B/o/a%20b#f", "B", "a b"),
        ("https://h/v0/b/B/o/a%3Fb%23c?d", "B", "a?b#c"), ("https://h/v0/b/B/o/a+b", "B", "a+b"),
        ("https://h/v0/b/B/o/a%2Bb", "B", "a+b"), ("https://h/v0/b/B/o/100%25", "B", "100%"),
        ("https://h/v0/b/B/o/a%252Fb", "B", "a%2Fb"), ("https://h/v0/b/B/o/%c3%A9", "B", "é"),
        ("https://h/v0/b/B/o/é", "B", "é"), ("https://h/v0/b/B/o//a//b/", "B", "a/b"),
        ("https://h/v0/b/B", "B", ""), ("https://h/v0/b/B/", "B", ""), ("https://h/v0/b/B/o", "B", ""),
        ("https://h/v0/b/B/o/", "B", ""), ("https://h/v0/b/B/o?prefix=x", "B", ""), ("https://h/v0/b/B?x", "B", ""),
        ("https://h/v0/b/my%2Dbucket/o/p", "my-bucket", "p"), ("http://127.0.0.1:9199/v0/b/B/o/p", "B", "p"),
        ("http://[::1]:9199/v0/b/B/o/p", "B", "p"), ("https://h/v0/b/B/o/%00", "B", "\0"),
    ])
    func `A download URL is decoded once`(url: String, bucket: String, path: String) throws {
        try expect(url, bucket, path)
    }

    @Test(arguments: [
        "", "b/p", "/b/p", "gs:/b/p", "gs://", "gs:///p", "GS://b/p", "ftp://h/v0/b/B/o/p", "s3://b/p", "file:///a",
        "http://", "https://h", "https://h/", "https:///v0/b/B/o/p", "https://h/v1/b/B/o/p", "https://h/V0/b/B/o/p",
        "https://h/v0/B/o/p", "https://h/v0/b", "https://h/v0/b/", "https://h/v0/b//o/p", "https://h/v0/b/B/x/p",
        "https://h/v0/b/B//p", "https://h/v0/b/B/oo/p", "https://h//v0/b/B/o/p", "https://h?/v0/b/B/o/p",
        "https://storage.googleapis.com/B/P", "https://storage.cloud.google.com/B/P", " gs://b/p",
    ])
    func `Anything else is no storage URL`(url: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(url: url) }
        #expect(error.code == .pathError && error.param == "url")
        #expect(error.message.hasPrefix(url.prefix { $0 != "?" }) && error.message.contains("is not a storage URL: "))
    }

    @Test(arguments: [
        "%", "%4", "a%", "%zz", "%4g", "%%41", "%+1", "% 1", "%-1", "%٣٤", "%C3", "%C3%28", "%ED%A0%80", "%C0%AF",
        "%F5%80%80%80", "%FF", "a%2",
    ])
    func `Bad escapes are refused`(path: String) throws {
        for url in ["https://h/v0/b/B/o/\(path)", "https://h/v0/b/\(path)/o/p"] {
            let error = try storageError { () throws(StorageError) in try Reference(url: url) }
            #expect(error.code == .pathError)
        }
    }

    @Test(arguments: ["https://h/v0/b/B/o/a%0Ab", "https://h/v0/b/B/o/%0D", "https://h/v0/b/a%2Fb/o/c", "gs://b c/d"])
    func `A well-formed URL of what cannot be is an invalid argument`(url: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(url: url) }
        #expect(error.code == .invalidArgument)
    }

    @Test func `Limits hold for what is decoded`() throws {
        let escaped = String(repeating: "%41", count: 1024)
        #expect(try Reference(url: "https://h/v0/b/B/o/\(escaped)").fullPath.utf8.count == 1024)
        let error = try storageError { () throws(StorageError) in
            try Reference(url: "https://h/v0/b/B/o/\(escaped)%41")
        }
        #expect(error.code == .invalidArgument)
    }

    private func expect(
        _ url: String, _ bucket: String, _ path: String, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let reference = try Reference(url: url)
        #expect(reference.bucket == bucket, sourceLocation: location)
        #expect(reference.fullPath.utf8.elementsEqual(path.utf8), sourceLocation: location)
    }
}
