import Foundation
import JSONText
import TestSupport
import Testing

/// The program is ended while a client appends to a stream, at many offsets.
@Suite(.watchdog(minutes: 10)) struct StreamKillTests {
    private static let granule = KillTests.granule
    private static let pieces = 30
    private static let piece = 100_000
    private static let bytes = noise(pieces * piece + 1000)

    @Test(arguments: RestartableService.Engine.allCases)
    func `A stream continues after a kill with what was durable, and its end verifies all of it`(
        engine: RestartableService.Engine
    ) async throws {
        for kill in 0..<min(KillTests.kills, 6) {
            try await RestartableService.run(engine) { program in
                try program.start()
                try program.call("storage/updateSettings", ["uploadChunkSizeBytes": JSON(Int64(Self.granule))])
                let task = try program.call("reference/putStream", ["reference": "gs://default-bucket/a"])
                var durable: Int64 = 0
                for number in 0..<(Self.pieces * kill / 6) {
                    let place = try Self.append(number, to: task, program)
                    #expect(place["offset"]?.number?.int64 == Int64((number + 1) * Self.piece))
                    durable = place["durable"]?.number?.int64 ?? -1
                    if engine == .embedded { #expect(durable == Int64((number + 1) * Self.piece)) }
                    #expect(Int64((number + 1) * Self.piece) - durable <= Int64(Self.granule))
                }
                // This one may arrive or not.
                try program.ask("uploadTask/append", Self.params(task, from: Self.pieces * kill / 6 * Self.piece))
                try program.kill()
                try program.start()
                try Self.continueStream(task, from: durable, program)
                _ = try program.expectObject("a", Self.bytes)
                try program.terminate()
                try program.expectNothingLeft(objects: 1)
            }
        }
    }

    private static func params(_ task: JSON, from start: Int) -> JSON {
        let piece = Data(bytes[start..<min(start + piece, bytes.count)]).base64EncodedString()
        return ["task": .string(task.id), "data": .string(piece), "offset": JSON(Int64(start))]
    }

    private static func append(_ number: Int, to task: JSON, _ program: RestartableService) throws -> JSON {
        try program.call("uploadTask/append", params(task, from: number * piece))
    }

    /// Repeats what was not durable, and ends the stream.
    private static func continueStream(_ task: JSON, from durable: Int64, _ program: RestartableService) throws {
        let found = try program.call("uploadTask/snapshot", ["task": .string(task.id)])
        let offset = try #require(found["offset"]?.number?.int64)
        #expect(found.state == "paused" && found["origin"]?.string == "stream" && offset >= durable)
        try program.call("uploadTask/resume", ["task": .string(task.id)])
        for start in stride(from: Int(offset), to: bytes.count, by: piece) {
            try program.call("uploadTask/append", params(task, from: start))
        }
        let md5 = Data(EndToEndTests.md5(bytes)).base64EncodedString()
        let last = try program.call("uploadTask/finish", ["task": .string(task.id), "md5Hash": .string(md5)])
        #expect(last.state == "success" && last.completed == Int64(bytes.count))
    }

    @Test func `A download that is read ends with its connection, and the program does not wait for it`() async throws {
        try await RestartableService.run(.embedded) { program in
            try program.start()
            try program.call(
                "reference/putData", ["reference": "gs://default-bucket/a", "text": "Hello, world!", "wait": true])
            let task = try program.call("reference/getStream", ["reference": "gs://default-bucket/a"])
            try program.call("downloadTask/read", ["task": .string(task.id), "length": 5])
            try program.hangUp()
            try program.start()
            #expect(try program.tasks("download").isEmpty)
            try program.terminate()
        }
    }
}
