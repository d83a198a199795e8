import Credentials
import CSystem
import Dispatch
import Platform
import Glibc
import JSONRPC
import JSONText
import Storage

/// One thing done for the person at the keyboard, through the service's own protocol.
struct Errand {
    let options: ErrandOptions
    var client: Client
    /// Of the service of its own.
    private let engine: Engine?

    /// Through the service that listens on a socket, or one of its own.
    private init(_ options: ErrandOptions) throws {
        let signals = csystem_termination_signals()
        try Loop.start()
        engine = try options.service.socket == nil ? Engine(options.service, Log(level: options.service.logLevel)) : nil
        let socket =
            try options.service.socket.map { path throws(Client.Failure) in try Client.connect(to: path) }
            ?? Self.serve(options.service, engine)
        self.options = options
        client = Client(socket: socket, signals: signals, trace: options.trace)
    }

    /// Returns when it is done, and its result printed.
    static func run(_ kind: ErrandKind, _ options: ErrandOptions) throws {
        var errand = try Errand(options)
        defer { errand.settle() }
        switch kind {
        case .put(let file, let reference): try errand.put(file, reference)
        case .get(let reference, let file): try errand.get(reference, file)
        case .ls(let reference): try errand.list(reference)
        case .rm(let references): try errand.remove(references)
        case .url(let reference): try errand.url(reference)
        }
    }

    /// A service in this very process, at the other end of a socket pair.
    private static func serve(_ options: ServiceOptions, _ engine: Engine?) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Client.Failure(message: "no socket pair can be made: \(String(cString: strerror(errno)))")
        }
        let far = Descriptor(owning: ends[1])
        let log = Log(level: options.logLevel)
        if let engine { Task { @Loop in Server(options, engine, log).serveAlone(far) } }
        return ends[0]
    }

    /// Lets the service end what nobody waits for, such as cancelling an upload at its server.
    private func settle() {
        guard let engine else { return }
        let done = DispatchSemaphore(value: 0)
        Task {
            await engine.backend.settle()
            done.signal()
        }
        _ = done.wait(timeout: .now() + 2)
        options.service.credentials.running.stopAll()
    }

    /// The params of a write.
    func bound(_ params: [JSON.Member]) -> JSON {
        .object(params + options.preconditions.map { .init(key: $0.key, value: JSON(Int64($0.value))) })
    }

    /// What a person names by a URL, or by a path in the default bucket.
    mutating func reference(_ text: String) throws(Client.Failure) -> JSON {
        if options.isExact, !text.isEmpty { return try exactReference(text) }
        let isURL = ["gs://", "http://", "https://"].contains { text.utf8.starts(with: $0.utf8) }
        return try client.call("storage/reference", [isURL ? "url" : "path": .string(text)])
    }

    private mutating func exactReference(_ text: String) throws(Client.Failure) -> JSON {
        guard text.utf8.starts(with: "gs://".utf8) else {
            return try client.call("storage/reference", ["object": .string(text)])
        }
        let rest = text.utf8.dropFirst(5)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), case let object = rest[slash...].dropFirst(),
            !object.isEmpty
        else { return try client.call("storage/reference", ["url": .string(text)]) }
        func part(_ bytes: Substring.UTF8View) -> JSON { .string(String(decoding: bytes, as: UTF8.self)) }
        return try client.call("storage/reference", ["bucket": part(rest[..<slash]), "object": part(object)])
    }
}
