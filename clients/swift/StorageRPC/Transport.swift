import Foundation

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A connected socket: to a child process, whose stdin and stdout are the other end, or to a service that runs already.
///
/// `read` is called by one thread, `write` by another one. Sound: the descriptor is closed when both have ended.
final class Transport: @unchecked Sendable {
    private let descriptor: Int32
    private let process: Process?
    private let isShared: Bool
    private let lastWords = LastWords()

    /// Starts or finds the service. Blocks for as long as that takes.
    init(_ service: StorageService) throws(StorageError) {
        isShared = service.isShared
        guard let path = service.socket else {
            let words = try service.commandLine()
            (descriptor, process) = try Self.spawn(words, lastWords)
            return
        }
        guard service.command == nil, service.root == nil, !service.isShared, service.flags.isEmpty else {
            throw .invalidArgument(
                message: "A service on a socket is running already: it takes no command, root, flags or isShared.")
        }
        (descriptor, process) = (try Self.connect(path), nil)
    }

    private static func spawn(_ words: [String], _ lastWords: LastWords) throws(StorageError) -> (Int32, Process) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, streams, 0, &ends) == 0 else { throw failure("socketpair") }
        ends.forEach(prepare)
        let (process, child, errors) = (Process(), FileHandle(fileDescriptor: ends[1]), Pipe())
        process.executableURL = URL(fileURLWithPath: words[0])
        process.arguments = Array(words.dropFirst())
        (process.standardInput, process.standardOutput, process.standardError) = (child, child, errors)
        defer { close(ends[1]) }
        do {
            try process.run()
        } catch {
            close(ends[0])
            throw .unknown(message: "\(words[0]) cannot be started: \(error.localizedDescription)", serverError: [:])
        }
        lastWords.listen(to: errors.fileHandleForReading)
        return (ends[0], process)
    }

    private static func connect(_ path: String) throws(StorageError) -> Int32 {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { room in
            guard path.utf8.count < room.count else { return false }
            room.copyBytes(from: path.utf8)
            return true
        }
        guard fits else { throw .invalidArgument(message: "The path of the socket is too long: \(path)") }
        let descriptor = socket(AF_UNIX, streams, 0)
        guard descriptor >= 0 else { throw failure("socket") }
        prepare(descriptor)
        let status = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                systemConnect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else {
            let error = failure("There is no service at \(path)")
            close(descriptor)
            throw error
        }
        return descriptor
    }

    /// Neither inherited by other children, nor deadly when the other end is gone.
    private static func prepare(_ descriptor: Int32) {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        #if canImport(Darwin)
            var on: Int32 = 1
            setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
        #endif
    }

    /// Where the first line of the bytes ends.
    static func lineEnd(_ bytes: Slice<UnsafeMutableRawBufferPointer>) -> Int? {
        guard let start = UnsafeMutableRawBufferPointer(rebasing: bytes).baseAddress,
            let end = memchr(start, 10, bytes.count)
        else { return nil }
        return bytes.startIndex + (end - start)
    }

    /// Blocks until there are bytes; 0 at the end of the output.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        while true {
            let count = recv(descriptor, buffer.baseAddress, buffer.count, 0)
            if count >= 0 || errno != EINTR { return max(0, count) }
        }
    }

    /// Blocks until all is written; false if the service takes no more.
    func write(_ line: Data) -> Bool {
        line.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = send(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count, quietly)
                if count < 0 && errno != EINTR { return false }
                rest = rest.dropFirst(max(0, count))
            }
            return true
        }
    }

    /// Ends the input: the service answers what it was asked, and ends after its running tasks.
    func endInput() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// In seconds: how long a process may go on without its output.
    static let patience: TimeInterval = 5

    /// In seconds: a process that continues so long after the end of its input and output serves others.
    private static let grace: TimeInterval = 2

    /// Ends the process, if it is one of this program's and still runs.
    func kill() {
        if let process, process.isRunning { _ = systemKill(process.processIdentifier, SIGKILL) }
    }

    /// Ends the connection, and the process as `kill` does.
    func abort() {
        kill()
        shutdown(descriptor, Int32(SHUT_RDWR))
    }

    /// After the end of the output: waits for the end of the process, and says why there is no service any more.
    ///
    /// Where the input has ended first, nil if the process continues: it is not ended.
    func end(hasEndedInput: Bool = false) -> StorageError? {
        shutdown(descriptor, Int32(SHUT_RDWR))
        guard let process else { return .unknown(message: "The service has closed the connection.", serverError: [:]) }
        waitForExit(hasEndedInput ? Self.grace : Self.patience)
        if hasEndedInput && process.isRunning { return nil }
        kill()
        waitForExit(1)
        // Frees what Foundation keeps for it.
        if !process.isRunning { process.waitUntilExit() }
        let text = lastWords.text()
        let status = process.isRunning ? SIGKILL : process.terminationStatus
        // How the service says that its root is in use.
        let advice = text.contains("`storage-rpc connect`") ? " In Swift that is isShared of StorageService." : ""
        let message = "\(how(process, status))\(text.isEmpty ? "." : ": \(text)\(advice)")"
        return .unknown(message: message, serverError: ["stderr": text, "status": Int(status)])
    }

    private func how(_ process: Process, _ status: Int32) -> String {
        if process.isRunning || process.terminationReason == .uncaughtSignal {
            return "The service was ended by signal \(status)"
        }
        // The process is a connection to the shared service, whose own status is unknown.
        if isShared && status == 0 { return "The shared service has closed the connection" }
        return "The \(isShared ? "connection to the shared service" : "service") has ended with status \(status)"
    }

    /// For at most so many seconds. Foundation's own wait does not end while a child of the process lives.
    private func waitForExit(_ seconds: TimeInterval) {
        let limit = Date() + seconds
        while let process, process.isRunning, Date() < limit { Thread.sleep(forTimeInterval: 0.005) }
    }

    deinit { close(descriptor) }

    private static func failure(_ what: String) -> StorageError {
        .unknown(message: "\(what): \(String(cString: strerror(errno)))", serverError: [:])
    }
}

/// The last lines that a process writes to its stderr. Sound: `kept` is guarded by `lock`.
private final class LastWords: @unchecked Sendable {
    private let lock = NSLock()
    private let ended = DispatchSemaphore(value: 0)
    private var kept = Data()

    func listen(to file: FileHandle) {
        startThread("storage-rpc stderr") { [self] in
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = systemRead(file.fileDescriptor, &buffer, buffer.count)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { break }
                lock.withLock { kept = (kept + buffer.prefix(count)).suffix(4096) }
            }
            try? file.close()
            ended.signal()
        }
    }

    /// Waits for the end of stderr, unless another process holds it open.
    func text() -> String {
        _ = ended.wait(timeout: .now() + 3)
        let lines = lock.withLock { String(decoding: kept, as: UTF8.self) }.split(separator: "\n").suffix(10)
        return lines.joined(separator: "\n")
    }
}

/// Runs a body that blocks on a thread of its own.
func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.name = name
    thread.stackSize = 1 << 20
    thread.start()
}

private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, buffer, count)
}

private func systemKill(_ process: pid_t, _ signal: Int32) -> Int32 { kill(process, signal) }

private func systemConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}

#if canImport(Darwin)
    private let streams = SOCK_STREAM
    private let quietly: Int32 = 0
#else
    #if canImport(Musl)
        private let streams = SOCK_STREAM | SOCK_CLOEXEC
    #else
        private let streams = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #endif
    private let quietly = Int32(MSG_NOSIGNAL)
#endif
