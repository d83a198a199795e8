import Platform

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
        let file: OpenFile
        do throws(SystemError) {
            file = try OpenFile(path, .noWaiting)
        } catch {
            throw Unreadable(
                reason: error == .notFound ? "does not exist" : "cannot be opened: \(error.reason)",
                isMissing: error == .notFound || error == .notDirectory)
        }
        guard (try? file.status().kind) == .regular else {
            throw Unreadable(reason: "is not a regular file", isMissing: false)
        }
        do throws(SystemError) {
            return try file.readAll(atMost: largest + 1)
        } catch {
            throw Unreadable(reason: "cannot be read: \(error.reason)", isMissing: false)
        }
    }
}
