import Platform
import JSONRPC
import JSONText
import Storage
import TestSupport
import Testing

@testable import Methods

/// Limits of texts without a flag: params, errors and lists.
@Loop @Suite(.watchdog) struct TextBoundTests {
    private let wire = Wire()

    @Test func `A string in params has at most 1 MiB, except data`() async throws {
        let connection = TestService(ScriptedBackend()).serve(try #require(wire.takeServer()))
        for (extra, fits) in [(0, true), (1, false)] {
            let text = JSON.string("/" + String(repeating: "x", count: (1 << 20) - 1 + extra))
            let refusal = try await wire.ask("reference/putFile", ["reference": "gs://b/a", "file": text]).answer[
                "error"]
            #expect(refusal?["code"]?.number?.int64 == (fits ? -13050 : -32602))
            #expect(refusal?["message"]?.string?.contains("must have at most 1048576 bytes") == !fits)
            #expect(refusal?["data"]?["param"] == "file")
            let put = try await wire.ask("reference/putData", ["reference": "gs://b/a", "text": text]).answer
            #expect(put["result"]?["state"]?.string == "queued", "\(put.text.prefix(300))")
        }
        connection.close()
    }

    @Test func `An error repeats at most 8 KiB of a string`() async throws {
        let connection = TestService(ScriptedBackend()).serve(try #require(wire.takeServer()))
        let long = JSON.string(String(repeating: "x", count: 100_000))
        let error = try await wire.ask("uploadTask/snapshot", ["task": long]).answer["error"]
        #expect(8000...8200 ~= error?["message"]?.string?.utf8.count ?? 0)
        connection.close()
    }

    @Test func `A list longer than half of the unread limit is refused`() async throws {
        let name = String(repeating: "n", count: 1000)
        let backend = ScriptedBackend(page: { reference, _, _, _ throws(StorageError) in
            Listing(items: [try Reference(bucket: reference.bucket, path: name)])
        })
        for (unread, fits) in [(8000, true), (6000, false)] {
            let wire = Wire()
            let scene = TestService(backend, limits: .with { $0.connection.unreadBytes = unread })
            let connection = scene.serve(try #require(wire.takeServer()))
            let error = try await wire.ask("reference/listAll", ["reference": "gs://b"]).answer["error"]
            #expect(error?["code"]?.number?.int64 == (fits ? nil : -13013))
            #expect(error?["message"]?.string?.contains("--max-unread-bytes") == (fits ? nil : true))
            #expect(error?["data"]?["retryable"]?.bool == (fits ? nil : false))
            connection.close()
        }
    }
}

extension Limits {
    fileprivate static func with(_ change: (inout Limits) -> Void) -> Limits {
        var limits = Limits()
        change(&limits)
        return limits
    }
}
