import Platform
import Glibc

/// Threads for what blocks here: files, commands, signatures.
let credentialThreads = WorkerThreads("credentials", limit: 8)

/// A file that is small enough to be read at once, whenever it is needed: so nobody has to notice that it changed.
enum SmallFile {
    struct Unreadable: Error {
        let reason: String
        let isMissing: Bool
    }

    static let largest = 64 << 10

    /// Reads on a thread that may block; of a larger file, one byte more than the largest has.
    static func read(_ path: String) async throws(Unreadable) -> [UInt8] {
        let outcome = await credentialThreads.run {
            Result { () throws(Unreadable) in try readNow(path) }
        }
        return try outcome.get()
    }

    private static func readNow(_ path: String) throws(Unreadable) -> [UInt8] {
        guard !path.utf8.contains(0) else { throw Unreadable(reason: "is not a path", isMissing: false) }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard file >= 0 else {
            let code = errno
            throw Unreadable(
                reason: code == ENOENT ? "does not exist" : "cannot be opened: \(words(code))",
                isMissing: code == ENOENT || code == ENOTDIR)
        }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw Unreadable(reason: "is not a regular file", isMissing: false)
        }
        return try bytes(of: file)
    }

    private static func bytes(of file: Int32) throws(Unreadable) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: largest + 1)
        var filled = 0
        while filled < bytes.count {
            let count = bytes.withUnsafeMutableBytes { all in
                let rest = UnsafeMutableRawBufferPointer(rebasing: all[filled...])
                return Glibc.read(file, rest.baseAddress, rest.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw Unreadable(reason: "cannot be read: \(words(errno))", isMissing: false) }
            if count == 0 { break }
            filled += count
        }
        bytes.removeSubrange(filled...)
        return bytes
    }

    private static func words(_ code: Int32) -> String { String(cString: strerror(code)) }
}
