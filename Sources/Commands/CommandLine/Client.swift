import JSONRPC
import JSONText
import Methods
import Platform
import Tracing

/// A small client of the service: one thread that sends requests and blocks until messages arrive.
package struct Client {
    enum Heard {
        case message(JSON)
        /// A signal has asked the process to end.
        case interrupted(Interruption)
    }

    /// The number of the signal.
    package struct Interruption: Error { package let signal: Int32 }

    package struct Failure: UserFacingError {
        /// A description of the failure.
        fileprivate(set) var sentence: String
        /// The service has answered with an error, and accepts further requests.
        var isAnswer = false
        /// The code of the service's error.
        var code: Int64?
        /// The name of the service's error; nil for the name `unknown`.
        var name: String?
        /// The param of a request that the service has refused.
        fileprivate(set) var param: String?
        /// The object that the failure concerns, as the members of a reference.
        var reference: JSON?
        /// A name or a pattern stands for no object.
        private(set) var isAboutNothing = false
        /// The service has ended, or has closed the connection.
        private(set) var isGone = false
        /// The words of the command cannot be meant, whatever is stored.
        private(set) var isUsage = false

        package var exitStatus: Int32 { isUsage ? ExitStatus.usage : 1 }
        /// The failure of a command whose words cannot be meant.
        var ofWords: Failure {
            var failure = self
            failure.isUsage = true
            return failure
        }

        package var message: String { sentence + (name.map { " (\($0))" } ?? "") }
        /// The description without a full stop.
        var clause: String { sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence }

        package init(_ message: String) { sentence = message }
        init(message: String, isAnswer: Bool = false) { (sentence, self.isAnswer) = (message, isAnswer) }

        fileprivate static var gone: Failure {
            var failure = Failure("the service is gone")
            failure.isGone = true
            return failure
        }

        static func nothing(_ message: String) -> Failure {
            var failure = Failure(message: message, isAnswer: true)
            failure.isAboutNothing = true
            return failure
        }
    }

    /// A service listens but does not answer, because it is stopped or blocked.
    package struct Unanswered: UserFacingError {
        package let message: String
        package let exitStatus = ExitStatus.rootInUse

        init(_ path: String, _ process: Int32? = nil) {
            let remedy = process.map { ": kill -CONT \($0) continues it, if it is stopped" } ?? ""
            message = "\(Self.name(path, process)) does not answer\(remedy)"
        }

        static func name(_ path: String, _ process: Int32?) -> String {
            "the service at \(path)" + (process.map { " (process \($0))" } ?? "")
        }
    }

    private let socket: Descriptor
    private let signals: Descriptor?
    private let trace: Bool
    private let isQuiet: Bool
    /// The messages that arrived during calls and were no answers to them.
    private var unheard: [JSON] = []
    private var framing = Framing(maxMessageBytes: .max / 2)
    private var lastID: Int64 = 0
    private var hasAskedForInput = false
    /// The version of the service, if it differs from this program's.
    private var otherVersion: String?

    /// `socket` is connected to a service; `signals` becomes readable when the process is asked to end.
    package init(socket: Descriptor, signals: Descriptor?, trace: Bool = false, isQuiet: Bool = true) {
        self.socket = socket
        self.signals = signals
        self.trace = trace
        self.isQuiet = isQuiet
    }

    /// The maximum time until a listening service accepts a connection.
    package static let longestConnect = Duration.seconds(10)

    /// Connects to a listening service. Throws `Unanswered` if it accepts no connection.
    package static func connect(to path: String, within limit: Duration = longestConnect) throws -> Descriptor {
        do throws(ConnectFailure) { return try connectUnixSocket(path, within: limit) } catch {
            if error.isUnanswered { throw Unanswered(path) }
            throw Failure(message: "no service can be reached at \(path): \(error.reason)")
        }
    }

    @discardableResult
    mutating func say(_ method: String, _ params: JSON) throws(Failure) -> JSON {
        lastID += 1
        let id = JSON(lastID)
        let message: JSON = ["jsonrpc": "2.0", "id": id, "method": .string(method), "params": params]
        show(">>", message, from: true)
        guard (try? socket.writeBlocking(Array((message.text + "\n").utf8))) != nil else {
            throw Failure.gone
        }
        return id
    }

    /// The next message that is no answer to a call, or a signal.
    mutating func hear() throws -> Heard {
        while true { if let heard = try hear(within: .seconds(3600)) { return heard } }
    }

    /// The next message that is no answer to a call, or a signal. Nil if none arrives in time.
    mutating func hear(within timeout: Duration) throws -> Heard? {
        unheard.isEmpty ? try receive(within: timeout) : .message(unheard.removeFirst())
    }

    private mutating func receive(within timeout: Duration) throws -> Heard? {
        let deadline = ContinuousClock.now + timeout
        while true {
            if let frame = framing.next({ bytes in try? JSON(parsing: bytes) }) {
                guard case .message(let message?) = frame else {
                    throw Failure(message: "the service said what cannot be read")
                }
                show("<<", message, from: false)
                return .message(message)
            }
            let rest = ContinuousClock.now.duration(to: deadline)
            let ready = Descriptor.waitUntilReadable(socket, signals, timeout: rest)
            if ready.second, let interruption = Interruption(signals) { return .interrupted(interruption) }
            if ready == (false, false) { return nil }
            if ready.first { try read() }
        }
    }

    /// Returns the result of a request, or throws its error. Other messages are kept for `hear()`.
    mutating func call(_ method: String, _ params: JSON) throws -> JSON {
        try answer(to: say(method, params), method).get()
    }

    /// Nil if no service listens. Throws `Unanswered` if one listens but accepts no connection.
    static func connect(toRunning path: String, within limit: Duration = longestConnect) throws -> Descriptor? {
        do { return try connect(to: path, within: limit) } catch is Failure { return nil }
    }

    /// The maximum time until the service's first answer.
    private static let longestSilence = Duration.seconds(30)

    /// Sends `initialize`, the first request of a client, and returns the answer. Throws `Unanswered` if none arrives.
    mutating func initialize(_ params: JSON, at path: String) throws -> JSON {
        // A service that has refused the connection cannot be written to, but what it has sent can still be read.
        let id = (try? say("initialize", params))?.number?.int64
        let (began, process) = (ContinuousClock.now, socket.peerProcess)
        let message = try answer(Unanswered.name(path, process)) {
            if began.duration(to: .now) >= Self.longestSilence { throw Unanswered(path, process) }
        } isExpected: {
            $0 == id
        }
        let description = try result(message).get()
        let version = description["server"]?["version"]?.string
        otherVersion = version == ServiceContext.version ? nil : version
        return description
    }

    /// The answers to several requests, in the order of the requests.
    ///
    /// - Parameter atOnce: the maximum number of concurrent requests.
    mutating func callAll(
        _ method: String, _ params: [JSON], atOnce: Int = 32
    ) throws -> [Result<JSON, Failure>] {
        var (places, sent): ([Int64: Int], Int) = ([:], 0)
        var answers: [Result<JSON, Failure>?] = params.map { _ in nil }
        while sent < params.count || !places.isEmpty {
            while sent < params.count, places.count < atOnce {
                try say(method, params[sent])
                places[lastID] = sent
                sent += 1
            }
            let message = try answer("the answer to \(method)") { places[$0] != nil }
            guard let id = message["id"]?.number?.int64, let place = places.removeValue(forKey: id) else { continue }
            answers[place] = result(message)
        }
        return answers.compactMap { $0 }
    }

    /// What a service without room for the connection has sent instead of an answer.
    var refusal: RootService.Refusal? {
        unheard.first { $0["error"] != nil }.map { .init(message: Failure($0["error"]).message, answer: $0) }
    }

    /// Stops sending, and returns when the service has closed the connection, or after the timeout or a signal.
    func close(within timeout: Duration) {
        let deadline = ContinuousClock.now + timeout
        socket.endWriting()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { buffer.deallocate() }
        while case let rest = ContinuousClock.now.duration(to: deadline), rest > .zero {
            let ready = Descriptor.waitUntilReadable(socket, signals, timeout: rest)
            guard ready == (true, false), let count = try? socket.readBlocking(into: buffer), count > 0 else { return }
        }
    }

    private mutating func answer(to id: JSON, _ method: String) throws -> Result<JSON, Failure> {
        let id = id.number?.int64
        return try result(answer("the answer to \(method)") { $0 == id })
    }

    /// - Parameters:
    ///   - what: names what the client waits for.
    ///   - checkTime: called each second; throws after too long a wait.
    private mutating func answer(
        _ what: String, checkTime: () throws -> Void = {}, isExpected: (_ id: Int64) -> Bool
    ) throws -> JSON {
        var patience = Patience()
        while true {
            switch try receive(within: .seconds(1)) {
            case nil:
                try checkTime()
                if !isQuiet, let line = patience.line(what) { Console.printError(line) }
            case .interrupted(let interruption): throw interruption
            case .message(let message):
                if let id = message["id"]?.number?.int64, isExpected(id) { return message }
                if message["method"] == "request/retry", let retry = message["params"] {
                    if !isQuiet { Console.printError(ClientCommandRunner.line(about: retry)) }
                    patience = Patience(hasNews: true)
                } else {
                    unheard.append(message)
                }
            }
        }
    }

    /// Waits until stdin has bytes or has ended; throws after a signal.
    mutating func waitForInput(tells: Bool = true) throws {
        let isTyped = Descriptor.standardInput.isTerminal
        if tells, !isQuiet, !hasAskedForInput, isTyped || Descriptor.standardError.isTerminal,
            Descriptor.waitUntilReadable(.standardInput, signals, timeout: .seconds(1)) == (false, false)
        {
            hasAskedForInput = true
            Console.writeError("storage-rpc: waits for standard input\(isTyped ? "; Ctrl-D ends it" : "")\n")
        }
        let isSignal = Descriptor.waitUntilReadable(.standardInput, signals).second
        guard isSignal else { return }
        if let interruption = Interruption(signals) { throw interruption }
    }

    /// Pauses; throws if a signal arrives meanwhile.
    func pause(_ duration: Duration) throws { try Self.pause(duration, signals) }

    /// Waits for a signal that asks the process to end. Nil without a descriptor of signals.
    package static func interruption(_ signals: Descriptor?) -> Interruption? {
        guard signals != nil else { return nil }
        while true {
            do { try pause(.seconds(3600), signals) } catch { return error as? Interruption }
        }
    }

    /// Pauses; throws if a signal arrives meanwhile.
    package static func pause(_ duration: Duration, _ signals: Descriptor?) throws {
        guard Descriptor.waitUntilReadable(nil, signals, timeout: duration).second else { return }
        if let interruption = Interruption(signals) { throw interruption }
    }

    /// The result in an answer, or its error. If a service of another version refuses a method or its params, the error
    /// says so.
    func result(_ message: JSON) -> Result<JSON, Failure> {
        if let result = message["result"] { return .success(result) }
        var failure = Failure(message["error"])
        if let otherVersion, [-32601, -32602].contains(failure.code) {
            failure.sentence +=
                " The service has version \(otherVersion), and this program \(ServiceContext.version): "
                + "storage-rpc call service/stop ends that service, and the next command starts its own."
        }
        return .failure(failure)
    }

    /// Prints a message in the form of the service's trace.
    private func show(_ mark: String, _ message: JSON, from isClient: Bool) {
        guard trace else { return }
        Console.writeError("\(mark) \(Redaction.redacted(message, from: isClient).text.safeJSON)\n")
    }

    /// Reads from the socket, which must be readable.
    private mutating func read() throws {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 8)
        defer { buffer.deallocate() }
        guard let count = try? socket.readBlocking(into: buffer), count > 0 else {
            throw Failure.gone
        }
        framing.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
    }
}

extension Client.Interruption {
    /// Nil if no signal has arrived.
    init?(_ signals: Descriptor?) {
        guard let signal = signals.flatMap(CurrentProcess.receiveSignal(from:)) else { return nil }
        self.signal = signal
    }
}

extension Client.Failure {
    /// The failure of an error object of the service.
    init(_ error: JSON?) {
        let data = error?["data"]
        sentence = error?["message"]?.string ?? "the service failed without saying why"
        // The directories of a connection are those of the flags of its command.
        for param in ["allowRead", "allowWrite"] {
            sentence = sentence.replacing("that \(param) names", with: "that \(param.asFlag) names")
                .replacing("\(param) /", with: "\(param.asFlag) /")
        }
        isAnswer = true
        code = error?["code"]?.number?.int64
        // The name "unknown" has no information.
        name = data?["name"]?.string.flatMap { $0 == "unknown" ? nil : $0 }
        param = data?["param"]?.string
        if let bucket = data?["bucket"], let object = data?["object"] {
            reference = ["bucket": bucket, "object": object]
        }
    }
}

extension Client.Failure {
    /// The failure with a message that begins with its subject.
    func about(_ subject: String) -> Self {
        var failure = Self(message: "\(subject): \(sentence)", isAnswer: isAnswer)
        (failure.code, failure.name, failure.param, failure.reference) = (code, name, param, reference)
        return failure
    }
}
