import JSONText
import Foundation

/// A conversation with the service, a file of `protocol/transcripts`: what is sent, and what must be received.
package struct Transcript: Sendable {
    package enum Step: Sendable {
        /// One message, framed as the transcript says.
        case say(String)
        /// Bytes, written as a JSON string.
        case sayBytes(String)
        /// The next message must match.
        case hear(String)
        /// Any number of messages that match may come here.
        case mayHear(String)
        case endInput
        /// The service ends the connection, and nothing more comes before that.
        case closed
        case exit(status: Int32)
        case restart
        case makeFile(name: String, bytes: Int)
    }

    package struct Line: Sendable {
        package var number: Int
        package var connection: String
        package var step: Step
    }

    package struct Malformed: Error { package var description: String }

    package let name: String
    package private(set) var lines: [Line] = []
    package private(set) var framing = WireFraming.lines
    package private(set) var maxMessageBytes = 64 << 20
    /// The remote engine that it is played on, with a server of its own.
    package private(set) var engine: String?
    /// The one Authorization header that this server takes; any where nil.
    package private(set) var accepted: String?
    /// It is played with `--harness`.
    package private(set) var needsHarness = false
    package private(set) var faults: [StorageFixture.Fault] = []
    /// Where the directive `@on` says that it holds; nil for everywhere.
    private var named: [TranscriptDepth]?

    package init(_ name: String, _ text: String) throws {
        self.name = name
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard try read(line, number: index + 1) else {
                throw Malformed(description: "\(name):\(index + 1): cannot be understood: \(line)")
            }
        }
    }

    package func isMeant(for depth: TranscriptDepth) -> Bool {
        (engine == nil && !needsHarness || depth != .process) && (named ?? TranscriptDepth.allCases).contains(depth)
    }

    private mutating func read(_ line: String, number: Int) throws -> Bool {
        if line.hasPrefix("@") { return directive(line.dropFirst().split(separator: " ").map(String.init), number) }
        let connection = line.prefix { $0 != ">" && $0 != "<" }
        let rest = line.dropFirst(connection.count)
        for (mark, make) in Self.marks where rest.hasPrefix(mark + " ") {
            let step = make(String(rest.dropFirst(mark.count + 1)))
            lines.append(Line(number: number, connection: String(connection), step: step))
            return true
        }
        return false
    }

    private static let marks: [(String, @Sendable (String) -> Step)] = [
        (">>>", Step.sayBytes), (">>", Step.say), ("<<*", Step.mayHear), ("<<", Step.hear),
    ]

    private mutating func directive(_ words: [String], _ number: Int) -> Bool {
        switch (words.first, words.dropFirst().first) {
        case ("on", _?): named = words.dropFirst().compactMap(TranscriptDepth.init)
        case ("harness", nil): needsHarness = true
        case ("framing", "headers"): framing = .headers
        case ("max-message-bytes", let bytes?): maxMessageBytes = Int(bytes) ?? 0
        case ("engine", let name?): engine = name
        case ("accepts", _?): accepted = words.dropFirst().joined(separator: " ")
        case ("fails", let status?):
            guard let status = Int(status), let kind = StorageFixture.Kind(rawValue: words.last ?? "") else {
                return false
            }
            faults.append(StorageFixture.Fault(.first(kind), .answer(status)))
        case ("file", let name?): add(.makeFile(name: name, bytes: words.count == 4 ? Int(words[2]) ?? 0 : 0), number)
        case ("end", let connection): add(.endInput, number, connection)
        case ("closed", let connection): add(.closed, number, connection)
        case ("exit", let status?): add(.exit(status: Int32(status) ?? 0), number)
        case ("restart", nil): add(.restart, number)
        default: return false
        }
        return true
    }

    private mutating func add(_ step: Step, _ number: Int, _ connection: String? = nil) {
        lines.append(Line(number: number, connection: connection ?? "", step: step))
    }
}

/// How much of the service a transcript goes through.
package enum TranscriptDepth: String, CaseIterable, Sendable {
    case process, stdio, socket
}

extension Transcript: CustomStringConvertible {
    package var description: String { name }

    /// The transcript of a page in Markdown, in blocks of the language `io`.
    package init(told page: String) throws {
        var isTold = false
        let lines = try String(contentsOfFile: page, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map { line in
            if line.hasPrefix("```") { isTold = line == "```io" }
            return isTold && !line.hasPrefix("```") ? line : ""
        }
        try self.init((page as NSString).lastPathComponent, lines.joined(separator: "\n"))
    }

    /// All files of a directory, by name.
    package static func all(in directory: String) throws -> [Transcript] {
        try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".io") }.sorted().map {
            try Transcript($0, String(contentsOfFile: directory + "/" + $0, encoding: .utf8))
        }
    }
}
