import JSONText
import TestSupport
import Testing

/// The service answers a read from the engine, or from what it knows. The answers are equal.
@Suite(.watchdog) struct KnownAnswerTests {
    private let place = Place()

    private static let reads = [
        ("reference/getMetadata", #"{"reference":"gs://default-bucket/f/a"}"#),
        ("reference/getMetadata", #"{"reference":"gs://default-bucket/f/none"}"#),
        ("reference/getMetadata", #"{"reference":"gs://default-bucket/"}"#),
        ("reference/exists", #"{"reference":"gs://default-bucket/f/a"}"#),
        ("reference/exists", #"{"reference":"gs://default-bucket/f/none"}"#),
        ("reference/list", #"{"reference":"gs://default-bucket/f","metadata":true}"#),
        ("reference/list", #"{"reference":"gs://default-bucket/f","maxResults":1}"#),
        ("reference/list", #"{"reference":"gs://default-bucket/f","maxResults":0}"#),
        ("reference/list", #"{"reference":"gs://default-bucket/none"}"#),
        ("reference/listAll", #"{"reference":"gs://default-bucket/f","recursive":true}"#),
        ("reference/listAll", #"{"reference":"gs://other/f"}"#),
    ]

    @Test func `A read gives the same answer however often it is asked, and another one after a change`() async throws {
        try await onThread {
            let (service, client) = try place.service()
            func answer(_ method: String, _ params: String) throws -> [JSON] {
                do {
                    return [try client.call(method, params)]
                } catch let refusal as Caller.Refusal {
                    return [.null, refusal.error]
                }
            }
            try client.call("initialize")
            var earlier: [JSON] = []
            for data in ["", "eA=="] {
                for name in ["a", "b/c"] {
                    let params = #"{"reference":"gs://default-bucket/f/\#(name)","data":"\#(data)","wait":true}"#
                    try client.call("reference/putData", params)
                }
                for (method, params) in Self.reads {
                    let first = try answer(method, params)
                    // Most of them are known when they arrive: the first one was read.
                    for _ in 0..<20 {
                        let again = try answer(method, params)
                        try #require(again == first, "\(method) \(params)")
                    }
                    if params.contains("f/a") && method.contains("Metadata") {
                        try #require(first != earlier)
                        earlier = first
                    }
                }
            }
            client.wire.endInput()
            try #require(try service.waitForExit() == 0)
        }
    }
}
