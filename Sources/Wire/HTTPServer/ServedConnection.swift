import ClientMemory
import Platform

/// A connection: reads, answers and sends one request after the other, until either side closes it.
///
/// A task runs `serve` and suspends at the socket, at the handler, and at a thread that sends a file. A disconnect or a
/// timeout cancels the task, which resumes all three.
@Loop
final class ServedConnection {
    let server: HTTPServer
    let socket: Descriptor
    private(set) var readiness: SocketReadiness?
    var parser: RequestParser
    private var task: Task<Void, Never>?
    private var requests = 0
    private lazy var deadline = Deadline { [weak self] in self?.timeIsOver() }
    private var deadlineKind: Deadlines.Kind?
    /// Whether a head or a body has not come in time.
    private var isLate = false
    /// The number of unsent bytes at the last check; 0 where the deadline is for bytes of the client.
    private var queuedBefore: Int32 = 0
    /// The memory of the request and its answer.
    let memory: HeldMemory
    /// How long the body of the request may keep its handler waiting.
    var patience = Duration.zero

    init(_ socket: Descriptor, of server: HTTPServer) {
        (self.socket, self.server) = (socket, server)
        memory = HeldMemory(server.memory, freeBytes: server.limits.freeBytes) { socket.isAtEnd }
        let peer = SocketAddress(ofPeerOf: socket)?.description ?? ""
        parser = RequestParser(
            limits: server.limits, methods: server.methods, hosts: server.hosts, remoteAddress: peer)
        socket.sendAtOnce()
        memory.incoming.revoke = { [weak self] in self?.freeRequest() }
        memory.outgoing.revoke = { [weak self] in
            guard let self, deadlineKind == .stall else { return }
            memory.endAnswer()
            breakOff()
        }
    }

    /// Frees the memory of a request that the client sends slowly, because others wait for memory.
    private func freeRequest() {
        if !memory.isNeeded { return memory.incoming.free(memory.incoming.reserved) }
        guard deadlineKind == .body else { return }
        memory.keepOnly(0)
        isLate = true
        readiness?.giveUp()
    }

    func start(_ ended: @escaping @Loop (ServedConnection) -> Void) {
        readiness = SocketReadiness(socket) { [weak self] in self?.breakOff() }
        task = Loop.task { [self] in
            await serve()
            breakOff()
            memory.leave()
            ended(self)
        }
    }

    func breakOff() {
        lift()
        readiness?.close()
        task?.cancel()
    }

    private func serve() async {
        while !Task.isCancelled {
            switch await nextEvent() {
            case .incomplete: return
            case .refused(let status): return await refuse(status)
            case .request(let request):
                requests += 1
                let isLast = !request.keepsAlive || requests >= server.limits.requestsPerConnection
                switch await answer(request, isLast: isLast) {
                case .open: break
                case .closing: return await linger()
                case .broken: return
                }
            }
        }
    }

    /// Returns the next event; `incomplete` only at the end of input.
    private func nextEvent() async -> RequestParser.Event {
        defer { lift() }
        var event = parser.next()
        // Pipelined requests let other connections have their turn.
        if event != .incomplete { await Loop.nextIteration() }
        while event == .incomplete {
            if !parser.isWithinHead {
                allow(.idle)
                server.becameIdle()
            } else if deadlineKind != .head {
                allow(.head)
            }
            let isReadable = await readiness?.wait(for: .readable) ?? false
            if isLate { return .refused(408) }
            guard isReadable, receive(atMost: 16 << 10) else { return .incomplete }
            event = parser.next()
        }
        return event
    }

    /// Reads what the socket has. Returns false at the end of input.
    func receive(atMost limit: Int) -> Bool {
        withUnsafeTemporaryAllocation(byteCount: limit, alignment: 1) { buffer in
            guard let count = read(into: buffer) else { return false }
            parser.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return true
        }
    }

    /// Reads bytes of a body past the parser, which must expect them. Returns none if the socket has none, and nil at
    /// the end of input.
    func receiveContent(atMost limit: Int) -> [UInt8]? {
        var read: Int?
        let bytes = [UInt8](unsafeUninitializedCapacity: min(limit, Int(clamping: parser.contentAhead))) {
            read = self.read(into: UnsafeMutableRawBufferPointer($0))
            $1 = read ?? 0
        }
        parser.pass(bytes.count)
        return read == nil ? nil : bytes
    }

    /// Returns the number of bytes; 0 if the socket has none, and nil at the end of input.
    private func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        switch socket.read(into: buffer) {
        case .bytes(let count):
            server.metrics.received += count
            memory.incoming.progress += count
            return count
        case .notNow: return 0
        case .end, .broken: return nil
        }
    }

    enum BodyReadiness { case readable, late, closed }

    /// Waits until the socket has bytes of a body or is closed, at most for the stall time.
    func waitForBody() async -> BodyReadiness {
        guard patience > .zero else { return .late }
        allow(.body)
        // After the answer another deadline may be set.
        defer { if deadlineKind == .body { lift() } }
        let start = server.deadlines.now()
        let isReadable = await readiness?.wait(for: .readable) ?? false
        patience -= server.deadlines.now() - start
        return isLate ? .late : isReadable ? .readable : .closed
    }

    /// The client has time for as many bytes again.
    func receivedBody(_ count: Int) {
        let pace = memory.isNeeded ? server.limits.keptBodyPace : server.limits.bodyPace
        patience = min(server.limits.stallTime, patience + .seconds(count) / pace)
    }

    /// Ends a wait for the body.
    func stopReading() { readiness?.giveUp() }
}

extension ServedConnection {
    func allow(_ kind: Deadlines.Kind) {
        deadlineKind = kind
        queuedBefore = kind == .head || kind == .body ? 0 : socket.queued
        server.deadlines.set(deadline, kind)
    }

    func lift() {
        deadlineKind = nil
        server.deadlines.clear(deadline)
    }

    private func timeIsOver() {
        guard let kind = deadlineKind else { return }
        if kind == .head || kind == .body {
            isLate = true
            readiness?.giveUp()
        } else if case let left = socket.queued, left > 0, left < queuedBefore {
            // The client is slow, but reads.
            queuedBefore = left
            server.deadlines.set(deadline, kind)
        } else {
            if kind == .stall { socket.forgetUnsent() }
            breakOff()
        }
    }
}
