import CChecksums
import Dispatch
import Platform
import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// The program over several processes on one root: started, ended or killed, and started again. Its methods block.
final class RestartableService {
    enum Engine: String, CaseIterable, Sendable {
        case embedded, firebase, gcs
    }

    /// An error that a method was answered with.
    struct Refusal: Error { var error: JSON }
    struct Silence: Error {
        var log: [String] = []
    }

    let engine: Engine
    let directory: String
    /// Where a remote engine keeps its objects.
    let fixture: StorageFixture?
    private let root: String
    private var life: (process: ServiceProcess, client: WireClient)?
    private var lastID: Int64 = 0
    private var heard: [JSON] = []

    init(_ engine: Engine, in directory: String, sharing other: RestartableService? = nil) throws {
        (self.engine, self.directory) = (engine, directory)
        fixture = try other?.fixture ?? (engine == .embedded ? nil : StorageFixture(runsClock: true))
        root = directory + "/root"
    }

    /// Runs on a thread of its own, in a directory that is gone afterwards.
    static func run(_ engine: Engine, _ body: @escaping @Sendable (RestartableService) throws -> Void) async throws {
        try await onThread { try withTemporaryDirectory { try body(RestartableService(engine, in: $0)) } }
    }

    func start(_ flags: String...) throws {
        var words = ["--root", root, "--engine", engine.rawValue]
        if let fixture, !flags.contains("--endpoint") { words += ["--endpoint", fixture.url] }
        let process = try ServiceProcess(words + flags)
        life = (process, WireClient(reading: process.output, writing: process.input))
        heard = []
    }

    /// Limits the size of files, so that writes fail as on a full disk.
    func fillDisk() throws { try life?.process.limitFiles(to: 8192) }

    /// Ends the process with SIGKILL.
    func kill() throws { #expect(try end(by: SIGKILL) == 128 + SIGKILL) }
    func terminate() throws { #expect(try end(by: SIGTERM) == 0) }

    /// Ends it, and returns what it has written to stderr.
    func terminated() throws -> String {
        let process = life?.process
        try terminate()
        return process?.logged ?? ""
    }

    /// Closes stdin and stdout, and waits for the end of the process.
    func hangUp() throws {
        let process = life?.process
        life = nil
        #expect(try process?.waitForExit() == 0)
    }

    /// Returns the status with which it ends by itself.
    func ended() throws -> Int32? {
        let status = try life?.process.waitForExit()
        life = nil
        return status
    }

    private func end(by signal: Int32) throws -> Int32? {
        defer { life = nil }
        life?.process.signal(signal)
        return try life?.process.waitForExit()
    }
}

// MARK: - Talking

extension RestartableService {
    @discardableResult
    func call(_ method: String, _ params: JSON = [:]) throws -> JSON {
        let message = try answer(method, params)
        if let error = message["error"] { throw Refusal(error: error) }
        return message["result"] ?? .null
    }

    /// With its result or its error.
    func answer(_ method: String, _ params: JSON = [:]) throws -> JSON {
        let id = try ask(method, params)
        while true {
            let message = try next()
            if message["id"]?.number?.int64 == id { return message }
            heard.append(message)
        }
    }

    /// Without waiting for the answer.
    @discardableResult
    func ask(_ method: String, _ params: JSON = [:]) throws -> Int64 {
        lastID += 1
        let message: JSON = ["jsonrpc": "2.0", "id": JSON(lastID), "method": .string(method), "params": params]
        life?.client.send(message.text)
        return lastID
    }

    /// Returns when `count` notifications have arrived.
    func hear(_ count: Int) throws {
        while heard.count < count { heard.append(try next()) }
    }

    private func next() throws -> JSON {
        guard let message = try life?.client.next() else { throw Silence() }
        return message
    }

    /// Blocks until the log of the fixture meets the condition.
    func until(
        file: String = #filePath, _ location: SourceLocation = #_sourceLocation,
        _ isMet: (StorageFixture.Log) -> Bool
    ) throws {
        guard let fixture else { return }
        try blockUntil(file: file, location) { isMet(fixture.log) }
    }

    func tasks(_ kind: String = "upload") throws -> [JSON] { try call("\(kind)Task/list")["tasks"]?.array ?? [] }

    func refused(_ body: () throws -> Void) throws -> JSON {
        do { try body() } catch let refusal as Refusal { return refusal.error }
        throw Silence()
    }
}

// MARK: - Files and objects

extension RestartableService {
    func path(_ name: String) -> String { directory + "/" + name }

    func write(_ bytes: [UInt8], to name: String) throws -> String {
        try Data(bytes).write(to: URL(filePath: path(name)))
        return path(name)
    }

    func bytes(_ name: String) throws -> [UInt8] { [UInt8](try Data(contentsOf: URL(filePath: path(name)))) }

    /// The metadata of the object. Expects that a download has these bytes, and the metadata their size and MD5.
    func expectObject(_ name: String, _ expected: [UInt8]) throws -> JSON {
        let metadata = try call("reference/getMetadata", ["reference": .string("gs://default-bucket/\(name)")])
        let got = path("got")
        try call(
            "reference/writeToFile",
            [
                "reference": .string("gs://default-bucket/\(name)"), "file": .string(got), "wait": true,
            ])
        #expect(try bytes("got") == expected)
        try FileManager.default.removeItem(atPath: got)
        #expect(metadata["size"]?.number?.int64 == Int64(expected.count))
        #expect(metadata["md5Hash"]?.string == Data(md5(expected)).base64EncodedString())
        return metadata
    }

    /// Expects the files of this many objects, and neither spooled bytes nor partial downloads.
    func expectNothingLeft(objects: Int) throws {
        let files = FileManager.default
        // Empty files are reserved for later uploads.
        if engine == .embedded { #expect(try staged.count { $0 > 0 } == objects) }
        let spools = try #require(files.enumerator(atPath: root)).compactMap { $0 as? String }
            .filter { $0.contains("spool/") }
        let parts = try files.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".part") }
        #expect(spools.isEmpty && parts.isEmpty)
    }

    /// The resident memory of the process.
    var residentBytes: Int {
        get throws { try life?.process.residentBytes ?? 0 }
    }

    /// How large each file of the root is.
    var filesOfTheRoot: [String: Int64] {
        get throws {
            let files = FileManager.default
            guard files.fileExists(atPath: root) else { return [:] }
            return try files.subpathsOfDirectory(atPath: root).reduce(into: [:]) { sizes, name in
                sizes[name] = try files.attributesOfItem(atPath: root + "/" + name)[.size] as? Int64
            }
        }
    }

    /// The sizes of the files in the directory `objects` of the root.
    var staged: [Int64] {
        get throws {
            try FileManager.default.contentsOfDirectory(atPath: root + "/objects").map {
                let attributes = try FileManager.default.attributesOfItem(atPath: root + "/objects/" + $0)
                return attributes[.size] as? Int64 ?? 0
            }
        }
    }
}

func md5(_ bytes: [UInt8]) -> [UInt8] {
    var context = checksums_md5()
    checksums_md5_init(&context)
    bytes.withUnsafeBytes { checksums_md5_update(&context, $0.baseAddress, $0.count) }
    var digest = [UInt8](repeating: 0, count: 16)
    checksums_md5_digest(&context, &digest)
    return digest
}

extension JSON {
    var completed: Int64 { self["progress"]?["completedUnitCount"]?.number?.int64 ?? -1 }
    var state: String { self["state"]?.string ?? "" }
    var id: String { self["task"]?.string ?? "" }
}
