import JSONRPC
import JSONText
import Storage

/// The session of a client whose messages are relayed, as far as its end depends on it: which requests have no answer,
/// and whether the client has asked for the end.
struct RelayedSession {
    /// By the texts of their ids: the requests without an answer.
    private var pending = ByteKeyedDictionary<Int>()
    /// The number of requests that were too long to be read, less that of answers to them, and of too long answers.
    private var unread = 0
    private var requests = 0
    /// The service has refused a message whose ids it could not read.
    private var isUnsure = false
    /// The ids of pending requests to stop the service, which came before an `exit`.
    private var stops: [String] = []
    private var isShutDown = false
    private var hasEnded = false
    /// What a service of the client's own would exit with, once the client has asked for the end.
    private var wanted: Int32?

    /// The number of requests without an answer. 0 if it is not known.
    var unanswered: Int { isUnsure ? 0 : max(0, requests + unread) }

    /// The exit status of the relay when the service ends the connection. Nil if the client has not asked for that, or
    /// has no answers to all of its requests.
    var status: Int32? { wanted ?? (hasEnded && unanswered == 0 && refusal == nil ? 0 : nil) }
    /// Why the service has no room for the connection, as its own sentence.
    private(set) var refusal: String?

    /// The client's input has ended, or cannot be read any further.
    mutating func end() { hasEnded = true }

    mutating func hear(_ message: JSON) {
        guard let method = message["method"]?.string else { return }
        let id = message["id"].flatMap(Self.text)
        if let id { add(1, to: id) }
        switch method {
        case "shutdown": isShutDown = true
        case "exit": wanted = wanted ?? (isShutDown ? 0 : 1)
        case "service/stop" where wanted == nil: if let id { stops.append(id) } else { wanted = 0 }
        default: break
        }
    }

    mutating func answer(_ message: JSON) {
        guard message["method"] == nil, let id = message["id"].flatMap(Self.text) else { return }
        if pending[id] != nil {
            add(-1, to: id)
        } else if id == "null" {
            isUnsure = true
            if message["error"]?["data"]?["name"] == "quotaExceeded" { refusal = message["error"]?["message"]?.string }
        } else if !Introductory.has(id: id) {
            unread -= 1
        }
        guard let stop = stops.firstIndex(where: { $0.hasSameBytes(as: id) }) else { return }
        stops.remove(at: stop)
        // An `exit` that followed comes too late.
        if message["error"] == nil { wanted = 0 }
    }

    /// A message of the client was too long to be read. It counts as a request.
    mutating func hearLong() { unread += 1 }

    mutating func answerLong() { unread -= 1 }

    private mutating func add(_ count: Int, to id: String) {
        let same = (pending[id] ?? 0) + count
        pending[id] = same == 0 ? nil : same
        requests += count
    }

    /// Nil for what is no id of a request.
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
    /// What is longer is relayed unread, so that a relay needs little memory.
    private static let longest = 8 << 20
    private var framing = Framing(maxMessageBytes: longest)

    /// Reads the next bytes, of which the last ones are none.
    ///
    /// - Parameters:
    ///   - each: gets each message, those of a batch one by one.
    ///   - long: called for a message that is too long to be read.
    /// - Returns: false if nothing more can be read.
    mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ each: (JSON) -> Void, long: () -> Void
    ) -> Bool {
        framing.append(bytes)
        if bytes.isEmpty { framing.finish() }
        while let frame = framing.next({ try? JSON(parsing: $0) }) {
            switch frame {
            case .message(.array(let batch)?): batch.forEach(each)
            case .message(let message?): each(message)
            case .message(nil): break
            case .tooLong: long()
            case .unreadable: return false
            }
        }
        return !bytes.isEmpty
    }
}
