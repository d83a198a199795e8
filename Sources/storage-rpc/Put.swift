import JSONText
import Backends
import CSystem
import EventLoop
import Glibc
import JSONRPC

/// `storage-rpc put`: uploads one file through the service's own protocol, and shows how it goes.
struct Put {
    private let command: PutCommand
    private var client: Client
    private var bar = ProgressBar()

    /// Returns when the object is stored and its metadata printed.
    static func run(_ command: PutCommand) throws {
        let signals = csystem_termination_signals()
        let socket =
            try command.service.socket.map { path throws(Client.Failure) in try Client.connect(to: path) }
            ?? ownService(command.service)
        var put = Put(command: command, client: Client(socket: socket, signals: signals, trace: command.trace))
        try put.upload()
    }

    /// A service in this very process, at the other end of a socket pair.
    private static func ownService(_ options: ServiceOptions) throws -> Int32 {
        let engine = try Engine(options)
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw Client.Failure(message: "no socket pair can be made: \(String(cString: strerror(errno)))")
        }
        let far = Descriptor(owning: ends[1])
        Task { @Loop in Server(options, engine).serve(far) }
        return ends[0]
    }

    private mutating func upload() throws {
        let isURL = ["gs://", "http://", "https://"].contains { command.reference.hasPrefix($0) }
        let reference = try client.call("storage/reference", [isURL ? "url" : "path": .string(command.reference)])
        let started = try client.call(
            "reference/putFile",
            [
                "reference": reference, "file": .string(absolute(command.file)),
                "observe": ["progress", "success", "failure"],
            ])
        try follow(started["task"] ?? .null)
    }

    private mutating func follow(_ task: JSON) throws {
        while true {
            switch try client.hear() {
            case .interrupted: _ = try client.say("uploadTask/cancel", ["task": task])
            case .message(let message):
                guard let snapshot = message["params"]?["snapshot"] else { continue }
                if try isOver(snapshot) { return }
            }
        }
    }

    /// True after success. Throws after failure.
    private mutating func isOver(_ snapshot: JSON) throws -> Bool {
        switch snapshot["status"]?.string {
        case "success":
            bar.end()
            try Program.say(command.json ? (snapshot["metadata"] ?? .null).text : Self.lines(snapshot["metadata"]))
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
