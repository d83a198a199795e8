import Platform
import Roots
import Storage
import Synchronization

/// The hidden command `complete`, which the completions of shells call. It prints one candidate per line.
///
///     complete bash PROGRAM LINE BREAKS    the line up to the cursor, as it is typed, and COMP_WORDBREAKS
///     complete zsh|fish -- WORD...         the words after the program's name, the last one up to the cursor
///
/// In zsh and fish a tab and a note follow a candidate.
package struct CompletionRequest {
    private let text: ShellText?
    let completion: Completion

    /// In milliseconds: the time limit of the answer.
    private static let limit: UInt32 = 1000
    private static let hasPrinted = Atomic(false)

    init(_ words: [String]) throws(UsageError) {
        switch words.first {
        case "bash" where words.count == 4:
            let text = ShellText(words[2], name: words[1], breaks: words[3])
            (self.text, completion) = (text, Completion(text.words))
        case "zsh" where words.count > 1 && words[1] == "--", "fish" where words.count > 1 && words[1] == "--":
            (text, completion) = (nil, Completion(Array(words.dropFirst(2))))
        default: throw UsageError(message: "complete is for shells: storage-rpc help --completions bash, zsh or fish")
        }
    }

    /// The command whose candidates need a service; nil if none does. It creates no root.
    package var question: (ClientCommand, CommandOptions)? {
        guard !completion.asked.isEmpty else { return nil }
        var options = completion.options
        options.isQuiet = true
        options.service.rootTimeout = 0
        if options.service.socket == nil, options.service.engine == .embedded {
            guard let root = try? options.service.root ?? StorageRoot.defaultPath(),
                (try? FileStatus(ofPath: root)) != nil
            else { return nil }
        }
        return (.complete(self), options)
    }

    /// Ends the process after a second, with the candidates that need no service.
    package func limitTime() throws {
        let lines = lines
        try startThread("limit") {
            blockThread(milliseconds: Self.limit)
            Self.print(lines)
            CurrentProcess.exitAtOnce(0)
        }
    }

    /// Prints the candidates, once. Errors of writing are ignored.
    package func print() { print([]) }

    func print(_ answered: [Completion.Candidate]) { Self.print(lines(answered)) }

    private static func print(_ lines: [String]) {
        guard !hasPrinted.exchange(true, ordering: .relaxed), !lines.isEmpty else { return }
        try? Console.printUnescaped(lines.joined(separator: "\n"))
    }

    /// The lines of the candidates that need no service.
    package var lines: [String] { lines([]) }

    private func lines(_ answered: [Completion.Candidate]) -> [String] {
        completion.candidates(answered).compactMap { candidate in
            if let text { return text.replacement(candidate.text) }
            return candidate.note.isEmpty ? candidate.text : "\(candidate.text)\t\(candidate.note)"
        }
    }
}
