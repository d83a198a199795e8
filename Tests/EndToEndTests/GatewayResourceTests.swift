import Foundation
import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// What the service keeps of uploads through its gateway: of those that have ended nothing, of those that wait little.
@Suite(.watchdog(minutes: 10)) struct GatewayResourceTests {
    private let place = Place()
    private let http = HTTPClient.direct
    private static let chunk = 262_144

    private func service(_ flags: [String] = []) throws -> (ServiceProcess, String) {
        let (service, _) = try place.service(["--gateway", "127.0.0.1:0", "--socket", place.socket] + flags)
        try service.waitForLog("the gateway listens")
        let address = try #require(service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1)
        return (service, String(address))
    }

    private func send(
        _ method: String, _ url: String, _ body: [UInt8] = [], _ headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        try await http.perform(
            HTTPRequest(method, url, headers: headers, body: body.isEmpty ? .none : .bytes(body)))
    }

    private func session(_ base: String, _ name: String) async throws -> String {
        let start = try await send(
            "POST", "\(base)/v0/b/box/o?name=\(name)", [],
            ["X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"])
        return try #require(start.headers["X-Goog-Upload-URL"])
    }

    private func upload(_ url: String, _ command: String, at offset: Int, _ body: [UInt8]) async throws -> HTTPResponse
    {
        try await send(
            "POST", url, body, ["X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": "\(offset)"])
    }

    /// The files that the process has open, and of those the ones without a name.
    private func files(_ service: ServiceProcess) throws -> (open: Int, unnamed: Int) {
        let directory = "/proc/\(service.id)/fd"
        let targets = try FileManager.default.contentsOfDirectory(atPath: directory).compactMap { name in
            try? FileManager.default.destinationOfSymbolicLink(atPath: "\(directory)/\(name)")
        }
        let objects = targets.filter { $0.contains("/objects/") }
        return (objects.count, objects.count { $0.hasSuffix("(deleted)") })
    }

    /// Descriptors are closed on other threads, behind the answer.
    private func untilFiles(_ service: ServiceProcess, areAtMost most: Int) async throws {
        try await eventually {
            let files = try files(service)
            return files.open <= most && files.unnamed == 0
        }
    }

    private func end(_ service: ServiceProcess) throws {
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    @Test func `Uploads that have ended hold no file`() async throws {
        let (service, base) = try service()
        let bytes = noise(Self.chunk + 50_000)
        for number in 0..<20 {
            let url = try await session(base, "s\(number)")
            #expect(try await upload(url, "upload", at: 0, Array(bytes[..<Self.chunk])).status == 200)
            #expect(
                try await upload(url, "upload, finalize", at: Self.chunk, Array(bytes[Self.chunk...])).status == 200)
            #expect(try await send("POST", "\(base)/v0/b/box/o?name=w\(number)", bytes).status == 200)
            #expect(try await send("PUT", "\(base)/box/x\(number)", bytes).status == 200)
            let copy = try await send("POST", "\(base)/storage/v1/b/box/o/x\(number)/rewriteTo/b/box/o/y\(number)")
            #expect(copy.status == 200)
            let cancelled = try await session(base, "c\(number)")
            #expect(try await upload(cancelled, "upload", at: 0, Array(bytes[..<Self.chunk])).status == 200)
            #expect(try await upload(cancelled, "cancel", at: 0, []).status == 200)
            // Of another size than its header says.
            let wrong = try await send(
                "PUT", "\(base)/box/z", bytes, ["x-goog-hash": "crc32c=AAAAAA==", "Content-Type": "a/b"])
            #expect(wrong.status == 400)
        }
        try await untilFiles(service, areAtMost: 0)
        try end(service)
    }

    @Test func `Uploads that wait for their clients hold neither a descriptor nor their bytes`() async throws {
        let (service, base) = try service()
        let bytes = noise(Self.chunk)
        func begin(_ count: Int) async throws {
            for number in 0..<count {
                let url = try await session(base, "\(number)")
                #expect(try await upload(url, "upload", at: 0, bytes).status == 200)
            }
        }
        try await begin(40)
        let before = try service.residentBytes
        try await begin(160)
        try await untilFiles(service, areAtMost: 0)
        #expect(try service.residentBytes - before < 160 * Self.chunk / 4)
        try end(service)
    }

    @Test func `Sessions beyond the bound, and expired ones, are removed from the disk, too`() async throws {
        let (service, base) = try service(["--max-upload-sessions", "5", "--max-upload-session-seconds", "3600"])
        var urls: [String] = []
        for number in 0..<20 {
            urls.append(try await session(base, "\(number)"))
            #expect(try await upload(urls[number], "upload", at: 0, noise(Self.chunk)).status == 200)
        }
        let statuses = try await urls.asyncMap {
            try await upload($0, "upload", at: Self.chunk, noise(Self.chunk)).status
        }
        #expect(statuses == Array(repeating: 410, count: 15) + Array(repeating: 200, count: 5))
        try end(service)

        let (later, other) = try self.service(["--max-upload-session-seconds", "1"])
        for url in urls {
            // It expires during a request.
            var status = 200
            try await eventually {
                status = try await upload(url.replacing(base, with: other), "upload", at: 0, [noise(1)[0]]).status
                return status != 200
            }
            #expect(status == 410)
        }
        try end(later)
        let (last, _) = try self.service()
        let directory = place.root + "/objects"
        try await eventually {
            try FileManager.default.contentsOfDirectory(atPath: directory).allSatisfy { name in
                // One may be removed meanwhile.
                let size = try? FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")[.size] as? Int
                return size ?? 0 == 0
            }
        }
        try end(last)
    }

    @Test func `A session expires without requests for it`() async throws {
        let (service, base) = try service(["--max-upload-session-seconds", "1"])
        _ = try await session(base, "a")
        try await onThread {
            let client = try place.connect()
            try blockUntil { try client.call("uploadTask/list")["tasks"]?.array?.first?["state"] == "failed" }
        }
        try end(service)
    }

    @Test func `A form has as many fields as fit a bound together`() async throws {
        let (service, base) = try service()
        func form(_ count: Int) -> [UInt8] {
            var text = ""
            for number in 0..<count {
                text += "--x\r\nContent-Disposition: form-data; name=\"x-ignore-\(number)\"\r\n\r\n"
                text += String(repeating: "a", count: 60 << 10) + "\r\n"
            }
            text += "--x\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\nnamed\r\n"
            text += "--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nbytes\r\n--x--\r\n"
            return Array(text.utf8)
        }
        let headers: HTTPHeaders = ["Content-Type": "multipart/form-data; boundary=x"]
        #expect(try await send("POST", "\(base)/box", form(1), headers).status == 204)
        #expect(try await send("POST", "\(base)/box", form(2), headers).status == 413)
        try end(service)
    }
}

extension Sequence where Element: Sendable {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
