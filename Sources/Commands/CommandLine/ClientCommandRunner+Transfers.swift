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
        let sources = trees.map(source)
        let destination = try destination(target, of: sources.count > 1 ? .several : sources[0].origin)
        let plan = try plan(sources, destination.targets, "uploaded", target: destination.target)
        for copy in plan.copies { try put(file: copy.source.path, name: copy.source.path, copy.target) }
        try endTransfers()
    }

    private func isInput(_ file: String) -> Bool {
        file == "-" || Descriptor.number(at: file) == Descriptor.standardInput.raw
    }

    /// Standard input, which has no name of its own.
    private func putInput(_ files: [String], to target: String) throws {
        guard files.count == 1 else {
            throw UsageError(message: "standard input (-) needs a REFERENCE of its own")
        }
        let object = try destination(target, of: .input).reference
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
        let origin = found.origin(of: texts)
        transfers.areMany = origin == .several || options.isRecursive
        let targets = try localTargets(target, of: origin)
        var locations = FileLocations()
        let plan = try plan(found, targets, "downloaded") { object, place in
            guard place?.isRelativePath ?? true else {
                throw Client.Failure("\(object.url) is no path of a file; get it alone, and name a FILE")
            }
            let path = LocalTree.path(target, place)
            return LocalFile(path: path, key: locations.key(of: path))
        }
        // With --allow-write no message reveals what is outside; the service refuses each target by itself.
        if options.service.writable.isEmpty { try plan.checkDirectories(&locations) }
        for copy in plan.copies {
            try download(copy.source, to: copy.target.path, isBelow: copy.target.path != target)
        }
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
        let origin = found.origin(of: texts)
        transfers.areMany = origin == .several || options.isRecursive
        let destination = try destination(target, of: origin)
        let plan = try plan(found, destination.targets, moves ? "moved" : "copied", target: destination.target)
        try plan.checkSources(moves: moves)
        for copy in plan.copies {
            let params: JSON = ["reference": copy.source.json, "to": copy.target.json, "observe": Self.observed]
            try start(
                moves ? "reference/move" : "reference/copy", params,
                .init(name: copy.source.url, kind: "uploadTask") { try self.show($0) })
        }
        try endTransfers()
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
