import HTTPClient
import HTTPText
import Platform
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct UploadTests {
    private let threads = WorkerThreads("read", limit: 2)

    @Test func `A large file arrives unchanged`() async throws {
        let bytes = pattern(64 << 20)
        let file = try ScriptedFile(bytes)
        let received = PieceComparison(bytes)
        let server = try FixtureServer { peer in
            let request = try peer.readHead()
            #expect(request.headers["Content-Length"] == "\(bytes.count)")
            try peer.read(bytes.count, received.take)
            try peer.answer()
        }
        let body = ReadAhead(count: Int64(bytes.count), on: threads, fill: file.fill)
        let progress = Mutex<[Int64]>([])
        var request = HTTPRequest("PUT", server.url, body: .source(body))
        request.onSent = { count in progress.withLock { $0.append(count) } }
        let response = try await HTTPClient(.none).perform(request)
        #expect(response.bytesSent == bytes.count && received.isComplete)
        let steps = progress.withLock { $0 }
        #expect(steps == steps.sorted() && steps.last == Int64(bytes.count))
        #expect(file.largestRead <= 512 << 10)
    }

    @Test func `Parts of a file are sent concurrently`() async throws {
        let bytes = pattern(2 << 20)
        let file = try ScratchFile(bytes)
        let server = try FixtureServer { peer in
            while true {
                let request = try peer.readRequest()
                let start = Int(request.headers["X-Start"] ?? "") ?? 0
                try peer.answer("200 OK", "\(request.body == Array(bytes[start..<start + request.body.count]))")
            }
        }
        let client = HTTPClient(.none)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 {
                let (start, count) = (number * 17_001, [1, 4095, 4096, 300_001, 1 << 20][number % 5])
                let body = ReadAhead(
                    descriptor: file.descriptor, from: Int64(start), count: Int64(count), on: threads)
                let headers: HTTPHeaders = ["X-Start": "\(start)"]
                group.addTask {
                    let request = HTTPRequest("PUT", server.url, headers: headers, body: .source(body))
                    let response = try await client.perform(request)
                    #expect(response.body == Array("true".utf8))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `A truncated file fails the upload`() async throws {
        let file = try ScratchFile(pattern(100_000))
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            Issue.record("all of it came")
        }
        let body = ReadAhead(descriptor: file.descriptor, count: 5_000_000, on: threads)
        let error = try await failure(of: HTTPRequest("PUT", server.url, body: .source(body)))
        #expect(error.kind == .bodyFailed("the file became shorter") && !error.isRetryable)
        #expect(error.description.hasSuffix(": the file became shorter"))
    }

    @Test func `A body can be sent in two requests, one after the other`() async throws {
        let bytes = pattern(5 << 20)
        let file = try ScratchFile(bytes)
        let server = try FixtureServer { peer in
            if peer.number == 1 {
                _ = try peer.readHead()
                _ = try peer.read(3 << 20)
                return
            }
            try peer.answer("200 OK", "\(peer.readRequest().body == bytes)")
        }
        let body = ReadAhead(descriptor: file.descriptor, count: 5 << 20, on: threads)
        let request = HTTPRequest("PUT", server.url, body: .source(body))
        #expect(try await failure(of: request).kind.isBroken)
        #expect(try await HTTPClient(.none).perform(request).body == Array("true".utf8))
    }

    @Test func `A source may hand out any number of bytes and pause in between`() async throws {
        let bytes = pattern(200_000)
        let server = try FixtureServer { peer in
            try peer.answer("200 OK", "\(peer.readRequest().body == bytes)")
        }
        let turns = Mutex(0)
        let source = ScriptedSource(count: Int64(bytes.count)) { buffer, offset, wake in
            let turn = turns.withLock {
                $0 += 1; return $0
            }
            if turn % 3 == 0 {
                wake()
                return .later
            }
            let next = bytes[Int(offset)...].prefix(min(turn * 37, buffer.count))
            next.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return .bytes(next.count)
        }
        let response = try await HTTPClient(.none).perform(HTTPRequest("PUT", server.url, body: .source(source)))
        #expect(response.body == Array("true".utf8))
        try await source.ended.happened()
    }

    @Test func `A source that fails ends the transfer with its reason`() async throws {
        let server = try FixtureServer { peer in _ = try peer.readRequest() }
        let source = ScriptedSource(count: 10) { _, _, _ in .failed("the file was removed") }
        let error = try await failure(of: HTTPRequest("PUT", server.url, body: .source(source)))
        #expect(error.kind == .bodyFailed("the file was removed"))
        try await source.ended.happened()
    }
}

/// A file that records the size of each read.
private final class ScriptedFile: Sendable {
    private let bytes: [UInt8]
    private let largest = Mutex(0)

    init(_ bytes: [UInt8]) throws { self.bytes = bytes }

    var largestRead: Int { largest.withLock { $0 } }

    @Sendable func fill(_ buffer: UnsafeMutableRawBufferPointer, _ offset: Int64) {
        largest.withLock { $0 = max($0, buffer.count) }
        bytes[Int(offset)...].prefix(buffer.count).withUnsafeBytes { buffer.copyMemory(from: $0) }
    }
}
