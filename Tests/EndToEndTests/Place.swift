import Platform
import Foundation
import Glibc
import JSONText
import TestSupport

/// A directory of a test's own, and services in it.
final class Place: Sendable {
    let directory = FileManager.default.temporaryDirectory.appending(path: "ends-\(UUID().uuidString.prefix(8))").path
    var socket: String { directory + "/socket" }
    var root: String { directory + "/root" }

    /// An engine whose server refuses connections: its tasks run until their retry time is over.
    static let unreachable = ["--engine", "firebase", "--endpoint", "http://127.0.0.1:1"]

    init() { try? FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    /// Functions of the shell: `await CONDITION` waits for a condition, at most two minutes; `put NAME...` stores objects
    /// that contain their names; `stop PROCESS` returns when all threads of a process are stopped, since a thread that
    /// waits for a processor may still run after the signal.
    static let functions = #"""
        await() {
            local end=$((SECONDS + 120))
            until eval "$1" 2> /dev/null; do
                [ $SECONDS -lt $end ] || { echo "waited in vain: $1"; exit 9; }
                sleep 0.01
            done
        }
        stop() { kill -STOP $1; await "! grep -h ^State: /proc/$1/task/*/status | grep -qv stopped"; }
        put() { for name; do printf %s "$name" | "$S" put -q --exact - "$name" || exit; done; }

        """#

    /// A line of the shell in the directory; `$S` is the program, and `$R` the root of its commands. What goes to stderr
    /// comes with the rest, without notices of waiting.
    func sh(_ line: String, _ variables: [String: String] = [:]) async -> (status: Int32, text: String) {
        let environment = [
            "S": ServiceProcess.program, "XDG_DATA_HOME": root, "R": root + "/storage-rpc", "TMPDIR": directory,
        ]
        let outcome = await Command(
            "/bin/bash", ["-c", Self.functions + line], environment: environment.merging(variables) { $1 },
            in: directory, withErrors: true
        ).run()
        return (outcome.status, Self.withoutNotices(outcome.text))
    }

    /// What a command prints, without the lines that it prints only where it has to wait for a second.
    static func withoutNotices(_ text: String) -> String {
        text.replacing(/storage-rpc: (?:waits for|has waited) [^\n]*\n/, with: "")
    }

    /// `setUp` is a shell command that runs before the service; `redirect` has redirections for the service.
    func service(
        _ flags: [String] = [], root: String? = nil, setUp: String = ":", redirect: String = ""
    ) throws -> (ServiceProcess, Caller) {
        let line = "\(setUp); exec \"$0\" \"$@\" \(redirect)"
        let level = flags.contains("--log-level") ? [] : ["--log-level", "info"]
        let words = [ServiceProcess.program, "serve", "--root", root ?? self.root] + level + flags
        let service = try ServiceProcess(["-c", line] + words, program: "/bin/sh")
        return (service, Caller(WireClient(reading: service.output, writing: service.input)))
    }

    /// A service that listens on the socket by the time this returns.
    func listeningService(_ flags: [String] = [], setUp: String = ":") throws -> ServiceProcess {
        let (service, _) = try service(["--socket", socket] + flags, setUp: setUp)
        try service.waitForLog("listens on")
        return service
    }

    func connect() throws -> Caller { Caller(try WireClient(connectingTo: socket)) }
}

/// A client that sends one request after the other. It disconnects with its last reference.
final class Caller {
    let wire: WireClient
    private(set) var lastID = 0

    struct Refusal: Error { let error: JSON }
    struct HungUp: Error {}

    init(_ wire: WireClient) { self.wire = wire }

    func say(_ method: String, _ params: String = "{}") {
        lastID += 1
        wire.send(#"{"jsonrpc":"2.0","id":\#(lastID),"method":"\#(method)","params":\#(params)}"#)
    }

    /// Returns the result; other messages are ignored.
    @discardableResult
    func call(_ method: String, _ params: String = "{}") throws -> JSON {
        say(method, params)
        while let message = try wire.next() {
            guard message["id"]?.number?.int64 == Int64(lastID) else { continue }
            if let error = message["error"] { throw Refusal(error: error) }
            return message["result"] ?? .null
        }
        throw HungUp()
    }

    /// Reads until the connection ends.
    func waitForEnd() throws {
        while let _ = try wire.next() {}
    }

    /// The error of a call, or null if it succeeds.
    func refusal(_ method: String, _ params: String = "{}") throws -> JSON {
        do { _ = try call(method, params) } catch let refusal as Refusal { return refusal.error }
        return .null
    }

    /// Starts a task, and returns its id when it runs.
    func begin(_ method: String, _ params: String) throws -> String {
        let task = try call(method, params)["task"]?.string ?? ""
        while case let state = try call("uploadTask/snapshot", #"{"task":"\#(task)"}"#)["state"], state != "running" {
            guard state == "queued" else { throw HungUp() }
        }
        return task
    }
}

extension ServiceProcess {
    /// Closes the reading end of the service's stdout.
    func stopReading() {
        let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
        dup2(nothing, output)
        close(nothing)
    }
}
