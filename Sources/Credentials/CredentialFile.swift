import HTTPClient
import JSONText
import Storage

/// A JSON file with Google Cloud credentials: its path, and the flag or variable that names it.
struct CredentialFile: Sendable {
    let path: String
    let name: String

    /// Begins a sentence.
    var origin: String { "The file of \(name), \(path)," }

    func read() async throws(StorageError) -> JSON {
        do throws(SmallFile.Unreadable) {
            return try Self.parse(try await SmallFile.read(path))
        } catch {
            throw complaint(error.reason)
        }
    }

    /// Nil where there is no such file.
    func readIfThere() async throws(StorageError) -> JSON? {
        do throws(SmallFile.Unreadable) {
            return try Self.parse(try await SmallFile.read(path))
        } catch {
            if error.isMissing { return nil }
            throw complaint(error.reason)
        }
    }

    func complaint(_ why: String) -> StorageError { .unauthenticated("\(origin) \(why).", file: path) }

    /// A required member.
    func text(_ member: String, in json: JSON) throws(StorageError) -> String {
        guard let text = json[member]?.string, !text.isEmpty else { throw complaint("has no \(member)") }
        return text
    }

    /// A member that may be missing, empty or null.
    func optionalText(_ member: String, in json: JSON) throws(StorageError) -> String? {
        guard let value = json[member], !value.isNull, value != "" else { return nil }
        return try text(member, in: json)
    }

    func unsupported(_ json: JSON, expected: String) -> StorageError {
        guard let type = json["type"]?.string?.quotable() else { return complaint("does not say its type") }
        return complaint("is of the type \(type), which is not supported here: it has to be \(expected)")
    }

    private static func parse(_ bytes: [UInt8]) throws(SmallFile.Unreadable) -> JSON {
        guard bytes.count <= SmallFile.largest else {
            throw SmallFile.Unreadable(reason: "is larger than 64 KiB", isMissing: false)
        }
        guard let json = JSON(text: bytes), json.object != nil else {
            throw SmallFile.Unreadable(reason: "is not a JSON object", isMissing: false)
        }
        return json
    }
}
