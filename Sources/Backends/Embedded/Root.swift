import Glibc
import Storage

/// The directory that the embedded engine keeps everything in, held by one process at a time.
///
///     lock              who holds it
///     storage.sqlite3   buckets, objects, metadata, download tokens, the bytes of small objects
///     objects/ID        the bytes of larger objects, one file each
///     spool/TASK        the bytes of uploads that came in a message, until those have ended
public final class Root: Sendable {
    public let path: String
    private let lock: OpenFile

    /// Why a root cannot be used, in a sentence that names it.
    public struct Unusable: Error {
        public var message: String
        public var isInUse = false
    }

    public init(_ path: String) throws(Unusable) {
        self.path = path
        do throws(SystemError) {
            try Self.makeDirectories(path + "/objects")
            lock = try OpenFile(path + "/lock", O_RDWR | O_CREAT)
        } catch {
            throw Unusable(message: "The root \(path) cannot be used: \(error.reason).")
        }
        guard flock(lock.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw Unusable(
                message: "The root \(path) is in use by \(Self.holder(lock)); one process may have it at a time.",
                isInUse: true)
        }
        ftruncate(lock.raw, 0)
        // Only for people to read: what counts is the lock, which no crash leaves behind.
        let holder = "\(getpid())\n"
        _ = pwrite(lock.raw, holder, holder.utf8.count, 0)
    }

    var database: String { path + "/storage.sqlite3" }
    var objects: String { path + "/objects" }
    var spool: String { path + "/spool" }
    func spooled(_ task: String) -> String { "\(spool)/\(task)" }
    func object(_ file: Int64) -> String { "\(objects)/\(file)" }

    var spooledTasks: [String] {
        guard let directory = opendir(spool) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if !name.hasPrefix(".") { names.append(name) }
        }
        return names
    }

    private static func holder(_ lock: OpenFile) -> String {
        let text = [UInt8](unsafeUninitializedCapacity: 32) { buffer, count in
            count = max(0, pread(lock.raw, buffer.baseAddress, buffer.count, 0))
        }
        let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        return digits.isEmpty ? "another process" : "process \(String(decoding: digits, as: UTF8.self))"
    }

    /// Readable by its owner alone, as far as it has to be made.
    private static func makeDirectories(_ path: String) throws(SystemError) {
        if mkdir(path, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = path.lastIndex(of: "/"), slash != path.startIndex else { throw .last }
        try makeDirectories(String(path[..<slash]))
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last }
    }
}
