import CSystem
import Glibc

/// Properties and settings of this process.
package enum CurrentProcess {
    package static var id: Int32 { getpid() }
    package static var user: UInt32 { geteuid() }

    /// An environment variable. Nil if it is unset or empty.
    package static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The home directory: `HOME` if that is an absolute path, else the one in the user database. Nil without both.
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

    /// The directory for temporary files.
    package static var temporaryDirectory: String { environment("TMPDIR") ?? "/tmp" }

    /// The path of the working directory, without links.
    package static var workingDirectory: String? {
        guard let path = getcwd(nil, 0) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// The maximum size of a file, in bytes (`ulimit -f`).
    package static var fileSizeLimit: UInt64? { UInt64(exactly: csystem_limit(CSYSTEM_FILE_SIZE, false)) }

    /// Raises the limit of open files, whose default is low for programs that use select(2). Returns how many more
    /// descriptors the process may open.
    package static func raiseDescriptorLimit() -> Int {
        max(0, csystem_limit(CSYSTEM_OPEN_FILES, true) - openDescriptors)
    }

    /// Lets only the user read and write new files. Returns the permissions that new files lacked before.
    @discardableResult
    package static func makeNewFilesPrivate() -> UInt32 { umask(0o077) }

    /// Removes only these permissions from new files, as the user's umask does.
    package static func setNewFilesMask(_ mask: UInt32) { umask(mask) }

    /// Makes a write to a closed pipe, or beyond the maximum size of a file, fail instead of ending the process. Makes
    /// the process wait for its children even if its parent ignores its own.
    package static func setSignals() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        signal(SIGCHLD, SIG_DFL)
    }

    /// Releases the ids of children when they end, without `ChildProcess.exit`.
    package static func ignoreChildren() { signal(SIGCHLD, SIG_IGN) }

    /// Blocks the signals that ask the process to end, in the calling thread and in threads that it starts. Returns a
    /// descriptor that becomes readable when such a signal arrives. An ignored SIGHUP stays ignored.
    package static func blockTerminationSignals() -> Descriptor? {
        let raw = csystem_termination_signals()
        return raw < 0 ? nil : Descriptor(owning: raw)
    }

    /// Limits the heaps of all threads together to two.
    package static func shareHeaps() { csystem_share_heaps() }

    /// Returns free memory to the system.
    package static func releaseFreeMemory() { csystem_give_back_memory() }

    /// Ends the process the way the signal ends a program that does not handle it.
    package static func end(bySignal number: Int32) -> Never {
        signal(number, SIG_DFL)
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, number)
        raise(number)
        pthread_sigmask(SIG_UNBLOCK, &set, nil)
        Glibc.exit(128 + number)
    }

    /// Ends the process the way SIGPIPE does.
    package static func endByBrokenPipe() -> Never { end(bySignal: SIGPIPE) }

    /// The directory of the program, without links. Nil if the program's file has been removed.
    package static var programDirectory: String? {
        guard let path = realpath(executable, nil) else { return nil }
        defer { free(path) }
        return String(cString: path).parentPath
    }

    /// Replaces this process by another program, which gets SIGPIPE's default. Returns if the program cannot be started.
    package static func become(_ program: String, _ arguments: [String]) {
        signal(SIGPIPE, SIG_DFL)
        let words = ([program] + arguments).map { strdup($0) } + [nil]
        execv(program, words)
        for word in words { free(word) }
        signal(SIGPIPE, SIG_IGN)
    }

    /// The words of the command line; nil for one that is not UTF-8.
    package static var arguments: [String?] {
        (1..<max(1, Int(CommandLine.argc))).map { CommandLine.unsafeArgv[$0].flatMap { String(validatingCString: $0) } }
    }

    /// The program and its command, such as `storage-rpc mcp`, for messages about this process. A service that a command
    /// has started has the title of that command.
    package static var title: String {
        let name = CommandLine.argc > 0 ? CommandLine.unsafeArgv[0].map { String(cString: $0) } ?? "" : ""
        guard !name.contains(" ") || name.contains("/") else { return name }
        let command = arguments.first.flatMap { $0 }.flatMap { $0.hasPrefix("-") ? nil : " " + $0 } ?? ""
        return name.fileName + command
    }

    package static func exit(_ status: Int32) -> Never { Glibc.exit(status) }

    /// Ends the process even if other threads are blocked.
    package static func exitAtOnce(_ status: Int32) -> Never { _exit(status) }
}
