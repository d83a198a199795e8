import JSONRPC
import Transfers

/// `storage/getSettings`: the settings now.
struct GetSettings: ParameterlessMethod {
    static let name = "storage/getSettings"

    func run(in request: Request<Session>) async throws -> JSON { request.context.transfers.settings.json }
}
