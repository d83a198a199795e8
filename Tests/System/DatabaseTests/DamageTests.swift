import TestSupport
import Testing

@testable import Database

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

@Suite(.watchdog) struct DamageTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private static let words = (0..<400).map { "word \($0) " + String(repeating: "x", count: $0 % 90) }

    private func fill() throws -> [UInt8] {
        let database = try scratch.open()
        try database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, word TEXT NOT NULL); CREATE INDEX i ON t (word)")
        try database.transaction {
            for word in Self.words { try database.run("INSERT INTO t (word) VALUES (:word)", ["word": .text(word)]) }
        }
        try database.close()
        return try scratch.read()
    }

    /// All words, read in both orders, or the first error.
    private func readAll(_ name: String) throws -> Result<[String], DatabaseError> {
        do {
            let database = try scratch.open(name)
            var words: [String] = []
            for order in ["id", "word"] {
                words = []
                try database.rows("SELECT word FROM t ORDER BY \(order)") { words.append(try $0.text("word")) }
                words.sort()
            }
            return .success(words)
        } catch let error as DatabaseError {
            return .failure(error)
        }
    }

    @Test(arguments: [2, 100, 512, 4096, 50_000])
    func `A file of other content is refused as corrupt`(count: Int) throws {
        try scratch.write((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) })
        let error = try databaseError { _ = try scratch.open() }
        #expect(error.isCorrupt && error.path == scratch.path)
    }

    @Test func `A truncated file causes an error that names it`() throws {
        let whole = try fill()
        for count in stride(from: 50, to: whole.count, by: 1500) {
            try scratch.write(whole[..<count], to: "b")
            guard case .failure(let error) = try readAll("b") else {
                Issue.record("\(count) of \(whole.count) bytes taken for good")
                continue
            }
            #expect(error.isDamage && error.description.contains("/b: "), "\(count): \(error)")
        }
    }

    @Test func `An inverted page causes an error or the right rows`() throws {
        let whole = try fill()
        let sorted = Self.words.sorted()
        var failures = 0
        for page in stride(from: 0, to: whole.count, by: 4096) {
            var damaged = whole
            for index in page..<page + 4096 { damaged[index] = ~damaged[index] }
            try scratch.write(damaged, to: "b")
            switch try readAll("b") {
            case .success(let words): #expect(words == sorted)
            case .failure(let error):
                failures += 1
                #expect(error.isDamage && error.description.contains("/b: "), "\(error)")
            }
        }
        #expect(failures > 0)
    }

    /// Pages have no checksums: a changed byte of a text is not detected, but no other row changes.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func `A changed byte changes at most one row, or causes an error that names the file`(seed: UInt64) throws {
        let whole = try fill()
        var random = SeededGenerator(state: seed)
        var readable = 0
        for _ in 0..<25 {
            var damaged = whole
            let index = Int.random(in: 0..<whole.count, using: &random)
            damaged[index] ^= .random(in: 1...255, using: &random)
            try scratch.write(damaged, to: "b")
            switch try readAll("b") {
            case .success(let words):
                readable += 1
                #expect(Set(words).subtracting(Self.words).count <= 1, "byte \(index)")
            case .failure(let error): #expect(error.description.contains("/b: "), "byte \(index): \(error)")
            }
        }
        #expect(readable > 0)
    }

    @Test func `A directory is refused as a database`() throws {
        let error = try databaseError { _ = try Database(path: scratch.directory, applicationID: 1) }
        #expect(error.isIO && error.path == scratch.directory)
    }

    @Test func `A database cannot be created at an invalid path`() throws {
        try scratch.write([1])
        for (path, code) in [(scratch.path + "/x", ENOTDIR), (scratch.directory + "/none/x", ENOENT)] {
            let error = try databaseError { _ = try Database(path: path, applicationID: 1) }
            #expect(error.isIO && error.path == path && error.systemErrno == code)
        }
        for path in ["", scratch.path + "\0"] {
            #expect(try databaseError { _ = try Database(path: path, applicationID: 1) }.isIO)
        }
    }

    @Test(.enabled(if: geteuid() != 0, "root may write everywhere"))
    func `A read-only database is refused`() throws {
        try scratch.open().close()
        chmod(scratch.path, 0o400)
        #expect(try databaseError { _ = try scratch.open() }.isReadOnly)
        chmod(scratch.directory, 0o500)
        defer { chmod(scratch.directory, 0o700) }
        #expect(try databaseError { _ = try scratch.open("b") }.isIO)
    }

    @Test func `The error about a missing library names its package`() {
        let error = DatabaseError.libraryMissing("libsqlite3.so.0 cannot be loaded", path: "/x")
        #expect(error.finding == .libraryMissing && error.description.contains("install the package libsqlite3-0"))
    }
}

extension DatabaseError {
    // A value with a wrong type is an error only when it is read.
    fileprivate var isDamage: Bool { isCorrupt || code == 20 }
}
