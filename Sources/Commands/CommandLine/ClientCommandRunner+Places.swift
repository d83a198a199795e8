import Platform
import Storage

// From where to where `put`, `get`, `cp` and `mv` copy.

extension ClientCommandRunner {
    /// What all texts name. Goes on after one that names nothing, if there are more.
    func allSources(_ texts: [String]) throws -> [CopySource<Reference>] {
        var found: [CopySource<Reference>] = []
        for text in texts { try attempt(orFail: texts.count == 1) { found += try self.sources(text) } }
        return found
    }

    func source(_ tree: LocalTree) -> CopySource<LocalFile> {
        guard tree.isDirectory else { return CopySource(name: tree.name, itself: LocalFile(path: tree.path)) }
        var members: [(item: LocalFile, name: String)] = []
        tree.walk { path, name in
            members.append((LocalFile(path: path), name))
        } failed: {
            self.fail($0)
        }
        return CopySource(name: tree.name, members: members)
    }

    /// Where objects go: `put`, `cp` and `mv`.
    struct Destination {
        let reference: Reference
        let kind: DestinationKind
        /// There are several sources: each keeps its name.
        let takesMany: Bool

        /// Throws for a name that no object may have.
        func target(_ place: String?) throws(StorageError) -> Reference {
            guard let place else { return reference }
            return try Reference(bucket: reference.bucket, object: reference.prefix + place)
        }
    }

    /// - Parameter isTree: the first source is a folder. If it is the only one, its target does not depend on what is there.
    func destination(_ text: String, takesMany: Bool, isTree: Bool) throws -> Destination {
        let reference = try reference(text)
        var kind = DestinationKind.plain
        if text.utf8.last == UInt8(ascii: "/"), !options.isExact || reference.isRoot {
            kind = .slash
        } else if reference.isRoot {
            kind = .bucket
        } else if !options.isExact, takesMany || !isTree, try look({ try isFolder(reference) && !isThere(reference) }) {
            kind = .folder
        } else if options.isExact, takesMany {
            kind = .slash
        }
        guard kind != .plain || !takesMany else {
            throw UsageError(message: "several sources need a folder: end \(text) with /")
        }
        return Destination(reference: reference, kind: kind, takesMany: takesMany)
    }

    /// False where this user may not look.
    private func look(_ body: () throws -> Bool) throws -> Bool {
        do { return try body() } catch let failure as Client.Failure where failure.isDenied { return false }
    }

    /// Passes each item of a source and its target to `body`. Names that no object can have are reported, and left out.
    func add<Item>(
        _ source: CopySource<Item>, to destination: Destination, _ body: (Item, Reference) throws -> Void
    ) throws {
        try checkFolder(source, in: destination)
        for (item, place) in source.placed(in: destination.kind, isOneOfMany: destination.takesMany) {
            let target: Reference
            do throws(StorageError) { target = try destination.target(place) } catch {
                let failure = Client.Failure("\(item.title): \(error.message)")
                guard transfers.areMany else { throw failure }
                fail(failure.message)
                continue
            }
            try body(item, target)
        }
    }

    /// A folder does not take the name of an object that is there.
    private func checkFolder<Item>(_ source: CopySource<Item>, in destination: Destination) throws {
        guard source.isTree, source.itself == nil, destination.kind == .plain, !options.isExact,
            try look({ try isThere(destination.reference) })
        else { return }
        let url = destination.reference.url
        throw Client.Failure("\(url) is an object, and a folder cannot replace it: end it with / to go below it")
    }

    /// A folder does not replace a file that is there.
    func checkFolder(
        _ source: CopySource<Reference>, at target: String, _ kind: DestinationKind, _ takesMany: Bool
    ) throws {
        let base = LocalTree.path(target, source.base(in: kind, isOneOfMany: takesMany))
        guard source.isTree, let there = try? FileStatus(ofPath: base).kind, there != .directory else { return }
        throw Client.Failure("\(base) is no directory, and a folder cannot replace it")
    }
}

extension LocalTree {
    /// Of the DIRECTORY or FILE of `get`; empty for the working directory.
    static func destinationKind(_ target: String) -> DestinationKind {
        if target.isEmpty || target.utf8.last == UInt8(ascii: "/") { return .slash }
        return isDirectory(target) ? .folder : .plain
    }

    static func path(_ target: String, _ place: String?) -> String {
        guard let place else { return target }
        return target.isEmpty || target.utf8.last == UInt8(ascii: "/") ? target + place : "\(target)/\(place)"
    }
}

extension String {
    /// It leads to a file below a directory, and nowhere else.
    var isRelativePath: Bool {
        utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).allSatisfy {
            !$0.isEmpty && !$0.elementsEqual(".".utf8) && !$0.elementsEqual("..".utf8) && !$0.contains(0)
        }
    }
}
