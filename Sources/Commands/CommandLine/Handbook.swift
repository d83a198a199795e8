import Platform

/// The documentation: the pages that a package installs with the program, or those of the checkout that it was built in.
package struct Handbook {
    /// A page of the documentation.
    package struct Page {
        /// The path of its file.
        package let file: String

        /// Shows the page in the user's pager on a terminal, and prints it elsewhere.
        package func show() throws {
            if Descriptor.standardOutput.isTerminal { CurrentProcess.become("/bin/sh", ["-c", Self.pager, file]) }
            try Console.printUnescaped(text(), end: "")
        }

        /// A line of the shell that shows the file $0.
        private static let pager =
            #"[ -n "$PAGER" ] || for PAGER in less more cat; do command -v "$PAGER" > /dev/null && break; done; "#
            + #"exec $PAGER "$0""#

        func text(atMost count: Int = 16 << 20) throws(SystemError) -> String {
            String(decoding: try OpenFile(file, []).readAll(atMost: count), as: UTF8.self)
        }

        /// The first heading.
        fileprivate var title: String {
            let start = (try? text(atMost: 16 << 10)) ?? ""
            return start.split(separator: "\n").first { $0.hasPrefix("# ") }.map { String($0.dropFirst(2)) } ?? ""
        }
    }

    let directory: String
    /// The paths of the pages below the directory, in the order of `help pages`.
    let names: [String]

    /// Nil if there are no pages.
    init?() {
        guard let program = CurrentProcess.programDirectory else { return nil }
        let installed = program.parentPath + "/share/doc/storage-rpc"
        let above = sequence(first: program) { $0 == "/" ? nil : $0.parentPath }
        guard
            let directory = ([installed] + above).first(where: {
                (try? FileStatus(ofPath: $0 + "/protocol/openrpc.json")) != nil
            })
        else { return nil }
        self.directory = directory
        names = ["README.md"] + ["clients", "protocol"].flatMap { Self.pages(in: $0, of: directory) }
    }

    private static func pages(in folder: String, of directory: String) -> [String] {
        guard let opened = try? OpenFile(directory + "/" + folder, .directory),
            let entries = try? DirectoryEntries(of: opened)
        else { return [] }
        var found: [String] = []
        while let entry = try? entries.next() {
            if entry.name.hasSuffix(".md") { found.append(folder + "/" + entry.name) }
        }
        return found.sorted()
    }

    /// The page of a path, such as `clients/gateway.md`; of a file's name with or without `.md`; or of a folder, whose
    /// page is its README.
    func page(_ name: String) -> Page? {
        let forms = [name, name + ".md"]
        let found =
            names.first { forms.contains($0) } ?? names.first { $0 == name + "/README.md" }
            ?? names.first { forms.contains($0.fileName) }
        return found.map { Page(file: directory + "/" + $0) }
    }

    /// The shortest words that `help` takes for the pages.
    var words: [String] {
        names.map { name in
            [name.parentPath, name.fileName].first { page($0)?.file == directory + "/" + name } ?? name
        }
    }

    /// The words with the titles of their pages.
    var list: [(String, String)] {
        zip(words, names).map { ("  " + $0, Page(file: directory + "/" + $1).title) }
    }
}
