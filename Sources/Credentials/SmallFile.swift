import Platform

/// Worker threads for files, commands and signatures.
let credentialThreads = WorkerThreads("credentials", limit: 8)

/// Reads small files whole, each time they are needed, so that changes take effect.
enum SmallFile {
    struct Unreadable: Error {
        let reason: String
        let isMissing: Bool
    }

    static let largest = 64 << 10

    /// Reads on a worker thread, at most one byte more than `largest`.
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
