import Foundation
import StorageRPC
import TestSupport
import Testing

/// What needs no service.
@Suite(.watchdog) struct ValueTests {
    private let storage = Storage.storage(service: StorageService(command: ["/nonexistent"]))

    @Test(arguments: [
        ("gs://default-bucket", ""), ("gs://default-bucket/", ""), ("gs://default-bucket//a//b/", "a/b"),
        ("gs://default-bucket/a%20b", "a%20b"), ("https://host/v0/b/default-bucket", ""),
        ("https://host/v0/b/default-bucket/o/a%2Fb?alt=media&token=x", "a/b"),
        ("http://host:9199/v0/b/default-bucket/o/a/b%20c", "a/b c"),
    ]) func `A URL names a path`(url: String, path: String) throws {
        let reference = storage.reference(forURL: url)
        #expect(reference.fullPath == path && reference.bucket == "default-bucket")
    }

    @Test(arguments: [
        "", "default-bucket/a", "gs://", "gs:///a", "ftp://host/a", "https://host/a", "https://host/v0/b/c/d/e",
    ])
    func `Another URL is refused`(url: String) throws {
        #expect(throws: StorageError.self) { _ = try storage.reference(for: URL(string: url) ?? URL(filePath: "/")) }
    }

    @Test func `A URL of another bucket is refused, unless the storage has none`() throws {
        let url = try #require(URL(string: "gs://other/a"))
        do {
            _ = try storage.reference(for: url)
            Issue.record("It is not refused.")
        } catch StorageError.bucketMismatch(let message) {
            #expect(message == "gs://other/a is of bucket other, and this storage of bucket default-bucket.")
        }
        let any = try Storage.storage(service: storage.service, url: "").reference(for: url)
        #expect(any.bucket == "other")
    }

    @Test func `References are values that compare by bytes`() {
        let (one, two) = (storage.reference(withPath: "caf\u{e9}"), storage.reference(withPath: "cafe\u{301}"))
        #expect(
            one != two && one == storage.reference().child("/caf\u{e9}/")
                && Set([one, one.copy() as? StorageReference]).count == 1)
        let slash = storage.reference(withPath: "a/\u{301}b")
        #expect(
            slash.name == "\u{301}b" && slash.parent()?.fullPath == "a" && slash.parent()?.parent()?.parent() == nil)
        #expect(one.description == "gs://default-bucket/caf\u{e9}" && one.root().fullPath.isEmpty)
    }

    @Test func `Errors are NSErrors with domain, code and user info, and back`() throws {
        let error: (any Error)? = StorageError.unauthorized(
            bucket: "b", object: "o", serverError: ["ResponseErrorCode": 403])
        let bridged = try #require(error as? NSError)
        #expect(bridged.domain == StorageErrorDomain && bridged.code == StorageErrorCode.unauthorized.rawValue)
        #expect(bridged.userInfo["ResponseErrorCode"] as? Int == 403)
        #expect(bridged.localizedDescription == "The user may not do that to gs://b/o.")
        guard case .unauthorized("b", "o", _)? = (bridged as any Error) as? StorageError else {
            Issue.record("It is not bridged back.")
            return
        }
        #expect(
            (StorageError.downloadSizeExceeded(total: 2, maxSize: 1) as NSError).userInfo["totalSize"] as? Int64 == 2)
    }

    @Test func `Metadata compares, hashes, copies and describes its properties`() throws {
        let dictionary: [String: AnyHashable] = [
            "bucket": "b", "name": "a/c.txt", "size": 7, "generation": "12", "metageneration": 3,
            "contentType": "text/plain",
            "timeCreated": "2026-01-02T03:04:05.678Z", "metadata": ["key": "value"], "md5Hash": "abc",
        ]
        let metadata = StorageMetadata(dictionary: dictionary)
        #expect(
            metadata.name == "c.txt" && metadata.size == 7 && metadata.generation == 12 && metadata.metageneration == 3)
        #expect(metadata.timeCreated?.timeIntervalSince1970 == 1_767_323_045.678)
        #expect(metadata.dictionaryRepresentation()["timeCreated"] == dictionary["timeCreated"])
        let copy = try #require(metadata.copy() as? StorageMetadata)
        #expect(copy == metadata && copy.hash == metadata.hash && copy !== metadata)
        copy.cacheControl = "no-store"
        #expect(copy != metadata && metadata.cacheControl == nil)
        #expect(StorageMetadata() == StorageMetadata() && !StorageMetadata().isFile)
        #expect(metadata.description.hasPrefix("StorageMetadata ["))
    }
}
