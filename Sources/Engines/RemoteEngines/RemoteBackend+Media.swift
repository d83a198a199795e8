import HTTPClient
import HTTPText
import Storage

/// The result of fetching bytes of one generation.
enum MediaOutcome<Value: Sendable>: Sendable {
    case done(Value)
    /// The generation may have been replaced. If it has not, the result is this error.
    case doubtful(StorageError)
}

extension RemoteBackend {
    /// Reads the metadata and fetches bytes of that generation; repeats both if the object is overwritten meanwhile.
    ///
    /// - Parameters:
    ///   - known: the metadata, if the caller has it.
    ///   - doubt: why fetching this generation failed; thrown if the generation is still current.
    func settled<Value: Sendable>(
        _ reference: Reference, _ caller: Caller, known: ObjectMetadata? = nil,
        doubt: (generation: Int64, error: StorageError)? = nil,
        _ fetch: (ObjectMetadata) async throws(StorageError) -> MediaOutcome<Value>
    ) async throws(StorageError) -> Value {
        var (known, doubt) = (known, doubt)
        for _ in 0..<4 {
            let object = if let known { known } else { try await metadataOnce(of: reference, caller) }
            known = nil
            if let doubt, doubt.generation == object.generation { throw doubt.error }
            switch try await fetch(object) {
            case .done(let value): return value
            case .doubtful(let error): doubt = (object.generation, error)
            }
        }
        throw .everOther(reference)
    }

    /// Fetches the missing bytes. Throws a retryable error if a later attempt can continue.
    func fetch(into sink: MediaSink, _ caller: Caller) async throws(StorageError) -> MediaOutcome<MediaDescription> {
        let content = sink.content
        var request = dialect.media(
            of: content.reference, generation: content.generation, isGzip: content.encoding.isGzip, from: sink.offset,
            to: sink.end)
        request.sink = sink
        return try outcome(of: await answer(to: request, content.reference, caller), to: request, sink)
    }

    func answer(
        to request: RemoteRequest, _ reference: Reference, _ caller: Caller
    ) async -> Result<HTTPResponse, StorageError> {
        do throws(StorageError) { return .success(try await ask(request, for: caller, about: reference)) } catch {
            return .failure(error)
        }
    }

    func outcome(
        of answer: Result<HTTPResponse, StorageError>, to request: RemoteRequest, _ sink: MediaSink
    ) throws(StorageError) -> MediaOutcome<MediaDescription> {
        let reference = sink.content.reference
        switch answer {
        case .success(let response): return try outcome(of: response, to: request, sink)
        case .failure where sink.hasPart: return .done(MediaDescription())
        case .failure where sink.isTooMuch: return .doubtful(.tooMuch(sink.content).after(httpStatus: sink.status))
        case .failure(let error):
            switch sink.head {
            case .changed: return .doubtful(.everOther(reference).after(httpStatus: sink.status))
            case .garbled(let what):
                throw .garbled(what, HTTPResponse(status: sink.status ?? 206), reference, retryable: true)
            case .bytes, nil: throw error
            }
        }
    }

    private func outcome(
        of response: HTTPResponse, to request: RemoteRequest, _ sink: MediaSink
    ) throws(StorageError) -> MediaOutcome<MediaDescription> {
        let (status, reference) = (response.status, sink.content.reference)
        let described = sink.described ?? dialect.description(in: response.headers, of: reference)
        switch MediaHead(status, response.headers, described, of: sink.content, from: sink.offset) {
        case .bytes where sink.left == 0: return .done(described)
        case .bytes: throw .garbled("\(sink.left) bytes are missing", response, reference, retryable: true)
        case .changed: return .doubtful(.everOther(reference))
        case .garbled(let what): throw .garbled(what, response, reference, retryable: true)
        case nil:
            var refusal = StorageError.refusal(response, of: request, to: reference, by: dialect)
            // The next attempt begins with the first byte.
            if status == 416 { refusal.retryable = true }
            guard [404, 412, 416].contains(status) else { throw refusal }
            return .doubtful(refusal)
        }
    }
}

extension StorageError {
    static func damaged(_ content: StoredContent, _ how: String) -> StorageError {
        StorageError(
            .nonMatchingChecksum,
            "The \(content.size) bytes of object \(content.reference.object) did not arrive as they are stored: \(how)."
        ).about(content.reference)
    }

    fileprivate static func tooMuch(_ content: StoredContent) -> StorageError { damaged(content, "there are more") }

    /// The object was overwritten repeatedly, or the responses are about different objects.
    fileprivate static func everOther(_ reference: Reference) -> StorageError {
        StorageError(.unknown, "Object \(reference.object) was another while it was being fetched.")
            .with(\.retryable, true).about(reference)
    }
}
