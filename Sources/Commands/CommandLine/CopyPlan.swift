import Platform
import Storage

// `put`, `get`, `cp` and `mv` know all that they will write before they write anything.
//
//   1. Each word, or each match of a pattern, becomes a `CopySource`: one object or file, or a folder with all below it.
//   2. `CopyTargets` says where each of its items belongs, relative to the destination.
//   3. `CopyPlan` collects source and target of each copy, and refuses targets that would lose bytes.

/// One end of a copy: an object, or a file of this machine. Two ends are the same if their keys have the same bytes.
protocol CopyEnd {
    /// The name for people.
    var title: String { get }
    var key: String { get }
    /// The key of the folder or directory of this name.
    var treeKey: String { get }
}

extension Reference: CopyEnd {
    var title: String { url }
    var key: String { url }
    var treeKey: String { folderURL }
}

struct LocalFile: CopyEnd {
    let path: String
    let key: String
    var title: String { path }
    let treeKey: String

    /// - Parameters:
    ///   - key: the key of the file; nil for its path.
    ///   - treeKey: the key of the directory; nil for its path.
    init(path: String, key: String? = nil, treeKey: String? = nil) {
        (self.path, self.key, self.treeKey) = (path, key ?? path, treeKey ?? path)
    }
}

/// All copies that a command makes. A copy that would lose bytes is refused by an error with both names.
struct CopyPlan<Source: CopyEnd, Target: CopyEnd> {
    struct Copy {
        let source: Source
        let target: Target
        /// The copy takes all files or objects below the source.
        let isTree: Bool
    }

    private(set) var copies: [Copy] = []
    /// The copies of trees by the keys of their targets. Trees of one target are merged.
    private var trees = ByteKeyedDictionary<[Copy]>()
    /// The source of each target, by the target's key.
    private var writers = ByteKeyedDictionary<String>()
    private let purpose: String
    /// The sources are words of the command, none of which is a pattern: what is refused can never be meant.
    private let isOfWords: Bool

    /// - Parameter purpose: the participle for messages, such as "copied".
    init(purpose: String, isOfWords: Bool = false) { (self.purpose, self.isOfWords) = (purpose, isOfWords) }

    /// - Parameter isOfWords: false for what depends on files or links.
    private func refusal(_ reason: String, isOfWords: Bool = true) -> CopyRefusal {
        CopyRefusal("\(reason); nothing was \(purpose)", isUsage: isOfWords && self.isOfWords)
    }

    mutating func add(
        _ source: Source, to target: Target, isTree: Bool = false
    ) throws(CopyRefusal) {
        let key = isTree ? target.treeKey : target.key
        let title = isTree ? source.treeKey : source.title
        let copy = Copy(source: source, target: target, isTree: isTree)
        let merged = isTree ? trees[key] ?? [] : []
        if let other = writers[key],
            merged.isEmpty || merged.contains(where: { $0.source.treeKey.hasSameBytes(as: title) })
        {
            throw refusal(
                other.hasSameBytes(as: title)
                    ? "\(other) is named twice" : "\(other) and \(title) would both become \(target.title)")
        }
        writers[key] = title
        if isTree { trees[key] = merged + [copy] }
        copies.append(copy)
    }

    /// Throws if trees with one target have files that would have the same path.
    ///
    /// - Parameters:
    ///   - intoFiles: a path cannot be a file and a directory.
    ///   - paths: the files of a tree, relative to its target.
    func checkMerges(intoFiles: Bool, paths: (Copy) throws -> [String]) throws {
        var checked: Set<String> = []
        for copy in copies where copy.isTree {
            guard let merged = trees[copy.target.treeKey], merged.count > 1,
                checked.insert(copy.target.treeKey).inserted
            else { continue }
            var (files, directories) = (ByteKeyedDictionary<String>(), ByteKeyedDictionary<String>())
            for tree in merged {
                let title = tree.source.treeKey, found = try paths(tree)
                for path in found {
                    if let other = files[path] ?? (intoFiles ? directories[path] : nil) {
                        throw refusal(
                            "\(other) and \(title) would both become \(target(tree, path))", isOfWords: false)
                    }
                    for parent in intoFiles ? LocalTree.parents(of: path) : [] where files[parent] != nil {
                        throw refusal(
                            "\(files[parent] ?? "") and \(title) would both become \(target(tree, parent))",
                            isOfWords: false)
                    }
                }
                for path in found {
                    files[path] = "\(title)\(title.hasSuffix("/") ? "" : "/")\(path)"
                    for parent in intoFiles ? LocalTree.parents(of: path) : [] { directories[parent] = title }
                }
            }
        }
    }

    private func target(_ tree: Copy, _ path: String) -> String {
        let title = tree.target.title
        return title + (title.hasSuffix("/") ? "" : "/") + path
    }
}

extension CopyPlan where Source == Reference, Target == Reference {
    /// Throws if a target would replace its source or the source of another copy, or if a source would be moved twice.
    func checkSources(moves: Bool) throws(CopyRefusal) {
        var seen: Set<Reference> = []
        for copy in copies {
            let (source, target) = (copy.source, copy.target)
            guard source != target else { throw refusal("\(source.title) would be \(purpose) to itself") }
            guard seen.insert(source).inserted || !moves else {
                throw refusal("\(source.title) is named twice")
            }
        }
        for copy in copies {
            guard let writer = writers[copy.source.key] else { continue }
            throw refusal("\(writer) would replace \(copy.source.title), which is to be \(purpose), too")
        }
    }
}

extension CopyPlan where Target == LocalFile {
    /// Throws if a target cannot be created: an entry of another kind exists at its path, or a file exists, or will exist,
    /// in the place of one of its directories.
    func checkDirectories(_ locations: inout FileLocations) throws(CopyRefusal) {
        try checkTrees(&locations)
        var checked = ByteKeyedDictionary<Bool>()
        for copy in copies {
            try checkKind(copy)
            for parent in LocalTree.parents(of: copy.target.path) where checked[parent] == nil {
                checked[parent] = true
                try checkParent(parent, of: copy.source, &locations)
            }
        }
    }

    /// Throws if a target is in the directory of another tree, also through links: both could write one file.
    private func checkTrees(_ locations: inout FileLocations) throws(CopyRefusal) {
        guard copies.count > 1 else { return }
        for copy in copies {
            var path = locations.resolved(copy.isTree ? copy.target.path : copy.target.path.parentPath)
            if copy.isTree { path = path.parentPath }
            while true {
                if let writer = writers[locations.treeKey(of: path)] {
                    throw refusal(
                        "\(writer) would become \(path), and \(copy.source.title) would be in that directory",
                        isOfWords: false)
                }
                guard path != path.parentPath else { break }
                path = path.parentPath
            }
        }
    }

    private func checkKind(_ copy: Copy) throws(CopyRefusal) {
        let (source, target) = (copy.source, copy.target)
        switch try? FileStatus(ofPath: target.path.isEmpty ? "." : target.path).kind {
        case nil: return
        case .regular where !copy.isTree, .link where !copy.isTree, .directory where copy.isTree: return
        case .directory: throw refusal("\(source.title) cannot replace the directory \(target.path)")
        case .regular, .link: throw refusal("\(source.title) cannot replace the file \(target.path)")
        default: throw refusal("\(source.title) cannot replace \(target.path), which is no file")
        }
    }

    private func checkParent(
        _ parent: String, of source: Source, _ locations: inout FileLocations
    ) throws(CopyRefusal) {
        if let writer = writers[locations.key(of: parent)] {
            throw refusal("\(writer) would be \(parent), and \(source.title) needs a directory of that name")
        }
        // A broken link exists, and is no directory.
        guard let there = try? FileStatus(ofPath: parent, followingLinks: false).kind, there != .directory,
            !LocalTree.isDirectory(parent)
        else { return }
        throw refusal("\(parent) is no directory, and \(source.title) needs one of that name")
    }
}

/// Computes the keys of files that exist or will exist: the device and inode of the deepest existing directory, and the
/// names that follow. Two paths of one file have one key, also if they lead through links.
struct FileLocations {
    private var directories = ByteKeyedDictionary<String>()

    /// The key of a file. A link at the path itself is not followed, because a download replaces it.
    mutating func key(of path: String) -> String {
        var trimmed = Array(path.utf8)[...]
        while trimmed.count > 1, trimmed.last == UInt8(ascii: "/") { trimmed.removeLast() }
        let path = String(decoding: trimmed, as: UTF8.self)
        return directory(path.parentPath) + "/" + path.fileName
    }

    /// The key of a directory. A link at the path itself is followed.
    mutating func treeKey(of path: String) -> String { directory(path.isEmpty ? "." : path) }

    /// The absolute path of a directory, without links in the part that exists.
    func resolved(_ path: String) -> String {
        var (deepest, missing): (String, [String]) = (path.isEmpty ? "." : path, [])
        while true {
            if let location = try? OpenFile(deepest, .directory).location {
                return ([location == "/" ? "" : location] + missing.reversed()).joined(separator: "/")
            }
            guard deepest != deepest.parentPath else { return path }
            if !deepest.fileName.isEmpty { missing.append(deepest.fileName) }
            deepest = deepest.parentPath
        }
    }

    private mutating func directory(_ path: String) -> String {
        var (deepest, missing): (String, [String]) = (path, [])
        while directories[deepest] == nil {
            if let key = try? FileStatus(ofPath: deepest).key {
                directories[deepest] = "\(key.device):\(key.inode)"
            } else if deepest == deepest.parentPath {
                directories[deepest] = deepest
            } else {
                if !deepest.fileName.isEmpty { missing.append(deepest.fileName) }
                deepest = deepest.parentPath
            }
        }
        let key = ([directories[deepest] ?? deepest] + missing.reversed()).joined(separator: "/")
        directories[path] = key
        return key
    }
}

struct CopyRefusal: UserFacingError {
    let message: String
    let exitStatus: Int32

    init(_ message: String, isUsage: Bool) {
        (self.message, exitStatus) = (message, isUsage ? ExitStatus.usage : 1)
    }
}
