import JSONText
import Synchronization
import TestSupport

/// A service with a gateway that several suites share, each with buckets of its own. It lasts as long as the process of
/// the tests.
private struct SharedGateway: @unchecked Sendable {
    let place: Place
    let service: ServiceProcess
    let input: Caller
    let base: String

    static let running = Result {
        let place = Place()
        let (service, input) = try place.service(["--stdio", "--gateway", "127.0.0.1:0", "--socket", place.socket])
        service.endWithTests(removing: place.directory)
        try service.waitForLog("the gateway listens")
        let address = service.logged.firstMatch(of: /STORAGE_EMULATOR_HOST=(http:\S+)/)?.1
        return SharedGateway(place: place, service: service, input: input, base: String(address ?? ""))
    }
}

extension GatewayClient {
    /// Of a bucket that no other test uses.
    static func shared(_ bucket: String) throws -> GatewayClient {
        let running = try SharedGateway.running.get()
        return GatewayClient(running.base, bucket) { [place = running.place] method, params in
            let result = Mutex(JSON.null)
            try await onThread {
                let answer = try place.connect().call(method, params)
                result.withLock { $0 = answer }
            }
            return result.withLock { $0 }
        }
    }
}
