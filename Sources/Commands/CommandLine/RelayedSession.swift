import JSONRPC
import JSONText
import Storage

/// The session of a client whose messages are relayed, as far as its end depends on it: which requests have no answer,
/// and whether the client has asked for the end.
struct RelayedSession {
    /// By the texts of their ids: the requests without an answer.
    private var pending = ByteKeyedDictionary<Int>()
    /// The number of messages without a readable id that the service has yet to refuse.
    private var unread = 0
    private var requests = 0
    /// The number of requests without an answer is not known: a message was too long to be read, or the service has
    /// refused one that the relay could read.
    private var isUnsure = false
    /// The ids of pending requests to stop the service, which came before an `exit`.
    private var stops: [String] = []
    private var isShutDown = false
    /// The client has sent a `service/stop` without an id, before any `exit`.
    private var notifiesStop = false
    /// The connection has fewer rights than the service, and may not stop it.
    private var isConfined = false
    private var hasEnded = false
    /// What a service of the client's own would exit with, once the client has asked for the end.
    private var wanted: Int32?

    /// The number of requests without an answer. 0 if it is not known.
    var unanswered: Int { isUnsure ? 0 : requests + unread }

    /// The exit status of the relay when the service ends the connection. Nil if the client has not asked for that, or
    /// has no answers to all of its requests.
    var status: Int32? {
        if notifiesStop, !isConfined { return 0 }
        return wanted ?? (hasEnded && unanswered == 0 && refusal == nil ? 0 : nil)
    }
    /// Why the service has no room for the connection, as its own sentence.
    private(set) var refusal: String?

    static func refusal(of path: String, _ reason: String) -> String {
        "the service at \(path) has refused the connection: \(reason)"
    }

    /// The client's input has ended, or cannot be read any further.
    mutating func end() { hasEnded = true }

    /// - Parameter message: nil for one that is not JSON.
    mutating func hear(_ message: JSON?) {
        guard let message, let method = message["method"]?.string else {
            // The service answers anything but an answer.
            if message?["result"] == nil, message?["error"] == nil { unread += 1 }
            return
        }
        let id = message["id"].flatMap(Self.text)
        if let id { add(1, to: id) } else if message["id"] != nil { unread += 1 }
        guard Self.isAccepted(message) else { return }
        switch method {
        case "shutdown": isShutDown = true
        case "exit": wanted = wanted ?? (isShutDown ? 0 : 1)
        case "service/stop" where wanted == nil: if let id { stops.append(id) } else { notifiesStop = !isShutDown }
        default: break
        }
    }

    /// The service does not refuse the message for its form, if its method takes no params.
    private static func isAccepted(_ message: JSON) -> Bool {
        guard message["jsonrpc"] == "2.0" else { return false }
        switch message["params"] {
        case nil, .null: return true
        case .array(let elements): return elements.isEmpty
        case .object(let members): return members.isEmpty
        case .bool, .number, .string: return false
        }
    }

    mutating func answer(_ message: JSON?) {
        guard let message, message["method"] == nil, let id = message["id"].flatMap(Self.text) else { return }
        if pending[id] != nil {
            add(-1, to: id)
        } else if id == "null", message["error"]?["data"]?["name"] == "quotaExceeded" {
            refusal = message["error"]?["message"]?.string
        } else if !Introductory.has(id: id) {
            if unread > 0 { unread -= 1 } else { isUnsure = true }
        }
        if let result = message["result"], result["protocolVersion"] != nil {
            isConfined = result["rights"]?.object != nil
        }
        guard let stop = stops.firstIndex(where: { $0.hasSameBytes(as: id) }) else { return }
        stops.remove(at: stop)
        // An `exit` that followed comes too late.
        if message["error"] == nil { wanted = 0 }
    }

    /// A message was too long to be read. It may be a notification, or a batch.
    mutating func skip() { isUnsure = true }

    private mutating func add(_ count: Int, to id: String) {
        let same = (pending[id] ?? 0) + count
        pending[id] = same == 0 ? nil : same
        requests += count
    }

    /// Nil for a value that is not the id of a request.
    private static func text(of id: JSON) -> String? {
        switch id {
        case .null, .string: id.text
        case .number(let number) where number.isWhole: number.literal
        case .number, .bool, .array, .object: nil
        }
    }
}

/// Reads the messages in one direction of a relayed connection.
struct RelayedMessages {
    /// Longer messages, and those with more values, are relayed unread, so that a relay needs little memory.
    private static let (longest, mostValues) = (8 << 20, ConnectionLimits().messageValues)
    private var framing = Framing(maxMessageBytes: longest)
    /// Nil until the first bytes decide it.
    var style: Framing.Style? { framing.style }

    /// Reads the next bytes, of which the last ones are none.
    ///
    /// - Parameters:
    ///   - each: gets each message, those of a batch one by one; nil for one that is not JSON, and for an empty batch.
    ///   - long: called for a message that is too long to be read.
    /// - Returns: false if nothing more can be read.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ each: (JSON?) -> Void, long: () -> Void
    ) -> Bool {
        framing.append(bytes)
        if bytes.isEmpty { framing.finish() }
        while let frame = framing.next(Self.parse) {
            switch frame {
            case .message(.success(.array(let batch))) where !batch.isEmpty: batch.forEach(each)
            case .message(.success(let message)): each(message.array == nil ? message : nil)
            case .message(.failure(let error)) where error.limit == nil: each(nil)
            case .message(.failure), .tooLong: long()
            case .message(nil): break
            case .unreadable: return false
            }
        }
        return !bytes.isEmpty
    }

    /// Nil for a blank text, which is no message.
    private static func parse(_ bytes: UnsafeRawBufferPointer) -> Result<JSON, JSONSyntaxError>? {
        guard bytes.contains(where: { $0 > 0x20 }) else { return nil }
        return Result { () throws(JSONSyntaxError) in try JSON(parsing: bytes, maxValues: mostValues) }
    }
}
