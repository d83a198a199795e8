import Platform
import Glibc
import JSONText
import Storage
import Transfers

@testable import EmbeddedEngine
@testable import Roots
@testable import JSONRPC
@testable import Methods

/// A call is accepted, or refused with a code and words that a client can use; an unknown param is always refused,
/// but by `initialize`, which takes other params than its own from clients of other protocols.
@Sendable func fuzzParams(_ input: UnsafeRawBufferPointer) {
    var feed = Feed(input)
    let method = allMethods.names[Int(feed.byte()) % allMethods.names.count]
    let text = UnsafeRawBufferPointer(rebasing: feed.rest)
    guard let value = attempt({ () throws(JSONSyntaxError) in try JSON(parsing: text) }) else { return }
    checkMessage(value)
    guard let members = value.object else { return }
    let error = refusal(of: method, members)
    guard let error else {
        if method == Initialize.name { return }
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
        _ = try allMethods.call(method, Params(members), anyone)
        return nil
    } catch {
        return error
    }
}

/// Whatever is an id comes back as it was.
private func checkMessage(_ value: JSON) {
    let message = DecodedMessage(Envelope(value)) { method, params throws(RPCError) in
        try allMethods.call(method, params, anyone)
    }
    check(message, of: value)
}

private func check(_ message: DecodedMessage, of value: JSON) {
    switch message {
    case .call(let id?, _, _): expect(value["id"].flatMap(RequestID.init) == id, "an id is the message's own")
    case .invalid(let id, let error):
        expect(id == .null || value["id"].flatMap(RequestID.init) == id, "an id is the message's own")
        expect([-32600, -32602].contains(error.code), "a message is no request, or has no params: \(error)")
    case .answer(_, _, let otherwise), .refused(_, let otherwise): check(otherwise, of: value)
    case .call, .cancellation, .ignored: break
    }
}

/// What calls run in that are never run.
private let anyone: Request<ConnectionContext> = {
    do {
        let directory = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        let backend = try EmbeddedBackend(StorageRoot("\(directory)/params-\(getpid())"), time: .system)
        return onLoop {
            let configuration = ServiceContext.Configuration(
                defaultBucket: "b", limits: Limits(), processID: 1)
            let service = ServiceContext(
                configuration, transfers: Transfers(backend: backend, time: .system), time: .system
            ) { _, _ in }
            return Request(context: ConnectionContext(service, peer: Nobody()))
        }
    } catch {
        fail("there is no service: \(error)")
    }
}()

@Loop private final class Nobody: Peer {
    var requests: RequestCounts { RequestCounts() }
    func notify(_ method: String, _ params: some JSONWritable, _ kind: DeliveryPolicy) {}
    func end() {}
    func request(_ method: String, _ params: JSON, timeout: Duration) async throws -> JSON {
        throw PeerRequestError.disconnected
    }
}
