import JSONText
import CSystem
import Glibc
import JSONRPC
import Tracing

/// A client of the service in its shortest form: one blocking thread that says requests and hears lines.
package struct Client {
    enum Heard {
        case message(JSON)
        /// The person at the keyboard wants to stop.
        case interrupted
    }

    package struct Failure: UserFacingError {
        package let message: String
        /// The service said no to a request; it can be asked for something else.
        var isAnswer = false
    }

    private let socket: Int32
    private let signals: Int32
    private let trace: Bool
    private var framing = Framing(maxMessageBytes: .max / 2)
    private var lastID: Int64 = 0

    /// `socket` is connected to a service; `signals` becomes readable when the process is asked to end.
    package init(socket: Int32, signals: Int32, trace: Bool) {
        self.socket = socket
        self.signals = signals
        self.trace = trace
    }

    /// Connects to a service that listens. Throws a sentence that names the path.
    package static func connect(to path: String) throws(Failure) -> Int32 {
        do throws(ConnectFailure) { return try connectUnixSocket(path) } catch {
            throw Failure(message: "no service can be reached at \(path): \(error.reason)")
        }
    }

    mutating func say(_ method: String, _ params: JSON) throws(Failure) -> JSON {
        lastID += 1
        let id = JSON(lastID)
        let message: JSON = ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params]
        show(">>", message, from: true)
        guard Console.write(message.text + "\n", to: socket) else { throw Failure(message: "the service is gone") }
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

    /// The result of a request, or its error as a failure; what else is heard meanwhile is passed over.
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

    /// As the service traces it.
    private func show(_ mark: String, _ message: JSON, from isClient: Bool) {
        guard trace else { return }
        Console.write("\(mark) \(Redaction.redacted(message, from: isClient).text.safeJSON)\n", to: STDERR_FILENO)
    }

    /// False when a signal came instead of bytes.
    private mutating func read() throws(Failure) -> Bool {
        var wait = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals, events: Int16(POLLIN), revents: 0),
        ]
        guard poll(&wait, 2, -1) > 0 else { return true }
        guard wait[1].revents == 0 else {
            csystem_take_signal(signals)
            return false
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 1)
        defer { buffer.deallocate() }
        let count = Glibc.read(socket, buffer.baseAddress, buffer.count)
        guard count > 0 else { throw Failure(message: "the service is gone") }
        framing.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        return true
    }
}

extension Client.Failure {
    /// An error object, with its name as clients see it.
    init(_ error: JSON?) {
        let name = error?["data"]?["name"]?.string.map { " (\($0))" } ?? ""
        message = (error?["message"]?.string ?? "the service failed without saying why") + name
        isAnswer = true
    }
}
