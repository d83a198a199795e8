import JSONText
import Platform
import Storage
import Tracing

// `storage-rpc ls`, `stat`, `set`, `rm` and `url`: a few calls each.

extension ClientCommandRunner {
    /// One name a line as the pages come, or all of them as one document. An object is shown itself.
    func list(_ text: String) throws {
        var prefixes: [JSON] = [], items: [JSON] = [], found = false
        func show(_ folders: [JSON], _ objects: [(object: JSON, name: String)]) throws {
            found = found || !folders.isEmpty || !objects.isEmpty
            let details = try self.options.isLong || self.options.json ? self.details(objects.map(\.object)) : []
            if self.options.json {
                prefixes += folders
                items += zip(objects, details).map { self.merged($0.0.object, $0.1) }
                return
            }
            let lines =
                folders.map { ($0.folderName(self.options.isExact), nil) }
                + objects.enumerated().map { ($0.element.name, details.isEmpty ? nil : details[$0.offset]) }
            for (name, detail) in lines.sorted(by: { $0.0.utf8.lexicographicallyPrecedes($1.0.utf8) }) {
                try Console.print(self.options.isLong ? Self.columns(detail) + name : name)
            }
        }
        let isPattern = try NamePattern(text) != nil && !options.isExact && !isThere(text)
        // A list has what does not match, too, and a server may be asked for the metadata of each.
        listsMetadata = !isPattern && (options.isLong || options.json)
        if isPattern || options.isRecursive {
            var page: [(JSON, String)] = []
            let isRoot = try !isPattern && reference(text).isRoot
            try objects(text, isRecursive: true) { object, name in
                page.append((object, isPattern ? object.exactName : isRoot ? name : name.withoutFirstSegment))
                guard page.count >= 256 else { return }
                try show([], page)
                page = []
            }
            try show([], page)
        } else {
            let isExact = options.isExact
            try pages(reference(text), exact: isExact) { folders, objects in
                try show(folders, objects.map { ($0, isExact ? $0.exactName : $0.lastName) })
            }
        }
        if !found, !isPattern, case let reference = try reference(text), !reference.isRoot {
            guard try isThere(text) else { throw Client.Failure(message: "there is nothing at \(reference.title)") }
            try show([], [(reference, options.isExact ? reference.exactName : reference.lastName)])
        }
        if options.json { try Console.print(["prefixes": .array(prefixes), "items": .array(items)] as JSON) }
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

    /// A reference with what lists tell of an object.
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

    /// Goes on after one that fails, if there are more.
    private func forEachObject(_ texts: [String], _ body: (JSON) throws -> Void) throws {
        for text in texts {
            try attempt(orFail: texts.count == 1) {
                try self.objects(text) { object, _ in
                    try self.attempt(orFail: texts.count == 1 && NamePattern(text) == nil) { try body(object) }
                }
            }
        }
    }

    /// Goes on after one that cannot be removed.
    func remove(_ texts: [String]) throws {
        let isTree = options.isRecursive || texts.contains { NamePattern($0) != nil }
        if isTree, !options.isSure, Descriptor.standardInput.isTerminal, try !isConfirmed(texts) { return }
        var (removed, waiting, count): ([JSON], [JSON], Int) = ([], [], 0)
        for text in texts {
            try attempt(orFail: texts.count == 1) {
                try self.objects(text) { object, _ in
                    count += 1
                    waiting.append(object)
                    if waiting.count >= 256 { try self.removeAll(&waiting, &removed, isOnly: false) }
                }
            }
        }
        try removeAll(&waiting, &removed, isOnly: count == 1 && texts.count == 1)
        if options.json { try Console.print(JSON.array(removed)) }
        if isTree, !options.isQuiet { Console.writeError("\(count - failures) removed\n") }
        if failures > 0, !isTree {
            let left = failures
            failures = 0
            throw Client.Failure(message: "\(left) of \(texts.count) were not removed")
        }
    }

    private func removeAll(_ objects: inout [JSON], _ removed: inout [JSON], isOnly: Bool) throws {
        let results = try client.callAll(
            "reference/delete", objects.map { bound([.init(key: "reference", value: $0)]) })
        for (object, result) in zip(objects, results) {
            try attempt(orFail: isOnly) {
                _ = try result.get()
                if self.options.json { removed.append(object) }
            }
        }
        objects = []
    }

    private func isConfirmed(_ texts: [String]) throws -> Bool {
        for text in texts { _ = try reference(text) }
        let names = texts.joined(separator: " ").safe
        Console.writeError("storage-rpc: remove all of \(names)? [y/N] ")
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
        var params: [JSON.Member] = [.init(key: "reference", value: try reference(text))]
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

extension JSON {
    /// The name of a folder in a list, with a slash.
    fileprivate func folderName(_ isExact: Bool) -> String { isExact ? folderPrefix : lastName + "/" }
}
