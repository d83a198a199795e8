import Glibc

extension CurrentProcess {
    /// The path of the program.
    package static var executable: String { "/proc/self/exe" }

    /// The resident memory in bytes. Nil if it is unknown.
    package static var residentBytes: Int? {
        guard let text = text(of: "/proc/self/statm", atMost: 128) else { return nil }
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) }
        return pages.map { $0 * Int(sysconf(Int32(_SC_PAGESIZE))) }
    }

    /// The umask of a process. Nil if it is unknown.
    static func newFilesMask(of process: Int32) -> UInt32? {
        guard let status = text(of: "/proc/\(process)/status", atMost: 512) else { return nil }
        let line = status.split(separator: "\n").first { $0.hasPrefix("Umask:") }
        return line?.split(whereSeparator: \.isWhitespace).last.flatMap { UInt32($0, radix: 8) }.map { $0 & 0o777 }
    }

    /// The words of the command line of a process of the same user, in whose working directory relative paths are. Nil
    /// if they are unknown.
    package static func arguments(of process: Int32) -> (words: [String], directory: String)? {
        guard let bytes = try? OpenFile("/proc/\(process)/cmdline", []).readAll(atMost: 2 << 20),
            let directory = try? OpenFile(placeAt: "/proc/\(process)/cwd", isDirectory: true, noMagicLinks: false)
                .location
        else { return nil }
        let words = bytes.split(separator: 0, omittingEmptySubsequences: false).dropFirst().dropLast()
        return (words.map { String(decoding: $0, as: UTF8.self) }, directory)
    }

    /// Reads a signal from the descriptor of `blockTerminationSignals`, a signalfd, whose records begin with the
    /// number. Nil if none has arrived.
    package static func receiveSignal(from signals: Descriptor) -> Int32? {
        withUnsafeTemporaryAllocation(byteCount: 128, alignment: 8) { buffer in
            guard case .bytes(let count) = signals.read(into: buffer), count >= 4 else { return nil }
            return Int32(bitPattern: buffer.load(as: UInt32.self))
        }
    }

    private static func text(of path: String, atMost count: Int) -> String? {
        guard let file = try? OpenFile(path, []) else { return nil }
        return try? withUnsafeTemporaryAllocation(byteCount: count, alignment: 1) { buffer throws(SystemError) in
            let count = try OpenFile.read(file.raw, into: buffer, at: 0)
            return String(decoding: buffer.prefix(count), as: UTF8.self)
        }
    }

    /// The number of open descriptors, including inherited ones. If it is unknown, the three standard ones.
    static var openDescriptors: Int {
        guard let entries = opendir("/proc/self/fd") else { return 3 }
        defer { closedir(entries) }
        var names = 0
        while readdir(entries) != nil { names += 1 }
        // Excludes ".", ".." and the descriptor of the directory itself.
        return names - 3
    }
}

/// A path that opens the file of a descriptor.
func path(ofDescriptor raw: Int32) -> String { "/proc/self/fd/\(raw)" }
