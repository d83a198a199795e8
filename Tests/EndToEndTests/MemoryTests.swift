import Platform
import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// The memory that messages use while they are processed, and afterwards.
@Suite(.watchdog(minutes: 10), .serialized) struct MemoryTests {
    private let place = Place()
    private static let bytes = 16 << 20
    /// The allowed peak, as a multiple of the message's size.
    private static let most = 8
    /// How many bytes may stay in use afterwards.
    private static let left = 32 << 20

    /// A message of many bytes: one of `unit` after the other between `head` and `tail`.
    struct Shape: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let unit: String
        var head = ""
        var tail = ""
        /// A part of the answer.
        let answer: String

        static func params(_ name: String, _ unit: String, _ head: String, _ tail: String, _ answer: String) -> Shape {
            let call = #"{"jsonrpc":"2.0","id":1,"method":"service/ping","params":{"# + head
            return Shape(testDescription: name, unit: unit, head: call, tail: tail + "}}", answer: answer)
        }

        var message: [UInt8] {
            let count = (MemoryTests.bytes - head.utf8.count - tail.utf8.count) / unit.utf8.count
            return Array((head + repeated(unit, count) + tail + "\n").utf8)
        }
    }

    private static let values = "(--max-message-values)"

    static let shapes: [Shape] = [
        Shape(testDescription: "a batch of objects", unit: #"{"":0},"#, head: "[", tail: "0]", answer: values),
        Shape(testDescription: "a batch of arrays", unit: "[0],", head: "[", tail: "0]", answer: values),
        Shape(testDescription: "a batch that does not end", unit: "{},", head: "[", answer: values),
        .params("objects", #"{"":0},"#, #""a":["#, "0]", values),
        .params("arrays", "[0],", #""a":["#, "0]", values),
        .params("numbers", "0,", #""a":["#, "0]", values),
        .params("short strings", #""a","#, #""a":["#, "0]", values),
        .params("longer strings", #""abcdefghijklmnop","#, #""a":["#, "0]", values),
        .params("members", #""a":0,"#, "", #""b":0"#, values),
        .params("long members", #""abcdefghijklmnop":"abcdefghijklmnop","#, "", #""b":0"#, values),
        .params(
            "depth", String(repeating: "[", count: 200) + "0" + String(repeating: "]", count: 200) + ",", #""a":["#,
            "0]",
            values),
        .params("one number", "1", #""a":"#, "", "is unknown"),
        .params("one string", "a", #""a":""#, "\"", "is unknown"),
        .params("one string of escapes", #"\u0041"#, #""a":""#, "\"", "is unknown"),
        .params("one name", "a", "\"", #"":0"#, "is unknown"),
        Shape(
            testDescription: "a method", unit: "m", head: #"{"jsonrpc":"2.0","id":1,"method":""#, tail: "\"}",
            answer: "There is no method"),
        Shape(
            testDescription: "an id", unit: "i", head: #"{"jsonrpc":"2.0","method":"service/ping","id":""#, tail: "\"}",
            answer: "pong"),
        Shape(
            testDescription: "bytes of an object", unit: "AAAA",
            head:
                #"{"jsonrpc":"2.0","id":1,"method":"reference/putData","params":{"reference":"gs://b/a","wait":true,"data":""#,
            tail: "\"}}", answer: "success"),
    ]

    @Test(arguments: shapes)
    func `A message uses at most eight times its size in memory and frees it`(shape: Shape) async throws {
        try await check(shape)
    }

    @Test(arguments: shapes.filter { ["objects", "long members", "a batch of objects"].contains($0.testDescription) })
    func `A traced message uses at most eight times its size in memory and frees it`(shape: Shape) async throws {
        try await check(shape, ["--trace", place.directory + "/trace"])
    }

    private func check(_ shape: Shape, _ flags: [String] = []) async throws {
        try await onThread {
            let service = try place.listeningService(flags)
            let client = try place.connect()
            try client.call("service/ping")
            let before = try Memory(of: service)
            client.wire.send(bytes: shape.message)
            let answer = try #require(try client.wire.next())
            try #require(answer.text.contains(shape.answer), "\(answer.text.prefix(300))")
            let peak = try Memory(of: service).peak - before.resident
            #expect(peak <= Self.most * Self.bytes, "\(peak >> 20) MiB for \(Self.bytes >> 20)")
            try waitUntilReleased(service, before, client)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `Large messages of many clients together use the memory of a few`() async throws {
        try await onThread {
            let service = try place.listeningService([
                "--max-message-bytes", "\(Self.bytes)", "--max-total-message-bytes", "\(Self.bytes)",
            ])
            let observer = try place.connect()
            try observer.call("service/ping")
            let before = try Memory(of: service)
            let message = Self.shapes[5].message
            try concurrently(12) {
                let client = try place.connect()
                client.wire.send(bytes: message)
                let answer = try #require(try client.wire.next())
                try #require(answer.text.contains(Self.values), "\(answer.text.prefix(300))")
            }
            let peak = try Memory(of: service).peak - before.resident
            // One is received, one is decoded; each of the twelve has begun.
            #expect(peak <= 5 * Self.bytes, "\(peak >> 20) MiB")
            try waitUntilReleased(service, before, observer)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    /// Each client asks for all of an object, and reads nothing of it.
    @Test(arguments: ["reference/getData", "downloadTask/read"])
    func `Answers that many clients do not read take bounded memory together, and others continue`(
        method: String
    ) async throws {
        try await onThread {
            let service = try place.listeningService(["--max-total-unread-bytes", "\(2 * Self.bytes)"])
            let observer = try place.connect()
            let text = Data(noise(Self.bytes / 2)).base64EncodedString()
            let put = #""reference":"gs://b/a","wait":true,"data":"\#(text)""#
            try observer.call("reference/putData", "{\(put)}")
            let before = try Memory(of: service)
            var clients: [Caller] = []
            for _ in 0..<30 {
                let client = try place.connect()
                var params = #""reference":"gs://b/a","maxSize":\#(Self.bytes)"#
                if method == "downloadTask/read" {
                    let stream = try client.call("reference/getStream", #"{"reference":"gs://b/a"}"#)
                    params = #""task":"\#(try #require(stream["task"]?.string))","length":\#(Self.bytes)"#
                }
                client.wire.send(#"{"jsonrpc":"2.0","id":"large","method":"\#(method)","params":{\#(params)}}"#)
                clients.append(client)
            }
            // A piece is shorter, and a small object needs no memory of others.
            let stream = try observer.call("reference/getStream", #"{"reference":"gs://b/a"}"#)
            let task = try #require(stream["task"]?.string)
            let piece = try observer.call("downloadTask/read", #"{"task":"\#(task)"}"#)
            #expect(piece["data"]?.string?.isEmpty == false)
            let peak = try Memory(of: service).peak - before.resident
            #expect(peak <= 6 * Self.bytes, "\(peak >> 20) MiB")
            withExtendedLifetime(clients) {}
            clients = []
            try waitUntilReleased(service, before, observer)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `Bodies that many clients do not complete take bounded memory together, and free it`() async throws {
        try await onThread {
            let service = try place.listeningService([
                "--gateway", "127.0.0.1:0", "--max-total-message-bytes", "\(2 * Self.bytes)",
                "--max-message-bytes", "\(2 * Self.bytes)",
            ])
            let observer = try place.connect()
            try observer.call("service/ping")
            try service.waitForLog("the gateway listens")
            let address = try #require(service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=http:\/\/[^:]+:(\d+)/)?.1)
            let port = try #require(UInt16(address))
            let before = try Memory(of: service)
            let count = 9 << 20
            let part =
                "--x\r\nContent-Type: application/http\r\n\r\n"
                + "GET /storage/v1/b/b/o/a HTTP/1.1\r\nX-A: \(String(repeating: "a", count: 1_000_000))\r\n\r\n\r\n"
            let body = String(repeating: part, count: 8)
            let head =
                "POST /batch/storage/v1 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/mixed; boundary=x\r\n"
                + "Content-Length: \(count)\r\n\r\n"
            let answered = Mail<Void>()
            for _ in 0..<20 {
                try startThread("client", stackSize: 2 << 20) {
                    // Ends when the service closes the connection.
                    if let visitor = try? Visitor(port) { try? visitor.send(Array((head + body).utf8)) }
                    answered.deliver(())
                }
            }
            try blockUntil { answered.waiting.count == 20 }
            let peak = try Memory(of: service).peak - before.resident
            #expect(peak <= 6 * Self.bytes, "\(peak >> 20) MiB")
            try waitUntilReleased(service, before, observer)
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `A stream of small requests and batches uses at most 8 MiB of memory`() async throws {
        try await onThread {
            let service = try place.listeningService()
            let client = try place.connect()
            try client.call("service/ping")
            let before = try Memory(of: service)
            let ping = #"{"jsonrpc":"2.0","id":1,"method":"service/ping"}"#
            let batch = "[" + [String](repeating: ping, count: 4096).joined(separator: ",") + "]\n"
            for _ in 1...10 {
                client.wire.send(bytes: Array((String(repeating: ping + "\n", count: 1000) + batch).utf8))
                for _ in 1...1001 { try #require(try client.wire.next() != nil) }
            }
            let peak = try Memory(of: service).peak - before.resident
            #expect(peak <= 8 << 20, "\(peak >> 20) MiB")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test(.enabled(if: CurrentProcess.raiseDescriptorLimit() >= 16384, "few files may be open (ulimit -Hn)"))
    func `The memory of many closed connections is given back`() async throws {
        try await onThread {
            let service = try place.listeningService(["--max-connections", "4000"])
            let observer = try place.connect()
            try observer.call("service/ping")
            let before = try Memory(of: service).resident
            var clients = try (0..<3000).map { _ in try place.connect() }
            for client in clients { try client.call("service/ping") }
            let open = try Memory(of: service).resident
            clients = []
            while try Memory(of: service).resident > (before + open) / 2 { try observer.call("service/ping") }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    /// Fails by the time limit.
    private func waitUntilReleased(_ service: ServiceProcess, _ before: Memory, _ client: Caller) throws {
        while try Memory(of: service).resident > before.resident + Self.left { try client.call("service/ping") }
    }

    /// Runs each of them on a thread of its own.
    private func concurrently(_ count: Int, _ body: @escaping @Sendable () throws -> Void) throws {
        let failures = Mail<any Error>(), done = DispatchGroup()
        for _ in 0..<count {
            done.enter()
            try startThread("client", stackSize: 2 << 20) {
                do { try body() } catch { failures.deliver(error) }
                done.leave()
            }
        }
        done.wait()
        if let failure = failures.waiting.first { throw failure }
    }
}

/// The memory of a process in bytes, as `/proc` reports it.
private struct Memory {
    let resident: Int
    /// The greatest resident memory so far.
    let peak: Int

    init(of service: ServiceProcess) throws {
        let status = try String(contentsOfFile: "/proc/\(service.id)/status", encoding: .utf8)
        func bytes(_ name: String) throws -> Int {
            let line = try #require(status.split(separator: "\n").first { $0.hasPrefix(name + ":") })
            let kibibytes = line.split(whereSeparator: { " \t".contains($0) }).dropFirst().first
            return try #require(kibibytes.flatMap { Int($0) }) << 10
        }
        (resident, peak) = (try bytes("VmRSS"), try bytes("VmHWM"))
    }
}
