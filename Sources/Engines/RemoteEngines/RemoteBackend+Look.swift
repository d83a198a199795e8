import HTTPClient
import HTTPText
import Platform
import Storage

enum LookupResult: Sendable {
    case nothing
    /// The object, and how far the server's clock is ahead of this machine's, rounded down to a second.
    case object(ObjectMetadata, clockLead: Duration)
    /// The caller may not read the object.
    case hidden(StorageError)
}

extension RemoteBackend {
    /// - Parameter generation: looks only for that generation, if the service can tell it from others.
    func look(
        at reference: Reference, generation: Int64? = nil, for caller: Caller
    ) async throws(StorageError) -> LookupResult {
        let request = dialect.metadata(of: reference, generation: generation)
        let response = try await ask(request, for: caller, about: reference)
        if response.isSuccess {
            let object = try metadata(in: response, of: reference)
            return .object(object, clockLead: response.clockLead(at: time.now()))
        }
        // The usual answer before an upload of a new object, for which the texts of an error would be wasted.
        if response.status == 404, !dialect.error(in: response).isMissingBucket { return .nothing }
        let refusal = StorageError.refusal(response, of: request, to: reference, by: dialect)
        switch refusal.code {
        case .unauthenticated, .unauthorized: return .hidden(refusal)
        default: throw refusal
        }
    }

    /// Compares times by the server's clock.
    package func isNewer(
        _ reference: Reference, than began: Beginning, for caller: Caller
    ) async throws(StorageError) -> Bool {
        switch try await look(at: reference, for: caller) {
        case .nothing: return false
        case .object(let object, let clockLead): return began.isBefore(object, clockLead: clockLead)
        case .hidden(let refusal):
            throw refusal.code == .unauthorized ? .unknownWhetherNewer(refusal) : refusal
        }
    }

    /// The error of a write whose preconditions failed at the server.
    func preconditionFailed(_ reference: Reference, for caller: Caller) async throws(StorageError) -> StorageError {
        let version: ObjectVersion? =
            switch try await look(at: reference, for: caller) {
            case .nothing: ObjectVersion.none
            case .object(let object, _): object.version
            case .hidden: nil
            }
        return .preconditionFailed(reference, version).after(httpStatus: 412)
    }
}

extension HTTPResponse {
    /// How far the server's clock is ahead of this machine's, rounded down to a second; zero if unknown.
    func clockLead(at now: Timestamp) -> Duration {
        guard let date = headers["Date"].flatMap({ HTTPDate($0) }) else { return .zero }
        return .seconds(date.secondsSince1970) - .microseconds(now.microseconds)
    }
}

extension StorageError {
    /// Another client wrote between a write with a lost response and its retry.
    static func overtaken(_ reference: Reference, by version: ObjectVersion) -> StorageError {
        .preconditionFailed(
            reference, version, "was changed by another client during the retries, and is kept")
    }
}
