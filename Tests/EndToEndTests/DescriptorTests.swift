import Foundation
import Glibc
import JSONText
import TestSupport
import Testing

/// A process that may open few files, and peers that connect as often as they can.
@Suite(.watchdog) struct DescriptorTests {
    private let place = Place()
    private static let few = "ulimit -n 96"

    @Test func `HTTP peers without a token do not use up descriptors that clients need`() async throws {
        try await onThread {
            let (service, client) = try place.service(["--http", "127.0.0.1:0"], setUp: Self.few)
            let first = try url(ofNew: "first", client)
            let port = try #require(UInt16(first.dropFirst("http://127.0.0.1:".count).prefix { $0 != "/" }))
            // More than the process may have open.
            let crowd = try (0..<96).map { _ in try Visitor(port) }
            defer { withExtendedLifetime(crowd) {} }
            try blockUntil { crowd[0].isOver }
            let second = try url(ofNew: "second", client)
            let tokens = [first, second].map { $0.suffix(36) }
            try #require(tokens[0] != tokens[1] && !tokens.contains { $0.hasPrefix("00000000") })
            try #require(try Visitor(port).get(second).hasSuffix("second"))
            let file = place.directory + "/copy"
            try #require(
                try client.call(
                    "reference/writeToFile", #"{"reference":"gs://b/second","file":"\#(file)","wait":true}"#)[
                        "state"] == "success")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `The limit of connections is lowered to the available descriptors`() async throws {
        try await onThread {
            let service = try place.listeningService(["--max-connections", "1000"], setUp: Self.few)
            var clients = [try place.connect()]
            let most = try #require(try clients[0].call("initialize")["limits"]?["maxConnections"]?.number?.int64)
            try #require((1..<96).contains(most))
            try service.waitForLog("leaves room for no more than \(most) connections")
            while clients.count < most { clients.append(try place.connect()) }
            for client in clients { try #require(try client.call("service/ping") == "pong") }
            for _ in 1...96 {
                let refusal = try #require(try place.connect().wire.next())
                try #require(refusal["error"]?["data"]?["name"] == "quotaExceeded")
            }
            _ = try url(ofNew: "object", clients[0])
            clients.removeLast()
            while try clients[0].call("service/status")["connections"]?.number?.int64 == most {}
            try #require(try place.connect().call("service/ping") == "pong")
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    @Test func `An error that a lack of descriptors causes names it`() async throws {
        try await onThread {
            let files = place.directory + "/files"
            try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
            let file = "\(files)/a"
            try Data(count: 1 << 20).write(to: URL(filePath: file))
            let reference = #""reference":"gs://b/a","wait":true"#
            let calls = [
                ("reference/putFile", #","file":"\#(file)""#), ("reference/writeToFile", #","file":"\#(file)""#),
                ("reference/putData", #","text":"\#(String(repeating: "x", count: 200 << 10))""#),
                ("reference/putDirectory", #","directory":"\#(files)""#),
            ]
            for flags in [[], ["--allow-read", files, "--allow-write", files]] {
                let (service, client) = try place.service(flags)
                try client.call(calls[0].0, "{\(reference)\(calls[0].1)}")
                try service.limitDescriptors(to: 3)
                for (method, params) in calls {
                    let message = try client.refusal(method, "{\(reference)\(params)}")["message"]?.string ?? ""
                    #expect(message.contains("Too many open files"), "\(flags) \(method): \(message)")
                }
                service.signal(SIGTERM)
                try #require(try service.waitForExit() == 0)
            }
        }
    }

    @Test func `With any limit of open files a service works, or names the limit that it needs`() async throws {
        try await onThread {
            var works: [Int] = []
            for limit in Array(stride(from: 8, to: 72, by: 3)) {
                let (service, client) = try place.service(setUp: "ulimit -n \(limit)")
                do {
                    let text = String(repeating: "x", count: 200 << 10)
                    try client.call("reference/putData", #"{"reference":"gs://b/a","text":"\#(text)","wait":true}"#)
                    let object = try client.call("reference/getData", #"{"reference":"gs://b/a","maxSize":1000000}"#)
                    try #require(object["data"]?.string?.isEmpty == false)
                    works.append(limit)
                    service.signal(SIGTERM)
                    try #require(try service.waitForExit() == 0)
                } catch is Caller.HungUp {
                    try #require(try service.waitForExit() == 1, "\(limit): \(service.logged)")
                    try #require(service.logged.contains("(ulimit -n) is \(limit): a service needs at least 5"))
                }
            }
            try #require(works == works.first.map { Array(stride(from: $0, to: 72, by: 3)) })
        }
    }

    @Test func `Tasks of all connections wait for descriptors instead of failing`() async throws {
        try await onThread {
            let service = try place.listeningService(setUp: "ulimit -n 64")
            let files = place.directory + "/files"
            try FileManager.default.createDirectory(atPath: files, withIntermediateDirectories: true)
            for number in 0..<30 {
                try Data(count: [100, 300_000, 2_000_000][number % 3]).write(to: URL(filePath: "\(files)/\(number)"))
            }
            let first = try place.connect()
            let most = try #require(try first.call("initialize")["limits"]?["maxConnections"]?.number?.int64)
            let clients = try [first] + (1..<most).map { _ in try place.connect() }
            let all = #""reference":"gs://b/all","wait":true"#
            try first.call("reference/putDirectory", "{\(all),\"directory\":\"\(files)\"}")
            for (number, client) in clients.enumerated() {
                for copy in 0..<3 {
                    client.say("reference/writeToDirectory", "{\(all),\"directory\":\"\(files)-\(number)-\(copy)\"}")
                    let folder = #""reference":"gs://b/\#(number)/\#(copy)","wait":true"#
                    client.say("reference/putDirectory", "{\(folder),\"directory\":\"\(files)\"}")
                }
                for file in 0..<30 {
                    let object = #""reference":"gs://b/all/\#(file)","wait":true"#
                    client.say("reference/writeToFile", "{\(object),\"file\":\"\(place.directory)/\(number)-\(file)\"}")
                    client.say("reference/getData", #"{"reference":"gs://b/all/\#(file)","maxSize":2000000}"#)
                    let upload = #""reference":"gs://b/\#(number)/\#(file)","wait":true"#
                    client.say("reference/putFile", "{\(upload),\"file\":\"\(files)/\(file)\"}")
                }
            }
            for client in clients { try client.expectSuccess(answers: 96) }
            service.signal(SIGTERM)
            try #require(try service.waitForExit() == 0)
        }
    }

    /// The download URL of a new object that was uploaded from a file in more than one step.
    private func url(ofNew name: String, _ client: Caller) throws -> String {
        let file = "\(place.directory)/\(name)"
        try (Data(count: 1 << 20) + Data(name.utf8)).write(to: URL(filePath: file))
        let reference = #""reference":"gs://b/\#(name)""#
        let task = try client.call("reference/putFile", "{\(reference),\"file\":\"\(file)\",\"wait\":true}")
        try #require(task["state"] == "success", "\(task.text)")
        return try #require(try client.call("reference/downloadURL", "{\(reference)}")["url"]?.string)
    }
}

extension Caller {
    /// Reads so many answers. None is an error.
    fileprivate func expectSuccess(answers: Int) throws {
        var rest = answers
        while rest > 0 {
            let message = try #require(try wire.next())
            guard let id = message["id"], id != .null else { continue }
            try #require(message["error"] == nil, "\(message.text)")
            rest -= 1
        }
    }
}

/// A connection to the HTTP server that sends nothing until it is asked to.
final class Visitor {
    private let raw: Int32

    init(_ port: UInt16) throws {
        raw = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let failure = withUnsafeBytes(of: &address) { bytes in
            bytes.withMemoryRebound(to: sockaddr.self) { connect(raw, $0.baseAddress, socklen_t(bytes.count)) }
        }
        try #require(raw >= 0 && failure == 0)
    }

    deinit { close(raw) }

    /// Whether the server has closed the connection by now.
    var isOver: Bool {
        var byte: UInt8 = 0
        return recv(raw, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) == 0
    }

    /// The whole answer.
    func get(_ url: String) throws -> String {
        let parts = url.split(separator: "/", maxSplits: 2)
        return try exchange("GET /\(parts[2]) HTTP/1.1\r\nHost: \(parts[1])\r\nConnection: close\r\n\r\n")
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(raw, $0.baseAddress, $0.count, 0) }
            try #require(count > 0)
            rest = rest.dropFirst(count)
        }
    }

    /// The whole answer to a request that closes the connection.
    func exchange(_ request: String) throws -> String { try exchange(Array(request.utf8)) }

    func exchange(_ request: [UInt8]) throws -> String {
        try send(request)
        var answer: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while case let count = recv(raw, &buffer, buffer.count, 0), count > 0 { answer += buffer[..<count] }
        return String(decoding: answer, as: UTF8.self)
    }
}
