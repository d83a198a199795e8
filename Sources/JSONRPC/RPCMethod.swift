import JSONText
import Platform

/// One method a peer may call. The stored properties are its params, `run` is its behaviour.
public protocol RPCMethod<Context>: Sendable {
    associatedtype Context: MethodContext
    associatedtype Result: JSONConvertible = JSON

    static var name: String { get }

    /// Takes its params one by one; what it does not take is refused as unknown.
    init(_ params: inout Params) throws(RPCError)

    /// Runs on the loop up to its first wait, in the order in which the requests came in.
    @Loop func run(in request: Request<Context>) async throws -> Result

    /// What the request is answered with where `run` throws: the error, with what the method knows of it.
    func failure(_ error: any Error) -> any Error

    /// Called once the reply is in the outbox. What is set going here can only be heard of after the reply.
    @Loop func didReply(_ result: Result, in context: Context)
}

extension RPCMethod {
    public func failure(_ error: any Error) -> any Error { error }

    public func didReply(_ result: Result, in context: Context) {}
}

/// A method that is done with its answer: it neither waits nor has anything to do afterwards, so it needs no task.
///
/// Its `didReply` is never called.
public protocol PromptMethod<Context>: RPCMethod {
    @Loop func run(in request: Request<Context>) throws -> Result
}

/// A result that knows how it looks on the wire.
public protocol JSONConvertible: Sendable {
    var json: JSON { get }
    /// Where it is encoded already.
    var encoded: EncodedJSON? { get }
}

extension JSONConvertible {
    public var encoded: EncodedJSON? { nil }
}

extension JSON: JSONConvertible {
    public var json: JSON { self }
}

/// A method without params.
public protocol ParameterlessMethod: RPCMethod {
    init()
}

extension ParameterlessMethod {
    public init(_ params: inout Params) throws(RPCError) { self.init() }
}

/// One request that is being answered.
@Loop
public final class Request<Context: MethodContext> {
    public nonisolated let context: Context
    private let controls: RequestControls?

    nonisolated init(context: Context, _ controls: RequestControls? = nil) {
        self.context = context
        self.controls = controls
    }

    /// Returns when the peer has read most of what was sent; a method with a large answer waits for that. `expecting`
    /// is how many bytes may come, where the answers of several requests could be too much together. Throws in a batch
    /// whose answers are too large already.
    public func roomToAnswer(expecting bytes: Int = 0) async throws {
        guard let controls else { return }
        try await controls.connection.awaitRoom(for: controls.number, expecting: bytes, in: controls.batch)
    }

    /// To be asked before `beginWaiting`: false where too many requests of this connection wait for tasks.
    public func mayWait() -> Bool { controls.map { $0.connection.takeWaitingPlace($0.number) } ?? true }

    /// From here on the request only waits for a task, and keeps no other request from beginning.
    public func beginWaiting() { controls.map { $0.connection.beginWaiting($0.number) } }

    /// Waits for an answer of the peer. Meanwhile the request keeps no other one from beginning: the answer may stand
    /// behind others.
    public func whileWaitingForPeer<Answer>(_ wait: @Loop () async throws -> Answer) async rethrows -> Answer {
        changePeerWaits(by: 1)
        defer { changePeerWaits(by: -1) }
        return try await wait()
    }

    private func changePeerWaits(by change: Int) {
        controls.map { $0.connection.change($0.number) { $0.peerWaits += change } }
    }
}

/// The place of a request at its connection.
struct RequestControls: Sendable {
    let connection: any RequestOwner
    let number: Int
    let batch: Batch?
}

/// A connection, as its pending requests use it.
@Loop
protocol RequestOwner: AnyObject, Sendable {
    /// False where as many requests wait for tasks as may.
    func takeWaitingPlace(_ number: Int) -> Bool
    func beginWaiting(_ number: Int)
    func change(_ number: Int, _ change: (inout PendingRequest) -> Void)
    func awaitRoom(for number: Int, expecting bytes: Int, in batch: Batch?) async throws
}

/// What the methods of one connection run in.
@Loop
public protocol MethodContext: AnyObject, Sendable {
    /// Throws where the method is not to be taken now.
    func admit(_ method: String) throws(RPCError)
}
