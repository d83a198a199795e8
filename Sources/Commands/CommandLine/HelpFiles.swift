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

    /// Nil for a shell that has none.
    static func completions(_ shell: String) -> String? {
        switch shell {
        case "bash": bash
        case "zsh": zsh
        case "fish": fish
        default: nil
        }
    }

    private static func names(_ flags: [Flag]) -> String { flags.flatMap(\.names).joined(separator: " ") }

    private static var bash: String {
        let cases = CommandPage.all.map { "        \($0.name)) words=\"\(names($0.allFlags))\" ;;" }
        return """
            _storage_rpc() {
                local words current=${COMP_WORDS[COMP_CWORD]}
                case ${COMP_WORDS[1]} in
            \(cases.joined(separator: "\n"))
                    *) words="\(names(CommandPage.serve.allFlags))" ;;
                esac
                if [ "$COMP_CWORD" = 1 ] && [ "${current#-}" = "$current" ]; then
                    words="\(CommandPage.all.map(\.name).joined(separator: " ")) help"
                elif [ "${current#-}" = "$current" ]; then
                    return
                fi
                COMPREPLY=($(compgen -W "$words --help" -- "$current"))
            }
            complete -o default -F _storage_rpc storage-rpc
            """
    }

    private static func quoted(_ text: String) -> String { "'" + text.replacing("'", with: "'\\''") + "'" }

    private static var zsh: String {
        let commands = CommandPage.all.map {
            "        \(quoted($0.name + ":" + $0.summary.replacing(":", with: "\\:")))"
        }
        let cases = CommandPage.all.map { page in
            let flags = page.allFlags.flatMap { flag in
                flag.names.map { name in
                    let text = flag.text.replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: "")
                    return quoted(
                        "\(name)[\(text)]" + (flag.value.map { ":\($0.replacing(":", with: "\\:")):_files" } ?? ""))
                }
            }
            return "        \(page.name)) _arguments \(flags.joined(separator: " ")) '*:file:_files' ;;"
        }
        return """
            #compdef storage-rpc
            local -a commands=(
            \(commands.joined(separator: "\n"))
            )
            if (( CURRENT == 2 )); then
                _describe command commands
            else
                local command=$words[2]
                shift words
                (( CURRENT-- ))
                case $command in
            \(cases.joined(separator: "\n"))
                esac
            fi
            """
    }

    private static var fish: String {
        var lines = CommandPage.all.map {
            "complete -c storage-rpc -n __fish_use_subcommand -a \($0.name) -d \(quoted($0.summary))"
        }
        for page in CommandPage.all {
            for flag in page.allFlags {
                let names = flag.names.map { $0.hasPrefix("--") ? "-l \($0.dropFirst(2))" : "-s \($0.dropFirst())" }
                lines.append(
                    "complete -c storage-rpc -n '__fish_seen_subcommand_from \(page.name)' "
                        + names.joined(separator: " ") + (flag.value == nil ? "" : " -r") + " -d \(quoted(flag.text))")
            }
        }
        return lines.joined(separator: "\n")
    }
}
