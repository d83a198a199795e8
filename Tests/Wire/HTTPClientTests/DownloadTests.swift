import HTTPClient
import Synchronization
import TestSupport
import Testing

@Suite(.watchdog(minutes: 10)) struct DownloadTests {
    @Test func `A slow sink delays the server, and gets every byte once`() async throws {
        let bytes = pattern(64 << 20)
        let held = Signal()
        let sent = Mutex(0)
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.write("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
            try peer.write(bytes, heldUp: held) { count in sent.withLock { $0 += count } }
        }
        let taken = PieceComparison(bytes)
        let waiting = Mutex<HTTPWaker?>(nil)
        let isOpen = Mutex(false)
        let sink = ScriptedSink { piece, wake in
            guard isOpen.withLock({ $0 }) else {
                waiting.withLock { $0 = wake }
                return .later
            }
            taken.take(piece)
            return .taken
        }
        async let answer = HTTPClient(.none).perform(HTTPRequest("GET", server.url, sink: sink))
        try await held.happened()
        #expect(sent.withLock { $0 } < 32 << 20)
        isOpen.withLock { $0 = true }
        waiting.withLock { $0 }?()
        #expect(try await answer.body.isEmpty)
        #expect(taken.isComplete)
    }

    @Test func `A sink may pause after every piece`() async throws {
        let bytes = pattern(3 << 20)
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.write("HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: bytes.count, by: 100_000) {
                let piece = bytes[start...].prefix(100_000)
                try peer.write(String(piece.count, radix: 16) + "\r\n")
                try peer.write(Array(piece))
                try peer.write("\r\n")
            }
            try peer.write("0\r\n\r\n")
        }
        let taken = PieceComparison(bytes)
        let turns = Mutex(0)
        let sink = ScriptedSink { piece, wake in
            guard
                turns.withLock({
                    $0 += 1; return $0 % 2 == 0
                })
            else {
                wake()
                return .later
            }
            taken.take(piece)
            return .taken
        }
        _ = try await HTTPClient(.none).perform(HTTPRequest("GET", server.url, sink: sink))
        #expect(taken.isComplete)
    }

    @Test func `The body of an error response is held in memory`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.answer("404 Not Found", "why")
        }
        let sink = ScriptedSink { _, _ in .failed("written to") }
        let response = try await HTTPClient(.none).perform(HTTPRequest("GET", server.url, sink: sink))
        #expect(response.status == 404 && response.body == Array("why".utf8))
    }

    @Test func `A sink that fails ends the transfer with its reason`() async throws {
        let server = try FixtureServer { peer in
            _ = try peer.readRequest()
            try peer.answer("200 OK", "much")
        }
        let sink = ScriptedSink { _, _ in .failed("the disk is full") }
        let error = try await failure(of: HTTPRequest("GET", server.url, sink: sink))
        #expect(error.kind == .bodyFailed("the disk is full") && !error.isRetryable)
    }
}
