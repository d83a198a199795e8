import Storage
import TestSupport
import Testing

@Suite(.watchdog) struct ReferenceLimitTests {
    private static func x(_ count: Int) -> String { String(repeating: "x", count: count) }

    static let atMost1024: [String] = [
        x(1023), x(1024), "/" + x(1024) + "//", x(511) + "///" + x(512),
        String(repeating: "é", count: 512), String(repeating: "😀", count: 256),
        String(repeating: "a/", count: 512) + "//",
    ]
    @Test(arguments: atMost1024)
    func `A full path has at most 1024 bytes without surplus slashes`(path: String) throws {
        #expect(try reference(path).fullPath.utf8.count <= 1024)
    }

    static let longer: [String] = [
        x(1025), x(100_000), String(repeating: "é", count: 512) + "x", String(repeating: "😀", count: 256) + "x",
        String(repeating: "a/", count: 512) + "b",
    ]
    @Test(arguments: longer)
    func `A longer path is refused with its length in the message`(path: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(bucket: "b", path: path) }
        #expect(error.code == .invalidArgument && error.param == "path")
        #expect(error.message.contains("\(path.utf8.count) bytes") && error.message.contains("1024"))
    }

    @Test func `The length of a child includes its parents`() throws {
        let parent = try reference(Self.x(1000))
        #expect(try parent.child(Self.x(23)).fullPath.utf8.count == 1024)
        let error = try storageError { () throws(StorageError) in try parent.child(Self.x(24)) }
        #expect(error.code == .invalidArgument)
    }

    @Test(arguments: ["a\nb", "a\rb", "\r\n", "a\r\nb", "\n\u{301}", "a/\r"])
    func `A path with CR or LF is refused`(path: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(bucket: "b", path: path) }
        #expect(error.code == .invalidArgument)
        #expect(throws: StorageError.self) { try reference("a").child(path) }
        #expect(throws: StorageError.self) { try Reference(url: "gs://b/\(path)") }
    }

    @Test(arguments: ["\u{85}", "\u{2028}", "\u{0B}", "\u{0C}", "\0"])
    func `Other line separators are allowed`(path: String) throws {
        #expect(try reference(path).fullPath == path)
    }

    @Test(arguments: ["", "a/b", "a b", "a\nb", "a\u{7F}b", "\0", String(repeating: "b", count: 223)])
    func `A bucket name with slashes, blanks or control characters is refused`(bucket: String) throws {
        let error = try storageError { () throws(StorageError) in try Reference(bucket: bucket, path: "a") }
        #expect(error.code == .invalidArgument && error.param == "bucket")
    }

    @Test func `The root is not an object`() throws {
        let root = try reference("/")
        let error = try storageError { () throws(StorageError) in try root.checkedAsObject("cannot be written") }
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains("cannot be written") && error.message.contains("b"))
        #expect(try reference("a").checkedAsObject("").fullPath == "a")
    }

    @Test func `A bucket that differs in bytes is a mismatch`() throws {
        let reference = try Reference(bucket: "caf\u{E9}", path: "a")
        try reference.check(bucket: "caf\u{E9}")
        for other in ["cafe\u{301}", "cafe", "CAF\u{E9}", ""] {
            let error = try storageError { () throws(StorageError) in try reference.check(bucket: other) }
            #expect(error.code == .bucketMismatch && error.object == "a")
        }
    }
}
