import JSONText
import Platform

/// One method that a peer may call. The stored properties are its params.
public protocol RPCMethod<Context>: Sendable {
    associatedtype Context: MethodContext
    associatedtype Result: JSONConvertible = JSON

    static var name: String { get }

    /// Takes the params one by one. A param that is not taken is refused as unknown.
    init(_ params: inout Params) throws(RPCError)

    /// Throws if the request may not run in the context. Called right before the method runs.
    @Loop func authorize(in context: Context) throws

    /// Runs the method. All requests run in order up to their first wait, on the loop.
    @Loop func run(in request: Request<Context>) async throws -> Result

    /// Takes the params and returns a call that is ready to run. `prompt` is the request that prompt methods run with.
    ///
    /// This is a requirement so that the method table needs no casts, each of which would search all conformances at
    /// the start.
    static func prepare(_ params: inout Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall

    /// The error of the reply when `run` throws, with details that the method adds.
    func failure(_ error: any Error) -> any Error

    /// Called once the reply is in the outbox, so that notifications of work that starts here follow the reply.
    @Loop func didReply(_ result: Result, in context: Context)

    /// Runs the method if it is prompt and takes no params, with the same effect as `prepare` without params.
    static var prompt: PromptRun<Context>? { get }

    /// The effect of refusing a request before it runs. Nil for a method whose requests are independent.
    static var refusal: (@Sendable (Params, Context) -> Refusal)? { get }
}

/// Runs a prompt method.
public typealias PromptRun<Context: MethodContext> = @Loop @Sendable (Request<Context>) throws -> ResultPayload

/// Called in the turn of a request that was refused before it could run.
public typealias Refusal = @Loop @Sendable () -> Void

extension RPCMethod {
    @Loop public func authorize(in context: Context) throws {}

    public func failure(_ error: any Error) -> any Error { error }

    public func didReply(_ result: Result, in context: Context) {}

    public static var prompt: PromptRun<Context>? { nil }

    public static var refusal: (@Sendable (Params, Context) -> Refusal)? { nil }
}

/// A method that answers at once, without a Swift task.
///
/// `didReply` is never called.
public protocol PromptMethod<Context>: RPCMethod {
    @Loop func run(in request: Request<Context>) throws -> Result
}

/// A method that waits for its result, unless the result is known and can be answered at once.
///
/// `didReply` is never called.
public protocol RecallingMethod<Context>: RPCMethod {
    /// The result that `run` would return now; nil if that requires a wait. Throws the errors of `run`.
    @Loop func knownResult(in request: Request<Context>) throws -> Result?
}

/// A result with a JSON form.
public protocol JSONConvertible: JSONWritable, Sendable {
    /// The result in the form in which it waits to be sent.
    var payload: ResultPayload { get }
}

extension JSONConvertible {
    public var payload: ResultPayload { .written(bytes) }
}

extension JSON: JSONConvertible {
    public var payload: ResultPayload { .value(self) }
}

/// A result on its way into a reply.
public enum ResultPayload: JSONWritable, Sendable {
    case value(JSON)
    case written([UInt8])
    /// A large result, whose segments are not copied.
    case encoded(SegmentedBytes)

    public func write(to json: inout JSONWriter) {
        switch self {
        case .value(let value): value.write(to: &json)
        case .written(let bytes): json.verbatim(bytes)
        case .encoded(let result): result.write(to: &json)
        }
    }
}

/// A method without params.
public protocol ParameterlessMethod: RPCMethod {
    init()
}

extension ParameterlessMethod {
    public init(_ params: inout Params) throws(RPCError) { self.init() }
}

/// One request, as seen by its method.
@Loop
public final class Request<Context: MethodContext> {
    public nonisolated let context: Context
    private let controls: RequestControls?

    nonisolated init(context: Context, _ controls: RequestControls? = nil) {
        (self.context, self.controls) = (context, controls)
    }

    /// Returns when the peer has read most of the output; a method with a large answer calls it first. Reserves `bytes`
    /// if the answers of several requests together could be too large. Throws in a batch whose answers are already too
    /// large.
    public func roomToAnswer(expecting bytes: Int = 0) async throws {
        guard let controls else { return }
        try await controls.connection.awaitRoom(for: controls.number, expecting: bytes, in: controls.batch)
    }

    /// Reserves room for an answer of `bytes` bytes if there is enough at once, and returns whether it has.
    public func takeRoom(toAnswer bytes: Int) -> Bool {
        controls.map { $0.connection.takeRoom(for: $0.number, expecting: bytes, in: $0.batch) } ?? true
    }

    /// Reserves a place for `beginWaiting`. Returns false if too many requests of this connection wait for tasks.
    public func mayWait() -> Bool { controls.map { $0.connection.takeWaitingPlace($0.number) } ?? true }

    /// From now on the request only waits for a task, and does not count as active.
    ///
    /// - Parameter keepsBytes: the task needs bytes of the message, which therefore still counts as memory.
    public func beginWaiting(keepsBytes: Bool = false) {
        controls.map { $0.connection.beginWaiting($0.number, keepsBytes: keepsBytes) }
    }

    /// Waits for an answer of the peer. Meanwhile the request does not count as active, because the answer may follow
    /// other requests.
    public func whileWaitingForPeer<Answer>(_ wait: @Loop () async throws -> Answer) async rethrows -> Answer {
        changePeerWaits(by: 1)
        defer { changePeerWaits(by: -1) }
        return try await wait()
    }

    private func changePeerWaits(by change: Int) {
        controls.map { $0.connection.change($0.number) { $0.peerWaits += change } }
    }
}

/// The connection of a request, and the request's number there.
struct RequestControls: Sendable {
    let connection: any RequestOwner
    let number: Int
    let batch: Batch?
}

/// A connection, as seen by its pending requests.
@Loop
protocol RequestOwner: AnyObject, Sendable {
    /// Reserves a place to wait for a task. Returns false at the limit of such places.
    func takeWaitingPlace(_ number: Int) -> Bool
    func beginWaiting(_ number: Int, keepsBytes: Bool)
    func change(_ number: Int, _ change: (PendingRequest) -> Void)
    func awaitRoom(for number: Int, expecting bytes: Int, in batch: Batch?) async throws
    func takeRoom(for number: Int, expecting bytes: Int, in batch: Batch?) -> Bool
}

/// The context that the methods of one connection run in.
@Loop
public protocol MethodContext: AnyObject, Sendable {
    /// Throws if the method is not allowed now.
    func admit(_ method: String) throws(RPCError)

    /// Called for a refused message whose method cannot be read.
    func didRefuseUnreadable()
}

extension MethodContext {
    public func didRefuseUnreadable() {}
}
