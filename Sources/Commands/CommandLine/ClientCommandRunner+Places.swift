import Platform
import Storage

// The sources and targets of `put`, `get`, `cp` and `mv`.

extension ClientCommandRunner {
    /// The sources that texts stand for. Continues after a text that stands for nothing, if there are more.
    ///
    /// - Parameters:
    ///   - walks: false if folders are taken as a whole, without a list of what is in them.
    ///   - earlier: tasks that may have moved or removed what a text has stood for.
    func allSources(
        _ texts: [String], walks: Bool = true, after earlier: [ListedTask] = []
    ) throws -> [CopySource<Reference>] {
        var found: [CopySource<Reference>] = []
        for (place, text) in texts.enumerated() {
            try attempt(orFail: texts.count == 1) {
                do { found += try self.sources(text, walks: walks) } catch let failure as Client.Failure
                    where failure.isAnswer
                {
                    if failure.isAboutNothing, earlier.contains(where: { $0.knows(word: place) }) { return }
                    self.unnamed.append(place)
                    throw failure
                }
            }
        }
        return found
    }

    /// The target of `put`, `cp` and `mv`, and its row of the table.
    struct Destination {
        let reference: Reference
        let targets: CopyTargets

        /// Throws for a name that no object can have.
        func target<Item: CopyEnd>(of item: Item, _ place: String?) throws(Client.Failure) -> Reference {
            guard let place else { return reference }
            do throws(StorageError) {
                return try Reference(bucket: reference.bucket, object: reference.prefix + place)
            } catch {
                throw Client.Failure("\(item.title): \(error.message)")
            }
        }
    }

    /// Resolves the target of `put`, `cp` and `mv`.
    ///
    /// - Parameter isContinued: an earlier command has found a folder among the sources, and a folder at the text if there
    ///   were several. What its task has made since does not change the row of the table.
    func destination(_ text: String, of origin: CopyOrigin, isContinued: Bool = false) throws -> Destination {
        let reference = try reference(text)
        try checkNoPattern(text)
        let row = !isContinued || origin == .several ? origin : .both
        let kind = try isContinued && row == .several ? .slash : destinationKind(text, reference, of: row)
        if let targets = CopyTargets(of: row, at: kind) {
            return Destination(reference: reference, targets: targets)
        }
        switch origin {
        case .several: throw UsageError(message: "several sources need a folder: end \(text) with /")
        case .input: throw UsageError(message: "standard input (-) needs a REFERENCE of its own")
        case .tree, .unnamed, .single, .both:
            throw Client.Failure(
                "\(reference.url) is an object, and a folder cannot replace it: end it with / to go below it")
        }
    }

    /// Throws for a destination like `docs/*`, which a command would take for the name of one object. Brackets and
    /// question marks are common in names of files.
    func checkNoPattern(_ text: String) throws {
        guard text.utf8.contains(UInt8(ascii: "*")), try look({ try pattern(text)?.hasStar == true }) else { return }
        let end = text.utf8.prefix { $0 != UInt8(ascii: "*") }.lastIndex(of: UInt8(ascii: "/"))
        let folder = end.flatMap { String(text.utf8[...$0]) }.map { ", such as \($0)" } ?? ""
        throw UsageError(
            message: "\(text.quotedForShell) is a pattern, and a destination has one name\(folder); "
                + "--exact takes it literally")
    }

    /// The column of the table. For a tree the service is asked whether DEST is an object, for other sources whether DEST
    /// is a folder and no object. With `--exact` nothing is asked, and several sources go below DEST.
    private func destinationKind(
        _ text: String, _ reference: Reference, of origin: CopyOrigin
    ) throws -> CopyDestination {
        let hasSlash = text.utf8.last == UInt8(ascii: "/")
        if hasSlash, !options.isExact || reference.isRoot { return .slash }
        if reference.isRoot { return .bucket }
        switch origin {
        case .input, .both: return .missing
        case .tree, .unnamed: return try !hasSlash && look { try isThere(reference) } ? .file : .missing
        case .several where options.isExact: return .slash
        case .single where options.isExact: return .missing
        case .single, .several: return try look { try isFolder(reference) && !isThere(reference) } ? .folder : .missing
        }
    }

    /// Returns false if the service refuses to let this user look.
    private func look(_ body: () throws -> Bool) throws -> Bool {
        do { return try body() } catch let failure as Client.Failure where failure.isDenied { return false }
    }

    /// Resolves the target of `get`.
    ///
    /// - Parameter target: a path; empty for the working directory.
    func localTargets(_ target: String, of origin: CopyOrigin) throws -> CopyTargets {
        let kind = LocalTree.destinationKind(target)
        if let targets = CopyTargets(of: origin, at: kind) { return targets }
        guard origin == .several else {
            throw UsageError(message: "\(target) is no directory, and a folder cannot replace it")
        }
        throw UsageError(message: "several objects need a directory: end \(target) with / to create it")
    }

    /// Plans all copies of a command. An item whose target cannot have its name is reported, and left out.
    func plan<Item, Target>(
        _ sources: [CopySource<Item>], _ targets: CopyTargets, _ purpose: String,
        target: (Item, _ place: String?) throws -> Target
    ) throws -> CopyPlan<Item, Target> {
        var plan = CopyPlan<Item, Target>(purpose: purpose, isOfWords: !sources.contains { $0.isMatch })
        for source in sources {
            if let tree = source.tree, sources.count > 1, source.name.isEmpty, !source.isMatch {
                throw UsageError(message: "\(tree.title) has no name of its own: give it as the only source")
            }
            for (item, place, isTree) in source.placed(at: targets) {
                do { try plan.add(item, to: target(item, place), isTree: isTree) } catch let failure
                    as Client.Failure where transfers.areMany
                {
                    fail(failure.message)
                }
            }
        }
        return plan
    }
}

extension [CopySource<Reference>] {
    /// - Parameter words: the words of the command that stand for the sources.
    func origin(of words: [String]) -> CopyOrigin {
        words.count > 1 || contains { $0.isMatch } ? .several : first?.origin ?? .several
    }
}

extension LocalTree {
    /// The column of the table for the target of `get`.
    ///
    /// - Parameter target: a path; empty for the working directory.
    fileprivate static func destinationKind(_ target: String) -> CopyDestination {
        if target.isEmpty || target.utf8.last == UInt8(ascii: "/") { return .slash }
        guard let kind = try? FileStatus(ofPath: target).kind else { return .missing }
        return kind == .directory ? .folder : .file
    }

    /// The path of a directory without slashes at its end.
    ///
    /// - Parameter target: a path; empty for the working directory.
    static func directory(_ target: String) -> String {
        if target.isEmpty { return "." }
        let end = target.utf8.lastIndex { $0 != UInt8(ascii: "/") }
        return end.flatMap { String(target.utf8[...$0]) } ?? "/"
    }

    static func path(_ target: String, _ place: String?) -> String {
        guard let place else { return target }
        return target.isEmpty || target.utf8.last == UInt8(ascii: "/") ? target + place : "\(target)/\(place)"
    }
}

extension String {
    /// The text is a path of a file below a directory, without `.` and `..`.
    var isRelativePath: Bool {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) && !$0.contains(0)
        }
    }
}
