import Glibc
import JSONText

// `storage-rpc put` and `get`: one task each, and how it goes.

extension Errand {
    mutating func put(_ file: String, _ text: String) throws {
        let reference = try reference(text)
        try follow(start("reference/putFile", reference, file), "uploadTask/cancel")
    }

    mutating func get(_ text: String, _ file: String) throws {
        let reference = try reference(text)
        try follow(start("reference/writeToFile", reference, file), "downloadTask/cancel")
    }

    private mutating func start(_ method: String, _ reference: JSON, _ file: String) throws(Client.Failure) -> JSON {
        let started = try client.call(
            method,
            [
                "reference": reference, "file": .string(absolute(file)),
                "observe": ["progress", "success", "failure"],
            ])
        return started["task"] ?? .null
    }

    /// Returns after success, when the metadata is printed. An interruption cancels the task.
    private mutating func follow(_ task: JSON, _ cancel: String) throws {
        var bar = ProgressBar()
        while true {
            switch try client.hear() {
            case .interrupted: _ = try client.say(cancel, ["task": task])
            case .message(let message):
                guard let snapshot = message["params"]?["snapshot"] else { continue }
                if try isOver(snapshot, &bar) { return }
            }
        }
    }

    /// True after success. Throws after failure.
    private func isOver(_ snapshot: JSON, _ bar: inout ProgressBar) throws -> Bool {
        switch snapshot["status"]?.string {
        case "success":
            bar.end()
            try Program.say(options.json ? (snapshot["metadata"] ?? .null).text : Self.lines(snapshot["metadata"]))
            return true
        case "failure":
            bar.end()
            throw Client.Failure(snapshot["error"])
        default:
            bar.show(
                snapshot["progress"]?["completedUnitCount"]?.number?.int64 ?? 0,
                of: snapshot["progress"]?["totalUnitCount"]?.number?.int64 ?? 0)
            return false
        }
    }

    private func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let directory = getcwd(nil, 0) else { return path }
        defer { free(directory) }
        return String(cString: directory) + "/" + path
    }

    /// One line a property, for people.
    private static func lines(_ metadata: JSON?) -> String {
        let members = metadata?.object ?? []
        let width = members.map(\.key.count).max() ?? 0
        return members.map { member in
            member.key + String(repeating: " ", count: width - member.key.count + 2)
                + (member.value.string ?? member.value.text)
        }.joined(separator: "\n")
    }
}
