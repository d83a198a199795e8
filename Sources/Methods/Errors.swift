import JSONText
import JSONRPC
import Storage

extension StorageError: RPCErrorConvertible {
    public var rpcError: RPCError { RPCError(code: code.rawValue, message: message, data: data) }

    private var data: JSON {
        var members: [JSON.Member] = [.init(key: "name", value: .string("\(code)"))]
        let texts = [("bucket", bucket), ("object", object), ("file", file), ("param", param)]
        members += texts.compactMap { name, text in text.map { .init(key: name, value: .string($0)) } }
        if let httpStatus { members.append(.init(key: "httpStatus", value: JSON(Int64(httpStatus)))) }
        if let serverResponse { members.append(.init(key: "serverResponse", value: .string(serverResponse))) }
        members.append(.init(key: "retryable", value: .bool(retryable)))
        return .object(members)
    }
}
