import EmbeddedEngine
import JSONText
import Storage
import TestSupport
import Testing

@testable import Gateway

/// The members of buckets that are merged.
@Suite(.watchdog) struct BucketLabelTests {
    private func labels(_ members: [(String, JSON)]) -> JSON {
        ["labels": .object(members.map { JSON.Member(key: $0.0, value: $0.1) })]
    }

    private func kept(_ bucket: StoredBucket) -> JSON? { bucket.cloud("")["labels"] }

    @Test func `Labels are merged by name, and a null removes one`() throws {
        var bucket = StoredBucket("b")
        try bucket.apply(labels([("a", "1"), ("b", "2"), ("c", "3")]), replacesAll: false)
        try bucket.apply(labels([("b", nil), ("a", "4"), ("d", "5"), ("e", nil)]), replacesAll: false)
        #expect(kept(bucket) == ["c": "3", "a": "4", "d": "5"])
        try bucket.apply(labels([("f", "6")]), replacesAll: true)
        #expect(kept(bucket) == ["f": "6"])
    }

    @Test func `As many labels as a body can have are refused, or removed, without comparing each with each`() throws {
        var bucket = StoredBucket("b")
        try bucket.apply(labels([("label-7", "1"), ("other", "2")]), replacesAll: false)
        let names = (0..<100_000).map { "label-\($0)" }
        let error = #expect(throws: StorageError.self) {
            try bucket.apply(labels(names.map { ($0, "v") }), replacesAll: false)
        }
        #expect(error?.param == "labels" && error?.message.contains("100000") == true)
        #expect(kept(bucket) == ["label-7": "1", "other": "2"])
        try bucket.apply(labels(names.map { ($0, nil) }), replacesAll: false)
        #expect(kept(bucket) == ["other": "2"])
    }
}
