import JSONText
import Platform

/// The methods of a service by name. Decoding the params of one yields a call that is ready to run.
public struct MethodTable<Context: MethodContext>: Sendable {
    private typealias Decoder = @Sendable (inout Params, Request<Context>) throws(RPCError) -> PreparedCall

    private let places: [String: Int]
    private let decoders: [Decoder]
    private let refusals: [(@Sendable (Params, Context) -> Refusal)?]

    public let names: [String]

    public init(_ methods: [any RPCMethod<Context>.Type]) {
        let names = methods.map { $0.name }
        places = Dictionary(zip(names, 0...), uniquingKeysWith: { _, last in last })
        decoders = methods.map { Self.decoder(of: $0) }
        refusals = methods.map { Self.refusal(of: $0) }
        self.names = names
    }

    /// Nil for a method that there is not.
    func place(of method: String) -> Int? { places[method] }

    /// Decodes a call in the context of `prompt`, which is the request of a method that answers at once.
    func call(_ method: String, _ params: Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall {
        guard let place = places[method] else { throw .methodNotFound(method) }
        var rest = params
        var call = try decoders[place](&rest, prompt)
        try rest.finish()
        call.place = place
        call.refusal = refusals[place]?(params, prompt.context)
        return call
    }

    /// What happens if a request is refused; `method` is nil if it cannot be read.
    func refusal(of method: String?, _ params: Params, _ context: Context) -> Refusal? {
        guard let method else { return { context.didRefuseUnreadable() } }
        return places[method].flatMap { refusals[$0]?(params, context) }
    }

    private static func refusal<M: RPCMethod>(of method: M.Type) -> (@Sendable (Params, Context) -> Refusal)?
    where M.Context == Context { M.refusal }

    private static func decoder<M: RPCMethod>(of method: M.Type) -> Decoder where M.Context == Context {
        { (params, prompt) throws(RPCError) in try M.prepare(&params, prompt) }
    }
}

extension RPCMethod {
    public static func prepare(_ params: inout Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall {
        let call = try Self(&params)
        let context = prompt.context
        return PreparedCall(
            .waiting { controls in
                do {
                    let result = try await call.run(in: Request(context: context, controls))
                    return (result.payload, { call.didReply(result, in: context) })
                } catch {
                    throw call.failure(error)
                }
            })
    }
}

extension PromptMethod {
    public static func prepare(_ params: inout Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall {
        let call = try Self(&params)
        return PreparedCall(
            .prompt { do { return try call.run(in: prompt).payload } catch { throw call.failure(error) } })
    }
}

/// A method with its params and its context, ready to run.
///
/// It is not generic over the context, because the metadata of generic types would be looked up for each message.
public struct PreparedCall: Sendable {
    typealias Afterwards = @Loop @Sendable () -> Void
    typealias Completion = (result: ResultPayload, afterwards: Afterwards)

    enum Way: Sendable {
        case prompt(@Loop @Sendable () throws -> ResultPayload)
        case waiting(@Loop @Sendable (RequestControls) async throws -> Completion)
    }

    let way: Way
    /// The place of the method in the table.
    fileprivate(set) var place = 0
    fileprivate(set) var refusal: Refusal?

    init(_ way: Way) { self.way = way }
}
