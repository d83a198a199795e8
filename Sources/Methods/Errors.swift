import JSONText
import JSONRPC
import Storage

extension StorageError: RPCErrorConvertible {
    public var rpcError: RPCError { RPCError(code: code.rawValue, message: message, data: data) }

    private var data: JSON {
        var members: [JSON.Member] = [.init(key: "name", value: .string("\(code)"))]
        let texts = [("bucket", bucket), ("object", object), ("file", file), ("param", param)]
        members += texts.compactMap { name, text in text.map { .init(key: name, value: .string($0)) } }
        if let version {
            members.append(.init(key: "generation", value: .string(String(version.generation))))
            members.append(.init(key: "metageneration", value: .string(String(version.metageneration))))
        }
        if let httpStatus { members.append(.init(key: "httpStatus", value: JSON(Int64(httpStatus)))) }
        if let serverResponse { members.append(.init(key: "serverResponse", value: .string(serverResponse))) }
        members.append(.init(key: "retryable", value: .bool(retryable)))
        if !attempts.isEmpty { members.append(.init(key: "attempts", value: .array(attempts.map(\.json)))) }
        return .object(members)
    }
}

extension StorageError.Attempt {
    fileprivate var json: JSON {
        var members: [JSON.Member] = [.init(key: "time", value: .string(time.rfc3339))]
        if let httpStatus { members.append(.init(key: "httpStatus", value: JSON(Int64(httpStatus)))) }
        members.append(.init(key: "cause", value: .string(cause)))
        members.append(.init(key: "completedUnitCount", value: JSON(completedUnitCount)))
        return .object(members)
    }
}
