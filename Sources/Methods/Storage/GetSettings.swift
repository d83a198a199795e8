import JSONText
import JSONRPC
import Transfers

/// `storage/getSettings`: the settings of this connection.
struct GetSettings: ParameterlessMethod, PromptMethod {
    static let name = "storage/getSettings"

    func run(in request: Request<ConnectionContext>) throws -> JSON { request.context.settings.json }
}
