import JSONText
import Storage

// What people name: references, patterns, and folders with all that is below them.

extension ClientCommandRunner {
    /// What a person names by a URL, or by a path in the default bucket. Throws for what is neither, though the service
    /// would take it as a path.
    func reference(_ text: String) throws -> JSON {
        try Self.check(text, isExact: options.isExact)
        if options.isExact, !text.isEmpty { return try exactReference(text) }
        if Self.isURL(text) { return try client.call("storage/reference", ["url": .string(text)]) }
        return try client.call("storage/reference", inBucket("path", text))
    }

    private func exactReference(_ text: String) throws -> JSON {
        guard text.utf8.starts(with: "gs://".utf8) else {
            return try client.call("storage/reference", inBucket("object", text))
        }
        let rest = text.utf8.dropFirst(5)
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), case let object = rest[slash...].dropFirst(),
            !object.isEmpty
        else { return try client.call("storage/reference", ["url": .string(text)]) }
        func part(_ bytes: Substring.UTF8View) -> JSON { .string(String(decoding: bytes, as: UTF8.self)) }
        return try client.call("storage/reference", ["bucket": part(rest[..<slash]), "object": part(object)])
    }

    private func inBucket(_ key: String, _ text: String) -> JSON {
        .object(
            [.init(key: key, value: .string(text))]
                + (options.service.bucket.map { [.init(key: "bucket", value: .string($0))] } ?? []))
    }

    static func isURL(_ text: String) -> Bool {
        ["gs://", "http://", "https://"].contains { text.utf8.starts(with: $0.utf8) }
    }

    static func check(_ text: String, isExact: Bool) throws(UsageError) {
        guard !isURL(text), !isExact else { return }
        let hint = "REFERENCE is gs://BUCKET/PATH, or a PATH in the default bucket"
        if let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")),
            text.utf8[colon...].dropFirst().first == UInt8(ascii: "/"),
            text.utf8[..<colon].allSatisfy({
                ($0 | 0x20) >= UInt8(ascii: "a") && ($0 | 0x20) <= UInt8(ascii: "z") || (0x30...0x39).contains($0)
            })
        {
            throw UsageError(message: "\"\(text)\" is no reference: \(hint)")
        }
        if text.utf8.split(separator: UInt8(ascii: "/")).contains(where: {
            $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8)
        }) {
            throw UsageError(message: "\"\(text)\" is no reference: . and .. are no names here; \(hint)")
        }
    }

    /// Passes the objects that a text names to `body`, with the name of each below the folder that was searched:
    /// one for a plain reference, all that match a pattern, and with `-r` all below a folder.
    func objects(
        _ text: String, isRecursive: Bool? = nil, _ body: (_ object: JSON, _ name: String) throws -> Void
    ) throws {
        if let pattern = NamePattern(text), !options.isExact, try !isThere(text) {
            var found = false
            let folder = try reference(pattern.folder)
            try walk(folder, pattern: pattern) { object, name in
                found = true
                if isRecursive ?? options.isRecursive || pattern.crossesFolders {
                    try body(object, name)
                } else {
                    try body(object, object.lastName)
                }
            }
            if !found { throw Client.Failure(message: "nothing matches \(text)", isAnswer: true) }
            return
        }
        let reference = try reference(text)
        guard isRecursive ?? options.isRecursive else { return try body(reference, reference.lastName) }
        var found = false
        try walk(reference) { object, name in
            found = true
            try body(object, reference.lastName.isEmpty ? name : reference.lastName + "/" + name)
        }
        if !reference.isRoot, try !found || isThere(text) { try body(reference, reference.lastName) }
    }

    /// There is an object of just this name.
    func isThere(_ text: String) throws -> Bool {
        guard let reference = try? reference(text), !reference.isRoot else { return false }
        do { _ = try client.call("reference/getMetadata", ["reference": reference]) } catch let failure
            as Client.Failure where failure.isAnswer
        {
            guard failure.isNotFound else { throw failure }
            return false
        }
        return true
    }

    /// The error of a command that takes objects, if a person has named a folder.
    func explained(_ error: any Error, of command: ClientCommand) -> any Error {
        guard let failure = error as? Client.Failure, failure.isNotFound, !options.isRecursive, !options.isExact,
            let texts = command.objects, texts.count == 1, NamePattern(texts[0]) == nil,
            let page = try? client.call(
                "reference/list", ["reference": reference(texts[0]), "maxResults": 1]),
            page["items"]?.array?.isEmpty == false || page["prefixes"]?.array?.isEmpty == false
        else { return error }
        let folder = texts[0].utf8.last == UInt8(ascii: "/") ? texts[0] : texts[0] + "/"
        let help = command.takesTrees ? "-r takes all that is in it" : "'\(folder)*' is what is in it"
        return Client.Failure("\(texts[0]) is a folder: \(help)")
    }

    /// Passes all objects below a folder, page by page.
    func walk(
        _ folder: JSON, pattern: NamePattern? = nil, _ body: (_ object: JSON, _ name: String) throws -> Void
    ) throws {
        let prefix = folder.folderPrefix
        func walk(_ folder: JSON, _ depth: Int) throws {
            try self.pages(folder, exact: pattern == nil) { prefixes, items in
                for item in items {
                    let name = String(item.exactName.utf8.dropFirst(prefix.utf8.count)) ?? ""
                    if pattern?.matches(name) ?? true { try body(item, name) }
                }
                for child in prefixes {
                    let name = String(child.folderPrefix.utf8.dropFirst(prefix.utf8.count).dropLast()) ?? ""
                    if pattern?.mayMatchBelow(name) ?? true { try walk(child, depth + 1) }
                }
            }
        }
        try walk(folder, 0)
    }

    /// Passes the direct children of a folder, page by page.
    func pages(
        _ folder: JSON, exact: Bool, _ body: (_ prefixes: [JSON], _ items: [JSON]) throws -> Void
    ) throws {
        var token: JSON?
        repeat {
            let params: [JSON.Member] =
                [.init(key: "reference", value: folder)] + (exact ? [.init(key: "exact", value: true)] : [])
                + (token.map { [.init(key: "pageToken", value: $0)] } ?? [])
                + (listsMetadata ? [.init(key: "metadata", value: true)] : [])
            let page = try client.call("reference/list", .object(params))
            token = page["pageToken"]
            var items = page["items"]?.array ?? []
            if let metadata = page["metadata"]?.array {
                items = zip(items, metadata).map { .object(($0.object ?? []) + [.init(key: "metadata", value: $1)]) }
            }
            try body(page["prefixes"]?.array ?? [], items)
        } while token != nil
    }
}

extension JSON {
    /// Of a reference.
    var exactName: String { self["object"]?.string ?? self["fullPath"]?.string ?? "" }
    var isRoot: Bool { exactName.isEmpty }
    var bucket: String { self["bucket"]?.string ?? "" }
    var lastName: String { self["name"]?.string ?? "" }
    /// `gs://BUCKET/NAME`, for people.
    var title: String { "gs://\(bucket)/\(exactName)" }

    /// With what the names of its children begin.
    var folderPrefix: String {
        let name = exactName
        return name.isEmpty || name.utf8.last == UInt8(ascii: "/") ? name : name + "/"
    }
}

extension Client.Failure {
    var isNotFound: Bool { code == -13010 }
}

/// A name with `*` (any characters but a slash), `**` (slashes, too), `?` and `[a-z]` or `[!a-z]`.
struct NamePattern {
    /// The folder before the first of these characters, as it was written.
    let folder: String
    private let pattern: [[Unicode.Scalar]]
    let crossesFolders: Bool

    /// Nil for a text without them.
    init?(_ text: String) {
        let isSpecial: (Unicode.Scalar) -> Bool = { $0 == "*" || $0 == "?" || $0 == "[" }
        guard !text.hasPrefix("http://"), !text.hasPrefix("https://"),
            let first = text.unicodeScalars.firstIndex(where: isSpecial)
        else { return nil }
        let slash = text.unicodeScalars[..<first].lastIndex(of: "/")
        folder =
            slash.map { String(text.unicodeScalars[..<$0]) + (text.unicodeScalars[..<$0].last == "/" ? "/" : "") } ?? ""
        let rest = text.unicodeScalars[(slash.map { text.unicodeScalars.index(after: $0) } ?? text.startIndex)...]
        pattern = rest.split(separator: "/").map(Array.init)
        crossesFolders = rest.indices.contains { rest[$0...].starts(with: "**".unicodeScalars) }
    }

    func matches(_ name: String) -> Bool {
        Self.matches(Array(pattern.joined(separator: ["/"]))[...], Array(name.unicodeScalars)[...])
    }

    /// Names below this folder may match.
    func mayMatchBelow(_ folder: String) -> Bool {
        let segments = folder.unicodeScalars.split(separator: "/").map(Array.init)
        for (index, segment) in segments.enumerated() {
            guard index < pattern.count else { return false }
            if pattern[index].indices.contains(where: { pattern[index][$0...].starts(with: "**".unicodeScalars) }) {
                return true
            }
            guard Self.matches(pattern[index][...], segment[...]) else { return false }
        }
        return segments.count < pattern.count
    }

    /// Goes back to the last star only, so it takes at most the product of both lengths; `**` is tried recursively.
    private static func matches(_ pattern: ArraySlice<Unicode.Scalar>, _ name: ArraySlice<Unicode.Scalar>) -> Bool {
        var (rest, text) = (pattern, name)
        var retry: (pattern: ArraySlice<Unicode.Scalar>, text: ArraySlice<Unicode.Scalar>)?
        while true {
            if rest.starts(with: "**".unicodeScalars) {
                let after = rest.drop { $0 == "*" }
                // `**/` stands for no folder, too.
                if after.first == "/", matches(after.dropFirst(), text) { return true }
                return text.indices.contains { matches(after, text[$0...]) } || matches(after, text[text.endIndex...])
            }
            if rest.first == "*" {
                rest = rest.dropFirst()
                retry = (rest, text)
                continue
            }
            if text.isEmpty, rest.isEmpty { return true }
            if let character = text.first, let next = matchesOne(rest, character) {
                (rest, text) = (next, text.dropFirst())
                continue
            }
            guard let last = retry, let skipped = last.text.first, skipped != "/" else { return false }
            retry = (last.pattern, last.text.dropFirst())
            (rest, text) = (last.pattern, last.text.dropFirst())
        }
    }

    /// The rest of the pattern behind one character; nil where it does not match.
    private static func matchesOne(
        _ pattern: ArraySlice<Unicode.Scalar>, _ character: Unicode.Scalar
    ) -> ArraySlice<Unicode.Scalar>? {
        guard let first = pattern.first else { return nil }
        if first == "?" { return character == "/" ? nil : pattern.dropFirst() }
        guard first == "[", let end = pattern.dropFirst(2).firstIndex(of: "]"), character != "/" else {
            return first == character ? pattern.dropFirst() : nil
        }
        var set = pattern[(pattern.startIndex + 1)..<end]
        let isNegated = set.first == "!" || set.first == "^"
        if isNegated { set = set.dropFirst() }
        var isIn = false
        while let low = set.popFirst() {
            var high = low
            if set.first == "-", let bound = set.dropFirst().first { (high, set) = (bound, set.dropFirst(2)) }
            if low <= character, character <= high { isIn = true }
        }
        return isIn != isNegated ? pattern[(end + 1)...] : nil
    }
}
