import JSONText
import Platform
import JSONRPC
import TestSupport
import Testing

/// What the fake methods of a test run in.
@Loop final class Desk: MethodContext {
    var peer: (any Peer)?
    let opened = Waiters()
    var running = 0
    var mostRunning = 0
    let started = Mail<String>()
    let cancelled = Mail<String>()
    var isShut = false
    /// What `look` answers with.
    var sight: () -> Int = { 0 }
    /// What was answered, as long as somebody holds it.
    var lent: [() -> Loan?] = []

    func admit(_ method: String) throws(RPCError) {
        if isShut { throw .invalidRequest("The desk is shut.") }
    }

    func tell(_ number: Int) { peer?.notify("told", ["number": JSON(Int64(number))], .always) }
    func show(_ number: Int) { peer?.notify("shown", ["number": JSON(Int64(number))], .latest(key: "k")) }

    /// A connection whose methods run here, on the service's end of the wire.
    func connect(
        _ wire: Wire, limits: ConnectionLimits = .init(), linger: Connection<Desk>.Linger? = nil,
        clock: any Clock<Duration> = ManualClock(), trace: TraceHook? = nil, threads: DecodingThreads = .shared,
        memory: ConnectionMemory = ConnectionMemory(),
        reportInternalError: @escaping @Loop (String) -> Void = { _ in }
    ) throws -> (Connection<Desk>, ended: Mail<Void>) {
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

    nonisolated static let methods = MethodTable<Desk>([
        Echo.self, Wait.self, Fail.self, Announce.self, Inquire.self, Share.self, Bulk.self,
        Borrow.self, Doomed.self, Look.self,
    ])
}

struct Echo: RPCMethod {
    static let name = "echo"
    let value: JSON
    init(_ params: inout Params) throws(RPCError) { value = try params.require("value") }
    func run(in request: Request<Desk>) async throws -> JSON { value }
}

/// Waits until the desk opens; aside, if asked to.
struct Wait: RPCMethod {
    static let name = "wait"
    let name: String
    let aside: Bool

    init(_ params: inout Params) throws(RPCError) {
        name = try params.optionalString("name") ?? ""
        aside = try params.optionalBool("aside") ?? false
    }

    func run(in request: Request<Desk>) async throws -> JSON {
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

/// Answers with a mebibyte, when the desk has opened and there is room for it.
struct Bulk: ParameterlessMethod {
    static let name = "bulk"
    static let answer = JSON.string(String(repeating: "x", count: 1 << 20))
    func run(in request: Request<Desk>) async throws -> JSON {
        request.context.started.deliver("bulk")
        try await request.context.opened.wait()
        try await request.roomToAnswer()
        return Self.answer
    }
}

struct Fail: ParameterlessMethod {
    static let name = "fail"
    struct Odd: Error {}
    func run(in request: Request<Desk>) async throws -> JSON { throw Odd() }
}

/// Waits aside until the desk opens, and fails after that: once it was cancelled.
struct Doomed: ParameterlessMethod {
    static let name = "doomed"
    func run(in request: Request<Desk>) async throws -> JSON {
        request.beginWaiting()
        request.context.started.deliver("doomed")
        try await request.context.opened.wait()
        do { try await Waiters().wait() } catch {}
        throw RPCError(code: 7, message: "It was doomed.")
    }
}

/// Tells what the desk sees when it begins.
struct Look: ParameterlessMethod, PromptMethod {
    static let name = "look"
    func run(in request: Request<Desk>) throws -> JSON { JSON(Int64(request.context.sight())) }
}

/// Tells news right after its reply.
struct Announce: ParameterlessMethod {
    static let name = "announce"
    func run(in request: Request<Desk>) async throws -> JSON { "announced" }
    func didReply(_ result: JSON, in desk: Desk) { for number in 1...3 { desk.tell(number) } }
}

/// Answers with what can be told to be held by nobody any more.
struct Borrow: ParameterlessMethod {
    static let name = "borrow"
    func run(in request: Request<Desk>) async throws -> Loan {
        let loan = Loan()
        request.context.lent.append { [weak loan] in loan }
        return loan
    }
}

final class Loan: JSONConvertible {
    let json: JSON = "lent"
}

/// Returns when what was told in this iteration of the loop has been offered to its peers.
@Loop func flushed() async { await Loop.nextIteration() }

/// Returns when a connection of its own has an answer: by then the loop has heard what was sent to others before.
@Loop func laterReply() async throws {
    let wire = Wire()
    let (connection, _) = try Desk().connect(wire)
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
