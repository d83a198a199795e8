import JSONRPC
import Methods
import Platform
import Tracing

/// Candidates for the last word of a command line.
///
/// Shells request them by the hidden command `complete`. Errors give no candidates here.
package struct Completion {
    struct Candidate: Equatable, Sendable {
        let text: String
        /// A note for people; empty if the text suffices.
        var note = ""
    }

    /// Candidates that only the service knows.
    enum Asked: Sendable { case objects, buckets, tasks(TaskVerb?) }

    /// The last word, without a prefix such as `--engine=`.
    let word: String
    private let before: String
    let asked: [Asked]
    let options: CommandOptions
    private var known: [Candidate] = []

    var asksForTasks: Bool { asked.contains { if case .tasks = $0 { true } else { false } } }

    /// - Parameter words: the words after the program's name, up to the cursor.
    package init(_ words: [String]) {
        let line = Line(words)
        (word, before, options) = (line.word, line.before, line.options)
        var asked: [Asked] = []
        for kind in line.kinds {
            switch kind {
            case .fixed(let candidates): known += candidates
            case .file: known += Self.files(line.word)
            case .object: asked.append(.objects)
            case .bucket: asked.append(.buckets)
            case .task: asked.append(.tasks(line.verb))
            case .method:
                known += allMethods.names.map { Candidate(text: $0) }
            }
        }
        self.asked = asked
    }

    /// The candidates that begin with the word, without repetitions.
    ///
    /// - Parameter answered: the candidates of the service.
    func candidates(_ answered: [Candidate] = []) -> [Candidate] {
        var seen = Set<[UInt8]>()
        return (known + answered).filter {
            $0.text.utf8.starts(with: word.utf8) && $0.text.isPrintable && seen.insert(Array($0.text.utf8)).inserted
        }.map { Candidate(text: before + $0.text, note: $0.note) }
    }

    /// The entries of the directory in the word. Names that begin with a dot are included only if the word does.
    private static func files(_ word: String) -> [Candidate] {
        let slash = word.utf8.lastIndex(of: UInt8(ascii: "/"))
        let start = slash.flatMap { String(word.utf8[...$0]) } ?? ""
        let name = String(decoding: slash.map { word.utf8[$0...].dropFirst() } ?? word.utf8[...], as: UTF8.self)
        var directory = start.isEmpty ? "." : start
        if directory.utf8.starts(with: "~/".utf8), let home = CurrentProcess.home {
            directory = home + String(decoding: directory.utf8.dropFirst(), as: UTF8.self)
        }
        let entries = (try? OpenFile.entries(of: directory)) ?? []
        return entries.lazy.filter {
            $0.isUTF8 && $0.name.utf8.starts(with: name.utf8) && (!name.isEmpty || !$0.name.hasPrefix("."))
        }.prefix(1000).map { entry in
            let isDirectory = (try? FileStatus(ofPath: "\(directory)/\(entry.name)").kind) == .directory
            return Candidate(text: start + entry.name + (isDirectory ? "/" : ""))
        }
    }
}

extension String {
    /// Whether a shell can show and read the text.
    fileprivate var isPrintable: Bool { !utf8.contains { $0 < 0x20 || $0 == 0x7F } }
}

extension Completion {
    /// The kinds of candidates.
    enum Kind: Sendable {
        case fixed([Candidate])
        case file, object, bucket, task, method
    }

    /// The words before the last one, and the candidates that may follow.
    private struct Line {
        var word: String
        var before = ""
        var kinds: [Kind] = []
        var options = CommandOptions()
        var verb: TaskVerb?

        init(_ words: [String]) {
            word = words.last ?? ""
            let words = Command.ordered(words.dropLast()) + words.suffix(1)
            guard words.count > 1 else {
                kinds = [.fixed(word.hasPrefix("-") ? Self.flags(of: CommandPage.serve) : Self.commands)]
                return
            }
            if words[0] == "help" {
                readHelp(words)
                return
            }
            let isCommand = !words[0].hasPrefix("-")
            guard let page = CommandPage.named(isCommand ? words[0] : nil) else { return }
            read(Array(words.dropFirst(isCommand ? 1 : 0).dropLast()), of: page)
        }

        private static var commands: [Candidate] {
            CommandPage.all.map { Candidate(text: $0.name, note: $0.summary) }
                + [Candidate(text: "help", note: "show help")]
        }

        private static func flags(of page: CommandPage) -> [Candidate] {
            page.allFlags.flatMap { flag in flag.names.map { Candidate(text: $0, note: flag.text) } }
                + [
                    Candidate(text: "--help", note: "show help"),
                    Candidate(text: "--version", note: "show the version"),
                ]
        }

        private mutating func readHelp(_ words: [String]) {
            if words.count == 3, words[1] == "--completions" {
                kinds = [.fixed(Help.shells.map { Candidate(text: $0) })]
            } else if words.count == 2 {
                let topics = Help.topics + (Handbook()?.words ?? [])
                kinds = [.fixed(Self.commands.dropLast() + topics.map { Candidate(text: $0) })]
                if word.hasPrefix("-") {
                    kinds = [.fixed(["--man", "--completions"].map { Candidate(text: $0) })]
                }
            }
        }

        /// Reads the flags before the last word, and determines the kinds of its candidates.
        private mutating func read(_ words: [String], of page: CommandPage) {
            var line = ArgumentReader(words)
            var plain: [String] = []
            var flagsAreOver = false
            if let last = words.last, let (flag, _) = page.flag(last), flag.value != nil,
                !words.dropLast().contains("--")
            {
                line = ArgumentReader(words.dropLast())
                kinds = Self.kinds(of: flag)
            } else if word.hasPrefix("--"), let equals = word.firstIndex(of: "="), !words.contains("--") {
                kinds =
                    page.flag(String(word[..<equals])).map(\.0).flatMap { $0.value == nil ? nil : Self.kinds(of: $0) }
                    ?? []
                before = String(word[...equals])
                word = String(word[equals...].dropFirst())
            } else if word.hasPrefix("-"), !words.contains("--") {
                kinds = [.fixed(Self.flags(of: page))]
                flagsAreOver = true
            }
            let isValue = !kinds.isEmpty || !before.isEmpty || flagsAreOver
            // Errors in earlier words are reported when the command runs.
            while let next = try? line.next() {
                switch next {
                case .word(let text): plain.append(text)
                case .flag(let name):
                    guard let (flag, group) = page.flag(name) else { continue }
                    try? flag.take(&options, &line)
                    options.record(flag, name, line, of: group)
                }
            }
            guard !isValue else { return }
            verb = plain.first.flatMap(TaskVerb.init)
            kinds = page.kinds(at: plain.count)
            if page.name == "hash", options.isLocal { kinds = [.file] }
        }

        /// The kinds of a flag's values.
        private static func kinds(of flag: Flag) -> [Kind] {
            if flag.names.contains("--bucket") { return [.bucket] }
            switch flag.value {
            case "FILE", "DIR", "PATH", "OUT": return [.file]
            case nil: return []
            default: return [.fixed(flag.choices.map { Candidate(text: $0) })]
            }
        }
    }
}

extension Flag {
    /// The values that the flag accepts, if they are only a few.
    fileprivate var choices: [String] {
        var (options, reader) = (CommandOptions(), ArgumentReader([]))
        try? take(&options, &reader)
        return reader.choices
    }
}

extension CommandPage {
    /// The kinds of the argument at a position of the synopsis: after one with dots more of its kind may follow.
    func kinds(at position: Int) -> [Completion.Kind] {
        let parts = synopsis.split { " []".contains($0) }.filter { $0 != "..." }
        let first = parts.prefix(position + 1).firstIndex { $0.hasSuffix("...") } ?? position
        return parts.dropFirst(first).prefix(position - first + 1).flatMap { part in
            part.split(separator: "|").flatMap { Self.kinds(of: String($0).replacing("...", with: "")) }
        }
    }

    private static func kinds(of name: String) -> [Completion.Kind] {
        switch name {
        case "REFERENCE": [.object]
        case "FILE", "DIR", "DIRECTORY": [.file]
        case "SOURCE", "DEST": [.file, .object]
        case "ID": [.task]
        case "METHOD": [.method]
        case _ where name == name.lowercased() && name != "-": [.fixed([.init(text: name)])]
        default: []
        }
    }
}
