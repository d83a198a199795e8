import HTTPClient
import JSONText
import Platform
import Storage

/// A JSON file with Google Cloud credentials: its path, and the flag or variable that names it.
struct CredentialFile: Sendable {
    let path: String
    let name: String

    /// The file, as the beginning of an error message.
    var origin: String { "The file of \(name), \(path)," }

    func read() async throws(StorageError) -> JSON {
        do throws(SmallFile.Unreadable) { return try await contents() } catch { throw complaint(error.reason) }
    }

    /// Reads the file; nil if it does not exist.
    func readIfThere() async throws(StorageError) -> JSON? {
        do throws(SmallFile.Unreadable) { return try await contents() } catch {
            if error.isMissing { return nil }
            throw complaint(error.reason)
        }
    }

    private func contents() async throws(SmallFile.Unreadable) -> JSON {
        guard let json = JSON(wire: try await SmallFile.read(path)), json.object != nil else {
            throw SmallFile.Unreadable(reason: "is not a JSON object", isMissing: false)
        }
        return json
    }

    func complaint(_ why: String) -> StorageError { .unauthenticated("\(origin) \(why).", file: path) }

    func text(_ member: String, in json: JSON) throws(StorageError) -> String {
        guard let text = json[member]?.string, !text.isEmpty else { throw complaint("has no \(member)") }
        return text
    }

    /// A member that may be missing, empty or null: the result is then nil.
    func optionalText(_ member: String, in json: JSON) throws(StorageError) -> String? {
        guard let value = json[member], !value.isNull, value != "" else { return nil }
        return try text(member, in: json)
    }

    func unsupported(_ json: JSON, expected: String) -> StorageError {
        guard let type = json["type"]?.string?.quotable() else { return complaint("does not say its type") }
        return complaint("is of the type \(type), which is not supported here: it has to be \(expected)")
    }
}

/// Worker threads for files, commands and signatures.
let credentialThreads = WorkerThreads("credentials", limit: 8)

/// Reads small files as a whole, each time they are needed, so that changes take effect.
enum SmallFile {
    struct Unreadable: Error {
        let reason: String
        let isMissing: Bool
    }

    static let largest = 64 << 10

    /// Reads a file on a worker thread.
    static func read(_ path: String) async throws(Unreadable) -> [UInt8] {
        try await credentialThreads.run { Result { () throws(Unreadable) in try readNow(path) } }.get()
    }

    /// Blocks.
    static func readNow(_ path: String, atMost largest: Int = largest) throws(Unreadable) -> [UInt8] {
        guard !path.utf8.contains(0) else { throw Unreadable(reason: "is not a path", isMissing: false) }
        let file: OpenFile
        do throws(SystemError) { file = try OpenFile(path, .noWaiting) } catch {
            throw Unreadable(
                reason: error == .notFound ? "does not exist" : "cannot be opened: \(error.reason)",
                isMissing: error == .notFound || error == .notDirectory)
        }
        guard (try? file.status().kind) == .regular else {
            throw Unreadable(reason: "is not a regular file", isMissing: false)
        }
        let bytes: [UInt8]
        do throws(SystemError) { bytes = try file.readAll(atMost: largest + 1) } catch {
            throw Unreadable(reason: "cannot be read: \(error.reason)", isMissing: false)
        }
        guard bytes.count <= largest else {
            throw Unreadable(reason: "is larger than \(largest >> 10) KiB", isMissing: false)
        }
        return bytes
    }
}
