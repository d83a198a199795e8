import Glibc
import JSONText
import TestSupport
import Testing

/// A root whose lock file is removed while a process uses it.
@Suite(.watchdog) struct LostRootTests {
    private let place = Place()

    private func put(_ name: String, _ text: String) -> String {
        #"{"reference":"gs://b/\#(name)","text":"\#(text)","wait":true}"#
    }

    @Test(arguments: [true, false]) func `A process whose lock was removed stores nothing more and ends with status 1`(
        isTaken: Bool
    ) async throws {
        try await onThread {
            let (first, client) = try place.service()
            try client.call("reference/putData", put("a", "old"))
            try #require(unlink(place.root + "/lock") == 0)
            let second = isTaken ? try place.service() : nil
            try second?.1.call("reference/putData", put("a", "new"))
            let refusal = try client.refusal("reference/putData", put("a", "lost"))
            let sentence = "The root \(place.root) does not belong to this process any more"
            try #require(refusal["message"]?.string?.contains(sentence) == true, "\(refusal)")
            try #require(try first.waitForExit() == 1 && first.logged.contains(sentence))
            let (last, reader) = try second ?? place.service()
            let found = try reader.call("reference/getData", #"{"reference":"gs://b/a","maxSize":9}"#)
            try #require(found["data"]?.string == (isTaken ? "bmV3" : "b2xk"))
            last.signal(SIGTERM)
            try #require(try last.waitForExit() == 0)
        }
    }
}
