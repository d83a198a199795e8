import CommandLine
import Credentials
import RemoteEngines
import Platform
import Roots
import Storage

// The paths of the service's socket and files, and the endpoint of its server.
extension ServiceOptions {
    func rootDirectory() throws(StorageRoot.OpenError) -> String {
        if let root { return root }
        return try StorageRoot.defaultPath()
    }

    /// The directory of the engine on this machine, with objects, tasks, and the socket for all clients of a root.
    func directory() throws(StorageRoot.OpenError) -> String {
        let root = try rootDirectory()
        return engine == .embedded ? root : "\(root)/\(engine.rawValue)"
    }

    /// The socket of the root. Each endpoint other than the service's default has a socket of its own.
    func rootSocket() throws -> String {
        let endpoint = engine == .embedded ? nil : try serviceEndpoint()?.url
        let suffix = endpoint.map { url in
            "-" + String(url.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") ? $0 : "_" })
        }
        return "\(try directory())/socket\(suffix ?? "")"
    }

    /// The endpoint of the flag, or else of the variable. Nil for the service's default.
    func serviceEndpoint() throws(UsageError) -> Endpoint? {
        let named: (String, String)?
        if engine == .s3 {
            named = Loop.wait { [environment = credentials.environment, profile = credentials.profile] in
                await awsEndpoint(environment: environment, profile: profile)
            }.map { ($0, "AWS_ENDPOINT_URL") }
        } else {
            let variable = engine == .gcs ? "STORAGE_EMULATOR_HOST" : "FIREBASE_STORAGE_EMULATOR_HOST"
            named = CurrentProcess.environment(variable).map { ($0, variable) }
        }
        guard let (text, origin) = endpoint.map({ ($0, "--endpoint") }) ?? named else { return nil }
        do throws(Endpoint.InvalidEndpoint) {
            var endpoint = try Endpoint(text, from: origin, allowInsecure: allowInsecure)
            endpoint.hasVirtualHosts = hasVirtualHosts
            return endpoint
        } catch {
            throw UsageError(message: error.message)
        }
    }

    /// The region that requests are signed for, until the server names another one. Blocks.
    var s3Region: String {
        region ?? Loop.wait { [environment = credentials.environment, profile = credentials.profile] in
            await awsRegion(environment: environment, profile: profile)
        } ?? "us-east-1"
    }

    /// The endpoint of the engine `s3`: AWS's own, unless another one is named. Blocks.
    func s3Endpoint() throws(UsageError) -> Endpoint {
        if let endpoint = try serviceEndpoint() { return endpoint }
        do throws(Endpoint.InvalidEndpoint) {
            var endpoint = try Endpoint(
                "https://s3.\(s3Region).amazonaws.com", from: "--region", allowInsecure: false)
            (endpoint.isAmazons, endpoint.hasVirtualHosts) = (true, !hasPathStyle)
            return endpoint
        } catch {
            throw UsageError(message: error.message)
        }
    }

    /// Throws if a harness would affect the objects of a real service.
    func checkHarness() throws(UsageError) {
        guard engine != .embedded, try serviceEndpoint()?.isLocal != true else { return }
        throw UsageError(message: "--harness with --engine \(engine.rawValue) needs an --endpoint on this machine")
    }
}
