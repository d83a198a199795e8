import Foundation
import TestSupport
import Testing

/// Replays every conversation of `protocol`, and those of pages, too: in process, through stdio, through a socket.
@Suite(.watchdog) struct TranscriptTests {
    static let directory = (#filePath as NSString).deletingLastPathComponent + "/../../protocol"

    struct Showing: Sendable, CustomTestStringConvertible {
        var transcript: Transcript
        var depth: TranscriptDepth
        var testDescription: String { "\(transcript.name), \(depth.rawValue)" }
    }

    static func transcripts() throws -> [Transcript] {
        try Transcript.all(in: directory + "/transcripts")
            + ["/README.md", "/../clients/new-client-tasks.md"].map { try Transcript(told: directory + $0) }
    }

    static let showings: [Showing] = ((try? transcripts()) ?? []).flatMap { transcript in
        TranscriptDepth.allCases.filter(transcript.isMeant).map { Showing(transcript: transcript, depth: $0) }
    }

    @Test func `Every transcript is found and can be read`() throws {
        #expect(try !Self.transcripts().contains { $0.lines.isEmpty })
    }

    @Test(arguments: showings) func `Every transcript is answered as written`(showing: Showing) async throws {
        let watch = ContractWatch(try ContractDocument(withHarness: ()))
        try await TranscriptPlayer.play(showing.transcript, check: watch.look) { directory in
            try showing.depth.stage(showing.transcript, directory)
        }
    }
}
