import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog) struct ObjectCountTests {
    @Test func `All objects of all buckets are counted, in slices of any length`() async throws {
        let place = try await EmbeddedFixture()
        #expect(try await place.backend.objectCount() == 0)
        for name in ["a", "b/c", "z"] {
            for bucket in ["first", "second"] {
                let reference = try Reference(bucket: bucket, path: name)
                _ = try await place.backend.run(.data([1], to: reference, SettableMetadata()))
            }
        }
        for slice in 1...8 as ClosedRange<Int64> {
            #expect(try await place.backend.objectCount(atOnce: slice) == 6)
        }
        #expect(try await place.backend.objectCount() == 6)
    }
}
