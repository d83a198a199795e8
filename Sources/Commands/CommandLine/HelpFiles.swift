// The man page, and completions for shells: the same commands and flags.

extension Help {
    static var manPage: String {
        func line(_ text: String) -> String {
            let text = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
            return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
        }
        func flags(_ flags: [Flag]) -> [String] {
            flags.flatMap { flag in
                [
                    ".TP", ".B " + line(flag.names.joined(separator: ", ") + (flag.value.map { " " + $0 } ?? "")),
                    line(flag.text),
                ]
            }
        }
        var lines = [
            ".TH STORAGE\\-RPC 1 \"\" \"storage\\-rpc \(version)\"", ".SH NAME",
            "storage\\-rpc \\- Cloud Storage for Firebase, for every language", ".SH SYNOPSIS",
            ".B storage\\-rpc", "[COMMAND] [FLAGS]", ".SH COMMANDS",
        ]
        for page in CommandPage.all {
            lines += [".SS " + line("\(page.name) \(page.synopsis)"), line(page.text.joined(separator: " "))]
            lines += flags(page.flags)
            for example in page.examples { lines += [".PP", ".RS", line("storage-rpc " + example), ".RE"] }
        }
        for (title, text) in [("COPYING", copying), ("PATTERNS", patterns)] {
            lines += [".SH " + title, ".nf"]
            lines += text.split(separator: "\n", omittingEmptySubsequences: false).map { line(String($0)) }
            lines.append(".fi")
        }
        for group in [FlagGroup.metadata] + FlagGroup.shared {
            lines += [".SH " + group.name.uppercased(), line(group.title) + "."] + flags(group.flags)
            lines += group.notes.isEmpty ? [] : [".PP", line(group.notes.joined(separator: " "))]
        }
        lines += [
            ".SH EXIT STATUS", "0: done. 1: failed. 64: the command line is invalid. 130: interrupted by SIGINT.",
            ".SH FILES", ".TP", ".B ~/.local/share/storage\\-rpc", "Objects and state, unless",
            ".B \\-\\-root", "names another directory.",
        ]
        return lines.joined(separator: "\n")
    }
}
