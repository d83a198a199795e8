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
            "connect": ("mcp", "serve stdio through a service that clients share; mcp: to agents"),
        ]
        let commands = CommandPage.all.filter { page in !pairs.values.contains { $0.0 == page.name } }.map { page in
            let pair = pairs[page.name]
            return ("  " + page.name + (pair.map { ", " + $0.0 } ?? ""), pair?.1 ?? page.summary)
        }
        return """
            storage-rpc: uploads and downloads that pause and resume; this disk or a cloud

            \(table(commands))

            REFERENCE is gs://BUCKET/PATH, or a PATH in the default bucket. To begin with:
              storage-rpc put README.md docs/README.md
            help NAME explains a command, copying, patterns, metadata, storage, credentials,
            bounds, pages. Exit status: 0 done, 1 failed, 64 invalid words, 75 root in use.
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
        if name == "pages" { return try pages() }
        throw UsageError(message: "there is no help about \"\(name)\"; try: storage-rpc help")
    }

    /// The output of `help pages`.
    private static func pages() throws(UsageError) -> String {
        guard let book = Handbook() else { throw missingPages }
        return """
            The documentation of this version; storage-rpc help NAME shows a page:

            \(table(book.list))

            The files are in \(book.directory)
            """
    }

    /// The page of the documentation that `help` shows for a word; nil for the name of a command or a topic.
    static func documentation(_ words: [String]) throws(UsageError) -> Handbook.Page? {
        guard words.count == 1, let name = words.first, !name.hasPrefix("-"), CommandPage.named(name) == nil,
            !topics.contains(name)
        else { return nil }
        guard let book = Handbook() else {
            guard name.hasSuffix(".md") else { return nil }
            throw missingPages
        }
        return book.page(name)
    }

    private static let missingPages = UsageError(
        message: "the pages are not beside this program: use that of a package, or of a checkout, in its .build")

    private static let texts = ["copying": copying, "patterns": patterns]
    private static var groups: [FlagGroup] { [FlagGroup.metadata] + FlagGroup.shared }
    /// The topics besides the commands.
    static var topics: [String] { texts.keys.sorted() + groups.map(\.name) + ["pages"] }

    /// The common rules of `put`, `get`, `cp` and `mv`.
    package static let copying = """
        The targets of put, get, cp and mv. Repeating a command has the same result:

        \(CopyTargets.help)

        (1) Below DEST under its own name: DEST/x, DEST/d/... Matches of a pattern with
        ** keep their names below the folder before the pattern.

        docs/ means the folder, without the object docs; docs with -r means both. Only
        gs://BUCKET means a whole bucket, and an empty name is an error. docs// selects
        names that begin with docs//. An existing name has priority over a pattern: help
        patterns. With --exact there are no patterns, and a slash at the end is part of
        the name.

        Refused, before the first byte is written, are folders without -r, two files of
        one name (two folders are merged), a folder into itself, a file that another
        copy still needs, and a * in DEST. put -r and get -r skip files that exist with
        the same bytes; put -r with flags of metadata does not. put -r names symbolic
        links and skips them. Pipes, devices and names that no file or object can have
        are named and skipped, too, with status 1.
        """

    static let patterns = """
        Patterns match many names. In quotes, the shell does not expand them:

          *                any characters except a slash
          ?                one character except a slash
          [a-z] [!a-z]     one character of this set, or outside of it
          **               any characters, also slashes; **/ also matches nothing
          [*] [?] [[]      the characters * ? and [ themselves; a [ needs its ]

        An existing name has priority over a pattern: 'a[1].txt' means the object or
        the folder with exactly this name, if one exists. The same holds for each
        segment from the left, while folders have these names: 'k[1]/*' means all in
        the folder k[1] if it exists, otherwise all in k1. [1-1] always matches 1.

        Patterns match objects, and with -r also folders. Without -r a folder that
        matches is named and skipped, and the command ends with 1; ls shows it.
        ** matches objects in all folders. 'a*/' matches only folders.

        With --exact nothing is a pattern, and . and .. are ordinary names.
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
