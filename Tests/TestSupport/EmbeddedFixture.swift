import CTestProcess
import Database
import Dispatch
import EmbeddedEngine
import Foundation
import Platform
import Roots
import Storage
import Synchronization
import TaskStore
import Testing

/// A temporary directory, deleted when it is released.
package final class Scratch: Sendable {
    package let path: String

    package init() throws {
        var template = Array("/tmp/backends-tests-XXXXXX".utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
        Self.all.add(path)
    }

    deinit {
        // An engine that ends may still make or remove files of its own.
        do {
            try blockUntil {
                try? FileManager.default.removeItem(atPath: path)
                return !FileManager.default.fileExists(atPath: path)
            }
        } catch {
            Issue.record(error)
        }
        Self.all.remove(path)
    }

    private static let all = LeftScratches()

    /// Writes a file, and returns its path.
    package func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = "\(path)/\(name)"
        let file = try #require(fopen(path, "w"))
        fwrite(bytes, 1, bytes.count, file)
        try #require(fclose(file) == 0)
        return path
    }
}

/// The scratch directories that exist. Those that outlive the tests are named with their tests, and fail the run.
private final class LeftScratches: Sendable {
    private let tests = Mutex<[String: String]>([:])

    init() {
        whenTestsEnd { [unowned self] in
            for _ in 0..<12_000 where !isEmpty { blockThread(milliseconds: 5) }
            tests.withLock { $0 }.forEach { testprocess_fail("A directory outlived the tests: \($0) of \($1)") }
        }
    }

    private var isEmpty: Bool { tests.withLock { $0.isEmpty } }

    func add(_ path: String) { tests.withLock { $0[path] = Test.current?.name ?? "no test" } }
    func remove(_ path: String) { tests.withLock { _ = $0.removeValue(forKey: path) } }
}

/// An engine under test, with access to its stored bytes.
package protocol EngineFixture: Sendable {
    associatedtype Tested: Backend
    var backend: Tested { get }
    /// Creates an empty engine.
    init() async throws
    /// Opens the same storage with a new backend.
    func reopened() async throws -> Self
    /// Reads the stored bytes without the backend.
    func bytes(of reference: Reference) async throws -> [UInt8]
    /// Counts the objects and the rows and files that they use.
    func contents() async throws -> Contents
}

package struct Contents: Equatable {
    package var objects: Int64
    package var rows: Int64
    package var files: Int64
    package var filesOnDisk: Int64

    package init(objects: Int64, rows: Int64, files: Int64, filesOnDisk: Int64) {
        (self.objects, self.rows, self.files, self.filesOnDisk) = (objects, rows, files, filesOnDisk)
    }

    package static let none = Contents(objects: 0, rows: 0, files: 0, filesOnDisk: 0)
}

package struct EmbeddedFixture: EngineFixture {
    package let scratch: Scratch
    package let root: StorageRoot
    package let backend: EmbeddedBackend

    package init() async throws { try await self.init(time: .system) }

    /// With a clock that stands still, only the thread that writes a download reports what has arrived.
    package init(
        time: TimeSource = .system, complain: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        let scratch = try Scratch()
        try await self.init(scratch, StorageRoot(scratch.path + "/root"), time, complain)
    }

    private init(
        _ scratch: Scratch, _ root: StorageRoot, _ time: TimeSource = .system,
        _ complain: @escaping @Sendable (String) -> Void = { _ in }
    ) async throws {
        (self.scratch, self.root) = (scratch, root)
        backend = try EmbeddedBackend(root, time: time, complain: complain)
        try await backend.open()
    }

    package func reopened() async throws -> EmbeddedFixture { try await EmbeddedFixture(scratch, root) }

    package func bytes(of reference: Reference) async throws -> [UInt8] {
        let file: Int64? = try await backend.store.read { database in
            try database.first(
                "SELECT file FROM objects WHERE name = :name AND bucket = (SELECT id FROM buckets WHERE name = :bucket)",
                ["name": .name(reference), "bucket": .text(reference.bucket)]
            ) { try $0.integerOrNil("file") } ?? nil
        }
        guard let file else {
            return try await backend.store.read { database in
                try database.first(
                    "SELECT bytes FROM bodies JOIN objects USING (generation) WHERE name = :name",
                    ["name": .name(reference)]
                ) { try $0.blob("bytes") }
            } ?? []
        }
        return try contentsOf("\(objectsPath)/\(file)")
    }

    package func contents() async throws -> Contents {
        // What is given back is given back on other threads: behind it in their queues is after it.
        await backend.files.run {}
        let reserved = backend.reserved.all.map { "\($0)" }.joined(separator: ", ")
        let counts = try await backend.store.read { database in
            try ["objects", "bodies", "files WHERE id NOT IN (\(reserved))"].map { table in
                try database.first("SELECT count(*) AS count FROM \(table)") { try $0.integer("count") } ?? 0
            }
        }
        return Contents(objects: counts[0], rows: counts[1], files: counts[2], filesOnDisk: Int64(try names().count))
    }

    /// Waits until files that are removed in the background are gone.
    package func settledContents(_ expected: Contents) async throws -> Contents {
        do { try await eventually { try await contents() == expected } } catch is WaitFailure {}
        return try await contents()
    }

    private var objectsPath: String { scratch.path + "/root/objects" }

    /// The names in `objects`, without the files that are made ahead.
    package func names() throws -> [String] {
        let reserved = Set(backend.reserved.all.map { "\($0)" })
        let directory = try #require(opendir(objectsPath))
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != "..", !reserved.contains(name) { names.append(name) }
        }
        return names
    }
}

extension EmbeddedBackend {
    /// Returns when the threads for files have done all that was submitted before: only then are as many free as
    /// there are.
    package func filesAreIdle() async {
        let meeting = DispatchGroup()
        for _ in 0..<16 { meeting.enter() }
        await withTaskGroup { group in
            for _ in 0..<16 {
                group.addTask { [files] in
                    await files.run {
                        meeting.leave()
                        meeting.wait()
                    }
                }
            }
        }
    }
}

package func contentsOf(_ path: String) throws -> [UInt8] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 20)
    while case let count = fread(&buffer, 1, buffer.count, file), count > 0 { bytes += buffer[..<count] }
    return bytes
}

package func ref(_ path: String, in bucket: String = "b") throws -> Reference {
    try Reference(bucket: bucket, path: path)
}

/// At the speed of memory: tests are built without optimization.
package func == (a: [UInt8], b: [UInt8]) -> Bool {
    a.withUnsafeBytes { a in
        b.withUnsafeBytes { b in
            guard a.count == b.count else { return false }
            guard let start = a.baseAddress, let other = b.baseAddress else { return true }
            return memcmp(start, other, a.count) == 0
        }
    }
}

package func == (a: [UInt8]?, b: [UInt8]?) -> Bool {
    switch (a, b) {
    case (let a?, let b?): (a as [UInt8]) == (b as [UInt8])
    case (nil, nil): true
    default: false
    }
}

/// `text`, `count` times: fewer calls than `String(repeating:count:)` makes.
package func repeated(_ text: String, _ count: Int) -> String {
    let block = String(repeating: text, count: min(count, 4096))
    return String(repeating: block, count: count / 4096) + String(repeating: text, count: count % 4096)
}

/// Pseudorandom bytes, different for each seed.
package func noise(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    // Filled with nothing, the array is the one that all empty arrays share.
    guard count > 0 else { return [] }
    var random = SeededGenerator(state: seed)
    // A block of 65,537 bytes, again and again: its length is prime, so no two chunks of a file begin alike.
    let block = (0..<8193).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }.prefix(min(count, 65_537))
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        while filled < count {
            let piece = block.prefix(count - filled)
            _ = UnsafeMutableBufferPointer(rebasing: buffer[filled...]).initialize(fromContentsOf: piece)
            filled += piece.count
        }
    }
}

extension Upload {
    package static func data(_ bytes: [UInt8], to reference: Reference, _ metadata: SettableMetadata = .init())
        -> Upload
    {
        Upload(reference: reference, source: .data(bytes), metadata: metadata)
    }

    /// - Parameter metadata: that of the copy; nil where it keeps that of the object.
    package static func copy(
        of source: Reference, to reference: Reference, _ metadata: SettableMetadata? = nil, isMove: Bool = false,
        if conditions: Preconditions = Preconditions(), ifSource sourceConditions: Preconditions = Preconditions()
    ) -> Upload {
        let request = CopyRequest(of: source, if: sourceConditions, isMove: isMove, keepsMetadata: metadata == nil)
        return Upload(
            reference: reference, source: .object(CopySource(request)), metadata: metadata ?? .init(), if: conditions)
    }
}

extension Backend {
    package func metadata(of reference: Reference) async throws -> ObjectMetadata {
        try await metadata(of: reference, for: Caller(retryTime: .seconds(600)))
    }

    package func updateMetadata(of reference: Reference, _ change: MetadataChange) async throws -> ObjectMetadata {
        try await updateMetadata(of: reference, change, if: .init(), for: Caller(retryTime: .seconds(600)))
    }

    @discardableResult
    package func put(_ bytes: [UInt8], at path: String, in bucket: String = "b") async throws -> ObjectMetadata {
        try await run(.data(bytes, to: ref(path, in: bucket)))
    }

    package func upload(file path: String, to name: String) async throws -> Upload {
        Upload(
            reference: try ref(name), source: .file(path: path, try await properties.files.inspect(path, below: nil)),
            metadata: .init())
    }
}

package func failure(
    _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
) async throws -> StorageError {
    var found: StorageError?
    do { try await body() } catch { found = error as? StorageError }
    return try #require(found, "no storage error was thrown", sourceLocation: location)
}

extension ReservedFiles {
    /// The files that are made and not taken, once no more are being made.
    package var all: [Int64] {
        while isMakingMore { blockThread(milliseconds: 1) }
        return ready
    }
}
