import JSONText
import Contract
import JSONRPC

/// `rpc.discover`: the contract itself, as it lies in `protocol/openrpc.json`.
struct Discover: ParameterlessMethod, PromptMethod {
    static let name = "rpc.discover"

    func run(in request: Request<Session>) throws -> JSON {
        try JSON(parsing: UnsafeRawBufferPointer(start: contract_bytes(), count: Int(contract_length())))
    }
}
