import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct ReferenceURLTests {
    @Test(arguments: [
        ("gs://b", "b", ""), ("gs://b/", "b", ""), ("gs://b//", "b", ""), ("gs://b/p", "b", "p"),
        ("gs://b/a//b/", "b", "a/b"), ("gs://b/a%20b", "b", "a%20b"), ("gs://b/a?b#c", "b", "a?b#c"),
        ("gs://b/a?alt=media", "b", "a?alt=media"), ("gs://b/%", "b", "%"), ("gs://b/a+b", "b", "a+b"),
        ("gs://b/gs://c/d", "b", "gs:/c/d"), ("gs://b/\u{301}", "b", "\u{301}"), ("gs://b.app:1/x", "b.app:1", "x"),
    ])
    func `A gs URL is not percent-decoded`(url: String, bucket: String, path: String) throws {
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

    @Test func `URLs of the server of S3 that the process uses need no signature`() throws {
        defer { ObjectURL.serverOfProcess = nil }
        let paths = "https://s3.test:9000"
        for (url, name) in [
            ("B/a%20b", "a b"), ("B", ""), ("B/", ""), ("B//a/", "/a/"), ("B/a?x#f", "a"), ("B/a+b", "a+b"),
        ] {
            #expect(throws: StorageError.self) { try Reference(url: "\(paths)/\(url)") }
            ObjectURL.serverOfProcess = .init(paths, hasVirtualHosts: false)
            let reference = try Reference(url: "\(paths)/\(url)")
            #expect(reference.bucket == "B" && reference.object == name, "\(url)")
            for other in ["http://s3.test:9000", "https://s3.test", "https://u@s3.test:9000", "https://B.s3.test:9000"]
            {
                #expect(throws: StorageError.self, "\(other)") { try Reference(url: "\(other)/B/P") }
            }
            ObjectURL.serverOfProcess = nil
        }
        ObjectURL.serverOfProcess = .init("http://s3.test", hasVirtualHosts: true)
        try expect("http://b.s3.test:80/k/v", "b", "k/v")
        try expect("http://b.s3.test/k?X-Amz-Signature=x", "b", "k")
        try expect("http://s3.test/b/k", "b", "k")
    }

    @Test(arguments: [
        "", "b/p", "/b/p", "gs:/b/p", "gs://", "gs:///p", "GS://b/p", "ftp://h/v0/b/B/o/p", "S3://b/p", "s3://",
        "file:///a",
        "http://", "https://h", "https://h/", "https:///v0/b/B/o/p", "https://h/v1/b/B/o/p", "https://h/V0/b/B/o/p",
        "https://h/v0/B/o/p", "https://h/v0/b", "https://h/v0/b/", "https://h/v0/b//o/p", "https://h/v0/b/B/x/p",
        "https://h/v0/b/B//p", "https://h/v0/b/B/oo/p", "https://h//v0/b/B/o/p", "https://h?/v0/b/B/o/p",
        " gs://b/p", "https://storage.googleapis.com", "https://storage.googleapis.com/", "https://h/B/P",
        "https://storage.googleapis.com//P", "https://.storage.googleapis.com/P",
        "https://storage.googleapis.com.h/B/P",
        "https://xstorage.googleapis.com/B/P", "https://storage.googleapis.com:8080/B/P",
        "https://storage.googleapis.com@h/B/P", "https://storage.googleapis.com\\@h/B/P",
        "https://u:p@storage.googleapis.com/B/P", "https://u@B.storage.googleapis.com/P",
        "https://u@h/B/P?X-Goog-Signature=x", "http://h/B/P?X-Goog-Signature=x", "https://h/B/P?Signature=x",
        "https://h/storage/v1/b", "https://h/storage/v1/b/", "https://h/storage/v1/b/B/x/P",
        "https://h/storage/v2/b/B/o/P",
        "https://h/upload/storage/v1/b/B/o", "https://h/upload/storage/v1/b/B/o?name=", "https://h/download/v0/b/B/o/p",
        "https://h/upload/download/storage/v1/b/B/o/P", "https://h/b/B/o/P",
    ])
    func `Other URLs are refused`(url: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(url: url) }
        #expect(error.code == .pathError && error.param == "url")
        #expect(error.message.contains("is not a storage URL: "))
        if !url.contains("@") { #expect(error.message.hasPrefix(url.prefix { $0 != "?" })) }
    }

    @Test(arguments: [
        ("https://storage.googleapis.com/B/P", "B", "P"), ("http://storage.googleapis.com/B/a/b", "B", "a/b"),
        ("https://STORAGE.googleapis.com:443/B/P", "B", "P"), ("http://storage.googleapis.com:80/B/P", "B", "P"),
        ("https://storage.cloud.google.com/B/P?authuser=1", "B", "P"), ("https://storage.googleapis.com/B", "B", ""),
        ("https://storage.googleapis.com/B/", "B", ""),
        ("https://storage.googleapis.com/B/a%20b%2Fc+d#e", "B", "a b/c+d"),
        ("https://storage.googleapis.com/B/a//b/", "B", "a/b"),
        ("https://storage.googleapis.com/B/100%25", "B", "100%"),
        ("https://storage.googleapis.com/domain.com%3Ax/P", "domain.com:x", "P"),
        ("https://B.storage.googleapis.com/P", "b", "P"), ("https://my.b.storage.googleapis.com/a%2Fb", "my.b", "a/b"),
        ("https://b.storage.googleapis.com", "b", ""),
        ("https://b.storage.googleapis.com:443/v0/b/c/o/d", "b", "v0/b/c/o/d"),
        ("https://www.googleapis.com/storage/v1/b/B/o/a%2Fb", "B", "a/b"), ("https://h/storage/v1/b/B", "B", ""),
        ("https://storage.googleapis.com/storage/v1/b/B/o?prefix=x", "B", ""),
        ("http://localhost:9000/storage/v1/b/B/o/a+b?alt=media", "B", "a+b"),
        ("https://h/download/storage/v1/b/B/o/P?generation=1&alt=media", "B", "P"),
        ("https://h/upload/storage/v1/b/B/o?uploadType=resumable&name=a+b%2Bc%2Fd&upload_id=x", "B", "a b+c/d"),
        ("https://h/upload/storage/v1/b/B/o/P?uploadType=media", "B", "P"),
        ("https://h:8443/B/a/b?X-Goog-Algorithm=x&X-Goog-Signature=y", "B", "a/b"),
        ("https://h/B/P?x-goog-signature=y", "B", "P"),
        ("https://h/B/P?GoogleAccessId=a&Expires=1&Signature=y", "B", "P"),
        ("https://storage.googleapis.com/B/P?GoogleAccessId=a&Expires=1&Signature=y%2F", "B", "P"),
        ("https://h/v0/b/B/o/P?X-Goog-Signature=y", "B", "P"),
    ])
    func `URLs of Google Cloud Storage are parsed`(url: String, bucket: String, path: String) throws {
        try expect(url, bucket, path)
    }

    @Test(arguments: [
        "https://h/x?token=SECRET", "https://h/x#SECRET", "gs:///a?SECRET", "ftp://u:SECRET@h/p", "https://SECRET@h/p",
        "https://a@SECRET@h/p", "https://u:SECRET@storage.googleapis.com/B/P", "x?SECRET", "https://u:SECRET@",
        "https://h/v0/b/B/o/%?SECRET", "https://u:SECRET@h/v0/b/B/o/%FF",
        "https://h/upload/storage/v1/b/B/o?upload_id=SECRET",
        "https://u:SECRET@h\\@x/y", "GS://a?SECRET", "https://u:SECRET/@h/x",
    ])
    func `Errors do not repeat the secret parts of a URL`(url: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(url: url) }
        #expect(error.code == .pathError && !error.message.contains("SECRET"), "\(error.message)")
    }

    @Test func `An error quotes the beginning of a very long URL`() throws {
        let url = "https://h/" + String(repeating: "é", count: 1 << 20)
        let error = try storageError { () throws(StorageError) in try Reference(url: url) }
        #expect(error.message.utf8.count < 1200)
    }

    @Test(arguments: [
        "%", "%4", "a%", "%zz", "%4g", "%%41", "%+1", "% 1", "%-1", "%٣٤", "%C3", "%C3%28", "%ED%A0%80", "%C0%AF",
        "%F5%80%80%80", "%FF", "a%2",
    ])
    func `Invalid percent escapes are refused`(path: String) throws {
        for url in [
            "https://h/v0/b/B/o/\(path)", "https://h/v0/b/\(path)/o/p", "https://storage.googleapis.com/B/\(path)",
            "https://b.storage.googleapis.com/\(path)", "https://h/storage/v1/b/B/o/\(path)",
            "https://h/upload/storage/v1/b/B/o?name=\(path)",
        ] {
            let error = try storageError { () throws(StorageError) in try Reference(url: url) }
            #expect(error.code == .pathError)
        }
    }

    @Test(arguments: ["https://h/v0/b/B/o/a%0Ab", "https://h/v0/b/B/o/%0D", "https://h/v0/b/a%2Fb/o/c", "gs://b c/d"])
    func `A well-formed URL of an invalid reference is an invalid argument`(url: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(url: url) }
        #expect(error.code == .invalidArgument)
    }

    @Test func `Limits apply to the decoded URL`() throws {
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
