import HTTPClient
import JSONText
import Storage

/// Why a response is no answer, for an error message.
struct GarbledAnswer: Error, Equatable {
    let what: String

    init(_ what: String) { self.what = what }
}

extension JSON {
    /// A member of an answer; nil where it is missing or null. Throws where it is not what it has to be.
    func read<Value>(
        _ name: String, _ kind: String, _ read: (JSON) -> Value?
    ) throws(GarbledAnswer) -> Value? {
        guard let member = self[name], !member.isNull else { return nil }
        guard let value = read(member) else { throw GarbledAnswer("\(name) is not \(kind)") }
        return value
    }
}

extension HTTPResponse {
    /// Throws the error for a response that the dialect cannot understand.
    func understood<Value>(
        about reference: Reference, _ read: (HTTPResponse) throws(GarbledAnswer) -> Value
    ) throws(StorageError) -> Value {
        do throws(GarbledAnswer) { return try read(self) } catch { throw .garbled(error.what, self, reference) }
    }
}
