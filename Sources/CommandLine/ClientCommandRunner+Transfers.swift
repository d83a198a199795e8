import JSONText
import Platform

// `storage-rpc put` and `get`: one task each, with a progress bar.

extension ClientCommandRunner {
    mutating func put(_ file: String, _ text: String) throws {
        let reference = try reference(text)
        try show(follow(start("reference/putFile", reference, file), "uploadTask/cancel"))
    }

    mutating func get(_ text: String, _ file: String) throws {
        let reference = try reference(text)
        if file == "-" { return try pour(reference) }
        try show(follow(start("reference/writeToFile", reference, file), "downloadTask/cancel"))
    }

    /// Writes an object to stdout, after it has been downloaded and verified.
    private mutating func pour(_ reference: JSON) throws {
        let scratch = try TemporaryFile()
        _ = try follow(start("reference/writeToFile", reference, scratch.path), "downloadTask/cancel")
        try scratch.copyToStdout()
    }

    private mutating func start(_ method: String, _ reference: JSON, _ file: String) throws(Client.Failure) -> JSON {
        let started = try client.call(
            method,
            bound([
                .init(key: "reference", value: reference), .init(key: "file", value: .string(absolute(file))),
                .init(key: "observe", value: ["progress", "success", "failure"]),
            ]))
        return started["task"] ?? .null
    }

    /// Returns the metadata after success. An interruption cancels the task.
    private mutating func follow(_ task: JSON, _ cancel: String) throws -> JSON {
        var bar = ProgressBar()
        while true {
            switch try client.hear() {
            case .interrupted: _ = try client.say(cancel, ["task": task])
            case .message(let message):
                guard let snapshot = message["params"]?["snapshot"] else { continue }
                if let metadata = try outcome(snapshot, &bar) { return metadata }
            }
        }
    }

    private func show(_ metadata: JSON) throws {
        if options.json { return try Console.print(metadata) }
        for line in Self.lines(metadata) { try Console.print(line) }
    }

    /// Returns nil before the end. Throws after failure.
    private func outcome(_ snapshot: JSON, _ bar: inout ProgressBar) throws -> JSON? {
        switch snapshot["status"]?.string {
        case "success":
            bar.end()
            return snapshot["metadata"] ?? .null
        case "failure":
            bar.end()
            throw Client.Failure(snapshot["error"])
        default:
            if let retry = snapshot["retry"] { bar.show(retry: retry) }
            bar.show(
                snapshot["progress"]?["completedUnitCount"]?.number?.int64 ?? 0,
                of: snapshot["progress"]?["totalUnitCount"]?.number?.int64 ?? 0)
            return nil
        }
    }

    /// The working directory has no links, so dots at the beginning of a path need no lookup.
    private func absolute(_ path: String) -> String {
        guard path.utf8.first != UInt8(ascii: "/"), let present = CurrentProcess.workingDirectory else { return path }
        var directory = Array(present.utf8)[...], rest = Array(path.utf8)[...]
        while let dots = ["../", "./"].first(where: { rest.starts(with: $0.utf8) }) {
            if dots == "../" { directory = directory[..<(directory.lastIndex(of: UInt8(ascii: "/")) ?? 0)] }
            rest = rest.dropFirst(dots.utf8.count).drop { $0 == UInt8(ascii: "/") }
        }
        return String(decoding: directory + [UInt8(ascii: "/")] + rest, as: UTF8.self)
    }

    /// One line a property, for people.
    private static func lines(_ metadata: JSON) -> [String] {
        let members = metadata.object ?? []
        let width = members.map(\.key.count).max() ?? 0
        return members.map { member in
            member.key + String(repeating: " ", count: width - member.key.count + 2)
                + (member.value.string ?? member.value.text)
        }
    }
}
