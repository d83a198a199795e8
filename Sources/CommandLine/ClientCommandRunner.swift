import JSONText

/// Runs one command as a client of the service.
package struct ClientCommandRunner {
    let options: ClientCommandOptions
    var client: Client

    /// Returns after the result is printed.
    package static func run(_ kind: ClientCommand, _ options: ClientCommandOptions, _ client: Client) throws {
        var runner = ClientCommandRunner(options: options, client: client)
        switch kind {
        case .put(let file, let reference): try runner.put(file, reference)
        case .get(let reference, let file): try runner.get(reference, file)
        case .ls(let reference): try runner.list(reference)
        case .rm(let references): try runner.remove(references)
        case .url(let reference): try runner.url(reference)
        }
    }

    /// The params of a write.
    func bound(_ params: [JSON.Member]) -> JSON {
        .object(params + options.preconditions.map { .init(key: $0.key, value: JSON(Int64($0.value))) })
    }

    /// What a person names by a URL, or by a path in the default bucket.
    mutating func reference(_ text: String) throws(Client.Failure) -> JSON {
        if options.isExact, !text.isEmpty { return try exactReference(text) }
        let isURL = ["gs://", "http://", "https://"].contains { text.utf8.starts(with: $0.utf8) }
        return try client.call("storage/reference", [isURL ? "url" : "path": .string(text)])
    }

    private mutating func exactReference(_ text: String) throws(Client.Failure) -> JSON {
        guard text.utf8.starts(with: "gs://".utf8) else {
            return try client.call("storage/reference", ["object": .string(text)])
        }
        let rest = text.utf8.dropFirst(5)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), case let object = rest[slash...].dropFirst(),
            !object.isEmpty
        else { return try client.call("storage/reference", ["url": .string(text)]) }
        func part(_ bytes: Substring.UTF8View) -> JSON { .string(String(decoding: bytes, as: UTF8.self)) }
        return try client.call("storage/reference", ["bucket": part(rest[..<slash]), "object": part(object)])
    }
}
