import JSONText
import Platform

/// The methods of a service by name. Decoding the params of a method gives a call that is ready to run.
public struct MethodTable<Context: MethodContext>: Sendable {
    private typealias Decoder = @Sendable (inout Params, Request<Context>) throws(RPCError) -> PreparedCall

    /// A hash table of method indices with linear probing. At most half of the slots are used.
    private let slots: [Int?]
    private let decoders: [Decoder]
    private let refusals: [(@Sendable (Params, Context) -> Refusal)?]
    private let prompts: [PromptRun<Context>?]

    public let names: [String]

    public init(_ methods: [any RPCMethod<Context>.Type]) {
        let names = methods.map { $0.name }
        slots = Self.slots(names)
        decoders = methods.map { Self.decoder(of: $0) }
        refusals = methods.map { Self.refusal(of: $0) }
        prompts = methods.map { Self.prompt(of: $0) }
        self.names = names
    }

    /// The index of a method; nil for an unknown one.
    func place(of method: String) -> Int? {
        var method = method
        return method.withUTF8 { place(of: UnsafeRawBufferPointer($0)) }
    }

    /// The index of the method whose name has these bytes; nil for an unknown one.
    func place(of method: UnsafeRawBufferPointer) -> Int? {
        var slot = Self.slot(of: method, slots.count)
        while let place = slots[slot] {
            if method.isText(names[place]) { return place }
            slot = (slot + 1) % slots.count
        }
        return nil
    }

    /// Runs a prompt method that takes no params; nil for all other methods.
    func prompt(at place: Int) -> PromptRun<Context>? { prompts[place] }

    private static func slots(_ names: [String]) -> [Int?] {
        var slots = [Int?](repeating: nil, count: max(2, names.count * 2))
        for (place, name) in names.enumerated() {
            var name = name
            var slot = name.withUTF8 { Self.slot(of: UnsafeRawBufferPointer($0), slots.count) }
            while slots[slot] != nil { slot = (slot + 1) % slots.count }
            slots[slot] = place
        }
        return slots
    }

    private static func slot(of name: UnsafeRawBufferPointer, _ count: Int) -> Int {
        var hash: UInt32 = 0x811C_9DC5
        for byte in name { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return Int(hash % UInt32(count))
    }

    /// Decodes a call in the context of `prompt`, the request that prompt methods run with.
    func call(_ method: String, _ params: Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall {
        guard let place = place(of: method) else { throw .methodNotFound(method) }
        var rest = params
        var call = try decoders[place](&rest, prompt)
        try rest.finish()
        call.place = place
        call.refusal = refusals[place]?(params, prompt.context)
        return call
    }

    /// The effect of refusing a request; `method` is nil if it cannot be read.
    func refusal(of method: String?, _ params: Params, _ context: Context) -> Refusal? {
        guard let method else { return { context.didRefuseUnreadable() } }
        return place(of: method).flatMap { refusals[$0]?(params, context) }
    }

    private static func refusal<M: RPCMethod>(of method: M.Type) -> (@Sendable (Params, Context) -> Refusal)?
    where M.Context == Context { M.refusal }

    private static func prompt<M: RPCMethod>(of method: M.Type) -> PromptRun<Context>? where M.Context == Context {
        // A refusal needs the params.
        M.refusal == nil ? M.prompt : nil
    }

    private static func decoder<M: RPCMethod>(of method: M.Type) -> Decoder where M.Context == Context {
        { (params, prompt) throws(RPCError) in try M.prepare(&params, prompt) }
    }
}

extension UnsafeRawBufferPointer {
    fileprivate func isText(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { hasSameBytes(as: $0) }
    }
}

extension RPCMethod {
    public static func prepare(_ params: inout Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall {
        let call = try Self(&params)
        return PreparedCall(.waiting(call.waiting(in: prompt.context)))
    }

    fileprivate func waiting(in context: Context) -> PreparedCall.Waiting {
        { controls in
            do {
                try authorize(in: context)
                let result = try await run(in: Request(context: context, controls))
                return (result.payload, { didReply(result, in: context) })
            } catch {
                throw failure(error)
            }
        }
    }
}

extension PromptMethod {
    public static func prepare(_ params: inout Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall {
        let call = try Self(&params)
        return PreparedCall(.prompt { try call.answer(prompt) })
    }

    @Loop fileprivate func answer(_ request: Request<Context>) throws -> ResultPayload {
        do {
            try authorize(in: request.context)
            return try run(in: request).payload
        } catch {
            throw failure(error)
        }
    }
}

extension PromptMethod where Self: ParameterlessMethod {
    public static var prompt: PromptRun<Context>? { { try Self().answer($0) } }
}

extension RecallingMethod {
    public static func prepare(_ params: inout Params, _ prompt: Request<Context>) throws(RPCError) -> PreparedCall {
        let call = try Self(&params)
        return PreparedCall(
            .recalling(
                {
                    do {
                        try call.authorize(in: prompt.context)
                        return try call.knownResult(in: prompt)?.payload
                    } catch {
                        throw call.failure(error)
                    }
                },
                otherwise: call.waiting(in: prompt.context)))
    }
}

/// A method with its params and its context, ready to run.
///
/// The type is not generic over the context, because the metadata of generic types would be looked up for each message.
public struct PreparedCall: Sendable {
    typealias Afterwards = @Loop @Sendable () -> Void
    typealias Completion = (result: ResultPayload, afterwards: Afterwards)

    typealias Waiting = @Loop @Sendable (RequestControls) async throws -> Completion

    enum Way: Sendable {
        case prompt(@Loop @Sendable () throws -> ResultPayload)
        case waiting(Waiting)
        /// Answers at once with a known result; waits if the first closure returns nil.
        case recalling(@Loop @Sendable () throws -> ResultPayload?, otherwise: Waiting)
    }

    let way: Way
    /// The index of the method in the table.
    fileprivate(set) var place = 0
    fileprivate(set) var refusal: Refusal?

    init(_ way: Way) { self.way = way }
}
