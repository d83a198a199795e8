import Platform
import HTTPClient
import Storage

// Why the look comes before a write, and takes a round trip of its own
//
// A write W of ours has no answer. Whether it has stored the object is told from two looks: B before it, and N now.
//
//     N = B                      not stored: the write is repeated, bound to that generation
//     N ≠ B, just like ours      stored: that is the answer
//     N ≠ B, anything else       another client's write O followed: it stays (`overtaken`)
//
// That is right only if B was answered before W was sent. A look that is sent beside W may be carried out after it:
//
//     W, B, N        B and N are ours: the write is repeated over itself, with the same bytes. Harmless.
//     B, W, O, N     N ≠ B: O stays, as with a look before.
//     W, O, B, N     B = N = O: that looks as if W had never arrived, and O were older. The repetition would undo O,
//                    which may have been made of what W stored. No precondition prevents it: it is bound to O.
//
// Without any look "B, W, N" with an older B and "W, O, N" are alike, too. Times do not tell them apart: `Date` has whole
// seconds. So a write goes without the look where the client knows B itself and says so with `ifGenerationMatch`, 0 for a
// new object: the server refuses a W that would replace anything else. Such an upload is one request.

/// What is at the name of an upload: before it, while a request has no answer, and after it.
///
/// Finds out whether a request without an answer has stored the object, from the object before the upload and the one now.
@Loop final class UploadDestination {
    let upload: Upload
    let backend: RemoteBackend
    let source: UploadReader
    var fate = UploadFate()
    var replacesNewer = true
    var predecessor = Predecessor.recorded(nil)
    /// The preconditions of requests: the client's, and for a retry the generation that was found.
    private(set) var binding: Preconditions

    nonisolated init(_ upload: Upload, _ source: UploadReader, _ backend: RemoteBackend, before: Int64? = nil) {
        (self.upload, self.source, self.backend) = (upload, source, backend)
        binding = upload.preconditions
        predecessor = .recorded(before)
        if upload.isRestored { fate.handle(.restored) }
    }

    /// The response to a request with the last bytes, which decides the fate of the upload.
    ///
    /// - Parameter reach: what of the request the server can have after a failure; nil for one before it was sent.
    func last(
        reach: (HTTPError?) -> UploadFate.Reach,
        _ request: (_ onLost: @escaping (HTTPError) -> Void) async throws(StorageError) -> HTTPResponse
    ) async throws(StorageError) -> HTTPResponse {
        fate.handle(.sent)
        var failure: HTTPError?
        do throws(StorageError) {
            let response = try await request { failure = $0 }
            fate.handle(.answered(response.status))
            return response
        } catch {
            fate.handle(.lost(reach(failure)))
            throw error
        }
    }

    private func look(generation: Int64? = nil) async throws(StorageError) -> LookupResult {
        try await backend.look(at: upload.reference, generation: generation, for: upload.caller)
    }

    /// Remembers what is there before anything is sent. For a session that is looked up in any case: some servers
    /// forget its preconditions.
    func lookBefore(createsSession: Bool = false) async throws(StorageError) {
        guard !predecessor.isSeen else { return }
        var generation = upload.preconditions.generation
        if createsSession || generation == nil || !backend.dialect.bindsWrites {
            generation = try await checkPreconditions()?.generation ?? generation
        }
        predecessor = .seen(generation)
    }

    /// What is there; nil where the caller may not look, and the server compares.
    @discardableResult private func checkPreconditions() async throws(StorageError) -> ObjectVersion? {
        let version: ObjectVersion
        switch try await look() {
        case .nothing: version = .none
        case .object(let object, _): version = object.version
        case .hidden(let refusal):
            if !backend.dialect.bindsWrites, !upload.preconditions.isEmpty { throw refusal }
            return nil
        }
        try upload.preconditions.check(version, at: upload.reference)
        return version
    }

    /// Before the bytes that complete a session, where the server compares nothing.
    func lookAgain() async throws(StorageError) {
        guard !backend.dialect.bindsWrites, !upload.preconditions.isEmpty else { return }
        try await checkPreconditions()
    }

    /// The object, if it is this upload's. Otherwise the upload is bound to what is there. Throws where somebody else
    /// has written since this process looked first.
    func ownStoredObject() async throws(StorageError) -> ObjectMetadata? {
        let now: ObjectVersion
        switch try await look() {
        case .hidden: return nil
        case .nothing: now = .none
        case .object(let object, let clockLead):
            if object.generation != predecessor.generation, !isOlder(object, clockLead), try await isOwn(object) {
                return object
            }
            now = object.version
        }
        fate.handle(.looked)
        if predecessor.isSeen, let generation = predecessor.generation, now.generation != generation {
            throw .overtaken(upload.reference, by: now)
        }
        try upload.preconditions.check(now, at: upload.reference)
        binding.generation = now.generation
        predecessor = .bound(now.generation)
        return nil
    }

    /// Whether it was there before the task was created, in an earlier process.
    private func isOlder(_ object: ObjectMetadata, _ clockLead: Duration) -> Bool {
        guard upload.isRestored, let began = upload.recorded?.began else { return false }
        return object.timeCreated < began.advanced(by: clockLead)
    }

    /// Whether it is just what this upload would make.
    private func isOwn(_ object: ObjectMetadata) async throws(StorageError) -> Bool {
        guard upload.metadata.isContained(in: object.settable) else { return false }
        // Of bytes that come once nothing else proves it.
        if case .incoming = upload.source, source.checksum(of: object.size) == nil { return false }
        return try await flaw(in: object) == nil
    }

    /// The answer to any step where an object was stored since the task was created, and it may not be replaced.
    func answerIfSuperseded() async throws(StorageError) -> UploadStrategy.Answer? {
        guard !replacesNewer, let began = upload.began ?? upload.recorded.map({ Beginning($0.began) }) else {
            return nil
        }
        switch try await look() {
        case .nothing: return nil
        case .hidden(let refusal):
            guard refusal.code == .unauthorized else { throw refusal }
            return .superseded(.unknownWhetherNewer(refusal))
        case .object(let object, let clockLead):
            guard began.isBefore(object, clockLead: clockLead) else { return nil }
            return try await isOwn(object) ? .completed(object) : .superseded(.newerObject(at: upload.reference))
        }
    }

    /// What a session says that it has stored, if that is there, or if something newer has replaced it. A session may
    /// say so of bytes that were refused in the end: after that only the object itself proves it.
    func proven(_ response: HTTPResponse, afterRefusal isRefused: Bool) async throws(StorageError) -> ObjectMetadata? {
        guard let named = try? backend.dialect.metadata(in: response, of: upload.reference) else {
            return try await verified(response)
        }
        switch try await look(generation: named.generation) {
        case .hidden: return isRefused ? nil : try await verified(response)
        case .object(let found, _) where found.generation == named.generation: return try await verified(found)
        case .object(let other, _): return !isRefused && backend.dialect.isNewer(other, than: named) ? named : nil
        case .nothing:
            guard !isRefused, case .object(let now, _) = try await look(), backend.dialect.isNewer(now, than: named)
            else { return nil }
            return named
        }
    }

    /// What the server's refusal means to an upload that is bound.
    ///
    /// - Parameter isRepetition: it may be this upload's own earlier try that was quicker: the next one looks.
    func refusal(
        _ response: HTTPResponse, of request: RemoteRequest, isRepetition: Bool = false
    ) async throws(StorageError) -> StorageError {
        var refusal = StorageError.refusal(response, of: request, to: upload.reference, by: backend.dialect)
        guard response.status == 412, refusal.code == .unknown, !binding.isEmpty else { return refusal }
        guard isRepetition else { return try await backend.preconditionFailed(upload.reference, for: upload.caller) }
        refusal.retryable = true
        return refusal
    }
}

extension StorageError {
    static func neverStored(_ reference: Reference) -> StorageError {
        StorageError(
            .unknown, "The server says that it has stored the upload of \(reference.url), but it is not there."
        ).about(reference)
    }
}
