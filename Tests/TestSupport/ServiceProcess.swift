import Testing
import CSystem
import Foundation
import Glibc
import Synchronization

/// The real binary, started for a test.
package final class ServiceProcess {
    package struct Failure: Error { package var description: String }

    package let input: Int32
    package let output: Int32
    /// So that no process inherits the ends that are meant for another.
    private static let oneAtATime = Mutex(())
    private let log: Int32
    package let id: pid_t
    /// What it has written to stderr, as far as a test has waited for it.
    package private(set) var logged = ""
    private var status: Int32?

    /// The executable beside the tests.
    package static var program: String {
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
            .map { ($0 as NSString).deletingLastPathComponent + "/storage-rpc" } ?? "storage-rpc"
    }

    package init(_ arguments: [String], program: String = program) throws {
        (id, input, output, log) = try Self.oneAtATime.withLock { _ in
            let stdin = try Pipe(), stdout = try Pipe(), stderr = try Pipe()
            defer { for end in [stdin.reader, stdout.writer, stderr.writer] { close(end) } }
            let id = try Self.spawn(program, arguments, stdin.reader, stdout.writer, stderr.writer)
            return (id, stdin.writer, stdout.reader, stderr.reader)
        }
    }

    deinit {
        if status == nil {
            kill(id, SIGKILL)
            waitpid(id, nil, 0)
        }
        close(log)
    }

    /// Of what it writes to stderr the system keeps no more than this until it is read.
    package func narrowLog(to bytes: Int32) {
        // F_SETPIPE_SZ, which Swift does not import.
        let setPipeSize: Int32 = 1031
        _ = fcntl(log, setPipeSize, bytes)
    }

    /// Its memory, as the system counts it.
    package var residentBytes: Int {
        get throws {
            let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
            let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
            return (line?.split(separator: " ").dropFirst().first).flatMap { Int($0) }.map { $0 << 10 } ?? 0
        }
    }

    /// From now on none of its files may grow beyond so many bytes, as on a disk that is full.
    package func limitFiles(to bytes: Int) throws { try limit("fsize=\(bytes)") }

    /// From now on the process opens no descriptor with this number or a larger one. It keeps those that are open.
    package func limitDescriptors(to number: Int) throws { try limit("nofile=\(number):") }

    private func limit(_ resource: String) throws {
        let prlimit = try Self.spawn("/usr/bin/prlimit", ["--pid", "\(id)", "--\(resource)"], 0, 1, 2)
        var status: Int32 = 0
        waitpid(prlimit, &status, 0)
        guard status == 0 else { throw Failure(description: "prlimit failed") }
    }

    package func signal(_ signal: Int32) { kill(id, signal) }

    /// For a process that several tests share: it ends when the tests do, and its directory is removed.
    package func endWithTests(removing directory: String) {
        whenTestsEnd { [id] in
            kill(id, SIGKILL)
            waitpid(id, nil, 0)
            try? FileManager.default.removeItem(atPath: directory)
        }
    }

    /// Returns once the process has written this to stderr.
    package func waitForLog(_ text: String) throws {
        while !logged.contains(text) {
            guard try readLog() else { throw Failure(description: "the service ended: \(logged)") }
        }
    }

    /// The exit status; a signal counts as 128 and its number.
    package func waitForExit() throws -> Int32 {
        if let status { return status }
        // Whoever writes to stderr is the process itself: its end is the end of that.
        while try readLog() {}
        var raw: Int32 = 0
        waitpid(id, &raw, 0)
        let exit = raw & 0x7F == 0 ? raw >> 8 & 0xFF : 128 + raw & 0x7F
        status = exit
        return exit
    }

    private func readLog() throws -> Bool {
        do { try blockUntilReadable(log) } catch { throw Failure(description: "\(error); the log: \(logged)") }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(log, &buffer, buffer.count)
        if count > 0 { logged += String(decoding: buffer[..<count], as: UTF8.self) }
        return count > 0
    }

    private static func spawn(
        _ program: String, _ arguments: [String], _ stdin: Int32, _ stdout: Int32, _ stderr: Int32
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (end, place) in [(stdin, 0), (stdout, 1), (stderr, 2)] as [(Int32, Int32)] {
            posix_spawn_file_actions_adddup2(&actions, end, place)
        }
        // Whatever else the tests have open would count as the service's.
        csystem_close_from(&actions, 3)
        // Threads of tests block signals, those too that a write may raise.
        var (attributes, signals) = (posix_spawnattr_t(), sigset_t())
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        pthread_sigmask(SIG_BLOCK, nil, &signals)
        sigdelset(&signals, SIGXFSZ)
        posix_spawnattr_setsigmask(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        defer { words.forEach { free($0) } }
        var id: pid_t = 0
        let failure = posix_spawn(&id, program, &actions, &attributes, words, environ)
        guard failure == 0 else {
            throw Failure(description: "\(program) cannot be started: \(String(cString: strerror(failure)))")
        }
        return id
    }

    private struct Pipe {
        let reader: Int32
        let writer: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { throw Failure(description: String(cString: strerror(errno))) }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            (reader, writer) = (ends[0], ends[1])
        }
    }
}
