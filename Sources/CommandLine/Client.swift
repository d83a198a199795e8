import JSONRPC
import JSONText
import Platform
import Tracing

/// A small client of the service: one thread that sends requests and blocks for messages.
package struct Client {
    enum Heard {
        case message(JSON)
        /// A signal asks the process to end.
        case interrupted
    }

    package struct Failure: UserFacingError {
        package let message: String
        /// The service has answered with an error, and can take further requests.
        var isAnswer = false
    }

    private let socket: Descriptor
    private let signals: Descriptor?
    private let trace: Bool
    private var framing = Framing(maxMessageBytes: .max / 2)
    private var lastID: Int64 = 0

    /// `socket` is connected to a service; `signals` becomes readable when the process is asked to end.
    package init(socket: Descriptor, signals: Descriptor?, trace: Bool) {
        self.socket = socket
        self.signals = signals
        self.trace = trace
    }

    /// Connects to a service that listens.
    package static func connect(to path: String) throws(Failure) -> Descriptor {
        do throws(ConnectFailure) { return try connectUnixSocket(path) } catch {
            throw Failure(message: "no service can be reached at \(path): \(error.reason)")
        }
    }

    mutating func say(_ method: String, _ params: JSON) throws(Failure) -> JSON {
        lastID += 1
        let id = JSON(lastID)
        let message: JSON = ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params]
        show(">>", message, from: true)
        guard (try? socket.writeBlocking(Array((message.text + "\n").utf8))) != nil else {
            throw Failure(message: "the service is gone")
        }
        return id
    }

    mutating func hear() throws(Failure) -> Heard {
        while true {
            if let frame = framing.next({ bytes in try? JSON(parsing: bytes) }) {
                guard case .message(let message?) = frame else {
                    throw Failure(message: "the service said what cannot be read")
                }
                show("<<", message, from: false)
                return .message(message)
            }
            guard try read() else { return .interrupted }
        }
    }

    /// Returns the result of a request, or throws its error. Ignores other messages meanwhile.
    mutating func call(_ method: String, _ params: JSON) throws(Failure) -> JSON {
        let id = try say(method, params)
        while true {
            switch try hear() {
            case .interrupted: throw Failure(message: "interrupted")
            case .message(let message) where message["id"] == id:
                guard let result = message["result"] else { throw Failure(message["error"]) }
                return result
            case .message: continue
            }
        }
    }

    /// Prints a message as the service traces it.
    private func show(_ mark: String, _ message: JSON, from isClient: Bool) {
        guard trace else { return }
        Console.writeError("\(mark) \(Redaction.redacted(message, from: isClient).text.safeJSON)\n")
    }

    /// Returns false after a signal instead of bytes.
    private mutating func read() throws(Failure) -> Bool {
        let ready = Descriptor.waitUntilReadable(socket, signals)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
        defer { buffer.deallocate() }
        if ready.second {
            _ = signals?.read(into: buffer)
            return false
        }
        guard ready.first else { return true }
        guard let count = try? socket.readBlocking(into: buffer), count > 0 else {
            throw Failure(message: "the service is gone")
        }
        framing.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        return true
    }
}

extension Client.Failure {
    /// The message of an error object, with its name.
    init(_ error: JSON?) {
        let name = error?["data"]?["name"]?.string.map { " (\($0))" } ?? ""
        message = (error?["message"]?.string ?? "the service failed without saying why") + name
        isAnswer = true
    }
}
