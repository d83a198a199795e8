import JSONText
import Platform

/// The resources whose changes the client hears of.
@Loop
final class Subscriptions {
    /// A set of resources with one way to tell the client.
    private final class Stream {
        /// The id of the request that has opened the stream; nil for the subscriptions of a handshake.
        let id: JSON?
        /// By the URI as this server writes it.
        var watched: [String: Watched] = [:]

        init(_ id: JSON?) { self.id = id }

        /// Whether the client hears of a change of an object through this resource: through the one that is next to it.
        func isNext(_ uri: String, to object: ObjectName) -> Bool {
            watched.filter { $0.value.covers(object) }
                .max { $0.key.utf8.count < $1.key.utf8.count }?.key == uri
        }
    }

    /// An object or a folder that a client hears of.
    private struct Watched {
        /// The URI as the client has written it.
        let uri: String
        let name: ObjectName
        let isFolder: Bool
        /// That of the service's observer.
        var handle = ""

        /// Nil for the URI of anything else.
        init?(_ uri: String) {
            guard let (name, isFolder) = ResourceURI.name(in: uri) else { return nil }
            (self.uri, self.name, self.isFolder) = (uri, name, isFolder)
        }

        var key: String { isFolder ? ResourceURI.text(ofFolder: name) : ResourceURI.text(of: name) }

        func covers(_ object: ObjectName) -> Bool {
            guard isFolder else { return object == name }
            return object.bucket.utf8.elementsEqual(name.bucket.utf8)
                && object.object.utf8.starts(with: name.prefix.utf8)
        }
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

    func subscribe(_ uri: String, _ revision: Revision) async throws { try await observe(uri, single, revision) }

    func unsubscribe(_ uri: String) {
        guard let key = Watched(uri)?.key, let watched = single.watched.removeValue(forKey: key) else { return }
        remove(watched.handle)
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
        let honoured: [String]
        do { honoured = try await observeKnown(uris, stream, revision) } catch {
            close(id)
            throw error
        }
        let subscriptions: JSON = uris.isEmpty ? [:] : ["resourceSubscriptions": .array(honoured.map(JSON.string))]
        tell(stream, "notifications/subscriptions/acknowledged", [.init(key: "notifications", value: subscriptions)])
    }

    func close(_ id: JSON) {
        guard let stream = streams.removeValue(forKey: id.text) else { return }
        for watched in stream.watched.values { remove(watched.handle) }
        let mark = Self.mark(stream)
        held = held.filter { $0.value["params"]?["_meta"] != mark || mark == nil }
    }

    /// Observes the resources that may be known, and returns their URIs. Throws if there are others alone.
    private func observeKnown(_ uris: [String], _ stream: Stream, _ revision: Revision) async throws -> [String] {
        var (honoured, refused): ([String], Refusal?) = ([], nil)
        for uri in uris {
            do {
                try await observe(uri, stream, revision)
                honoured.append(uri)
            } catch let refusal as Refusal where refusal.code == Resources.missing(uri, revision).code {
                refused = refusal
            }
        }
        if honoured.isEmpty, let refused { throw refused }
        return honoured
    }

    private func observe(_ uri: String, _ stream: Stream, _ revision: Revision) async throws {
        guard var watched = Watched(uri) else { throw Resources.missing(uri, revision) }
        guard stream.watched[watched.key] == nil else { return }
        guard streams.values.reduce(single.watched.count, { $0 + $1.watched.count }) < Self.most else {
            throw Refusal(code: -32603, message: "There are \(Self.most) subscriptions already")
        }
        let answer: JSON
        do { answer = try await link.call("storage/observe", ["reference": watched.name.param]) } catch let failure
            as ServiceFailure
        {
            if failure.name == "unauthorized" { throw Resources.missing(uri, revision) }
            throw Refusal(code: -32603, message: failure.message)
        }
        guard let handle = answer["handle"]?.string else { return }
        // The stream may have been closed, or the resource been named twice, meanwhile.
        guard isOpen(stream), stream.watched[watched.key] == nil else { return remove(handle) }
        watched.handle = handle
        stream.watched[watched.key] = watched
        link.events.listen(to: handle) { [weak self, watched] event in self?.changed(watched, event, stream) }
    }

    private func isOpen(_ stream: Stream) -> Bool {
        guard let id = stream.id else { return true }
        return streams[id.text] === stream
    }

    private func changed(_ watched: Watched, _ event: JSON, _ stream: Stream) {
        let object = ObjectName(event["reference"])
        var uri = watched.uri
        if event["change"] != "missed" {
            guard let object, stream.isNext(watched.key, to: object) else { return }
            if watched.isFolder, !isCrowded() { uri = ResourceURI.text(of: object) }
        }
        tell(stream, "notifications/resources/updated", [.init(key: "uri", value: .string(uri))])
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
            let uris = stream.watched.values.map(\.uri)
            stream.watched = [:]
            guard !uris.isEmpty else { continue }
            Loop.task { [self] in
                _ = try? await observeKnown(uris, stream, .stateless)
                for uri in uris where isOpen(stream) {
                    tell(stream, "notifications/resources/updated", [.init(key: "uri", value: .string(uri))])
                }
            }
        }
    }
}
