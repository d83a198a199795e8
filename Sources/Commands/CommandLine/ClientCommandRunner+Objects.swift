import Checksums
import HTTPText
import JSONText
import Methods
import Platform
import Storage
import Tracing

// `storage-rpc stat`, `set`, `hash`, `rm` and `url`: a few calls each.

extension ClientCommandRunner {
    func stat(_ texts: [String]) throws {
        var isFirst = true
        try forEachObject(texts) { object in
            let metadata = try self.client.call("reference/getMetadata", ["reference": object.json])
            if self.options.json { return try Console.print(metadata) }
            if !isFirst { try Console.print("") }
            isFirst = false
            for line in Self.lines(metadata) { try Console.print(line) }
        }
    }

    func set(_ texts: [String]) throws {
        let change = metadata ?? .null
        try forEachObject(texts) { object in
            if self.options.isDryRun {
                try self.checkThere(object)
                try self.checkPreconditions(of: object)
                return try self.tellPlan("change", object.url)
            }
            let params: [JSON.Member] = [
                .init(key: "reference", value: object.json), .init(key: "metadata", value: change),
            ]
            try self.show(self.client.call("reference/updateMetadata", self.bound(params)), "\(object.url, .name)")
        }
    }

    /// Prints the checksums of stored objects, or of local files.
    func hash(_ words: [String]) throws {
        guard !options.isLocal else { return try hashFiles(words) }
        if let file = try words.first(where: isLocalFile) {
            let (kind, way) =
                LocalTree.isDirectory(file)
                ? ("directory", "find \(file.quotedForShell) -type f -exec \(shellLine("hash", "--local", "{}", "+"))")
                : ("file", shellLine("hash", "--local", file.quotedForShell))
            throw UsageError(
                message: "\(file) is a \(kind) of this machine, and there is no such object: \(way) reads it")
        }
        try forEachObject(words) { object in
            let metadata = try self.client.call("reference/getMetadata", ["reference": object.json])
            try self.show(
                Checksums(
                    md5: metadata["md5Hash"]?.string.flatMap { [UInt8](base64: $0) },
                    crc32c: metadata["crc32c"]?.string.flatMap(UInt32.init(base64:))), of: object.url)
        }
    }

    private func hashFiles(_ paths: [String]) throws {
        if paths.count == 1, LocalTree.isDirectory(paths[0]) { throw unreadable(paths[0], "it is a directory").ofWords }
        for path in paths {
            try attempt(orFail: paths.count == 1) { try self.show(self.hashes(ofFile: path), of: path) }
        }
    }

    /// Reads a file to its end. Throws if a signal arrives.
    private func hashes(ofFile path: String) throws -> Checksums {
        let isInput = path == "-"
        let source = try isInput ? .standardInput : opened(path)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var checksum = Checksum()
        while true {
            if isInput { try client.waitForInput() } else { try client.pause(.zero) }
            let count: Int
            do throws(SystemError) { count = try source.readBlocking(into: buffer) } catch {
                throw unreadable(path, error.reason)
            }
            guard count > 0 else { break }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            checksum.updateMD5(bytes)
            checksum.updateCRC(bytes)
        }
        return Checksums(md5: checksum.md5, crc32c: checksum.crc32c)
    }

    /// Opens a local file for reading. Throws if it cannot be read, or is no file.
    func opened(_ path: String) throws -> Descriptor {
        let file: Descriptor
        do throws(SystemError) { file = try OpenFile(path, .noWaiting).duplicate() } catch {
            throw unreadable(path, error.reason)
        }
        switch try FileStatus(ofPath: path).kind {
        case .regular: break
        case .directory: throw unreadable(path, "it is a directory")
        default: throw unreadable(path, "it is no file; - is standard input")
        }
        return file
    }

    private func unreadable(_ path: String, _ reason: String) -> Client.Failure {
        Client.Failure(message: "\(path) cannot be read: \(reason)", isAnswer: true)
    }

    private func show(_ hashes: Checksums, of name: String) throws {
        let known = [("md5", hashes.md5), ("crc32c", hashes.crc32c?.bytes)]
        if options.json {
            let members = known.compactMap { name, bytes in
                bytes.map { bytes -> JSON.Member in
                    .init(key: name, value: ["hex": .string(bytes.hexadecimal), "base64": .string(bytes.base64)])
                }
            }
            return try Console.print(JSON.object([.init(key: "of", value: .string(name))] + members))
        }
        for (kind, bytes) in known {
            guard let bytes else { continue }
            let texts = [kind.padded(to: 6), bytes.hexadecimal.padded(to: 32), bytes.base64.padded(to: 24), name]
            try Console.print(texts.joined(separator: "  "))
        }
    }

    /// Resolves all texts, then calls `body` for each object. Continues after a failure, if there are more objects.
    private func forEachObject(_ texts: [String], _ body: (Reference) throws -> Void) throws {
        let found = try allSources(texts)
        let isOnly = texts.count == 1 && !found.contains { $0.isMatch }
        for object in found.flatMap(\.items) { try attempt(orFail: isOnly) { try body(object) } }
    }

    /// Resolves all texts before the first removal. Continues after an object that cannot be removed.
    func remove(_ texts: [String]) throws {
        let command = commandKey("rm", texts)
        transfers.areMany = options.isRecursive
        let earlier = try earlierTasks(command)
        let sources = try allSources(texts, walks: false, after: earlier)
        let isTree = options.isRecursive || sources.contains { $0.isMatch }
        transfers.areMany = isTree
        let trees = removableTrees(sources.compactMap(\.tree))
        var seen: Set<Reference> = []
        let found = sources.compactMap(\.itself).filter { seen.insert($0).inserted }
        let isOnly = found.count == 1 && texts.count == 1 && trees.isEmpty
        if options.isDryRun {
            let listed = Set(sources.filter { options.isRecursive || $0.isMatch }.compactMap(\.itself))
            for object in found {
                try attempt(orFail: isOnly) {
                    if !listed.contains(object) { try self.checkThere(object) }
                    try self.checkPreconditions(of: object)
                    try self.tellPlan("remove", object.url)
                }
            }
            for tree in trees { try removeTree(tree, command) { _ in } }
            return try endTransfers()
        }
        if isTree, !sources.isEmpty {
            try confirm(texts, buckets: trees.filter(\.isRoot)) {
                try trees.reduce(found.count) { $0.addingSaturated(try self.count(in: $1)) }
            }
        }
        var removed = 0
        for start in stride(from: 0, to: found.count, by: 1024) {
            try remove(found[start..<min(start + 1024, found.count)], &removed, isOnly: isOnly)
        }
        // The folder of an earlier task may be empty by now.
        for tree in try trees + earlier.map({ try $0.folder }).filter({ !trees.contains($0) }) {
            try removeTree(tree, command, after: earlier) { removed = removed.addingSaturated($0) }
        }
        try endTransfers()
        if isTree, !options.isQuiet, !options.json { Console.writeError("\(removed) removed\n") }
        if failures > 0, !isTree {
            let left = failures
            failures = 0
            throw Client.Failure(message: "\(left) of \(texts.count) were not removed")
        }
    }

    /// The trees that are in no other tree. With a filter a tree may leave out another one below it: both are removed, one
    /// after the other.
    private func removableTrees(_ trees: [Reference]) -> [Reference] {
        if hasFilter { transfers.limit = 1 }
        return trees.enumerated().filter { index, tree in
            !trees.enumerated().contains { otherIndex, other in
                guard other.bucket.hasSameBytes(as: tree.bucket) else { return false }
                if other.prefix.hasSameBytes(as: tree.prefix) { return otherIndex < index }
                return !hasFilter && tree.prefix.utf8.starts(with: other.prefix.utf8)
            }
        }.map(\.element)
    }

    private func remove(_ objects: ArraySlice<Reference>, _ removed: inout Int, isOnly: Bool) throws {
        let results = try client.callAll(
            "reference/delete", objects.map { bound([.init(key: "reference", value: $0.json)]) },
            atOnce: atOnce)
        for (object, result) in zip(objects, results) {
            try attempt(orFail: isOnly) {
                _ = try result.get()
                removed += 1
                if options.json {
                    try Console.print(["removed": object.result] as JSON)
                } else if options.isVerbose, !options.isQuiet {
                    try Console.print("removed \(object.url)")
                }
            }
        }
    }

    /// Asks a person on a terminal, and throws after the answer no. Elsewhere throws for a whole bucket without `-y`.
    private func confirm(_ texts: [String], buckets: [Reference], _ count: () throws -> Int) throws {
        guard !options.isSure else { return }
        if Descriptor.standardInput.isTerminal {
            guard try !isConfirmed(texts, count()) else { return }
            throw Client.Failure(message: "nothing was removed")
        }
        guard let bucket = buckets.first else { return }
        throw UsageError(
            message:
                "rm -r gs://\(bucket.bucket) removes the whole bucket: -y says that this is meant; nothing was removed")
    }

    private func isConfirmed(_ texts: [String], _ count: Int) throws -> Bool {
        Console.writeError(
            "storage-rpc: remove \(count.counted("object")) of \(texts.joined(separator: " ").safe)? [y/N] ")
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 1)
        defer { buffer.deallocate() }
        try client.waitForInput(tells: false)
        let count = (try? Descriptor.standardInput.readBlocking(into: buffer)) ?? 0
        let answer = String(decoding: buffer[..<count], as: UTF8.self).lowercased()
        return answer == "y\n" || answer == "yes\n"
    }

    func url(_ text: String) throws {
        var params: [JSON.Member] = [.init(key: "reference", value: try object(text).json)]
        guard !isPrivate || options.serves || options.service.engine != .embedded else {
            throw Client.Failure(
                message: "needs a running service: storage-rpc serve --socket PATH; or url --serve serves until Ctrl-C")
        }
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
