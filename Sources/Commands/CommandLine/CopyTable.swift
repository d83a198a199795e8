import Platform
import Storage

/// What a command copies: a row of the table.
package enum CopyOrigin: CaseIterable, Sendable {
    /// A file or an object.
    case single
    /// A folder or a directory.
    case tree
    /// A tree without a name of its own: a bucket, `.`, `..`, `dir/.`.
    case unnamed
    /// An object, and the folder of its name.
    case both
    /// Several words, or a pattern.
    case several
    /// Standard input.
    case input
}

/// What a command copies to: a column of the table.
package enum CopyDestination: CaseIterable, Sendable {
    case missing
    /// A file or an object.
    case file
    /// A folder or a directory.
    case folder
    case bucket
    /// A text that ends with a slash.
    case slash
}

/// The table of `help copying` and `clients/commands.md`: where `put`, `get`, `cp` and `mv` copy to.
///
/// A command that is given twice does the same: the target of a tree does not depend on what exists there.
package struct CopyTargets: Equatable, Sendable {
    package enum Base: Sendable {
        case destination
        /// Below the destination, by the name of the source.
        case name
    }

    /// The target of a file or an object; nil if the origin has none.
    package let item: Base?
    /// The target of the members of a folder; nil if the origin has none.
    package let members: Base?

    /// Nil for a combination that is refused.
    package init?(of origin: CopyOrigin, at destination: CopyDestination) {
        switch (origin, destination) {
        case (.single, .missing), (.single, .file): (item, members) = (.destination, nil)
        case (.single, .folder), (.single, .bucket), (.single, .slash): (item, members) = (.name, nil)

        case (.tree, .missing), (.tree, .folder), (.tree, .bucket): (item, members) = (nil, .destination)
        case (.tree, .slash): (item, members) = (nil, .name)
        case (.tree, .file): return nil

        case (.unnamed, .missing), (.unnamed, .folder), (.unnamed, .bucket), (.unnamed, .slash):
            (item, members) = (nil, .destination)
        case (.unnamed, .file): return nil

        case (.both, .missing), (.both, .file), (.both, .folder): (item, members) = (.destination, .destination)
        case (.both, .bucket): (item, members) = (.name, .destination)
        case (.both, .slash): (item, members) = (.name, .name)

        case (.several, .folder), (.several, .bucket), (.several, .slash): (item, members) = (.name, .name)
        case (.several, .missing), (.several, .file): return nil

        case (.input, .missing), (.input, .file), (.input, .folder): (item, members) = (.destination, nil)
        case (.input, .bucket), (.input, .slash): return nil
        }
    }

    /// The cell of the table for people: `x` is the name of a file or an object, `d` the name of a folder.
    package var text: String {
        let names = [item.map { $0 == .name ? "DEST/x" : "DEST" }, members.map { $0 == .name ? "DEST/d/…" : "DEST/…" }]
        return names.compactMap { $0 }.joined(separator: ", ")
    }
}

extension CopyTargets {
    /// The table of `help copying`, at most 80 columns wide.
    static var help: String {
        let rows: [(String, CopyOrigin)] = [
            ("x: a file or an object", .single), ("d, d/ with -r: a folder", .tree),
            ("-r gs://BUCKET, put d/.", .unnamed), ("several, or a pattern", .several),
            ("- (standard input)", .input),
        ]
        let columns: [(String, CopyDestination)] = [
            ("missing", .missing), ("a file", .file), ("a folder", .folder), ("bucket", .bucket), ("DEST/", .slash),
        ]
        func line(_ cells: [String]) -> String {
            let padded = zip(cells, [26, 10, 9, 10, 10]).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return "  " + padded.joined() + cells[cells.count - 1]
        }
        func cell(_ origin: CopyOrigin, _ destination: CopyDestination) -> String {
            guard let targets = CopyTargets(of: origin, at: destination) else { return "refused" }
            return origin == .several ? "each (1)" : targets.text.replacing("…", with: "...")
        }
        let lines = rows.map { title, origin in line([title] + columns.map { cell(origin, $0.1) }) }
        return ([line(["from          DEST is:"] + columns.map(\.0))] + lines).joined(separator: "\n")
    }
}

/// The items that a word of the command line stands for, or one match of a pattern.
package struct CopySource<Item> {
    /// The name below a destination; empty for a bucket and `dir/.`, which have no name of their own.
    package let name: String
    /// The file or the object with exactly this name.
    package var itself: Item?
    /// A folder or directory that is transferred as a whole.
    package var tree: Item?
    /// The items below a folder that is listed by the command.
    var members: [Item] = []
    /// The source is a match of a pattern.
    var isMatch = false

    package init(name: String, itself: Item? = nil, tree: Item? = nil) {
        (self.name, self.itself, self.tree) = (name, itself, tree)
    }

    var items: [Item] { (itself.map { [$0] } ?? []) + members }

    /// The row of the table if this is the only source.
    package var origin: CopyOrigin {
        guard tree != nil else { return .single }
        return itself != nil ? .both : name.isEmpty ? .unnamed : .tree
    }

    /// The item and the tree with their places: a name below the destination, or nil for the destination itself.
    package func placed(at targets: CopyTargets) -> [(item: Item, place: String?, isTree: Bool)] {
        let treePlace = targets.members == .name && (isMatch || !name.isEmpty) ? name : nil
        return (itself.map { [($0, targets.item == .name ? name : nil, false)] } ?? [])
            + (tree.map { [($0, treePlace, true)] } ?? [])
    }
}
