import JSONRPC
import JSONText
import Storage
import Transfers

package struct Limits: Equatable, Sendable {
    package var connection = ConnectionLimits()
    package var transfers = TransferLimits()
    package var connections = 1024
    /// In bytes, for all connections together. It applies to received messages, and separately to those of pending
    /// requests.
    package var totalMessageBytes = 128 << 20
    /// The maximum unread output of all connections together, in bytes.
    package var totalUnreadBytes = 256 << 20

    package init() {}
}

/// One limit with its name and range.
package struct Bound: Sendable {
    /// For example `maxMessageBytes`.
    package let name: String
    package let value: any WritableKeyPath<Limits, Int> & Sendable
    package let range: ClosedRange<Int>

    package var flag: String { name.asFlag }

    package static let all: [Bound] = [
        Bound("maxMessageBytes", \.connection.messageBytes, 1024...(1 << 40)),
        Bound("maxNesting", \.connection.nesting, 16...512),
        Bound("maxBatchMessages", \.connection.batchMessages),
        Bound("maxMessageValues", \.connection.messageValues, 16...10_000_000),
        Bound("maxRequests", \.connection.requests),
        Bound("maxRequestBytes", \.connection.requestBytes, 1024...(1 << 40)),
        Bound("maxWaitingRequests", \.connection.waitingRequests),
        Bound("maxUnreadBytes", \.connection.unreadBytes, 1024...(1 << 40)),
        Bound("maxConnections", \.connections),
        Bound("maxTotalMessageBytes", \.totalMessageBytes, 1024...(1 << 40)),
        Bound("maxTotalUnreadBytes", \.totalUnreadBytes, 1024...(1 << 40)),
        Bound("maxTasks", \.transfers.tasks),
        Bound("maxUploadSessions", \.transfers.uploadSessions.most),
        Bound("maxUploadSessionSeconds", \.transfers.uploadSessions.seconds, 1...315_360_000),
        Bound("maxFinishedTasks", \.transfers.finishedTasks),
        Bound("maxObservers", \.transfers.observers),
        Bound("maxConnectionObservers", \.transfers.connectionObservers),
        Bound("maxListResults", \.transfers.listResults),
    ]

    private init(
        _ name: String, _ value: any WritableKeyPath<Limits, Int> & Sendable, _ range: ClosedRange<Int> = 1...10_000_000
    ) {
        (self.name, self.value, self.range) = (name, value, range)
    }
}

extension String {
    /// The flag of a limit: `--max-message-bytes` for `maxMessageBytes`.
    package var asFlag: String { "--" + reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) } }
}

extension Limits {
    var json: JSON { .object(Bound.all.map { .init(key: $0.name, value: JSON(Int64(self[keyPath: $0.value]))) }) }
}

extension ServiceContext {
    /// The message for a client beyond `--max-connections`.
    package nonisolated static func noRoomLine(_ limits: Limits) -> [UInt8] {
        let error = StorageError.noRoom(for: "connections", "--max-connections", is: limits.connections).rpcError.json
        return Array((["jsonrpc": "2.0", "id": nil, "error": error] as JSON).text.utf8) + [UInt8(ascii: "\n")]
    }
}
