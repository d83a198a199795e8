import EventLoop

/// Every method of a service by name; decoding the params yields a call that is ready to run.
public struct MethodTable<Context: MethodContext>: Sendable {
    typealias Afterwards = @Loop @Sendable () -> Void
    typealias Call = @Loop @Sendable (Request<Context>) async throws -> (result: JSON, afterwards: Afterwards)

    private let decoders: [String: @Sendable (inout Params) throws(RPCError) -> Call]

    public let names: [String]

    public init(_ methods: [any RPCMethod<Context>.Type]) {
        var decoders: [String: @Sendable (inout Params) throws(RPCError) -> Call] = [:]
        for method in methods {
            let (name, decoder) = Self.entry(for: method)
            decoders[name] = decoder
        }
        self.decoders = decoders
        names = methods.map { $0.name }
    }

    func call(_ method: String, _ params: Params) throws(RPCError) -> Call {
        guard let decode = decoders[method] else { throw .methodNotFound(method) }
        var params = params
        let call = try decode(&params)
        try params.finish()
        return call
    }

    private static func entry<M: RPCMethod>(
        for method: M.Type
    ) -> (String, @Sendable (inout Params) throws(RPCError) -> Call) where M.Context == Context {
        (
            M.name,
            { (params: inout Params) throws(RPCError) -> Call in
                let call = try M(&params)
                return { request in
                    let result = try await call.run(in: request)
                    return (result.json, { call.didReply(result, in: request.context) })
                }
            }
        )
    }
}
