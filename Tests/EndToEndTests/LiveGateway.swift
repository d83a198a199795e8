import Foundation
import JSONText
import Synchronization
import TestSupport
import Testing

/// A service with a gateway of a test's own, and a client of it.
struct LiveGateway {
    let place = Place()
    let service: ServiceProcess
    /// Its standard input, which stays open.
    private let input: Caller
    let client: GatewayClient

    init(_ flags: [String] = []) throws {
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

    func end() throws {
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }
}
