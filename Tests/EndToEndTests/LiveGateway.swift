import Foundation
import JSONText
import Synchronization
import TestSupport
import Testing

/// A service with a gateway of a test's own, and a client of it.
struct LiveGateway {
    let place: Place
    private let flags: [String]
    let service: ServiceProcess
    /// Its standard input, which stays open.
    private let input: Caller
    let client: GatewayClient

    init(_ flags: [String] = [], at place: Place = Place()) throws {
        (self.place, self.flags) = (place, flags)
        (service, input) = try place.service(["--gateway", "127.0.0.1:0", "--socket", place.socket] + flags)
        try service.waitForLog("the gateway listens")
        let address = try #require(service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1)
        client = GatewayClient(String(address), "box") { [place] method, params in
            let result = Mutex(JSON.null)
            try await onThread {
                let answer = try place.connect().call(method, params)
                result.withLock { $0 = answer }
            }
            return result.withLock { $0 }
        }
    }

    /// The same root after a kill.
    func afterKill() throws -> LiveGateway {
        service.signal(SIGKILL)
        #expect(try service.waitForExit() != 0)
        return try LiveGateway(flags, at: place)
    }

    func end() throws {
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }
}
