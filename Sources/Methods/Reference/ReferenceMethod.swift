import JSONRPC
import Storage

/// A method that is about one reference: every `StorageError` that it is answered with names it, unless a param is at
/// fault.
protocol ReferenceMethod: RPCMethod {
    var reference: Reference { get }
}

extension ReferenceMethod {
    func failure(_ error: any Error) -> any Error {
        guard let error = error as? StorageError, error.param == nil else { return error }
        return error.about(reference)
    }
}
