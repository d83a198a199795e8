import JSONRPC
import JSONText

/// The revision of the Model Context Protocol that a request is in.
///
/// A client of the older revisions shakes hands with `initialize`. A client of 2026-07-28 names the revision in each
/// request. So each request says by itself which one applies, and one process serves a client that tries both.
enum Revision: Equatable, Sendable {
    /// The negotiated one of the older revisions.
    case handshake(String)
    case stateless

    static let newest = "2026-07-28"
    /// The revisions with a handshake, the newest first.
    static let older = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
    /// The only one with batches.
    static let withBatches = "2025-03-26"

    private static let prefix = "io.modelcontextprotocol/"
    static let versionKey = prefix + "protocolVersion"
    static let capabilitiesKey = prefix + "clientCapabilities"
    static let serverKey = prefix + "serverInfo"
    static let subscriptionKey = prefix + "subscriptionId"

    /// The revision of a request.
    ///
    /// - Parameter negotiated: the outcome of the handshake; nil before one.
    init(of method: String, _ meta: JSON?, negotiated: String?) throws(Refusal) {
        guard let named = meta?[Self.versionKey] else {
            // The first request of a handshake, and the one that clients send to see whether the process lives.
            if let version = negotiated ?? (["initialize", "ping"].contains(method) ? Self.older[0] : nil) {
                self = .handshake(version)
                return
            }
            throw .invalidParams("params._meta needs \"\(Self.versionKey)\", unless initialize comes first")
        }
        guard let version = named.string else {
            throw .invalidParams("params._meta[\"\(Self.versionKey)\"] must be a string")
        }
        guard version == Self.newest else {
            throw Refusal(
                code: -32022, message: "Unsupported protocol version",
                data: [
                    "supported": .array(([Self.newest] + Self.older).map(JSON.string)), "requested": .string(version),
                ])
        }
        guard meta?[Self.capabilitiesKey]?.object != nil else {
            throw .invalidParams("params._meta needs \"\(Self.capabilitiesKey)\", an object")
        }
        self = .stateless
    }

    /// The client knows the kind of content that refers to a resource.
    var hasLinks: Bool {
        switch self {
        case .stateless: true
        case .handshake(let version): version >= "2025-06-18"
        }
    }
}

/// The error of a reply.
struct Refusal: Error, Equatable {
    var code: Int
    var message: String
    var data: JSON?

    static func invalidRequest(_ message: String) -> Refusal { Refusal(code: -32600, message: message) }
    static func invalidParams(_ message: String) -> Refusal { Refusal(code: -32602, message: message) }
    static func unknownMethod(_ name: String) -> Refusal {
        Refusal(code: -32601, message: "There is no method \"\(name.prefix(100))\"")
    }

    var json: JSON { RPCError(code: code, message: message, data: data).json }
}
