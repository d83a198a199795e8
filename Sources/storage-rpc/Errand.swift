import CSystem
import EventLoop
import Glibc
import JSONRPC
import JSONText

/// One thing done for the person at the keyboard, through the service's own protocol.
struct Errand {
    let options: ErrandOptions
    var client: Client

    /// Through the service that listens on a socket, or one of its own.
    private init(_ options: ErrandOptions) throws {
        let signals = csystem_termination_signals()
        let socket =
            try options.service.socket.map { path throws(Client.Failure) in try Client.connect(to: path) }
            ?? Self.ownService(options.service)
        self.options = options
        client = Client(socket: socket, signals: signals, trace: options.trace)
    }

    /// Returns when it is done, and its result printed.
    static func run(_ kind: ErrandKind, _ options: ErrandOptions) throws {
        var errand = try Errand(options)
        switch kind {
        case .put(let file, let reference): try errand.put(file, reference)
        case .get(let reference, let file): try errand.get(reference, file)
        case .ls(let reference): try errand.list(reference)
        case .rm(let references): try errand.remove(references)
        case .url(let reference): try errand.url(reference)
        }
    }

    /// A service in this very process, at the other end of a socket pair.
    private static func ownService(_ options: ServiceOptions) throws -> Int32 {
        let engine = try Engine(options)
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Client.Failure(message: "no socket pair can be made: \(String(cString: strerror(errno)))")
        }
        let far = Descriptor(owning: ends[1])
        Task { @Loop in Server(options, engine).serve(far) }
        return ends[0]
    }

    /// What a person names by a URL, or by a path in the default bucket.
    mutating func reference(_ text: String) throws(Client.Failure) -> JSON {
        let isURL = ["gs://", "http://", "https://"].contains { text.hasPrefix($0) }
        return try client.call("storage/reference", [isURL ? "url" : "path": .string(text)])
    }
}
