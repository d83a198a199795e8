import Resources
import JSONRPC
import JSONText

/// `rpc.discover`: the contract itself, as it lies in `protocol/openrpc.json`.
struct Discover: ParameterlessMethod, PromptMethod {
    static let name = "rpc.discover"

    func run(in request: Request<ConnectionContext>) throws -> EncodedJSON { try Self.document.get() }

    /// Encoded once for all clients.
    private static let document: Swift.Result<EncodedJSON, JSONSyntaxError> = {
        let text = UnsafeRawBufferPointer(start: resource_contract().bytes, count: resource_contract().count)
        do throws(JSONSyntaxError) {
            return .success(EncodedJSON(try JSON(parsing: text)))
        } catch {
            return .failure(error)
        }
    }()
}
