import CommandLine
import GoogleEngines
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
        let variable = engine == .gcs ? "STORAGE_EMULATOR_HOST" : "FIREBASE_STORAGE_EMULATOR_HOST"
        let named = endpoint.map { ($0, "--endpoint") } ?? CurrentProcess.environment(variable).map { ($0, variable) }
        guard let (text, origin) = named else { return nil }
        do throws(Endpoint.InvalidEndpoint) {
            return try Endpoint(text, from: origin, allowInsecure: allowInsecure)
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
