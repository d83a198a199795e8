import JSONText
import EventLoop

/// Every method of a service by name; decoding the params yields a call that is ready to run.
public struct MethodTable<Context: MethodContext>: Sendable {
    typealias Afterwards = @Loop @Sendable () -> Void
    typealias Answer = (result: JSON, afterwards: Afterwards)

    enum Call: Sendable {
        case prompt(@Loop @Sendable (Request<Context>) throws -> JSON)
        case waiting(@Loop @Sendable (Request<Context>) async throws -> Answer)
    }

    private let places: [String: Int]
    private let decoders: [@Sendable (inout Params) throws(RPCError) -> Call]

    public let names: [String]

    public init(_ methods: [any RPCMethod<Context>.Type]) {
        let names = methods.map { $0.name }
        places = Dictionary(zip(names, 0...), uniquingKeysWith: { _, last in last })
        decoders = methods.map { Self.decoder(for: $0) }
        self.names = names
    }

    func call(_ method: String, _ params: Params) throws(RPCError) -> Call {
        guard let place = places[method] else { throw .methodNotFound(method) }
        var params = params
        let call = try decoders[place](&params)
        try params.finish()
        return call
    }

    private static func decoder<M: RPCMethod>(
        for method: M.Type
    ) -> @Sendable (inout Params) throws(RPCError) -> Call where M.Context == Context {
        if let method = method as? any PromptMethod<Context>.Type { return promptDecoder(for: method) }
        return { (params: inout Params) throws(RPCError) -> Call in
            let call = try M(&params)
            return .waiting { request in
                let result = try await call.run(in: request)
                return (result.json, { call.didReply(result, in: request.context) })
            }
        }
    }

    private static func promptDecoder<M: PromptMethod>(
        for method: M.Type
    ) -> @Sendable (inout Params) throws(RPCError) -> Call where M.Context == Context {
        { (params: inout Params) throws(RPCError) -> Call in
            let call = try M(&params)
            return .prompt { try call.run(in: $0).json }
        }
    }
}
