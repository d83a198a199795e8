import JSONRPC
import Storage

/// A method about one reference. Its storage errors name the reference, unless a param is at fault.
protocol ReferenceMethod: RPCMethod {
    var reference: Reference { get }
}

extension ReferenceMethod {
    func failure(_ error: any Error) -> any Error {
        guard let error = error as? StorageError, error.param == nil else { return error }
        return error.about(reference)
    }
}
