import JSONText
import Platform

/// The resources whose changes the client hears of.
@Loop
final class Subscriptions {
    /// A set of resources with one way to tell the client.
    private final class Stream {
        /// The id of the request that has opened the stream; nil for the subscriptions of a handshake.
        let id: JSON?
        /// The handles of the service's observers, by URI.
        var handles: [String: String] = [:]

        init(_ id: JSON?) { self.id = id }
    }

    private let link: ServiceLink
    private let send: @Loop (JSON) -> Void
    /// Whether the client reads slowly, so that only the fact of a change is kept.
    private let isCrowded: @Loop () -> Bool
    private let single = Stream(nil)
    private var streams: [String: Stream] = [:]
    /// The notifications that wait until the client reads, by their texts.
    private var held: [String: JSON] = [:]

    /// The maximum number of resources of all streams.
    private static let most = 1000

    init(_ link: ServiceLink, send: @escaping @Loop (JSON) -> Void, isCrowded: @escaping @Loop () -> Bool) {
        (self.link, self.send, self.isCrowded) = (link, send, isCrowded)
        link.lost = { [weak self] in self?.renew() }
    }

    // MARK: - Both generations

    func subscribe(_ uri: String, _ revision: Revision) async throws { try await observe([uri], single, revision) }

    func unsubscribe(_ uri: String) {
        if let handle = single.handles.removeValue(forKey: uri) { remove(handle) }
    }

    /// Opens a stream. Returns after the acknowledgment has been sent; `close` ends the stream.
    func listen(_ id: JSON, _ params: JSON, _ revision: Revision) async throws {
        let wanted = params["notifications"]?["resourceSubscriptions"]
        guard params["notifications"]?.object != nil, let uris = (wanted ?? []).array?.compactMap(\.string),
            uris.count == (wanted?.array?.count ?? 0)
        else {
            throw Refusal.invalidParams("params.notifications must be an object with resourceSubscriptions, URIs")
        }
        let stream = Stream(id)
        streams[id.text] = stream
        do { try await observe(uris, stream, revision) } catch {
            close(id)
            throw error
        }
        let honoured: JSON = uris.isEmpty ? [:] : ["resourceSubscriptions": .array(uris.map(JSON.string))]
        tell(stream, "notifications/subscriptions/acknowledged", [.init(key: "notifications", value: honoured)])
    }

    func close(_ id: JSON) {
        guard let stream = streams.removeValue(forKey: id.text) else { return }
        for handle in stream.handles.values { remove(handle) }
        let mark = Self.mark(stream)
        held = held.filter { $0.value["params"]?["_meta"] != mark || mark == nil }
    }

    private func observe(_ uris: [String], _ stream: Stream, _ revision: Revision) async throws {
        for uri in uris where stream.handles[uri] == nil {
            guard streams.values.reduce(single.handles.count, { $0 + $1.handles.count }) < Self.most else {
                throw Refusal(code: -32603, message: "There are \(Self.most) subscriptions already")
            }
            try await observe(uri, stream, revision)
        }
    }

    private func observe(_ uri: String, _ stream: Stream, _ revision: Revision) async throws {
        guard let (name, isFolder) = ResourceURI.name(in: uri) else { throw Resources.missing(uri, revision) }
        let answer: JSON
        do { answer = try await link.call("storage/observe", ["reference": name.param]) } catch let failure
            as ServiceFailure
        {
            if failure.name == "unauthorized" { throw Resources.missing(uri, revision) }
            throw Refusal(code: -32603, message: failure.message)
        }
        guard let handle = answer["handle"]?.string else { return }
        // The stream may have been closed, or the resource been named twice, meanwhile.
        guard isOpen(stream), stream.handles[uri] == nil else { return remove(handle) }
        stream.handles[uri] = handle
        link.events.listen(to: handle) { [weak self] event in
            self?.changed(uri, name, isFolder, event, stream)
        }
    }

    private func isOpen(_ stream: Stream) -> Bool {
        guard let id = stream.id else { return true }
        return streams[id.text] === stream
    }

    private func changed(_ uri: String, _ name: ObjectName, _ isFolder: Bool, _ event: JSON, _ stream: Stream) {
        let object = ObjectName(event["reference"])
        let isMissed = event["change"] == "missed"
        if !isFolder, !isMissed, object != name { return }
        let changed = isFolder && !isMissed && !isCrowded() ? object.map { ResourceURI.text(of: $0) } ?? uri : uri
        tell(stream, "notifications/resources/updated", [.init(key: "uri", value: .string(changed))])
    }

    private static func mark(_ stream: Stream) -> JSON? {
        stream.id.map { .object([.init(key: Revision.subscriptionKey, value: $0)]) }
    }

    private func tell(_ stream: Stream, _ method: String, _ params: [JSON.Member]) {
        let meta = Self.mark(stream).map { [JSON.Member(key: "_meta", value: $0)] } ?? []
        let message: JSON = ["jsonrpc": "2.0", "method": .string(method), "params": .object(params + meta)]
        guard isCrowded() else { return send(message) }
        held[message.text] = message
    }

    /// Sends what has waited for the client to read.
    func resume() {
        guard !held.isEmpty, !isCrowded() else { return }
        for message in exchange(&held, with: [:]).sorted(by: { $0.key < $1.key }) { send(message.value) }
    }

    private func remove(_ handle: String) {
        link.events.forget(handle)
        Loop.task { [link] in _ = try? await link.call("storage/removeObserver", ["handle": .string(handle)]) }
    }

    /// Observes everything again after the end of the service. Each resource may have changed meanwhile.
    private func renew() {
        for stream in [single] + streams.values {
            let uris = Array(stream.handles.keys)
            stream.handles = [:]
            guard !uris.isEmpty else { continue }
            Loop.task { [self] in
                try? await observe(uris, stream, .stateless)
                for uri in uris where isOpen(stream) {
                    tell(stream, "notifications/resources/updated", [.init(key: "uri", value: .string(uri))])
                }
            }
        }
    }
}
