import Harness
import JSONText
import Resources
import Storage
import TestSupport
import Testing

@testable import JSONRPC
@testable import Methods

/// Compares the lists of `protocol/openrpc.json` with those of the program.
@Suite(.watchdog) struct DocumentTests {
    let document: ContractDocument

    init() throws { document = try ContractDocument() }

    @Test func `The contract lists the methods in the order of the table`() {
        #expect(document.methods.map { $0["name"]?.string } == allMethods.names)
    }

    @Test func `The contract of the harness lists its methods, notifications and errors`() throws {
        let harness = try JSON(resource_harness())
        #expect(harness["methods"]?.array?.map { $0["name"]?.string } == harnessMethods.map { $0.name })
        #expect(harness["x-notifications"]?.array?.map { $0["name"]?.string } == [Harness.Event.name])
        #expect(harness["x-errors"]?.array?.map { $0["code"] } == [-13900])
        let whole = try ContractDocument(withHarness: ())
        for reference in whole.json.references { #expect(whole.resolve(reference) != nil, "\(reference)") }
        #expect(whole.methods.count == allMethodsAndHarness.names.count)
    }

    @Test func `The contract lists the notifications that the service sends`() {
        let own = document.notifications.filter { $0["from"] == "service" }
        #expect(own.map { $0["name"]?.string } == allNotifications)
    }

    @Test func `The contract lists the requests that the service makes`() {
        #expect(document.requests.map { $0["name"]?.string } == [ConnectionTokens.refreshToken])
    }

    @Test func `Examples of requests match the schemas of the contract`() throws {
        for request in document.requests {
            let example = try #require(request["example"])
            #expect(example["id"] == JSON(Int64(OutgoingRequests.firstNumber)))
            for param in try #require(request["params"]?.array) {
                let value = try #require(example["params"]?[param["name"]?.string ?? ""])
                #expect(try document.violation(value, #require(param["schema"])) == nil)
            }
            let schema = try #require(request["result"]?["schema"])
            #expect(try document.violation(#require(example["result"]), schema) == nil)
        }
    }

    @Test func `Examples of notifications match the schemas of the contract`() throws {
        for notification in document.notifications {
            let example = try #require(notification["example"])
            for param in try #require(notification["params"]?.array) {
                let value = try #require(example[param["name"]?.string ?? ""])
                #expect(try document.violation(value, #require(param["schema"])) == nil)
            }
        }
    }

    @Test func `Storage errors are those of the SDK`() {
        let codes = document.errors.filter { ($0["code"]?.number?.int64 ?? 0) > -32000 }
        #expect(
            codes.map { "\($0["code"]?.text ?? "") \($0["name"]?.string ?? "")" }
                == StorageError.Code.allCases.map { "\($0.rawValue) \($0)" })
    }

    @Test func `Retries and attempts are encoded as described`() throws {
        let reference = try Reference(bucket: "b", path: "a"), time = Timestamp(microseconds: 1_767_225_600_000_000)
        var error = StorageError(.retryLimitExceeded, "Too often.")
        error.attempts = [
            .init(time: time, httpStatus: 503, cause: "Busy.", completedUnitCount: 5),
            .init(time: time, httpStatus: nil, cause: "Nobody there.", completedUnitCount: 5),
        ]
        var metadata = SettableMetadata()
        metadata.content[.contentType] = ContentType.fallback
        let snapshot = TaskSnapshot(
            kind: .upload, task: "t", status: .resume, state: .running,
            progress: .init(completedUnitCount: 5, totalUnitCount: 9),
            reference: reference, metadata: .uploading(metadata, md5Hash: nil), error: error,
            retry: Retry(attempt: 2, of: .upload, at: time, error: StorageError(.unknown, "Busy.")))
        let schema = try #require(document.resolve("#/components/schemas/Snapshot"))
        #expect(document.violation(snapshot.json, schema) == nil)
        #expect(
            snapshot.json["retry"] == [
                "attempt": 2, "of": "upload", "at": "2026-01-01T00:00:00.000Z",
                "error": ["code": -13000, "message": "Busy.", "data": ["name": "unknown", "retryable": false]],
            ])
        #expect(
            snapshot.json["error"]?["data"]?["attempts"] == [
                [
                    "time": "2026-01-01T00:00:00.000Z", "httpStatus": 503, "cause": "Busy.",
                    "completedUnitCount": 5,
                ],
                ["time": "2026-01-01T00:00:00.000Z", "cause": "Nobody there.", "completedUnitCount": 5],
            ])
    }

    @Test func `The stages of a retry are those of the contract`() {
        let stages = document.resolve("#/components/schemas/Retry/properties/of/enum")?.array
        #expect(stages == Retry.Stage.allCases.map { .string($0.rawValue) })
    }

    @Test func `The error components are those of the table`() {
        let components = document.resolve("#/components/errors")?.object ?? []
        #expect(
            components.map { [$0.value["code"], $0.value["message"]] }
                == document.errors.map { [$0["code"], $0["name"]] })
    }

    @Test func `Every error has a meaning and a remedy`() {
        for error in document.errors {
            #expect(error["meaning"]?.string?.isEmpty == false && error["remedy"]?.string?.isEmpty == false)
        }
    }

    /// Generators of clients read an error as a code and a message, and follow no reference to it.
    @Test func `Every method lists its errors as the table defines them`() {
        let known = document.errors.map { [$0["code"], $0["name"]] }
        for method in document.methods {
            for error in method["errors"]?.array ?? [] {
                #expect(
                    known.contains([error["code"], error["message"]]), "\(method["name"]?.text ?? ""): \(error.text)")
            }
        }
    }

    /// Generators of clients treat a method without a result as an error.
    @Test func `Every method has a result`() {
        for method in document.methods { #expect(method["result"]?["schema"] != nil, "\(method["name"]?.text ?? "")") }
    }

    @Test func `Every reference of the contract resolves`() {
        for reference in document.json.references { #expect(document.resolve(reference) != nil, "\(reference)") }
    }

    @Test func `Every method has a description and an example`() {
        for method in document.methods {
            for member in ["summary", "description"] {
                #expect(method[member]?.string?.isEmpty == false, "\(method["name"]?.text ?? "") has no \(member)")
            }
            #expect(method["examples"]?.array?.isEmpty == false, "\(method["name"]?.text ?? "") has no example")
        }
    }
}

extension JSON {
    /// Every `$ref` in it.
    fileprivate var references: [String] {
        let own = self["$ref"]?.string.map { [$0] } ?? []
        return own + (object?.flatMap(\.value.references) ?? []) + (array?.flatMap(\.references) ?? [])
    }
}
