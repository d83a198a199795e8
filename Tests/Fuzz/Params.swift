import JSONText
import Storage

@testable import JSONRPC
@testable import Methods

/// A call is taken, or refused with a code and words that a client can use; a param that nobody knows is always refused.
@Sendable func fuzzParams(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let method = allMethods.names[Int(feed.byte()) % allMethods.names.count]
    let text = UnsafeRawBufferPointer(rebasing: feed.rest)
    guard let value = attempt({ () throws(JSONSyntaxError) in try JSON(parsing: text) }) else { return }
    checkMessage(value)
    guard let members = value.object else { return }
    guard let error = refusal(of: method, members) else {
        let stranger = refusal(of: method, members + [.init(key: "stranger", value: 1)])
        return expect(stranger?.data == ["param": "stranger"], "nothing is taken unseen by \(method)")
    }
    let isStorage = StorageError.Code(rawValue: error.code) != nil
    expect(isStorage || error.code == RPCError.invalidParamsCode, "a refusal of \(method) is one of params: \(error)")
    expect(error.data?["param"]?.string != nil, "a refusal names the param: \(error)")
    expect(isStorage || error.message.contains("Param"), "and so does its message: \(error)")
}

private func refusal(of method: String, _ members: [JSON.Member]) -> RPCError? {
    do throws(RPCError) {
        _ = try allMethods.call(method, Params(members))
        return nil
    } catch {
        return error
    }
}

/// Whatever is an id comes back as it was.
private func checkMessage(_ value: JSON) {
    switch Incoming(Envelope(value)) {
    case .request(let id, let method, let params):
        expect(value["id"].flatMap(RequestID.init) == id, "an id is the message's own")
        _ = attempt { () throws(RPCError) in try allMethods.call(method, params) }
    case .invalid(let id, let error):
        expect(id == .null || value["id"].flatMap(RequestID.init) == id, "an id is the message's own")
        expect([-32600, -32602].contains(error.code), "a message is no request, or has no params: \(error)")
    case .notification, .ignored: break
    }
}
