import Platform
import Methods

/// The pages of help. Each fits a screen of 80 columns.
package enum Help {
    package static let version = ServiceContext.version

    /// The output of `storage-rpc --help`.
    static var firstPage: String {
        // Two related commands share a line.
        let pairs = [
            "ls": ("du", "list names (-l: sizes and times; -r: all below), sum up sizes"),
            "stat": ("set", "show or change metadata"), "cp": ("mv", "copy or move objects; -r: folders"),
            "connect": ("mcp", "serve stdio through the service of the root; mcp: to agents"),
        ]
        let commands = CommandPage.all.filter { page in !pairs.values.contains { $0.0 == page.name } }.map { page in
            let pair = pairs[page.name]
            return ("  " + page.name + (pair.map { ", " + $0.0 } ?? ""), pair?.1 ?? page.summary)
        }
        return """
            storage-rpc: Cloud Storage for Firebase, for every language

            \(table(commands))

            REFERENCE is gs://BUCKET/PATH, or a PATH in the default bucket. To begin with:
              storage-rpc put README.md docs/README.md
            More: help COMMAND, copying, patterns, metadata, storage, credentials, bounds.
            Exit status: 0 done, 1 failed, 64 invalid words, 75 root in use, 128+N signal N.
            """
    }

    /// The pages of commands and of groups of flags.
    static func page(of words: [String]) throws(UsageError) -> String {
        guard let name = words.first else { return firstPage }
        if name == "--man" { return manPage }
        if let text = texts[name] { return text }
        if name == "--completions", let shell = words.dropFirst().first, let text = completions(shell) { return text }
        if let page = CommandPage.named(name) { return text(of: page) }
        if let group = groups.first(where: { $0.name == name }) {
            return text(of: group)
        }
        throw UsageError(message: "there is no help about \"\(name)\"; try: storage-rpc help")
    }

    private static let texts = ["copying": copying, "patterns": patterns]
    private static var groups: [FlagGroup] { [FlagGroup.metadata] + FlagGroup.shared }
    /// The topics besides the commands.
    static var topics: [String] { texts.keys.sorted() + groups.map(\.name) }

    /// The common rules of `put`, `get`, `cp` and `mv`.
    package static let copying = """
        What put, get, cp and mv make. The same command given twice does the same:

        \(CopyTargets.help)

        (1) Below DEST under its own name: DEST/x, DEST/d/... What a pattern with **
        finds keeps its name below the folder before the pattern.

        docs/ is the folder, never the object docs; docs with -r is both. A whole bucket
        is gs://BUCKET and nothing else, and an empty name is an error: docs// is what
        begins with docs//, or refused. A name that is there counts more than a pattern:
        help patterns. With --exact there are no patterns, and a slash at the end is
        part of a name.

        Refused, before the first byte is written, are folders without -r, two files of
        one name (two folders are merged), a folder into itself, and a file that another
        copy still needs. put -r and get -r leave out what is there with the same bytes;
        put -r with flags of metadata does not. put -r follows links to files. Other
        links, pipes, devices and names that no file can have are named and left out,
        with status 1.
        """

    static let patterns = """
        What stands for many names, in quotes, so that the shell leaves it alone:

          *                any characters but a slash
          ?                one character but a slash
          [a-z] [!a-z]     one character of these, or none of these
          **               any characters, slashes too; **/ also stands for nothing
          [*] [?] [[]      the characters * ? and [ themselves; a [ needs its ]

        A name that is there counts more than a pattern: 'a[1].txt' is the object or
        the folder of just this name, if there is one. So is each segment from the
        left, while a folder has its name: 'k[1]/*' is all in the folder k[1] if it is
        there, else all in k1. [1-1] is a 1 in any case.

        Patterns stand for objects, and with -r for folders, too. Without it a folder
        that matches is named, left out, and the command ends with 1; ls shows it.
        ** stands for objects in all folders. 'a*/' stands for folders alone.

        With --exact nothing is a pattern, and . and .. are names like any other.
        """

    static func text(of page: CommandPage) -> String {
        var lines =
            ["storage-rpc \(page.name) \(page.synopsis.isEmpty ? "" : page.synopsis + " ")[FLAGS]", ""] + page.text
        if !page.flags.isEmpty { lines += ["", table(rows(page.flags))] }
        if !page.examples.isEmpty { lines += [""] + page.examples.map { "  " + command($0) } }
        if page.takesServiceFlags {
            let metadata = page.takesMetadata ? "help metadata, " : ""
            lines += ["", "More flags: \(metadata)help storage, help credentials, help bounds"]
        }
        return lines.joined(separator: "\n")
    }

    /// A line of an example in the form in which it is typed.
    static func command(_ example: String) -> String {
        example.has("storage-rpc") ? example : "storage-rpc " + example
    }

    private static func text(of group: FlagGroup) -> String {
        var body = table(rows(group.flags))
        if group.name == FlagGroup.bounds.name { body = columns(group.flags.map { "  \($0.names[0]) \($0.text)" }) }
        return ([group.title, "", body] + group.notes).joined(separator: "\n")
    }

    private static func rows(_ flags: [Flag]) -> [(String, String)] {
        flags.map {
            ("  " + ($0.names.reversed().joined(separator: ", ")) + ($0.value.map { " " + $0 } ?? ""), $0.text)
        }
    }

    /// A table of two columns, the second one as far to the left as possible.
    private static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { $0.0 + String(repeating: " ", count: width - $0.0.count + 2) + $0.1 }.joined(separator: "\n")
    }

    private static func columns(_ cells: [String]) -> String {
        stride(from: 0, to: cells.count, by: 2).map { start in
            let row = cells[start..<min(start + 2, cells.count)]
            guard row.count > 1, let first = row.first, let last = row.last else { return row.joined() }
            return first + String(repeating: " ", count: max(1, 40 - first.count)) + last
        }.joined(separator: "\n")
    }
}
