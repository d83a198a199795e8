import CommandLine
import GoogleEngines
import Platform
import Roots
import Storage

// Where a service is found, and where it finds its own.
extension ServiceOptions {
    func rootDirectory() throws(StorageRoot.OpenError) -> String {
        if let root { return root }
        return try StorageRoot.defaultPath()
    }

    /// What the engine keeps on this machine: objects, tasks, and the socket on which all clients of a root can meet.
    func directory() throws(StorageRoot.OpenError) -> String {
        let root = try rootDirectory()
        return engine == .embedded ? root : "\(root)/\(engine.rawValue)"
    }

    /// The socket of the root. Each endpoint that is not the service's own has one for itself.
    func rootSocket() throws -> String {
        let endpoint = engine == .embedded ? nil : try serviceEndpoint()?.url
        let suffix = endpoint.map { url in
            "-" + String(url.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") ? $0 : "_" })
        }
        return "\(try directory())/socket\(suffix ?? "")"
    }

    /// Of the flag, or else of the variable. Nil for the service's own.
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

    /// Throws where the rules of a harness would meet the objects of a real service.
    func checkHarness() throws(UsageError) {
        guard engine != .embedded, try serviceEndpoint()?.isLocal != true else { return }
        throw UsageError(message: "--harness with --engine \(engine.rawValue) needs an --endpoint on this machine")
    }
}
