import HTTPText
import JSONText
import Platform
import Storage

/// Objects as resources.
@Loop
struct Resources {
    let call: ToolCall

    /// The maximum number of entries of the whole list: hosts read all pages.
    private static let most = 1000
    private static let page = 100
    /// The maximum size of an object that is read as a resource.
    private static let largest: Int64 = 1 << 20

    // MARK: - The list

    /// A page of the buckets, and of the objects in them. The cursor names the place, the token of the service, and the
    /// number of entries before.
    func list(_ cursor: String?) async throws -> JSON {
        let places = try await places()
        guard let cursor else {
            let shown = Array(places.prefix(Self.most))
            return page(shown.map(Self.entry(ofFolder:)), next: shown.isEmpty ? nil : Cursor(0, nil, shown.count))
        }
        guard let start = Cursor(cursor), start.place < places.count, start.count < Self.most else {
            throw Refusal.invalidParams("The cursor is none of this list")
        }
        var listed = ObjectPage()
        try await within("cursor") {
            try await listed.list(
                places[start.place], call, min(Self.page, Self.most - start.count), after: start.token,
                isRecursive: true)
        }
        let count = start.count + listed.items.count
        var next: Cursor?
        if count < Self.most {
            if let token = listed.next {
                next = Cursor(start.place, token, count)
            } else if start.place + 1 < places.count {
                next = Cursor(start.place + 1, nil, count)
            }
        }
        let entries = zip(listed.names, listed.items).map { name, item in Self.entry(of: name, item) }
        return page(entries, next: next)
    }

    private func page(_ entries: [JSON], next: Cursor?) -> JSON {
        .object(.init(present: ["resources": .array(entries), "nextCursor": next.map { .string($0.text) }]))
    }

    private static func entry(of name: ObjectName, _ item: JSON) -> JSON {
        .object(
            .init(present: [
                "uri": .string(ResourceURI.text(of: name)), "name": .string(name.object),
                "mimeType": item["contentType"],
                "size": item["size"],
            ]))
    }

    private static func entry(ofFolder name: ObjectName) -> JSON {
        [
            "uri": .string(ResourceURI.text(ofFolder: name)), "name": .string(name.url), "mimeType": "application/json",
        ]
    }

    private struct Cursor {
        let place: Int
        let token: String?
        let count: Int

        init(_ place: Int, _ token: String?, _ count: Int) {
            (self.place, self.token, self.count) = (place, token, count)
        }

        /// Nil for a text that no page has given.
        init?(_ text: String) {
            guard let bytes = [UInt8](base64: text), let parts = JSON(wire: bytes)?.array, parts.count == 3,
                let place = parts[0].number?.int64, let count = parts[2].number?.int64, place >= 0, count >= 0
            else { return nil }
            self.init(Int(clamping: place), parts[1].string, Int(clamping: count))
        }

        var text: String {
            let parts: JSON = [JSON(Int64(place)), token.map(JSON.string) ?? .null, JSON(Int64(count))]
            return Array(parts.text.utf8).base64
        }
    }

    // MARK: - One resource

    func read(_ uri: String) async throws -> JSON {
        guard let (name, isFolder) = ResourceURI.name(in: uri) else { throw Self.missing(uri, call.revision) }
        if isFolder {
            var listed = ObjectPage()
            try await within(uri) { try await listed.list(name, call, 100, after: nil, isRecursive: false) }
            return Self.contents(uri, "application/json", .init(key: "text", value: .string(listed.json.text)))
        }
        let info = try await within(uri) { try await call.info(of: name) }
        let size = info["size"]?.number?.int64 ?? 0
        guard size <= Self.largest else {
            throw Refusal.invalidParams(
                "The resource has \(size) bytes, more than the \(Self.largest) that are read at once. read_object reads "
                    + "pages of a text. \(call.wayToFile)")
        }
        let bytes = size == 0 ? [] : try await within(uri) { try await call.bytes(of: name, 0, size) }
        let body: JSON.Member =
            if let page = TextPage(bytes, isLast: true, isFirst: true) {
                .init(key: "text", value: .string(page.text))
            } else {
                .init(key: "blob", value: .string(bytes.base64))
            }
        return Self.contents(uri, info["contentType"]?.string, body)
    }

    private static func contents(_ uri: String, _ type: String?, _ body: JSON.Member) -> JSON {
        let members: [JSON.Member] = .init(present: ["uri": .string(uri), "mimeType": type.map(JSON.string)])
        return ["contents": [.object(members + [body])]]
    }

    /// The error of a resource that does not exist or may not be known.
    static func missing(_ uri: String, _ revision: Revision) -> Refusal {
        let code = revision == .stateless ? -32602 : -32002
        return Refusal(code: code, message: "Resource not found", data: ["uri": .string(uri)])
    }

    /// Passes on the errors of the service. A missing object, and one that may not be used, is a missing resource.
    private func within<Value>(_ uri: String, _ work: @Loop () async throws -> Value) async throws -> Value {
        do { return try await work() } catch let failure as ToolFailure {
            if failure.isMissing { throw Self.missing(uri, call.revision) }
            throw Refusal(code: failure.isOfParams ? -32602 : -32603, message: failure.message)
        }
    }

    private func places() async throws -> [ObjectName] {
        do { return try await call.places() } catch let failure as ToolFailure {
            throw Refusal(code: -32603, message: failure.message)
        }
    }

    // MARK: - Completion

    /// Values for a variable of the template.
    func complete(_ params: JSON) async throws -> JSON {
        guard params["ref"]?["type"] == "ref/resource", params["ref"]?["uri"]?.string == ResourceURI.template else {
            throw Refusal.invalidParams("params.ref must be the resource template \(ResourceURI.template)")
        }
        guard let variable = params["argument"]?["name"]?.string, let value = params["argument"]?["value"]?.string
        else {
            throw Refusal.invalidParams("params.argument needs name and value, two strings")
        }
        let values: [String]
        switch variable {
        case "bucket":
            values = unique(try await places().map(\.bucket)).filter { $0.utf8.starts(with: value.utf8) }.map(\.escaped)
        case "object":
            guard let bucket = params["context"]?["arguments"]?["bucket"]?.string.flatMap({ percentDecoded($0) }) else {
                return Self.completion([])
            }
            let (names, isWhole) = try await names(beginningWith: value, in: bucket)
            return Self.completion(names, isWhole: isWhole)
        default: throw Refusal.invalidParams("The template has no variable \"\(variable.prefix(100))\"")
        }
        return Self.completion(values)
    }

    /// The encoded names of objects and folders, and whether they are all of them.
    private func names(
        beginningWith value: String, in bucket: String
    ) async throws -> ([String], isWhole: Bool) {
        guard let text = percentDecoded(value) else { return ([], true) }
        // Above the places of a confined call nothing can be listed.
        let places = call.permissions.within.isEmpty ? [] : try await places()
        let above = places.filter { place in
            let folder = place.object.utf8
            return bucket.utf8.elementsEqual(place.bucket.utf8) && folder.count > text.utf8.count
                && folder.starts(with: text.utf8)
        }
        if !above.isEmpty { return (above.map(Self.path(ofFolder:)), true) }
        let slash = text.utf8.lastIndex(of: UInt8(ascii: "/"))
        let folder = slash.map { String(decoding: text.utf8[...$0], as: UTF8.self) } ?? ""
        // A name that is no pattern finds its own page.
        let start = text.utf8.dropFirst(folder.utf8.count)
        let isLiteral = !start.isEmpty && !start.contains { "*?[]{}\\!".utf8.contains($0) }
        var listed = ObjectPage()
        do {
            try await listed.list(
                ObjectName(bucket: bucket, object: folder), call, 1000, after: nil, isRecursive: false,
                isLiteral ? String(decoding: start, as: UTF8.self) + "*" : nil)
        } catch is ToolFailure { return ([], true) }
        let names = listed.names.filter { $0.object.utf8.starts(with: text.utf8) }.map { name in
            name.isFolder && listed.prefixes.contains(name)
                ? Self.path(ofFolder: name) : ResourceURI.path(of: name.object)
        }
        return (names, listed.next == nil)
    }

    /// The encoded name of a folder, with a slash at its end.
    private static func path(ofFolder name: ObjectName) -> String {
        String(ResourceURI.text(ofFolder: name).utf8.dropFirst("gs://\(name.bucket.escaped)/".utf8.count)) ?? ""
    }

    private static func completion(_ values: [String], isWhole: Bool = true) -> JSON {
        var room = Room()
        let shown = values.prefix(100).map(JSON.string).prefix { room.takes($0) }
        let members: [JSON.Member] = .init(present: [
            "values": .array(Array(shown)), "hasMore": .bool(!isWhole || values.count > shown.count),
        ])
        let total = isWhole ? [JSON.Member(key: "total", value: JSON(Int64(values.count)))] : []
        return ["completion": .object(members + total)]
    }

    private func unique(_ names: [String]) -> [String] {
        var last: String?
        return names.filter { name in
            defer { last = name }
            return last != name
        }
    }
}
