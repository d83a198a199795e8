import CSystem
import Glibc

/// What this process is, and what it asks of the system.
package enum CurrentProcess {
    package static var id: Int32 { getpid() }
    package static var user: UInt32 { geteuid() }

    /// An environment variable. Nil if it is not set or empty.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The home directory: an absolute `HOME`, or that of the user database. Nil where neither says one.
    package static var home: String? {
        if let home = environment("HOME"), home.utf8.first == UInt8(ascii: "/") { return home }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64 << 10) { buffer in
            var (entry, found) = (passwd(), UnsafeMutablePointer<passwd>?.none)
            guard let start = buffer.baseAddress, getpwuid_r(user, &entry, start, buffer.count, &found) == 0,
                found != nil, let home = entry.pw_dir.map({ String(cString: $0) }), home.utf8.first == UInt8(ascii: "/")
            else { return nil }
            return home
        }
    }

    /// The directory for files of a short life.
    package static var temporaryDirectory: String { environment("TMPDIR") ?? "/tmp" }

    /// The path of the working directory, without links.
    package static var workingDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// The size that no file may exceed, in bytes (`ulimit -f`).
    package static var fileSizeLimit: UInt64? { UInt64(exactly: csystem_limit(CSYSTEM_FILE_SIZE, false)) }

    /// Raises the limit of open files, which is low for the sake of programs that use select(2). Returns how many more
    /// descriptors the process may open.
    package static func raiseDescriptorLimit() -> Int {
        max(0, csystem_limit(CSYSTEM_OPEN_FILES, true) - openDescriptors)
    }

    /// Lets only the user read and write new files. Returns the permissions that new files lacked before.
    @discardableResult
    package static func makeNewFilesPrivate() -> UInt32 { umask(0o077) }

    /// Gives new files all permissions but these, as the user has asked for.
    package static func setNewFilesMask(_ mask: UInt32) { umask(mask) }

    /// Lets a write to a closed pipe, or beyond the limit of a file's size, fail instead of ending the process. Lets the
    /// process wait for its children, even if its parent ignores those.
    package static func setSignals() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGCHLD, SIG_DFL)
    }

    /// Lets children end without a call of `ChildProcess.exit`.
    package static func ignoreChildren() { signal(SIGCHLD, SIG_IGN) }

    /// Blocks the signals that ask the process to end, in the calling thread and those that it starts. Returns a
    /// descriptor that becomes readable with such a signal. A SIGHUP that is ignored stays ignored.
    package static func blockTerminationSignals() -> Descriptor? {
        let raw = csystem_termination_signals()
        return raw < 0 ? nil : Descriptor(owning: raw)
    }

    /// Lets all threads share two heaps.
    package static func shareHeaps() { csystem_share_heaps() }

    /// Returns free memory to the system.
    package static func releaseFreeMemory() { csystem_give_back_memory() }

    /// Ends as a program that does not handle the signal does.
    package static func end(bySignal number: Int32) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        raise(number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        Glibc.exit(128 + number)
    }

    /// Ends as a program does that writes to a pipe without a reader.
    package static func endByBrokenPipe() -> Never { end(bySignal: SIGPIPE) }

    /// The words of the command line. Nil in place of one that is not UTF-8.
    package static var arguments: [String?] {
        (1..<max(1, Int(CommandLine.argc))).map { CommandLine.unsafeArgv[$0].flatMap { String(validatingCString: $0) } }
    }

    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// Ends the process even if other threads hang.
    package static func exitAtOnce(_ status: Int32) -> Never { _exit(status) }
}
