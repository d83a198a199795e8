import HTTPText
import JSONText
import Platform
import Storage

// The tools that change nothing: they are always offered.

extension Tool {
    static let reading = [listObjects, readObject, objectInfo, listTransfers]

    private static let listObjects = Tool(
        name: "list_objects", title: "List objects",
        description: "Lists the objects and folders directly below a folder or bucket, with sizes and times, or with "
            + "recursive all objects below it. gs:// lists the buckets.",
        arguments: [
            Argument("reference", .string, "gs://BUCKET or gs://BUCKET/FOLDER; gs:// (the default) lists the buckets"),
            Argument("recursive", .boolean, "all objects at any depth, without folders; false by default"),
            Argument(
                "pattern", .string,
                "only names that match: * ? [a-z] for one name; with a slash or ** for the path below the folder"),
            Argument("maxResults", .integer(1...1000), "the most entries of a page; 100 by default"),
            Argument("pageToken", .string, "nextPageToken of the page before"),
        ],
        output: [
            .array("prefixes", of: ["type": "string"], isRequired: true),
            .array(
                "items",
                of: .schema([
                    .string("reference", isRequired: true), .integer("size", isRequired: true), .string("contentType"),
                    .string("updated"),
                ]), isRequired: true),
            .string("nextPageToken"),
        ], hints: .reading
    ) { call in
        let arguments = call.arguments
        let text = arguments.string("reference") ?? "gs://"
        let most = Int(arguments.integer("maxResults") ?? 100)
        var page = ObjectPage()
        if text == "gs://" {
            try await page.listBuckets(call, most, after: arguments.string("pageToken"))
        } else {
            try await page.list(
                call.reference().folder, call, most, after: arguments.string("pageToken"),
                isRecursive: arguments.flag("recursive"), arguments.string("pattern"))
        }
        return ToolAnswer(page.json)
    }

    private static let objectInfo = Tool(
        name: "object_info", title: "Show an object's metadata",
        description: "Shows size, generation, type, checksums, times and custom metadata of one object.",
        arguments: [.object], output: Property.metadata, hints: .reading
    ) { call in
        ToolAnswer(try await call.info(of: call.object()))
    }

    private static let readObject = Tool(
        name: "read_object", title: "Read an object",
        description:
            "Reads a page of an object that is text, 32 KiB by default, or shows an image of up to 1 MiB. Other "
            + "binary objects are only described: download fetches them.",
        arguments: [
            .object,
            Argument("offset", .integer(0...Int64.max), "the first byte of the page; 0 by default"),
            Argument(
                "length", .integer(4...65536),
                "the most bytes of the page; 32768 by default. The page ends with a character"),
        ], hints: .reading
    ) { call in try await ObjectText.read(call) }

    private static let listTransfers = Tool(
        name: "list_transfers", title: "List or follow transfers",
        description: "Lists the transfers that run or have ended, or with task waits for one of them.",
        arguments: [
            Argument("task", .string, "only the transfer with this id"),
            Argument("wait", .integer(0...50), "with task: seconds to wait for its end; 0 by default"),
        ],
        output: [
            .array("transfers", of: .schema(Property.transfer), isRequired: true)
        ], hints: .reading
    ) { call in
        guard let task = call.arguments.string("task") else {
            guard call.arguments["wait"] == nil else { throw ToolFailure("wait is for one transfer: add its task.") }
            return try await Transfer.list(call)
        }
        let transfer = try await Transfer.find(task, call)
        let now = try await transfer.end(call, within: call.arguments.integer("wait") ?? 0, cancels: false)
        return ToolAnswer(["transfers": [now.json]])
    }
}

extension Argument {
    static let object = Argument("reference", .string, "the object, gs://BUCKET/NAME", isRequired: true)
}

extension Property {
    static let metadata: [Property] = [
        .string("reference", isRequired: true), .string("uri", isRequired: true), .integer("size", isRequired: true),
        .string("generation", isRequired: true), .string("contentType"), .string("md5Hash"), .string("crc32c"),
        .string("timeCreated"), .string("updated"), .string("cacheControl"), .string("contentDisposition"),
        .string("contentEncoding"), .string("contentLanguage"),
        Property("customMetadata", ["type": "object", "additionalProperties": ["type": "string"]]),
    ]
}

extension ToolCall {
    /// The metadata of an object for a model.
    func info(of object: ObjectName) async throws -> JSON {
        Self.info(
            try await service("reference/getMetadata", [.init(key: "reference", value: object.param)]), of: object)
    }

    /// Leaves out the tokens of download URLs.
    nonisolated static func info(_ metadata: JSON, of object: ObjectName) -> JSON {
        var members: [JSON.Member] = [
            .init(key: "reference", value: .string(object.url)),
            .init(key: "uri", value: .string(ResourceURI.text(of: object))),
        ]
        for name in Property.metadata.map(\.name) where !["reference", "uri", "customMetadata"].contains(name) {
            if let value = metadata[name] { members.append(.init(key: name, value: value)) }
        }
        let custom = (metadata["customMetadata"]?.object ?? []).filter { $0.key != SettableMetadata.tokensKey }
        if !custom.isEmpty { members.append(.init(key: "customMetadata", value: .object(custom))) }
        return .object(members)
    }
}

/// The characters that are left for the entries of an answer. It has room for at least one entry.
struct Room {
    /// In bytes, as they are sent: the text of an answer is JSON within JSON, so what is escaped is escaped twice.
    private static let most = 30_000
    private var used = 0

    /// Whether there is room for a value, which is then used.
    mutating func takes(_ value: JSON) -> Bool {
        let size = JSON.string(value.text).text.utf8.count - 1
        guard used == 0 || used + size <= Self.most else { return false }
        used += size
        return true
    }
}

/// A page of a list, within the characters that a model gets at once.
struct ObjectPage {
    private(set) var prefixes: [ObjectName] = []
    private(set) var items: [JSON] = []
    private(set) var names: [ObjectName] = []
    private var room = Room()
    private(set) var next: String?

    /// The maximum number of requests of a list with a pattern, after which the page ends with what it has.
    private static let mostRequests = 20

    var json: JSON {
        .object(
            .init(present: [
                "prefixes": .array(prefixes.map { .string($0.url) }), "items": .array(items),
                "nextPageToken": next.map(JSON.string),
            ]))
    }

    /// The buckets that may be used, or the places if the call is confined.
    @Loop mutating func listBuckets(_ call: ToolCall, _ most: Int, after token: String?) async throws {
        for place in try await call.places()
        where token.map({ $0.utf8.lexicographicallyPrecedes(place.url.utf8) }) ?? true {
            guard prefixes.count < most, room.takes(.string(place.url)) else {
                next = prefixes.last?.url
                return
            }
            prefixes.append(place)
        }
    }

    /// Adds entries below a folder until the page is full.
    @Loop mutating func list(
        _ folder: ObjectName, _ call: ToolCall, _ most: Int, after token: String?, isRecursive: Bool,
        _ pattern: String? = nil
    ) async throws {
        let filter = try pattern.map { text in
            do throws(StorageError) { return try FolderFilter(include: [text], exclude: []) } catch {
                throw ToolFailure(error.message)
            }
        }
        next = token
        for _ in 0..<Self.mostRequests {
            let asked = filter == nil ? most - prefixes.count - items.count : 1000
            guard try await add(folder, call, asked, most, isRecursive, filter) else { return }
        }
    }

    /// Adds the entries of one page of the service. Returns false if the page of the model ends with it.
    @Loop private mutating func add(
        _ folder: ObjectName, _ call: ToolCall, _ asked: Int, _ most: Int, _ isRecursive: Bool, _ filter: FolderFilter?
    ) async throws -> Bool {
        let token = next
        let page = try await call.service(
            "reference/list",
            .init(present: [
                "reference": folder.param, "maxResults": JSON(Int64(asked)), "exact": true, "metadata": true,
                "recursive": isRecursive ? true : nil, "pageToken": token.map(JSON.string),
            ]))
        let entries = Entry.all(in: page)
        for (number, entry) in entries.enumerated() {
            let path = String(decoding: entry.name.object.utf8.dropFirst(folder.object.utf8.count), as: UTF8.self)
            guard filter?.takes(entry.item == nil ? String(path.utf8.dropLast()) ?? path : path) != false else {
                continue
            }
            if prefixes.count + items.count == most || !room.takes(entry.item ?? .string(entry.name.url)) {
                // The next page begins with this entry: the service gives the token for that after the entries before.
                next = number == 0 ? token : try await call.token(after: number, of: folder, isRecursive, token)
                return false
            }
            if let item = entry.item { items.append(item) } else { prefixes.append(entry.name) }
            names.append(entry.name)
        }
        next = page["pageToken"]?.string
        return next != nil && prefixes.count + items.count < most
    }

    /// An object, or a folder without metadata.
    private struct Entry {
        let name: ObjectName
        let item: JSON?

        /// In the order of their names, in which the service counts them.
        static func all(in page: JSON) -> [Entry] {
            let folders = (page["prefixes"]?.array ?? []).compactMap { ObjectName($0)?.folder }
            let metadata = page["metadata"]?.array ?? []
            let objects = zip(page["items"]?.array ?? [], metadata).compactMap { reference, metadata -> Entry? in
                guard let name = ObjectName(reference) else { return nil }
                return Entry(
                    name: name,
                    item: .object(
                        .init(present: [
                            "reference": .string(name.url), "size": metadata["size"],
                            "contentType": metadata["contentType"], "updated": metadata["updated"],
                        ])))
            }
            return (folders.map { Entry(name: $0, item: nil) } + objects).sorted {
                $0.name.object.utf8.lexicographicallyPrecedes($1.name.object.utf8)
            }
        }
    }
}

extension ToolCall {
    /// The token of the page after a number of entries.
    fileprivate func token(
        after count: Int, of folder: ObjectName, _ isRecursive: Bool, _ token: String?
    ) async throws -> String? {
        try await service(
            "reference/list",
            .init(present: [
                "reference": folder.param, "maxResults": JSON(Int64(count)), "exact": true,
                "recursive": isRecursive ? true : nil, "pageToken": token.map(JSON.string),
            ]))["pageToken"]?.string
    }

    /// The buckets, or the places that the connection is confined to, in the order of their URLs.
    func places() async throws -> [ObjectName] {
        let places: [ObjectName]
        if permissions.within.isEmpty {
            let buckets = try await service("storage/buckets", [])["buckets"]?.array ?? []
            places = buckets.compactMap(\.string).map { ObjectName(bucket: $0, object: "") }
        } else {
            places = permissions.within.compactMap { ObjectName(reference: $0)?.folder }
        }
        return places.sorted { $0.url.utf8.lexicographicallyPrecedes($1.url.utf8) }
    }
}

/// The page of an object that a model reads.
enum ObjectText {
    private static let usual: Int64 = 32 << 10
    private static let largestImage: Int64 = 1 << 20
    private static let images: Set = ["image/png", "image/jpeg", "image/gif", "image/webp"]

    /// The type of an image by its first bytes; nil for any other bytes. Hosts end the turn of a model for an image that
    /// is none.
    private static func imageType(_ bytes: [UInt8]) -> String? {
        let begins = { (text: String, start: Int) in bytes.dropFirst(start).starts(with: text.utf8) }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return "image/png" }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if begins("GIF87a", 0) || begins("GIF89a", 0) { return "image/gif" }
        return begins("RIFF", 0) && begins("WEBP", 8) ? "image/webp" : nil
    }

    /// How often the metadata and the bytes are read until both are of one generation.
    private static let attempts = 3

    @Loop static func read(_ call: ToolCall) async throws -> ToolAnswer {
        let object = try call.object()
        var info = try await call.info(of: object)
        for _ in 0..<attempts {
            let answer = try await read(object, info, call)
            let now = try await call.info(of: object)
            if now["generation"] == info["generation"] { return answer }
            info = now
        }
        throw ToolFailure("\(object.url) changes while it is read. Try again.")
    }

    @Loop private static func read(_ object: ObjectName, _ info: JSON, _ call: ToolCall) async throws -> ToolAnswer {
        let size = info["size"]?.number?.int64 ?? 0, type = info["contentType"]?.string ?? ""
        let isWhole = call.arguments["offset"] == nil && call.arguments["length"] == nil
        if isWhole, images.contains(type.lowercased()), size > 0, size <= largestImage {
            let data = try await call.bytes(of: object, 0, size)
            if let type = imageType(data) {
                return ToolAnswer(content: [
                    ["type": "image", "data": .string(data.base64), "mimeType": .string(type)]
                ])
            }
        }
        let offset = call.arguments.integer("offset") ?? 0
        guard offset <= size else {
            throw ToolFailure("offset \(offset) is behind the end: \(object.url) has \(size) bytes.")
        }
        let length = min(call.arguments.integer("length") ?? usual, size - offset)
        let bytes = length == 0 ? [] : try await call.bytes(of: object, offset, length)
        guard let page = TextPage(bytes, isLast: offset + Int64(bytes.count) >= size, isFirst: offset == 0) else {
            return binary(object, size, info, call)
        }
        let start = offset + Int64(page.skipped), end = start + Int64(page.text.utf8.count)
        let rest = end < size ? "; go on with offset \(end)" : ""
        return ToolAnswer(content: [
            .text(page.text),
            .text("bytes \(start) to \(end) of \(size), generation \(info["generation"]?.string ?? "unknown")\(rest)"),
        ])
    }

    @Loop private static func binary(_ object: ObjectName, _ size: Int64, _ info: JSON, _ call: ToolCall)
        -> ToolAnswer
    {
        let kind = info["contentType"]?.string.map { ", of type \($0)" } ?? ""
        let sentence = "\(object.url) is binary\(kind), \(size) bytes: it is no text to read. \(call.wayToFile)"
        var content = [JSON.text(sentence)]
        if call.revision.hasLinks {
            content.append(
                .object(
                    .init(present: [
                        "type": "resource_link", "uri": .string(ResourceURI.text(of: object)),
                        "name": .string(object.object), "mimeType": info["contentType"],
                        "size": JSON(size),
                    ])))
        }
        return ToolAnswer(content: content)
    }
}

extension ToolCall {
    /// The bytes of a part of an object.
    func bytes(of object: ObjectName, _ offset: Int64, _ length: Int64) async throws -> [UInt8] {
        let answer = try await service(
            "reference/getData",
            .init(present: [
                "reference": object.param, "maxSize": JSON(length), "offset": JSON(offset), "length": JSON(length),
            ]))
        return answer["data"]?.string.flatMap { [UInt8](base64: $0) } ?? []
    }
}

/// A part of a text, without the characters that its ends cut. Nil for bytes that are no text.
struct TextPage {
    let text: String
    /// The bytes before the first whole character.
    let skipped: Int

    init?(_ bytes: [UInt8], isLast: Bool, isFirst: Bool) {
        guard !bytes.contains(0) else { return nil }
        let isPart = { (byte: UInt8) in byte & 0xC0 == 0x80 }
        skipped = isFirst ? 0 : bytes.prefix(3).prefix(while: isPart).count
        var rest = bytes[skipped...]
        if !isLast {
            // A character of at most four bytes may be cut at the end.
            let tail = rest.suffix(3).reversed().prefix(while: isPart).count
            if rest.count > tail, case let lead = rest[rest.endIndex - tail - 1], lead >= 0xC0,
                tail + 1 < (lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2)
            {
                rest = rest.dropLast(tail + 1)
            }
        }
        guard let text = String(validating: rest, as: UTF8.self) else { return nil }
        self.text = text
    }
}
