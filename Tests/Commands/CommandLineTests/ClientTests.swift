import JSONText
import Platform
import TestSupport
import Testing

@testable import CommandLine

@Suite(.watchdog) struct ClientTests {
    private static let refusal: JSON = ["id": nil, "error": ["code": -13013, "message": "No room."]]

    /// A connection that a service has refused and closed.
    private func refused() throws -> Descriptor {
        let (near, far) = try Descriptor.socketPair()
        try far.writeBlocking(Array((Self.refusal.text + "\n").utf8))
        return near
    }

    @Test func `A refusal is read even if the connection is closed before the first request`() throws {
        var client = Client(socket: try refused(), signals: nil)
        #expect(throws: Client.Failure.self) { try client.initialize([:], at: "socket") }
        #expect(client.refusal?.answer == Self.refusal)
    }
}
