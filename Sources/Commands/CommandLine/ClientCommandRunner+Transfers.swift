import Checksums
import HTTPText
import JSONText
import Platform
import Roots
import Storage

// `storage-rpc put`, `get`, `cat`, `cp` and `mv`: tasks.

extension ClientCommandRunner {
    func put(_ files: [String], to target: String) throws {
        transfers.areMany = files.count > 1 || options.isRecursive
        if files.contains(where: isInput) { return try putInput(files, to: target) }
        for file in files where Self.isURL(file) {
            guard !Self.isURL(target) else { try checkNoURL(file); continue }
            let get = shellLine("get", (recursion + files + [target]).map(\.quotedForShell).joined(separator: " "))
            throw UsageError(message: "\(file) is no file: \(get) downloads objects")
        }
        let trees = files.map(LocalTree.init)
        for tree in trees where tree.isDirectory && !options.isRecursive {
            throw UsageError(message: "\(tree.path) is a directory; -r uploads all that is in it")
        }
        for tree in trees where tree.status == nil && tree.path.hasSuffix("/") {
            guard FileSystem.exists(LocalTree.directory(tree.path)) else { continue }
            throw UsageError(message: "\(tree.path) is no directory")
        }
        for tree in trees where tree.status?.kind == .pipe {
            throw UsageError(
                message: "\(tree.path) is a pipe: COMMAND | storage-rpc put - \(target.quotedForShell) uploads from one"
            )
        }
        let sources = trees.map { tree in
            let file = LocalFile(path: tree.path)
            return CopySource(
                name: tree.name, itself: tree.isDirectory ? nil : file, tree: tree.isDirectory ? file : nil)
        }
        let destination = try destination(target, of: sources.count > 1 ? .several : sources[0].origin)
        let plan = try plan(sources, destination.targets, "uploaded", target: destination.target)
        try checkMerges(plan)
        let copies = try existing(plan.copies)
        if options.isTrial { return }
        transfers.areSeveral = plan.copies.count > 1
        var known = ByteKeyedDictionary<Int64>()
        for tree in trees { known[tree.path] = tree.status?.size }
        let sizes = copies.map { $0.isTree ? nil : known[$0.source.path] }
        transfers.waiting = (copies.count { !$0.isTree }, sizes.reduce(0) { $0.addingSaturated($1 ?? 0) })
        for (copy, size) in zip(copies, sizes) {
            if copy.isTree {
                try putTree(copy.source.path, copy.target)
            } else {
                transfers.waiting.files -= 1
                transfers.waiting.bytes = transfers.waiting.bytes.map { $0 - (size ?? 0) }
                try put(copy.source.path, copy.target, size: size)
            }
        }
        try endTransfers()
        tellTotal()
    }

    /// The copies whose files exist. Reports the others, before any file is uploaded; a trial does so only if none exists.
    /// With `--allow-read` no message reveals files outside of the directories.
    private func existing(
        _ copies: [CopyPlan<LocalFile, Reference>.Copy]
    ) throws -> [CopyPlan<LocalFile, Reference>.Copy] {
        guard options.service.readable.isEmpty else { return copies }
        var (present, failures): ([CopyPlan<LocalFile, Reference>.Copy], [Client.Failure]) = ([], [])
        for copy in copies {
            do throws(SystemError) {
                if !copy.isTree { _ = try FileStatus(ofPath: copy.source.path) }
            } catch  where error == .notFound {
                failures.append(missing(copy.source.path, for: copy.target))
                continue
            } catch {}
            present.append(copy)
        }
        if failures.isEmpty || options.isTrial && !present.isEmpty { return present }
        if copies.count == 1, let failure = failures.first { throw failure }
        for failure in failures { fail(failure, isTrials: true) }
        if present.isEmpty { throw failedBefore }
        return present
    }

    /// The error of the service for a file that does not exist.
    private func missing(_ file: String, for target: Reference) -> Client.Failure {
        var failure = Client.Failure(message: "File \(absolute(file)) does not exist.", isAnswer: true)
        failure.code = -13000
        failure.reference = ["bucket": .string(target.bucket), "object": .string(target.object)]
        return failure
    }

    /// Throws for a URL in the place of a local file.
    private func checkNoURL(_ path: String) throws(UsageError) {
        guard Self.isURL(path) else { return }
        throw UsageError(message: "\(path) is no file: storage-rpc cp copies objects, and ./\(path) would be a file")
    }

    /// Throws if sources of `cp`, `mv` or `get` are files of this machine and no objects: they are for `put`.
    private func checkObjects(_ texts: [String], to target: String) throws {
        let files = try texts.filter(isLocalFile)
        guard let first = files.first else { return }
        let isTree = files.contains(where: LocalTree.isDirectory)
        let words = (isTree ? ["-r"] : recursion) + files + [target]
        throw UsageError(
            message: "\(first) is a file of this machine, and there is no such object: "
                + "\(shellLine("put", words.map(\.quotedForShell).joined(separator: " "))) uploads it")
    }

    /// The text is a file or a directory of this machine, and no object or folder.
    func isLocalFile(_ text: String) throws -> Bool {
        guard !options.isExact, !Self.isURL(text), let kind = LocalTree(text).status?.kind,
            kind == .regular || kind == .directory
        else { return false }
        do {
            let object = try reference(text)
            return try !isThere(object) && !isFolder(object)
        } catch is UsageError {
            return true
        } catch let failure as Client.Failure where failure.isAnswer {
            return false
        }
    }

    /// Throws if the target of `cp` or `mv` is a directory of this machine.
    private func checkNoDirectory(_ target: String, of texts: [String]) throws {
        guard !options.isExact, !Self.isURL(target),
            target.utf8.split(separator: UInt8(ascii: "/")).first.map({ [".", ".."].contains(String($0)) }) == true
        else { return }
        let get = shellLine("get", (recursion + texts + [target]).map(\.quotedForShell).joined(separator: " "))
        throw UsageError(message: "\"\(target)\" is no reference, unless with --exact: \(get) downloads objects")
    }

    /// The flag of this command that takes trees, for another command.
    private var recursion: [String] { options.isRecursive ? ["-r"] : [] }

    private func isInput(_ file: String) -> Bool {
        file == "-" || Descriptor.number(at: file) == Descriptor.standardInput.raw
    }

    /// - Parameter size: the size of the file in bytes; nil if it is unknown.
    func put(_ file: String, _ reference: Reference, size: Int64?) throws {
        if options.isDryRun {
            return try attempt(orFail: !transfers.areMany) {
                _ = try self.opened(file)
                try self.tellUpload(file, reference)
            }
        }
        let members = fileParams(reference, file) + writeParams + metadataParams
        var transfer = RunningTransfers.Transfer(name: file, kind: .uploadTask) { metadata in
            let place = self.transfers.areSeveral ? "" : self.place
            try self.show(metadata, "\(reference.url, .name)  \(Self.size(metadata))\(place, .dim)")
        }
        transfer.failed = { error, _ in try self.isSkipped(error, reference) }
        if let size, size <= Self.largestWhole, isEmbedded {
            // The key ends an unfinished task of a larger file with this name.
            try startWhole("reference/putFile", members + [keyMember("reference/putFile", members)], transfer)
        } else {
            try startKeyed("reference/putFile", members, transfer)
        }
    }

    /// The maximum size in bytes of a file that the embedded engine stores in one step.
    static let largestWhole: Int64 = 1 << 20

    /// Prints that a target was skipped, if `--no-clobber` is the reason of a failure. Returns false for another reason.
    ///
    /// - Parameter source: an object that must exist: the service looks at the target first.
    func isSkipped(_ error: Client.Failure, _ target: Reference, from source: Reference? = nil) throws -> Bool {
        guard options.noClobber, error.isPrecondition, error.isAbout(target) else { return false }
        try attempt(orFail: !transfers.areMany) {
            if let source { try self.checkThere(source) }
            try self.tellSkipped(target.url)
        }
        return true
    }

    func tellSkipped(_ target: String) throws {
        if options.json { return try Console.print(["skipped": .string(target)] as JSON) }
        guard !options.isQuiet else { return }
        Console.printError("\(target) is there already: skipped")
    }

    /// Starts a task that stays in the root until it has ended. An equal command resumes it.
    ///
    /// - Parameters:
    ///   - key: the key of the task; nil for a key that is computed from the method and the members.
    ///   - others: params that have no part in a computed key.
    func startKeyed(
        _ method: String, _ members: [JSON.Member], _ transfer: RunningTransfers.Transfer, key: String? = nil,
        others: [JSON.Member] = []
    ) throws {
        var transfer = transfer
        transfer.goesOn = true
        let common: [JSON.Member] = [
            .init(key: "key", value: .string(key ?? Self.key(method, members))),
            .init(key: "observe", value: Self.observed),
        ]
        try start(method, .object(members + others + common), transfer)
    }

    func keyMember(_ method: String, _ members: [JSON.Member]) -> JSON.Member {
        .init(key: "key", value: .string(Self.key(method, members)))
    }

    /// A text that equal requests have in common.
    static func key(_ method: String, _ members: [JSON.Member]) -> String {
        "command " + Checksum(of: Array("\(method) \(JSON.object(members).text)".utf8)).md5.hexadecimal
    }

    func get(_ words: [String]) throws {
        if words.count > 1, let output = try output(words[words.count - 1]) {
            if options.noClobber { throw UsageError(message: "--no-clobber is for files, not for \(output.name)") }
            return try cat(Array(words.dropLast()), to: output)
        }
        let (texts, target) = words.count == 1 ? (words, "") : (Array(words.dropLast()), words[words.count - 1])
        if Self.isURL(target) { try checkObjects(texts, to: target) }
        try checkNoURL(target)
        listsMetadata = isEmbedded
        let found = try allSources(texts, walks: false)
        listsMetadata = false
        let origin = found.origin(of: texts)
        transfers.areMany = origin == .several || options.isRecursive
        let targets = try localTargets(target, of: origin)
        var locations = FileLocations()
        let plan = try plan(found, targets, "downloaded") { object, place in
            guard place?.isRelativePath ?? true else {
                throw Client.Failure("\(object.url) is no path of a file; get it alone, and name a FILE")
            }
            let path = place == nil ? LocalTree.directory(target) : LocalTree.path(target, place)
            return LocalFile(path: path, key: locations.key(of: path), treeKey: locations.treeKey(of: path))
        }
        // With --allow-write no message reveals files outside of the directories. The service refuses their names.
        if options.service.writable.isEmpty { try plan.checkDirectories(&locations) }
        try checkMerges(plan)
        transfers.areSeveral = plan.copies.count > 1
        transfers.waiting = (plan.copies.count { !$0.isTree }, nil)
        for copy in plan.copies {
            if copy.isTree {
                try getTree(copy.source, copy.target.path)
            } else {
                transfers.waiting.files -= 1
                try download(copy.source, to: copy.target.path, isBelow: copy.target.path != target)
            }
        }
        try endTransfers()
        tellTotal()
    }

    /// - Parameter isBelow: the directories above the file are created.
    private func download(_ object: Reference, to path: String, isBelow: Bool) throws {
        if options.noClobber, (try? FileStatus(ofPath: path, followingLinks: false)) != nil {
            return try tellSkipped(path)
        }
        if options.isDryRun {
            return try attempt(orFail: !transfers.areMany) {
                try self.checkThere(object)
                if !isBelow { try self.checkParent(of: path) }
                try self.tellPlan("download", object.url, path)
            }
        }
        do { if isBelow { try LocalTree.makeParents(of: path, mask: options.newFilesMask) } } catch {
            guard transfers.areMany else { throw error }
            return fail(error.message)
        }
        let transfer = RunningTransfers.Transfer(name: object.url, kind: .downloadTask) { metadata in
            try self.show(metadata, "\(path, .name)  \(Self.size(metadata))")
        }
        if smallObjects.contains(object) {
            return try startWhole("reference/writeToFile", fileParams(object, path), transfer)
        }
        try startKeyed("reference/writeToFile", fileParams(object, path), transfer)
    }

    func copy(_ texts: [String], to target: String, moves: Bool) throws {
        try checkNoDirectory(target, of: texts)
        let command = commandKey(moves ? "mv" : "cp", texts + [target])
        let earlier = try earlierTasks(command)
        if !earlier.isEmpty { return try continueCopies(earlier, of: texts, to: target, command, moves: moves) }
        let untold = moves ? try untoldTasks(command) : []
        // After a move a name leads to no object.
        if untold.isEmpty { try checkObjects(texts, to: target) }
        let found = try allSources(texts, walks: false, after: untold)
        try untold.forEach(tellMoved)
        if found.isEmpty, !untold.isEmpty { return tellTotal() }
        let origin = found.origin(of: texts)
        transfers.areMany = origin == .several || options.isRecursive
        let destination = try destination(target, of: origin)
        if found.contains(where: { $0.tree != nil }) {
            let isOfWords = !found.contains { $0.isMatch }
            try copyTrees(copies(of: found, to: destination), command, moves: moves, isOfWords: isOfWords)
            try endTransfers()
            return tellTotal()
        }
        let plan = try plan(found, destination.targets, moves ? "moved" : "copied", target: destination.target)
        try plan.checkSources(moves: moves)
        if options.isDryRun { return try tellPlan(of: plan.copies, moves: moves) }
        transfers.areSeveral = plan.copies.count > 1
        // The embedded engine copies an object of any size in one step.
        if isEmbedded { transfers.limit = atOnce }
        let method = moves ? "reference/move" : "reference/copy"
        let showsEach = plan.copies.count <= Self.mostShown || options.isVerbose || options.json
        for copy in plan.copies {
            let (source, target) = (copy.source, copy.target)
            var transfer = RunningTransfers.Transfer(name: source.url, kind: .uploadTask) { metadata in
                if showsEach { try self.show(metadata, "\(source.url) -> \(target.url, .name)") }
            }
            transfer.failed = { error, _ in try self.isSkipped(error, target, from: source) }
            let members =
                [.init(key: "reference", value: source.json), .init(key: "to", value: target.json)] + writeParams
            if isEmbedded {
                try startWhole(method, members, transfer)
            } else {
                try start(method, .object(members + [.init(key: "observe", value: Self.observed)]), transfer)
            }
        }
        try endTransfers()
        tellTotal()
    }

    /// Continues the tasks of an earlier command. The last one takes all that the words stand for, too.
    private func continueCopies(
        _ earlier: [ListedTask], of texts: [String], to target: String, _ command: String, moves: Bool
    ) throws {
        transfers.areMany = true
        for task in earlier.dropLast() {
            try copyTrees([], command, moves: moves, after: task)
            try endTransfers()
        }
        let found = try allSources(texts, walks: false, after: earlier)
        let destination = try destination(target, of: found.origin(of: texts), isContinued: true)
        try copyTrees(copies(of: found, to: destination), command, moves: moves, after: earlier.last)
        try endTransfers()
        tellTotal()
    }

    /// The maximum number of results that are printed one by one.
    static let mostShown = 20

    private func tellPlan(of copies: [CopyPlan<Reference, Reference>.Copy], moves: Bool) throws {
        for copy in copies {
            try attempt(orFail: !transfers.areMany) {
                try self.checkThere(copy.source)
                try self.tellPlan(moves ? "move" : "copy", copy.source.url, toObject: copy.target)
            }
        }
    }

    // MARK: - What a command with --dry-run refuses as one without it

    func tellUpload(_ file: String, _ target: Reference) throws { try tellPlan("upload", file, toObject: target) }

    /// Prints a line for an object that would be written, or skipped. Throws if the preconditions do not hold.
    private func tellPlan(_ verb: String, _ source: String, toObject target: Reference) throws {
        if options.noClobber, try isThere(target) { return try tellSkipped(target.url) }
        try checkPreconditions(of: target)
        try tellPlan(verb, source, target.url)
    }

    /// Throws if the object is not what the flags with preconditions ask for.
    func checkPreconditions(of object: Reference) throws {
        guard !options.preconditions.isEmpty else { return }
        let now = try found(object)
        for (param, wanted) in options.preconditions.sorted(by: { $0.key < $1.key }) {
            let member = param == "ifGenerationMatch" ? "generation" : "metageneration"
            let present = now?[member]?.string ?? now?[member]?.text ?? "0"
            guard present != "\(wanted)" else { continue }
            let what = now == nil ? "does not exist" : "has the \(member) \(present), not \(wanted)"
            throw Client.Failure(message: "\(object.url) \(what)", isAnswer: true)
        }
    }

    /// Throws if the directory of a local file does not exist. With `--allow-write` no message reveals files outside of the
    /// directories.
    private func checkParent(of path: String) throws {
        guard options.service.writable.isEmpty, let parent = LocalTree.parents(of: path).last,
            !LocalTree.isDirectory(parent)
        else { return }
        throw Client.Failure(message: "\(path) cannot be written: \(parent) is no directory", isAnswer: true)
    }

    static let observed: JSON = ["progress", "pause", "success", "failure"]

    func fileParams(_ reference: Reference, _ file: String) -> [JSON.Member] {
        [.init(key: "reference", value: reference.json), .init(key: "file", value: .string(absolute(file)))]
    }

    var metadataParams: [JSON.Member] { metadata.map { [.init(key: "metadata", value: $0)] } ?? [] }

    /// The params of the preconditions of a write.
    var writeParams: [JSON.Member] {
        (options.noClobber ? [.init(key: "ifGenerationMatch", value: 0)] : [])
            + options.preconditions.map { .init(key: $0.key, value: JSON(Int64($0.value))) }
    }

    /// Prints a line about a result; with `-v` all of its metadata, with `--json` a JSON object.
    func show(_ metadata: JSON, _ line: @autoclosure () -> StyledText) throws {
        if options.json { return try Console.print(metadata) }
        guard !options.isQuiet else { return }
        guard options.isVerbose else { return try Console.print(line()) }
        for line in Self.lines(metadata) { try Console.print(line) }
    }

    /// Prints the number of files and bytes after several results.
    private func tellTotal() {
        guard transfers.areSeveral, !options.isQuiet, !options.json, !options.isDryRun else { return }
        Console.writeError("\(transfers.result.text)\(place)\n")
    }

    static func size(_ metadata: JSON) -> String { ProgressReport.size(metadata["size"]?.number?.int64 ?? 0) }

    /// Names the local root or service of the embedded engine; empty for a remote engine.
    var place: String {
        guard options.service.engine == .embedded else { return "" }
        if let socket = options.service.socket { return "  in the service at \(socket)" }
        guard let root = try? options.service.root ?? StorageRoot.defaultPath() else { return "" }
        return "  on this disk: \(root)"
    }

    /// The absolute path of a file. The path of the working directory has no links, so leading dots need no lookup.
    func absolute(_ path: String) -> String {
        guard path.utf8.first != UInt8(ascii: "/"), let present = CurrentProcess.workingDirectory else { return path }
        var directory = Array(present.utf8)[...], rest = Array(path.utf8)[...]
        while let dots = ["../", "./"].first(where: { rest.starts(with: $0.utf8) }) {
            if dots == "../" { directory = directory[..<(directory.lastIndex(of: UInt8(ascii: "/")) ?? 0)] }
            rest = rest.dropFirst(dots.utf8.count).drop { $0 == UInt8(ascii: "/") }
        }
        return String(decoding: directory + [UInt8(ascii: "/")] + rest, as: UTF8.self)
    }

    /// The lines of all properties, one for each, for people.
    static func lines(_ metadata: JSON) -> [String] {
        let members = metadata.object ?? []
        let width = members.map(\.key.count).max() ?? 0
        return members.map { member in
            member.key.padded(to: width + 2) + (member.value.string ?? member.value.text)
        }
    }
}
