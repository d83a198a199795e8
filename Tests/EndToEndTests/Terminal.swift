import TestSupport

/// The program on a terminal.
struct Terminal {
    let directory: String
    /// NO_COLOR is set unless this names another value.
    var environment: [String: String] = [:]
    var columns = 50

    /// Runs the program to its end. Each key is pressed when the text before it has been shown.
    func run(_ words: [String], _ keys: [(after: String, press: String)]) async -> (status: Int32, shown: String) {
        let script = """
            import fcntl, os, pty, select, struct, sys, termios, time
            keys = [sys.argv[at:at + 2] for at in range(3, 3 + 2 * int(sys.argv[2]), 2)]
            words = sys.argv[3 + 2 * len(keys):]
            reader, writer = pty.openpty()
            fcntl.ioctl(writer, termios.TIOCSWINSZ, struct.pack("HHHH", 24, int(sys.argv[1]), 0, 0))
            process = os.fork()
            if process == 0:
                os.login_tty(writer)
                os.execv(words[0], words)
            os.close(writer)
            shown, end = b"", time.monotonic() + 120
            while time.monotonic() < end:
                if keys and keys[0][0].encode() in shown:
                    os.write(reader, keys.pop(0)[1].encode())
                if select.select([reader], [], [], 0.1)[0]:
                    try: some = os.read(reader, 65536)
                    except OSError: break
                    if not some: break
                    shown += some
            else:
                os.kill(process, 9)
            sys.stdout.buffer.write(shown)
            sys.stdout.flush()
            status = os.waitpid(process, 0)[1]
            sys.exit(128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
            """
        let arguments =
            ["\(columns)", "\(keys.count)"] + keys.flatMap { [$0.after, $0.press] } + [ServiceProcess.program] + words
        let outcome = await Command(
            "python3", ["-c", script] + arguments,
            environment: ["TERM": "xterm", "NO_COLOR": "1"].merging(environment) { $1 }, in: directory, withErrors: true
        ).run()
        return (outcome.status, outcome.text)
    }

    /// The rows of the screen after a text, without empty ones at the end.
    func screen(_ text: String) -> [String] {
        var (rows, row, column): ([[Character]], Int, Int) = ([[]], 0, 0)
        func cut(_ row: Int) { rows[row] = Array(rows[row].prefix(column)) }
        var rest = text[...]
        while let character = rest.first {
            if let sequence = rest.prefixMatch(of: /\x1B\[([0-9;]*)([A-Za-z])/) {
                switch sequence.2 {
                case "K": cut(row)
                case "J":
                    rows = Array(rows.prefix(row + 1))
                    cut(row)
                case "A": row = max(0, row - (Int(sequence.1) ?? 1))
                default: break
                }
                rest = rest[sequence.range.upperBound...]
                continue
            }
            rest = rest.dropFirst()
            if character == "\r" || character == "\r\n" { column = 0 }
            if character == "\n" || character == "\r\n" { row += 1 }
            if !["\r", "\n", "\r\n"].contains(character) {
                if column == columns { (row, column) = (row + 1, 0) }
                while rows.count <= row { rows.append([]) }
                rows[row] += Array(repeating: " ", count: max(0, column - rows[row].count))
                rows[row].replaceSubrange(column..<min(column + 1, rows[row].count), with: [character])
                column += 1
            }
            while rows.count <= row { rows.append([]) }
        }
        while rows.last?.isEmpty == true { rows.removeLast() }
        return rows.map { String($0) }
    }
}
