import HTTPText
import Platform
import TestSupport
import Testing

@testable import HTTPServer

@Loop @Suite(.watchdog(minutes: 10)) struct MultipartReaderTests {
    private let boundary = MultipartBoundary("b")

    private func reader(_ text: String) throws -> MultipartReader {
        MultipartReader(try #require(boundary), HTTPRequestBody(Array(text.replacing("|", with: "\r\n").utf8)))
    }

    @Test func `Parts are read in order, in pieces or whole`() async throws {
        let reader = try reader("--b|A: 1||one|--b|A: 2||two|--b|A: 3||three|--b--")
        #expect(try await reader.read() == [])
        #expect(try await reader.nextPart()?["A"] == "1")
        #expect(try await reader.readAll(atMost: 3) == Array("one".utf8))
        #expect(try await reader.read() == [])
        #expect(try await reader.nextPart()?["A"] == "2", "and its content is skipped")
        #expect(try await reader.nextPart()?["A"] == "3")
        #expect(try await reader.read() == Array("three".utf8))
        for _ in 0..<2 { #expect(try await reader.nextPart() == nil) }
    }

    @Test func `Errors distinguish faults of the body and of its parts`() async throws {
        let long = try reader("--b||1234|--b--")
        _ = try await long.nextPart()
        await #expect(throws: HTTPRequestBody.Failure.tooLarge) { try await long.readAll(atMost: 3) }
        let short = try reader("--b||1234")
        _ = try await short.nextPart()
        let message = "The body ends within a part: it lacks the closing delimiter."
        for _ in 0..<2 {
            await #expect(throws: HTTPRequestBody.Failure.refused(message)) { try await short.nextPart() }
        }
        let lost = MultipartReader(try #require(boundary)) { () async throws(HTTPRequestBody.Failure) in
            throw .disconnected
        }
        await #expect(throws: HTTPRequestBody.Failure.disconnected) { try await lost.nextPart() }
    }

    @Test(arguments: ["Content-Length", "Transfer-Encoding"]) func `A handler reads a multipart upload`(framing: String)
        async throws
    {
        let content = pattern(3_000_000)
        let fixture = try ServerFixture(methods: [.post]) { request in
            let type = request.headers["Content-Type"] ?? ""
            guard let boundary = MultipartBoundary(contentType: type) else { return HTTPServerResponse(415) }
            let reader = MultipartReader(boundary, request.body)
            do throws(HTTPRequestBody.Failure) {
                var sizes: [String] = []
                while try await reader.nextPart() != nil {
                    var all: [UInt8] = []
                    while case let piece = try await reader.read(), !piece.isEmpty { all += piece }
                    sizes.append("\(all.count) \(all == content)")
                }
                return HTTPServerResponse(200, headers: ["X-Sizes": sizes.joined(separator: ", ")])
            } catch {
                return HTTPServerResponse(error.status)
            }
        }
        let body =
            Array("--===7==\r\nContent-Type: application/json\r\n\r\n{}\r\n--===7==\r\n\r\n".utf8) + content
            + Array("\r\n--===7==--\r\n".utf8)
        let client = try fixture.client()
        let type = "Content-Type: multipart/related; boundary===="
        for _ in 0..<2 {
            if framing == "Content-Length" {
                await client.send(head("POST", type + "7==", "Content-Length: \(body.count)") + body)
            } else {
                await client.send(head("POST", type + "7==", "Transfer-Encoding: chunked") + chunks(of: body, 10_000))
            }
            #expect(await client.answer()?.field("X-Sizes") == "2 false, 3000000 true")
        }
    }
}
