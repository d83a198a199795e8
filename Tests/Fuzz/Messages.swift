import JSONText

@testable import JSONRPC

/// A text says the same whether it is read as a whole or message by message, and never more than its bounds allow.
@Sendable func fuzzMessages(_ input: UnsafeRawBufferPointer) {
    var limits = ConnectionLimits()
    (limits.nesting, limits.batchMessages, limits.messageValues) = (16, 8, 64)
    let decoder = MessageDecoder(limits) { method, params throws(RPCError) in
        throw RPCError(code: 1, message: "\(method) \(params)")
    }
    let whole = meaning(of: decoder.decode(short: input))
    if let call = PlainCall(reading: input, limits) {
        let method = String(decoding: call.method, as: UTF8.self)
        let error = RPCError(code: 1, message: "\(method) \(Params([]))")
        let plain = DecodedInput.message(.call(RequestID(call), method: method, .failure(error)))
        expect(meaning(of: plain) == whole, "a plain call means the same: \(whole)")
    }
    // The former reads a message without a tree.
    expect(meaning(of: decoder.decode(input, of: ArraySlice(input))) == whole, "it means the same in pieces: \(whole)")
}

private func meaning(of text: DecodedInput) -> [String] {
    switch text {
    case .message(let message): return ["\(message)"]
    case .batch(var batch):
        var found: [BatchDecoder.Item] = []
        let (count, bytes) = (batch.count, batch.bytes)
        while case let group = batch.group(), !group.isEmpty { found += group.reversed() }
        expect((1...8).contains(count) && found.count == count && batch.count == 0, "a batch is decoded to its end")
        expect(found.reduce(0) { $0 + $1.bytes } <= bytes, "its messages are no longer than it is")
        return found.map { "\($0.message)" } + ["of a batch"]
    case .refused(let error):
        expect([-32700, -32600].contains(error.code), "a refusal of a text")
        return ["\(error)"]
    case .blank: return ["nothing"]
    }
}
