import JSONText
import Platform

// `storage-rpc put`, `get`, `cat`, `cp` and `mv`: tasks.

extension ClientCommandRunner {
    func put(_ files: [String], to target: String) throws {
        let folder = try reference(target)
        let isNamedFolder = target.utf8.last == UInt8(ascii: "/") && !options.isExact
        let isFolder = files.count > 1 || isNamedFolder || folder.isRoot
        transfers.areMany = files.count > 1 || options.isRecursive
        if isFolder { try checkNames(files) }
        for file in files {
            if file == "-" || Descriptor.number(at: file) == Descriptor.standardInput.raw {
                guard !isFolder, files.count == 1 else {
                    throw UsageError(message: "standard input (-) needs a REFERENCE of its own")
                }
                let input = try TemporaryFile()
                try input.fill { try client.waitForInput() }
                try put(file: input.path, name: target, folder, keeping: input)
                continue
            }
            let tree = LocalTree(file)
            guard tree.isDirectory else {
                try put(file: file, name: file, isFolder ? child(folder, tree.name) : folder)
                continue
            }
            guard options.isRecursive else {
                throw UsageError(message: "\(file) is a directory; -r uploads all that is in it")
            }
            let base = isFolder ? tree.name + (tree.name.isEmpty ? "" : "/") : ""
            try tree.walk { path, name in
                try self.put(file: path, name: path, self.child(folder, base + name))
            } skipped: {
                self.transfers.display.note("storage-rpc: \($0)")
            } failed: {
                self.fail($0)
            }
        }
        try endTransfers()
    }

    /// Before anything is uploaded: files of one name would replace one another, and trees would mingle.
    private func checkNames(_ files: [String]) throws(UsageError) {
        var names: Set<String> = []
        for tree in files.map(LocalTree.init) where !tree.name.isEmpty {
            guard names.insert(tree.name).inserted else {
                throw UsageError(message: "two files are named \(tree.name), and would be one object")
            }
        }
    }

    private func child(_ folder: JSON, _ name: String) throws -> JSON {
        guard options.isExact else {
            return try client.call("reference/child", ["reference": folder, "path": .string(name)])
        }
        return try client.call(
            "storage/reference", ["bucket": .string(folder.bucket), "object": .string(folder.folderPrefix + name)])
    }

    /// - Parameter source: is kept until the end.
    private func put(
        file: String, name: String, _ reference: JSON, keeping source: TemporaryFile? = nil,
        metadata given: JSON? = nil,
        then completion: ((_ stored: JSON) throws -> Void)? = nil
    ) throws {
        var params = transferParams(reference, file)
        if let metadata = given ?? metadata { params.append(.init(key: "metadata", value: metadata)) }
        try start(
            "reference/putFile", bound(params),
            .init(name: name, kind: "uploadTask") { metadata in
                withExtendedLifetime(source) {}
                if let completion { try completion(metadata) } else { try self.show(metadata) }
            })
    }

    func get(_ words: [String]) throws {
        if words.count > 1, let output = try output(words[words.count - 1]) {
            return try cat(Array(words.dropLast()), to: output)
        }
        let (texts, target) = words.count == 1 ? (words, "") : (Array(words.dropLast()), words[words.count - 1])
        let isDirectory = target.isEmpty || target.utf8.last == UInt8(ascii: "/") || LocalTree.isDirectory(target)
        guard texts.count == 1 || isDirectory else {
            throw UsageError(message: "several objects need a directory: end \(target) with / to create it")
        }
        transfers.areMany = texts.count > 1 || options.isRecursive || NamePattern(texts[0]) != nil
        for text in texts {
            let isInside = isDirectory || NamePattern(text) != nil
            try attempt(orFail: texts.count == 1) {
                try objects(text) { object, name in
                    try download(object, name, to: target, isInside: isInside)
                }
            }
        }
        try endTransfers()
    }

    /// - Parameter isInside: below the target, by its name.
    private func download(_ object: JSON, _ name: String, to target: String, isInside: Bool) throws {
        var path = target
        if isInside || options.isRecursive {
            let folder = target.isEmpty || target.utf8.last == UInt8(ascii: "/") ? target : target + "/"
            let relative = isInside ? name : name.withoutFirstSegment
            path = folder + relative
            guard relative.isRelativePath else {
                return fail("\(object.title) is no path of a file; get it alone, and name a FILE")
            }
            // Paths in trees differ.
            if !options.isRecursive, !written.insert(path).inserted {
                return fail("\(object.title) would replace another one at \(path)")
            }
            do { try LocalTree.makeParents(of: path, mask: options.newFilesMask) } catch {
                return fail(error.message)
            }
        }
        try start(
            "reference/writeToFile", .object(transferParams(object, path)),
            .init(name: name, kind: "downloadTask") { try self.show($0) })
    }

    /// Writes objects to stdout, or to another output, while they come.
    func cat(_ texts: [String], to output: Output = .standard) throws {
        guard !options.isRecursive else { throw UsageError(message: "-r needs a directory, not \(output.name)") }
        for text in texts {
            try attempt(orFail: texts.count == 1) {
                try self.objects(text) { object, _ in
                    let scratch = try TemporaryFile()
                    try self.start(
                        "reference/writeToFile", .object(self.transferParams(object, scratch.path)),
                        .init(name: object.title, kind: "downloadTask") { metadata in
                            try scratch.copy(to: output, upTo: metadata["size"]?.number?.int64 ?? 0, isComplete: true)
                        } progress: {
                            try scratch.copy(to: output, upTo: $0, isComplete: false)
                        })
                    while !self.transfers.running.isEmpty { try self.hearTransfers() }
                }
            }
        }
    }

    func copy(_ texts: [String], to target: String, moves: Bool) throws {
        let folder = try reference(target)
        let isFolder = texts.count > 1 || folder.isRoot || !options.isExact && target.utf8.last == UInt8(ascii: "/")
        transfers.areMany = texts.count > 1 || options.isRecursive || NamePattern(texts[0]) != nil
        for text in texts {
            try attempt(orFail: texts.count == 1) {
                let isPattern = NamePattern(text) != nil
                try self.objects(text) { object, name in
                    var copy = folder
                    if isFolder || isPattern {
                        copy = try self.child(folder, name)
                    } else if self.options.isRecursive {
                        copy = try self.child(folder, name.withoutFirstSegment)
                    }
                    guard (copy.bucket, copy.exactName) != (object.bucket, object.exactName) else {
                        return self.fail("\(object.title) would be copied to itself")
                    }
                    try self.copy(object, to: copy, moves: moves)
                }
            }
        }
        try endTransfers()
    }

    /// With the metadata that clients set. `mv` deletes the version that was copied, and no other.
    private func copy(_ object: JSON, to copy: JSON, moves: Bool) throws {
        let scratch = try TemporaryFile()
        var download = RunningTransfers.Transfer(name: object.title, kind: "downloadTask") { metadata in
            try self.put(file: scratch.path, name: copy.title, copy, keeping: scratch, metadata: metadata.settable) {
                if moves, let generation = metadata["generation"]?.string.flatMap({ Int64($0) }) {
                    let params: JSON = ["reference": object, "ifGenerationMatch": JSON(generation)]
                    _ = try self.client.call("reference/delete", params)
                }
                try self.show($0)
            }
        }
        download.counts = false
        try start("reference/writeToFile", .object(transferParams(object, scratch.path)), download)
    }

    private func transferParams(_ reference: JSON, _ file: String) -> [JSON.Member] {
        [
            .init(key: "reference", value: reference), .init(key: "file", value: .string(absolute(file))),
            .init(key: "observe", value: ["progress", "pause", "success", "failure"]),
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

extension String {
    /// What follows the first slash; the whole where there is none.
    var withoutFirstSegment: String {
        utf8.firstIndex(of: UInt8(ascii: "/")).flatMap { String(utf8[$0...].dropFirst()) } ?? self
    }

    /// It leads to a file below a directory, and nowhere else.
    fileprivate var isRelativePath: Bool {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) && !$0.contains(0)
        }
    }
}

extension JSON {
    /// Of metadata: what a client may write.
    fileprivate var settable: JSON {
        let names = [
            "cacheControl", "contentDisposition", "contentEncoding", "contentLanguage", "contentType", "customMetadata",
        ]
        return .object((object ?? []).filter { names.contains($0.key) })
    }
}
