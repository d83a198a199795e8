import JSONText
import ClientMemory
import Platform
import JSONRPC
import TestSupport
import Testing

/// The context of the test methods.
@Loop final class TestContext: MethodContext {
    var peer: (any Peer)?
    let opened = Waiters()
    var running = 0
    var mostRunning = 0
    let started = Mail<String>()
    let cancelled = Mail<String>()
    var isShut = false
    /// How often `tell` was called.
    var told = 0
    /// The result of `look`.
    var sight: () -> Int = { 0 }
    /// A weak reference to the last result.
    var lent: [() -> Loan?] = []

    func admit(_ method: String) throws(RPCError) {
        if isShut { throw .invalidRequest("The desk is shut.") }
    }

    func tell(_ number: Int) {
        told += 1
        peer?.notify("told", ["number": JSON(Int64(number))] as JSON, .always)
    }

    func show(_ number: Int) { peer?.notify("shown", ["number": JSON(Int64(number))] as JSON, .latest(key: "k")) }

    /// A connection on the service's end of the socket pair, whose methods run in this context.
    func connect(
        _ wire: Wire, limits: ConnectionLimits = .init(), linger: Connection<TestContext>.Linger? = nil,
        clock: any Clock<Duration> = ManualClock(), trace: TraceHook? = nil, threads: DecodingThreads = .shared,
        memory: ConnectionMemory = ConnectionMemory(),
        reportInternalError: @escaping @Loop (String) -> Void = { _ in }
    ) throws -> (Connection<TestContext>, ended: Mail<Void>) {
        let socket = try #require(wire.takeServer())
        let ended = Mail<Void>()
        let connection = Connection(
            input: socket, output: socket, table: Self.methods, limits: limits,
            linger: linger, clock: clock, trace: trace, threads: threads, memory: memory,
            reportInternalError: reportInternalError
        ) { _ in ended.deliver(()) }
        peer = connection
        connection.serve(self)
        return (connection, ended)
    }

    nonisolated static let methods = MethodTable<TestContext>([
        Echo.self, Wait.self, Fail.self, Announce.self, AskPeer.self, Share.self, Bulk.self,
        Borrow.self, Doomed.self, Look.self, Decline.self,
    ])
}

struct Echo: RPCMethod {
    static let name = "echo"
    let value: JSON
    init(_ params: inout Params) throws(RPCError) { value = try params.require("value") }
    func run(in request: Request<TestContext>) async throws -> JSON { value }
}

/// Waits until the context opens, as a request that waits for a task if `aside` is set.
struct Wait: RPCMethod {
    static let name = "wait"
    let name: String
    let aside: Bool

    init(_ params: inout Params) throws(RPCError) {
        name = try params.optionalString("name") ?? ""
        aside = try params.optionalBool("aside") ?? false
    }

    func run(in request: Request<TestContext>) async throws -> JSON {
        let desk = request.context
        desk.running += 1
        desk.mostRunning = max(desk.running, desk.mostRunning)
        defer { desk.running -= 1 }
        if aside {
            if !request.mayWait() { throw RPCError.invalidRequest("No seat.") }
            request.beginWaiting()
        }
        desk.started.deliver(name)
        do { try await desk.opened.wait() } catch {
            desk.cancelled.deliver(name)
            throw error
        }
        return .string(name)
    }
}

/// Answers with a mebibyte when the context has opened and there is room for it.
struct Bulk: ParameterlessMethod {
    static let name = "bulk"
    static let answer = JSON.string(String(repeating: "x", count: 1 << 20))
    func run(in request: Request<TestContext>) async throws -> JSON {
        request.context.started.deliver("bulk")
        try await request.context.opened.wait()
        try await request.roomToAnswer(expecting: 1 << 20)
        return Self.answer
    }
}

struct Fail: ParameterlessMethod {
    static let name = "fail"
    struct Odd: Error {}
    func run(in request: Request<TestContext>) async throws -> JSON { throw Odd() }
}

/// Waits until the context opens, then fails, also after a cancellation.
struct Doomed: ParameterlessMethod {
    static let name = "doomed"
    func run(in request: Request<TestContext>) async throws -> JSON {
        request.beginWaiting()
        request.context.started.deliver("doomed")
        try await request.context.opened.wait()
        do { try await Waiters().wait() } catch {}
        throw RPCError(code: 7, message: "It was doomed.")
    }
}

/// Answers with the value of `sight` when it begins.
struct Look: ParameterlessMethod, PromptMethod {
    static let name = "look"
    func run(in request: Request<TestContext>) throws -> JSON { JSON(Int64(request.context.sight())) }
}

/// Fails when it begins.
struct Decline: ParameterlessMethod, PromptMethod {
    static let name = "decline"
    func run(in request: Request<TestContext>) throws -> JSON { throw Fail.Odd() }
    func failure(_ error: any Error) -> any Error { RPCError(code: 9, message: "declined: \(error)") }
}

/// Sends a notification after its reply.
struct Announce: ParameterlessMethod {
    static let name = "announce"
    func run(in request: Request<TestContext>) async throws -> JSON { "announced" }
    func didReply(_ result: JSON, in desk: TestContext) { for number in 1...3 { desk.tell(number) } }
}

/// Answers with a result whose release can be observed.
struct Borrow: ParameterlessMethod {
    static let name = "borrow"
    func run(in request: Request<TestContext>) async throws -> Loan {
        let loan = Loan()
        request.context.lent.append { [weak loan] in loan }
        return loan
    }
}

final class Loan: JSONConvertible {
    func write(to json: inout JSONWriter) { "lent".write(to: &json) }
}

/// Returns when the notifications of this iteration have been offered to the peers.
@Loop func flushed() async { await Loop.nextIteration() }

/// Returns when another connection has an answer: the loop has then read what was sent to others before.
@Loop func laterReply() async throws {
    let wire = Wire()
    let (connection, _) = try TestContext().connect(wire)
    await wire.sendLine(echo("1"))
    #expect(await wire.line() == reply("1"))
    connection.close()
}

func echo(_ id: String, _ value: String = "1") -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"echo","params":{"value":\#(value)}}"#
}

func reply(_ id: String, _ result: String = "1") -> String { #"{"jsonrpc":"2.0","id":\#(id),"result":\#(result)}"# }

func wait(_ id: String, aside: Bool = false) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"method":"wait","params":{"name":"\#(id)","aside":\#(aside)}}"#
}

/// The id and the code of an error reply, as "id code".
func complaint(_ line: String?) throws -> String {
    guard let line else { return "end" }
    let message = try parse(line)
    let id = message["id"].map { String(decoding: written($0), as: UTF8.self) }
    return "\(id ?? "?") \(message["error"]?["code"]?.number?.literal ?? "?")"
}

extension ConnectionLimits {
    static func with(_ change: (inout ConnectionLimits) -> Void) -> ConnectionLimits {
        var limits = ConnectionLimits()
        change(&limits)
        return limits
    }
}
