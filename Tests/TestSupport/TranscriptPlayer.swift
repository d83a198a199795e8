import JSONText
import Platform
import Foundation
import Glibc
import JSONRPC

/// One service, started for one transcript.
package protocol TranscriptStage: AnyObject {
    func connect(_ framing: WireFraming) throws -> WireClient
    /// Starts the service again on the same root. Its connections have ended.
    func restart() throws
    /// `exit` ends the service: else only the connection.
    var endsWithItsClient: Bool { get }
    /// The status that the service ended with by itself.
    func waitForExit() throws -> Int32
    /// Called at the end, when all connections have ended.
    func strike() throws
}

extension TranscriptStage {
    package var endsWithItsClient: Bool { true }
}

/// Plays a transcript: sends its messages, and compares the received ones.
package final class TranscriptPlayer {
    package struct Failure: Error, CustomStringConvertible { package var description: String }

    private let transcript: Transcript
    private let stage: any TranscriptStage
    private let files: String
    private let check: (_ said: Bool, JSON) throws -> Void
    private var clients: [String: WireClient] = [:]
    private var optional: [String: [JSON]] = [:]
    private var pattern = TranscriptPattern()
    private var hasExited = false

    private init(
        _ transcript: Transcript, _ stage: any TranscriptStage, _ files: String,
        _ check: @escaping (_ said: Bool, JSON) throws -> Void
    ) {
        (self.transcript, self.stage, self.files, self.check) = (transcript, stage, files, check)
    }

    /// Plays on a thread of its own, since its waits block. `check` gets every message that is sent or received.
    package static func play(
        _ transcript: Transcript,
        check: @escaping @Sendable (_ said: Bool, JSON) throws -> Void = { _, _ in },
        on stage: @escaping @Sendable (_ directory: String) throws -> any TranscriptStage
    ) async throws {
        try await onThread {
            try withTemporaryDirectory { directory in
                let files = directory + "/files"
                try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
                try TranscriptPlayer(transcript, stage(directory), files, check).play()
            }
        }
    }

    private func play() throws {
        for line in transcript.lines {
            do {
                try play(line.step, line.connection)
            } catch {
                throw Failure(description: "\(transcript.name):\(line.number): \(error)")
            }
        }
        do {
            for name in clients.keys.sorted() { try end(name) }
            try stage.strike()
        } catch {
            throw Failure(description: "\(transcript.name): at its end: \(error)")
        }
    }

    private func play(_ step: Transcript.Step, _ connection: String) throws {
        switch step {
        case .say(let text): try say(text, to: client(connection))
        case .sayBytes(let text): try client(connection).send(bytes: Array(json(text).string?.utf8 ?? "".utf8))
        case .hear(let text): try hear(json(text), from: connection)
        case .mayHear(let text): optional[connection, default: []].append(try json(text))
        case .endInput: try client(connection).endInput()
        case .closed: try drain(connection)
        case .exit(let status): try exit(status)
        case .restart: try restart()
        case .makeFile(let name, let bytes): try makeFile(files + "/" + name, bytes)
        }
    }

    private func client(_ name: String) throws -> WireClient {
        if let client = clients[name] { return client }
        let client = try stage.connect(transcript.framing)
        clients[name] = client
        return client
    }

    private func say(_ text: String, to client: WireClient) throws {
        let message = pattern.filled(filled(text))
        client.send(message)
        if let json = try? JSON(parsing: message) { try check(true, json) }
    }

    private func hear(_ expected: JSON, from connection: String) throws {
        while true {
            guard let heard = try client(connection).next()?.inTheOrder(of: expected) else {
                throw Failure(description: "the connection ended")
            }
            try check(false, heard)
            guard let mismatch = pattern.mismatch(heard, expected) else { break }
            guard mayHear(heard, from: connection) else {
                throw Failure(description: "\(mismatch), in \(heard.text)")
            }
        }
        optional[connection] = nil
    }

    private func mayHear(_ heard: JSON, from connection: String) -> Bool {
        optional[connection, default: []].contains {
            var attempt = pattern
            return attempt.mismatch(heard, $0) == nil
        }
    }

    /// What comes before the connection ends must have been announced as possible.
    private func drain(_ connection: String) throws {
        guard let client = clients[connection] else { return }
        while let heard = try client.next() {
            try check(false, heard)
            guard mayHear(heard, from: connection) else {
                throw Failure(description: "more was heard: \(heard.text)")
            }
        }
        clients[connection] = nil
        optional[connection] = nil
    }

    private func end(_ connection: String) throws {
        clients[connection]?.endInput()
        try drain(connection)
    }

    private func exit(_ status: Int32) throws {
        for name in clients.keys.sorted() { try drain(name) }
        // Whoever comes next is let in.
        guard stage.endsWithItsClient else { return _ = try stage.connect(.lines) }
        let actual = try stage.waitForExit()
        guard actual == status else { throw Failure(description: "the service ended with status \(actual)") }
    }

    private func restart() throws {
        for name in clients.keys.sorted() { try end(name) }
        try stage.restart()
    }

    private func json(_ text: String) throws -> JSON {
        do { return try JSON(parsing: filled(text)) } catch { throw Failure(description: "\(error) in \(text)") }
    }

    private func filled(_ text: String) -> String { text.replacing("{files}", with: files) }

    /// Sparse: as long as asked for, and all zeros.
    private func makeFile(_ path: String, _ bytes: Int) throws {
        let directory = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        guard file >= 0, ftruncate(file, bytes) == 0 else { throw Failure(description: "cannot make \(path)") }
    }
}

extension JSON {
    /// The answers of a batch may come in any order.
    fileprivate func inTheOrder(of expected: JSON) -> JSON {
        guard var rest = array, let expected = expected.array else { return self }
        let inOrder = expected.compactMap { answer in
            rest.firstIndex { $0["id"] == answer["id"] }.map { rest.remove(at: $0) }
        }
        return .array(inOrder + rest)
    }
}

/// A new directory of a short name, that is gone afterwards.
package func withTemporaryDirectory<Result>(_ body: (String) throws -> Result) throws -> Result {
    var template = Array("/tmp/storage-rpc-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw TranscriptPlayer.Failure(description: "no temporary directory") }
    let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { remove(path) }
    return try body(path)
}

/// A file that its owner removes meanwhile makes the first attempt break off.
private func remove(_ directory: String) {
    for _ in 1...10 where FileManager.default.fileExists(atPath: directory) {
        try? FileManager.default.removeItem(atPath: directory)
    }
}
