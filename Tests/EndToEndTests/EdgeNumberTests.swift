import Foundation
import HTTPClient
import HTTPText
import JSONText
import TestSupport
import Testing

/// Numbers at the edges of what an integer holds, in requests to the gateway. None of them ends the process.
@Suite(.watchdog) struct EdgeNumberTests {
    private let place = Place()
    private let http = HTTPClient.direct
    private static let edges = [
        "0", "1", "-1", "9223372036854775806", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
        "18446744073709551615", "1e400", "",
    ]

    private func send(
        _ method: String, _ url: String, _ body: [UInt8] = [], _ headers: HTTPHeaders = [:]
    ) async throws -> HTTPResponse {
        try await http.perform(
            HTTPRequest(method, url, headers: headers, body: body.isEmpty ? .none : .bytes(body)))
    }

    /// A space with a quota and a gateway, and whether it is still there.
    private func withGateway(
        _ body: (_ base: String) async throws -> Void
    ) async throws {
        let (service, client) = try place.service(["--harness"])
        let space = try client.call("harness/space", #"{"gateway":true,"quota":9223372036854775807}"#)
        try await body("http://" + (try #require(space["gateway"]?.string)))
        #expect(try client.call("service/ping") == "pong")
        client.wire.endInput()
        #expect(try service.waitForExit() == 0)
    }

    private func expectAnswer(_ response: HTTPResponse, _ number: String, line: Int = #line) {
        #expect((200..<600).contains(response.status) && response.status != 500, "\(number) in line \(line)")
    }

    @Test func `Offsets and sizes of uploads`() async throws {
        try await withGateway { base in
            for number in Self.edges {
                let cloud = try await send(
                    "POST", "\(base)/upload/storage/v1/b/box/o?uploadType=resumable&name=a", [],
                    ["x-upload-content-length": number])
                expectAnswer(cloud, number)
                if let session = cloud.headers["Location"] {
                    for range in ["\(number)-*/*", "0-*/\(number)", "*/\(number)", "\(number)-\(number)/*"] {
                        expectAnswer(try await send("PUT", session, [1], ["Content-Range": "bytes \(range)"]), range)
                    }
                }
                let firebase = try await send(
                    "POST", "\(base)/v0/b/box/o?name=a", [],
                    [
                        "X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start",
                        "X-Goog-Upload-Header-Content-Length": number,
                    ])
                expectAnswer(firebase, number)
                guard let session = firebase.headers["X-Goog-Upload-URL"] else { continue }
                for command in ["upload", "upload, finalize"] {
                    let headers: HTTPHeaders = ["X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": number]
                    expectAnswer(try await send("POST", session, [1], headers), number)
                }
            }
        }
    }

    @Test func `Ranges, generations and lengths of lists`() async throws {
        try await withGateway { base in
            #expect(try await send("PUT", "\(base)/box/a", [1, 2, 3]).status == 200)
            let params = [
                "generation", "ifGenerationMatch", "ifGenerationNotMatch", "ifMetagenerationMatch", "sourceGeneration",
                "maxResults",
            ]
            for number in Self.edges {
                for range in ["\(number)-", "-\(number)", "0-\(number)", "\(number)-\(number)"] {
                    expectAnswer(try await send("GET", "\(base)/box/a", [], ["Range": "bytes=\(range)"]), range)
                }
                for param in params {
                    let query = "\(param)=\(number)"
                    expectAnswer(try await send("GET", "\(base)/storage/v1/b/box/o?\(query)"), query)
                    expectAnswer(try await send("GET", "\(base)/storage/v1/b/box/o/a?alt=media&\(query)"), query)
                    let copy = "\(base)/storage/v1/b/box/o/a/rewriteTo/b/box/o/c?\(query)"
                    expectAnswer(try await send("POST", copy), query)
                }
            }
        }
    }
}
