import JSONText
import Secrets

/// Ends a cancelled wait with data for the peer.
public struct CancelledWait: Error {
    public let data: JSON

    public init(data: JSON) { self.data = data }
}

/// The error object of a reply.
public struct RPCError: Error, Equatable, Sendable {
    public var code: Int
    public var message: String
    public var data: JSON?

    public init(code: Int, message: String, data: JSON? = nil) {
        (self.code, self.message, self.data) = (code, message, data)
    }

    static let invalidParamsCode = -32602
    static let internalErrorCode = -32603

    public static let cancelled = RPCError(code: -32800, message: "The request was cancelled.")

    public static func parseError(_ why: String) -> Self {
        .init(code: -32700, message: "The message is not JSON: \(why).")
    }
    public static func invalidRequest(_ why: String) -> Self { .init(code: -32600, message: why) }
    public static func methodNotFound(_ name: String) -> Self {
        .init(code: -32601, message: "There is no method \"\(name.shortened)\".")
    }
    public static func internalError(_ why: String) -> Self { .init(code: internalErrorCode, message: why) }

    /// `param` is the path of the param at fault, such as `metadata.contentType`.
    public static func invalidParam(_ param: String, _ why: String) -> Self {
        let param = param.shortened
        return .init(code: invalidParamsCode, message: "Param \"\(param)\" \(why).", data: ["param": .string(param)])
    }

    /// The error as JSON. Texts of the peer are repeated without secrets, and shortened.
    public var json: JSON {
        var members: [JSON.Member] = [
            .init(key: "code", value: JSON(Int64(code))), .init(key: "message", value: .string(message.harmless)),
        ]
        if let data { members.append(.init(key: "data", value: data.harmless)) }
        return .object(members)
    }
}

extension String {
    /// The maximum size of a text in an error, in bytes.
    private static let longestInError = 8 << 10

    /// A text of the peer without secrets, and shortened.
    package var harmless: String {
        guard utf8.count > Self.longestInError else { return hidingSecrets() }
        return String(decoding: utf8.prefix(Self.longestInError), as: UTF8.self).hidingSecrets() + "…"
    }
}

extension JSON {
    fileprivate var harmless: JSON {
        switch self {
        case .string(let text): .string(text.harmless)
        case .array(let elements): .array(elements.map(\.harmless))
        case .object(let members): .object(members.map { .init(key: $0.key, value: $0.value.harmless) })
        case .null, .bool, .number: self
        }
    }
}

/// An error with a JSON-RPC form. All other errors become `internalError`.
package protocol RPCErrorConvertible: Error {
    var rpcError: RPCError { get }
}

extension String {
    /// The beginning of a long text.
    var shortened: String {
        utf8.count <= 1024 ? self : String(String.UnicodeScalarView(unicodeScalars.prefix(200))) + "…"
    }
}
