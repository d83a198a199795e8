import JSONText
import Methods
import Platform
import Storage
import Tracing

// `storage-rpc ls`, `stat`, `set`, `rm` and `url`: a few calls each.

extension ClientCommandRunner {
    /// One name a line as the pages come, or all of them as one document. An object is shown itself.
    func list(_ text: String?) throws {
        var shown = Shown()
        let pattern = try text.flatMap { try self.pattern($0) }
        // A list has what does not match, too, and a server may be asked for the metadata of each.
        listsMetadata = pattern == nil && (options.isLong || options.json)
        if let text, let pattern {
            try listMatches(pattern, &shown)
            if !shown.isAny { throw Client.Failure("nothing matches \(text)") }
        } else {
            try list(reference(text), isFolder: text.map(namesFolder) ?? true, &shown)
        }
        if options.json {
            try Console.print(["prefixes": .array(shown.prefixes), "items": .array(shown.items)] as JSON)
        }
    }

    /// What was listed so far.
    private struct Shown {
        var isAny = false
        /// For the document of `--json`.
        var (prefixes, items): ([JSON], [JSON]) = ([], [])
    }

    private typealias ListedObject = (object: JSON, name: String)
    /// A list in one piece: folders and objects with the names that are shown.
    private typealias ListedPage = (folders: [ListedObject], objects: [ListedObject])

    /// - Parameter isFolder: an object of this name is not listed.
    private func list(_ reference: Reference, isFolder: Bool, _ shown: inout Shown) throws {
        let isExact = options.isExact
        if options.isRecursive {
            try listAll(&shown) { tell in try walk(reference) { try tell($0, $1, false) } }
        } else {
            try pages(reference, exact: isExact) { folders, objects in
                let folders = folders.map { ($0, isExact ? $0.folderPrefix : $0.lastName + "/") }
                try show((folders, objects.map { ($0, isExact ? $0.exactName : $0.lastName) }), &shown)
            }
        }
        guard !reference.isRoot, options.isRecursive || !shown.isAny else { return }
        if !isFolder, reference.object.utf8.last != UInt8(ascii: "/"), try isThere(reference) {
            try show(([], [(reference.json, isExact ? reference.object : reference.lastName)]), &shown)
        }
        guard shown.isAny else { throw nothing(at: reference) }
    }

    private func listMatches(_ pattern: NamePattern, _ shown: inout Shown) throws {
        let (glob, isRecursive) = (try pattern.glob(), options.isRecursive)
        try listAll(&shown) { tell in
            func enters(_ folder: Reference, _ name: String) throws -> Bool {
                guard glob.matches(name), isRecursive || !glob.crossesFolders else {
                    return glob.mayMatchBelow(name)
                }
                if isRecursive {
                    try self.walk(folder) { object, _ in try tell(object, object.exactName, false) }
                } else {
                    try tell(folder.result, folder.prefix, true)
                }
                return false
            }
            try self.walk(self.reference(pattern.folder), enters: enters) { object, name in
                if !pattern.isOfFolders, glob.matches(name) { try tell(object, object.exactName, false) }
            }
        }
    }

    /// Shows what `walk` passes on, some hundred objects at once.
    private func listAll(
        _ shown: inout Shown,
        _ walk: (_ tell: (_ object: JSON, _ name: String, _ isFolder: Bool) throws -> Void) throws -> Void
    ) throws {
        var page: ListedPage = ([], [])
        try walk { object, name, isFolder in
            if isFolder { page.folders.append((object, name)) } else { page.objects.append((object, name)) }
            guard page.folders.count + page.objects.count >= 256 else { return }
            try show(page, &shown)
            page = ([], [])
        }
        try show(page, &shown)
    }

    private func show(_ page: ListedPage, _ shown: inout Shown) throws {
        let (folders, objects) = page
        shown.isAny = shown.isAny || !folders.isEmpty || !objects.isEmpty
        let details = try options.isLong || options.json ? details(objects.map(\.object)) : []
        if options.json {
            shown.prefixes += folders.map(\.object)
            shown.items += zip(objects, details).map { merged($0.0.object, $0.1) }
            return
        }
        let lines =
            folders.map { ($0.name, nil) }
            + objects.enumerated().map { ($0.element.name, details.isEmpty ? nil : details[$0.offset]) }
        for (name, detail) in lines.sorted(by: { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }) {
            try Console.print(options.isLong ? Self.columns(detail) + name : name)
        }
    }

    /// Their metadata; null for one that is gone meanwhile.
    private func details(_ objects: [JSON]) throws -> [JSON] {
        let listed = objects.compactMap { $0["metadata"] }
        if listed.count == objects.count { return listed }
        return try client.callAll("reference/getMetadata", objects.map { ["reference": $0] }).map { result in
            do throws(Client.Failure) { return try result.get() } catch {
                guard error.isNotFound else { throw error }
                return .null
            }
        }
    }

    /// A reference with what lists contain of an object.
    private func merged(_ reference: JSON, _ metadata: JSON) -> JSON {
        let names = ["size", "updated", "contentType", "generation"]
        let members = (reference.object ?? []).filter { $0.key != "metadata" }
        return .object(members + (metadata.object ?? []).filter { names.contains($0.key) })
    }

    /// Size in bytes, and time of the last change; of a folder neither.
    private static func columns(_ metadata: JSON?) -> String {
        let size = metadata?["size"]?.text ?? "-"
        let time = metadata?["updated"]?.string.map { $0.prefix(19).replacing("T", with: " ") } ?? "-"
        func padded(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count))
        }
        return padded(size, 14) + size + "  " + time + padded(String(time), 19) + "  "
    }

    func stat(_ texts: [String]) throws {
        var isFirst = true
        try forEachObject(texts) { object in
            let metadata = try self.client.call("reference/getMetadata", ["reference": object])
            if self.options.json { return try Console.print(metadata) }
            if !isFirst { try Console.print("") }
            isFirst = false
            for line in Self.lines(metadata) { try Console.print(line) }
        }
    }

    func set(_ texts: [String]) throws {
        let change = metadata ?? .null
        try forEachObject(texts) { object in
            let params: [JSON.Member] = [.init(key: "reference", value: object), .init(key: "metadata", value: change)]
            let metadata = try self.client.call("reference/updateMetadata", self.bound(params))
            if self.options.json { try Console.print(metadata) }
        }
    }

    /// Knows all objects before the first one. Goes on after one that fails, if there are more.
    private func forEachObject(_ texts: [String], _ body: (JSON) throws -> Void) throws {
        let found = try allSources(texts)
        let isOnly = texts.count == 1 && !found.contains { $0.isMatch }
        for object in found.flatMap(\.items) { try attempt(orFail: isOnly) { try body(object.json) } }
    }

    /// Finds all objects before it removes the first one, and continues after one that cannot be removed.
    func remove(_ texts: [String]) throws {
        let sources = try allSources(texts)
        let isTree = options.isRecursive || sources.contains { $0.isMatch }
        var seen: Set<Reference> = []
        let found = sources.flatMap(\.items).filter { seen.insert($0).inserted }
        if isTree, !options.isSure, Descriptor.standardInput.isTerminal, try !isConfirmed(texts, found.count) {
            throw Client.Failure(message: "nothing was removed")
        }
        var removed: [JSON] = []
        let isOnly = found.count == 1 && texts.count == 1
        for start in stride(from: 0, to: found.count, by: 256) {
            try remove(found[start..<min(start + 256, found.count)], &removed, isOnly: isOnly)
        }
        if options.json { try Console.print(JSON.array(removed)) }
        if isTree, !options.isQuiet { Console.writeError("\(removed.count) removed\n") }
        if failures > 0, !isTree {
            let left = failures
            failures = 0
            throw Client.Failure(message: "\(left) of \(texts.count) were not removed")
        }
    }

    private func remove(_ objects: ArraySlice<Reference>, _ removed: inout [JSON], isOnly: Bool) throws {
        let results = try client.callAll(
            "reference/delete", objects.map { bound([.init(key: "reference", value: $0.json)]) })
        for (object, result) in zip(objects, results) {
            try attempt(orFail: isOnly) {
                _ = try result.get()
                removed.append(object.json)
            }
        }
    }

    private func isConfirmed(_ texts: [String], _ count: Int) throws -> Bool {
        let objects = count == 1 ? "1 object" : "\(count) objects"
        Console.writeError("storage-rpc: remove \(objects) of \(texts.joined(separator: " ").safe)? [y/N] ")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 1)
        defer { buffer.deallocate() }
        try client.waitForInput(tells: false)
        let count = (try? Descriptor.standardInput.readBlocking(into: buffer)) ?? 0
        let answer = String(decoding: buffer[..<count], as: UTF8.self).lowercased()
        return answer == "y\n" || answer == "yes\n"
    }

    func url(_ text: String) throws {
        guard !isPrivate || options.serves || options.service.engine != .embedded else {
            throw Client.Failure(
                message: "needs a running service: storage-rpc serve --socket PATH; or url --serve serves until Ctrl-C")
        }
        var params: [JSON.Member] = [.init(key: "reference", value: try object(text).json)]
        if let seconds = options.expiresIn { params.append(.init(key: "expiresIn", value: JSON(Int64(seconds)))) }
        let answer = try client.call("reference/downloadURL", .object(params))
        if options.json { try Console.print(answer) } else { try Console.print(answer["url"]?.string ?? "") }
        guard options.serves else { return }
        let notice = options.isQuiet ? nil : WaitNotice("serves the URL; Ctrl-C ends it")
        defer { notice?.end() }
        while true {
            if case .interrupted(let interruption) = try client.hear() { throw interruption }
        }
    }
}
