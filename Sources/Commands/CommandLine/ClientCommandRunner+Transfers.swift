import JSONText
import Platform
import Storage

// `storage-rpc put`, `get`, `cat`, `cp` and `mv`: tasks.

extension ClientCommandRunner {
    func put(_ files: [String], to target: String) throws {
        transfers.areMany = files.count > 1 || options.isRecursive
        if files.contains(where: isInput) { return try putInput(files, to: target) }
        let trees = files.map(LocalTree.init)
        for tree in trees where tree.isDirectory && !options.isRecursive {
            throw UsageError(message: "\(tree.path) is a directory; -r uploads all that is in it")
        }
        let destination = try destination(target, takesMany: files.count > 1, isTree: trees[0].isDirectory)
        var plan = CopyPlan<LocalFile, Reference>(purpose: "uploaded")
        for tree in trees {
            try add(source(tree), to: destination) { try plan.add($0, to: $1) }
        }
        for (file, target) in plan.copies { try put(file: file.path, name: file.path, target) }
        try endTransfers()
    }

    private func isInput(_ file: String) -> Bool {
        file == "-" || Descriptor.number(at: file) == Descriptor.standardInput.raw
    }

    /// Standard input, which has no name of its own.
    private func putInput(_ files: [String], to target: String) throws {
        let object = try reference(target)
        guard files.count == 1, !object.isRoot, !namesFolder(target) else {
            throw UsageError(message: "standard input (-) needs a REFERENCE of its own")
        }
        let input = try TemporaryFile()
        try input.fill { try client.waitForInput() }
        try put(file: input.path, name: target, object, keeping: input)
        try endTransfers()
    }

    /// - Parameter source: is kept until the end.
    private func put(
        file: String, name: String, _ reference: Reference, keeping source: TemporaryFile? = nil
    ) throws {
        var params = transferParams(reference, file)
        if let metadata { params.append(.init(key: "metadata", value: metadata)) }
        try start(
            "reference/putFile", bound(params),
            .init(name: name, kind: "uploadTask") { metadata in
                withExtendedLifetime(source) {}
                try self.show(metadata)
            })
    }

    func get(_ words: [String]) throws {
        if words.count > 1, let output = try output(words[words.count - 1]) {
            return try cat(Array(words.dropLast()), to: output)
        }
        let (texts, target) = words.count == 1 ? (words, "") : (Array(words.dropLast()), words[words.count - 1])
        let found = try allSources(texts)
        let takesMany = texts.count > 1 || found.contains { $0.isMatch }
        transfers.areMany = takesMany || options.isRecursive
        let kind = LocalTree.destinationKind(target)
        guard !takesMany || kind != .plain else {
            throw UsageError(message: "several objects need a directory: end \(target) with / to create it")
        }
        var (plan, locations) = (CopyPlan<Reference, LocalFile>(purpose: "downloaded"), FileLocations())
        for source in found {
            try checkFolder(source, at: target, kind, takesMany)
            for (object, place) in source.placed(in: kind, isOneOfMany: takesMany) {
                guard place?.isRelativePath ?? true else {
                    fail("\(object.url) is no path of a file; get it alone, and name a FILE")
                    continue
                }
                let path = LocalTree.path(target, place)
                try plan.add(object, to: LocalFile(path: path, key: locations.key(of: path)))
            }
        }
        // With --allow-write no message reveals what is outside; the service refuses each target by itself.
        if options.service.writable.isEmpty { try plan.checkDirectories(&locations) }
        for (object, file) in plan.copies { try download(object, to: file.path, isBelow: file.path != target) }
        try endTransfers()
    }

    /// - Parameter isBelow: the directories down to it are made.
    private func download(_ object: Reference, to path: String, isBelow: Bool) throws {
        do { if isBelow { try LocalTree.makeParents(of: path, mask: options.newFilesMask) } } catch {
            guard transfers.areMany else { throw error }
            return fail(error.message)
        }
        try start(
            "reference/writeToFile", .object(transferParams(object, path)),
            .init(name: object.url, kind: "downloadTask") { try self.show($0) })
    }

    /// Writes objects to stdout, or to another output, while they come.
    func cat(_ texts: [String], to output: Output = .standard) throws {
        guard !options.isRecursive else { throw UsageError(message: "-r needs a directory, not \(output.name)") }
        for object in try allSources(texts).flatMap(\.items) {
            try attempt(orFail: texts.count == 1) { try self.write(object, to: output) }
        }
    }

    /// Returns when all of it is written.
    private func write(_ object: Reference, to output: Output) throws {
        let scratch = try TemporaryFile()
        try start(
            "reference/writeToFile", .object(transferParams(object, scratch.path)),
            .init(name: object.url, kind: "downloadTask") { metadata in
                try scratch.copy(to: output, upTo: metadata["size"]?.number?.int64 ?? 0, isComplete: true)
            } progress: {
                try scratch.copy(to: output, upTo: $0, isComplete: false)
            })
        while !transfers.running.isEmpty { try hearTransfers() }
    }

    func copy(_ texts: [String], to target: String, moves: Bool) throws {
        let found = try allSources(texts)
        let takesMany = texts.count > 1 || found.contains { $0.isMatch }
        transfers.areMany = takesMany || options.isRecursive
        let destination = try destination(target, takesMany: takesMany, isTree: found.first?.isTree ?? false)
        var plan = CopyPlan<Reference, Reference>(purpose: moves ? "moved" : "copied")
        for source in found {
            try add(source, to: destination) { try plan.add($0, to: $1, from: source.folder) }
        }
        try plan.checkSources(moves: moves)
        for (object, copy) in plan.copies { try self.copy(object, to: copy, moves: moves) }
        try endTransfers()
    }

    private func copy(_ object: Reference, to copy: Reference, moves: Bool) throws {
        let params: JSON = ["reference": object.json, "to": copy.json, "observe": Self.observed]
        try start(
            moves ? "reference/move" : "reference/copy", params,
            .init(name: object.url, kind: "uploadTask") { try self.show($0) })
    }

    private static let observed: JSON = ["progress", "pause", "success", "failure"]

    private func transferParams(_ reference: Reference, _ file: String) -> [JSON.Member] {
        [
            .init(key: "reference", value: reference.json), .init(key: "file", value: .string(absolute(file))),
            .init(key: "observe", value: Self.observed),
        ]
    }

    /// Of one object all of its metadata; of many nothing, or with `--json` one line each.
    func show(_ metadata: JSON) throws {
        if options.json { return try Console.print(metadata) }
        guard !transfers.areMany, !options.isQuiet else { return }
        for line in Self.lines(metadata) { try Console.print(line) }
    }

    /// The working directory has no links, so dots at the beginning of a path need no lookup.
    private func absolute(_ path: String) -> String {
        guard path.utf8.first != UInt8(ascii: "/"), let present = CurrentProcess.workingDirectory else { return path }
        var directory = Array(present.utf8)[...], rest = Array(path.utf8)[...]
        while let dots = ["../", "./"].first(where: { rest.starts(with: $0.utf8) }) {
            if dots == "../" { directory = directory[..<(directory.lastIndex(of: UInt8(ascii: "/")) ?? 0)] }
            rest = rest.dropFirst(dots.utf8.count).drop { $0 == UInt8(ascii: "/") }
        }
        return String(decoding: directory + [UInt8(ascii: "/")] + rest, as: UTF8.self)
    }

    /// One line a property, for people.
    static func lines(_ metadata: JSON) -> [String] {
        let members = metadata.object ?? []
        let width = members.map(\.key.count).max() ?? 0
        return members.map { member in
            member.key + String(repeating: " ", count: width - member.key.count + 2)
                + (member.value.string ?? member.value.text)
        }
    }
}
