// Suggestions for unknown commands and flags, some of which belong to gsutil, gcloud storage, rclone or coreutils.

extension UsageError {
    /// Suggests the equivalent of a foreign name, or the nearest known name.
    ///
    /// - Parameter letters: a word like `-rf` that contains the flag.
    init(
        unknown kind: String, _ word: String, among names: [String], of command: String? = nil,
        in letters: String? = nil
    ) {
        let shown = kind == "flag" ? word + (letters.map { " in \($0)" } ?? "") : "\"\(word)\""
        let foreign = kind == "flag" ? Self.foreignFlag(word, among: names) : Self.foreignCommands[word.lowercased()]
        // One letter is near to every other.
        let nearest = (word.hasPrefix("-") && word.count < 3 ? [] : names.filter { $0.count > 2 || kind != "flag" })
            .map { ($0, word.distance(to: $0)) }.min { $0.1 < $1.1 }
        let near = nearest.flatMap { $0.1 <= max(1, word.count / 3) ? "did you mean \($0.0)?" : nil }
        let help = "try: storage-rpc help" + (command.map { " \($0)" } ?? "")
        let short = letters == nil ? [] : names.filter { $0.count == 2 }
        let known = short.isEmpty ? "" : "; \(command ?? "") has \(short.joined(separator: " "))"
        self.init(message: "unknown \(kind) \(shown)\(known); \(foreign ?? near ?? help)")
    }

    init(unknownCommand word: String) {
        self.init(unknown: "command", word, among: CommandPage.all.map(\.name) + ["help", "version"])
    }

    private static let foreignCommands: [String: String] = {
        let commands = [
            ("put", ["upload", "push", "store"]), ("get", ["download", "pull", "fetch"]),
            ("ls", ["list", "dir", "lsf", "lsl", "lsd", "tree"]),
            ("rm", ["delete", "remove", "del", "rmdir", "purge", "deletefile"]), ("cp", ["copy", "copyto"]),
            ("mv", ["move", "rename", "ren", "moveto"]), ("sync", ["rsync", "mirror", "bisync"]),
            ("du", ["size", "ncdu", "df"]), ("hash", ["md5", "md5sum", "checksum", "crc32c", "hashsum", "sha256sum"]),
            ("stat", ["info", "describe", "show", "head-object"]), ("cat", ["head", "type", "tail", "more"]),
            ("set", ["setmeta", "update", "touch"]), ("url", ["link", "signurl", "sign-url", "presign"]),
        ]
        let words = commands.flatMap { name, others in others.map { ($0, "did you mean \(name)?") } }
        let buckets = ["mb", "rb", "mkdir", "buckets"].map {
            ($0, "buckets and folders exist while they have objects; ls gs:// lists buckets")
        }
        let logins = ["config", "login", "auth", "configure", "init"].map { ($0, "try: storage-rpc help credentials") }
        return Dictionary(words + buckets + logins) { first, _ in first }
    }()

    private static func foreignFlag(_ word: String, among names: [String]) -> String? {
        switch word {
        case "-m", "--parallel", "--transfers", "--checkers":
            "transfers run at once anyway" + (names.contains("-p") ? "; -p N says how many" : "")
        case "-P" where names.contains("--progress"):
            "progress is shown anyway; --progress HOW says how"
        case "-r" where names.contains("--delete"), "--recursive" where names.contains("--delete"):
            "sync takes all that is below, anyway"
        case "-R" where names.contains("-r"): "did you mean -r?"
        case "-f" where names.contains("-y"), "--force" where names.contains("-y"): "did you mean -y?"
        case "--dryrun" where names.contains("--dry-run"): "did you mean --dry-run?"
        case "-n" where names.contains("--dry-run"):
            "-n is --dry-run of rclone and --no-clobber of cp and gsutil: say which one you mean"
        case "-i" where names.contains("-y"): "rm -r asks on a terminal; -y: it does not"
        default: nil
        }
    }
}

extension String {
    /// The number of characters to insert, remove, replace, or exchange with their neighbours, for the first 64 characters.
    fileprivate func distance(to other: String) -> Int {
        let (a, b) = (Array(prefix(64)), Array(other.prefix(64)))
        var (before, above) = ([Int](), Array(0...b.count))
        for (i, x) in a.enumerated() {
            var row = [i + 1]
            for (j, y) in b.enumerated() {
                row.append(Swift.min(above[j] + (x == y ? 0 : 1), row[j] + 1, above[j + 1] + 1))
                if i > 0, j > 0, x == b[j - 1], a[i - 1] == y { row[j + 1] = Swift.min(row[j + 1], before[j - 1] + 1) }
            }
            (before, above) = (above, row)
        }
        return above[b.count]
    }
}
