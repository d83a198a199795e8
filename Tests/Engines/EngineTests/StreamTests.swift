import Checksums
import Platform
import Storage
import TestSupport
import Testing
import Transfers

/// Uploads and downloads whose clients bring or fetch the bytes, at every engine.
@Suite(.watchdog(minutes: 10)) struct StreamTests {
    private static let places = ConformanceTests.places

    @Test(arguments: [0, 1, 256 << 10, (3 << 20) + 12_345])
    func `A stream has the bytes that were appended, and they come back the same, whatever the pieces`(size: Int)
        async throws
    {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            let bytes = noise(size, seed: UInt64(size))
            let (sent, read) = try await StreamClient(place.backend).roundTrip(bytes, announcing: size % 2 == 0)
            #expect(sent.size == size && sent.checksums.prove(bytes))
            #expect(read == bytes)
            #expect(try await place.bytes(of: ref("a")) == bytes)
        }
    }

    @Test(arguments: [10, 400_000])
    func `Bytes with another MD5 than that of the end are not stored`(size: Int) async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            try await place.backend.put([1], at: "a")
            let client = try await StreamClient(place.backend)
            let error = try await failure {
                _ = try await client.send(noise(size), expecting: .init(md5: Checksum(of: [1]).md5))
            }
            #expect(error.code == .nonMatchingChecksum)
            #expect(try await place.bytes(of: ref("a")) == [1])
        }
    }

    @Test func `A stream with preconditions does not replace another object`() async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            let client = try await StreamClient(place.backend)
            let stream = try await client.begin(if: Preconditions(generation: 0))
            try await place.backend.put([1], at: "a")
            let error = try await failure {
                _ = try await stream.append([2], at: nil)
                _ = try await stream.finish(.init())
            }
            #expect(error.code == .preconditionFailed)
            #expect(try await place.bytes(of: ref("a")) == [1])
        }
    }

    @Test func `Pieces at offsets are those of one generation, also after the end of the stream`() async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            let bytes = noise(700_000)
            try await place.backend.put(bytes, at: "a")
            let stream = try await StreamClient(place.backend).open()
            for (start, length) in [(600_000, 1 << 20), (5, 7), (0, 0), (0, bytes.count), (bytes.count, 9)] {
                let piece = try await stream.read(Int64(length), at: Int64(start)) { $0 }
                #expect(piece.bytes == Array(bytes[start..<min(bytes.count, start + length)]))
                #expect(piece.size == Int64(bytes.count) && piece.isEnd == (start + length >= bytes.count))
            }
            #expect(try await stream.read(.max) { $0 }.isVerified == true)
            #expect(try await stream.read(2, at: 9) { $0 }.bytes == Array(bytes[9..<11]))
            try await place.backend.put(noise(700_000, seed: 2), at: "a")
            let error = try await failure { _ = try await stream.read(2, at: 9) { $0 } }
            #expect(error.code == .preconditionFailed && error.message.contains("was replaced"))
        }
    }

    @Test func `A stream of an object that is replaced or deleted fails, and names it`() async throws {
        try await forEachAtOnce(Self.places) { type in
            let place = try await type.init()
            let client = try await StreamClient(place.backend)
            let old = noise(1000)
            try await place.backend.put(old, at: "a")
            let replaced = try await client.open(), deleted = try await client.open()
            for stream in [replaced, deleted] { #expect(try await stream.read(10) { $0 }.bytes == Array(old[..<10])) }
            try await place.backend.put(noise(1000, seed: 2), at: "a")
            let first = try await failure { _ = try await replaced.read(10) { $0 } }
            #expect(first.code == .preconditionFailed && first.object == "a" && first.message.contains("was replaced"))
            try await place.backend.delete(ref("a"), if: .init(), for: Caller(retryTime: .seconds(600)))
            let second = try await failure { _ = try await deleted.read(10) { $0 } }
            #expect(second.code == .objectNotFound && second.object == "a")
        }
    }
}

/// A client that has only streams.
@Loop private final class StreamClient {
    private let transfers: Transfers

    init(_ backend: any Backend) throws {
        transfers = Transfers(backend: backend, time: .system)
        // Chunks of an engine that takes chunks, and no second attempts.
        try transfers.settings.setUploadChunkSize(1)
        for time in Settings.RetryTime.allCases { try transfers.settings.set(time, to: 0) }
    }

    /// The first stream waits for its first bytes.
    func begin(size: Int64? = nil, if conditions: Preconditions = Preconditions()) async throws -> StreamUpload {
        let task = try await transfers.upload(UploadRequest(.stream(size: size), to: ref("a"), if: conditions))
        task.start()
        return try task.openStream()
    }

    func send(_ bytes: [UInt8], size: Int64? = nil, expecting expected: Checksums = .init())
        async throws -> ObjectMetadata?
    {
        let stream = try await begin(size: size)
        var appends: [Task<StreamUpload.Position, any Error>] = []
        var start = 0
        while start < bytes.count {
            let piece = Array(bytes[start..<min(start + 1 + start % 90_001, bytes.count)])
            appends.append(Task { try await stream.append(piece, at: nil) })
            start += piece.count
        }
        for append in appends { _ = try await append.value }
        guard case .stored(let object)? = try await stream.finish(expected).metadata else { return nil }
        return object
    }

    func open() async throws -> StreamDownload {
        let task = try await transfers.downloadStream(ref("a"))
        task.start()
        return try task.openStream()
    }

    func roundTrip(_ bytes: [UInt8], announcing: Bool) async throws -> (ObjectMetadata, [UInt8]) {
        let expected = Checksums(md5: Checksum(of: bytes).md5)
        let object = try #require(
            try await send(bytes, size: announcing ? Int64(bytes.count) : nil, expecting: expected))
        let stream = try await open()
        var read: [UInt8] = []
        while true {
            let piece = try await stream.read(77_777) { $0 }
            #expect(piece.offset == Int64(read.count))
            read += piece.bytes
            guard let isVerified = piece.isVerified else { continue }
            #expect(isVerified)
            return (object, read)
        }
    }
}
