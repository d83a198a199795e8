import HTTPClient
import JSONText
import Storage

/// Why a response cannot be understood, for an error message.
struct GarbledAnswer: Error, Equatable {
    let what: String
    /// The response answers another request.
    let isAboutOther: Bool

    init(_ what: String, isAboutOther: Bool = false) { (self.what, self.isAboutOther) = (what, isAboutOther) }
}

/// A name from a server, after the kind of thing that it names. A long name is left out.
func quoted(_ kind: String, _ name: String) -> String { name.utf8.count > 256 ? kind : "\(kind) \"\(name)\"" }

extension JSON {
    /// A member of an answer; nil if it is missing or null. Throws for a value of another type.
    func read<Value>(
        _ name: String, _ kind: String, _ read: (JSON) -> Value?
    ) throws(GarbledAnswer) -> Value? {
        guard let member = self[name], !member.isNull else { return nil }
        guard let value = read(member) else { throw GarbledAnswer("\(name) is not \(kind)") }
        return value
    }
}

extension Reference {
    /// Throws if a resource has the name or the bucket of another object. Some emulators omit both.
    func check(isNamedBy resource: JSON) throws(GarbledAnswer) {
        for (member, own) in [("bucket", bucket), ("name", object)] {
            guard let other = try resource.read(member, "a text", \.string), !other.hasSameBytes(as: own) else {
                continue
            }
            throw GarbledAnswer("it is about another object, with the \(quoted(member, other))", isAboutOther: true)
        }
    }
}

extension HTTPResponse {
    /// Reads the response, and throws an error if the dialect cannot understand it.
    func understood<Value>(
        about reference: Reference, retryable: Bool = false, _ read: (HTTPResponse) throws(GarbledAnswer) -> Value
    ) throws(StorageError) -> Value {
        do throws(GarbledAnswer) { return try read(self) } catch {
            throw .garbled(error.what, self, reference, retryable: retryable)
        }
    }
}
