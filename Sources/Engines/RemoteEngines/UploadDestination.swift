import Checksums
import HTTPClient
import HTTPText
import Platform
import Storage

// Why a look precedes a write, and takes a round trip of its own
//
// A write W of this service has no answer. Two looks tell whether it has stored the object: B before it, and N now.
//
//     N = B                      not stored: the write is repeated, bound to that generation
//     N ≠ B, just like ours      stored: that is the answer
//     N ≠ B, anything else       another client's write O followed: it stays (`overtaken`)
//
// This requires that B was answered before W was sent. A look that is sent together with W may be carried out after it:
//
//     W, B, N        B and N are ours: the write is repeated over itself, with the same bytes. Harmless.
//     B, W, O, N     N ≠ B: O stays, as with a look before.
//     W, O, B, N     B = N = O, as if W had never arrived, and O were older. The repetition would undo O,
//                    which may have been made of what W stored. No precondition prevents it: it is bound to O.
//
// Without any look "B, W, N" with an older B looks the same as "W, O, N". Times do not help: `Date` has whole
// seconds. So the look is left out only in two cases, in which an upload is one request:
//
// - The client states B itself with `ifGenerationMatch`, 0 for a new object, and the server is known to compare: it refuses
//   a W that would replace anything else.
// - The task over a folder has listed the target, and it has no such object: B is nothing. An O between the list and a W
//   without an answer stays, and the upload of that file fails, as after a look.

/// The object with the name of an upload: before the upload, while a request has no answer, and afterwards.
///
/// Compares the object before the upload with the present one, to find out whether a request without an answer has
/// stored it.
@Loop final class UploadDestination {
    var upload: Upload { source.upload }
    let backend: RemoteBackend
    let source: UploadReader
    var fate = UploadFate()
    var replacesNewer = true
    var predecessor = Predecessor.recorded(nil)
    /// The generation and the tag of the object that was looked up last.
    private var seen: (generation: Int64, tag: String)?
    /// The preconditions of requests: the client's, and in a retry the generation that was found.
    private(set) var binding: Preconditions
    /// The identity of the object that this upload stores, the same in all attempts.
    private(set) var write: RemoteWrite?

    nonisolated init(
        _ upload: Upload, _ source: UploadReader, _ backend: RemoteBackend, before: Int64? = nil,
        write: RemoteWrite? = nil
    ) {
        (self.source, self.backend, self.write) = (source, backend, write)
        binding = upload.preconditions
        predecessor = .recorded(before)
        if upload.isRestored { fate.handle(.restored) }
    }

    /// Sends a request with the last bytes, whose response decides the fate of the upload.
    ///
    /// - Parameter reach: what the server may have received of a failed request; nil stands for a failure before
    ///   sending.
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

    /// The identity for the next request that may store the object.
    func nextWrite(partSize: Int64? = nil) -> RemoteWrite {
        let time = backend.dialect.writeTime ?? backend.time.now()
        let next = max((predecessor.generation ?? 0).addingSaturated(1), time.microseconds)
        var write = self.write ?? RemoteWrite(id: newID, generation: next, time: time)
        if let before = predecessor.generation, write.generation <= before {
            (write.generation, write.time) = (next, time)
        }
        write.partSize = partSize
        write.replacedTag = seen.flatMap { $0.generation == binding.generation ? $0.tag : nil }
        (write.md5, write.crc32c) = (upload.expectedMD5.flatMap { [UInt8](base64: $0) }, upload.expectedCRC32C)
        if backend.dialect.marksWrites { self.write = write }
        return write
    }

    /// For a recorded task the identity that another process would compute, too. It does not tell the task's id.
    private var newID: String {
        guard let recorded = upload.recorded, backend.dialect.marksWrites else { return SecureRandom().uuid() }
        let text = "\(recorded.id)\n\(recorded.began.microseconds)\n\(upload.reference.url)"
        return Checksum(of: Array(text.utf8)).md5.hexadecimal
    }

    /// Whether this upload has written the object, according to the identity that is stored with it. Nil if the service
    /// stores none, or if this process does not know the upload's own.
    private func hasWritten(_ object: ObjectMetadata) -> Bool? {
        guard backend.dialect.marksWrites, write != nil || upload.recorded != nil else { return nil }
        return object.writeID == write?.id ?? newID
    }

    private func look(generation: Int64? = nil) async throws(StorageError) -> LookupResult {
        let found = try await backend.look(at: upload.reference, generation: generation, for: upload.caller)
        if case .object(let object, _) = found, let tag = object.tagOfBytes { seen = (object.generation, tag) }
        return found
    }

    /// Records the object's version before anything is sent. Before a session is created it always reads it, since some
    /// servers forget the session's preconditions.
    func lookBefore(createsSession: Bool = false) async throws(StorageError) {
        guard !predecessor.isSeen else { return }
        if upload.isListedAsNew, upload.preconditions.isEmpty, !createsSession { return predecessor = .seen(0) }
        var generation = upload.preconditions.generation
        if createsSession || generation == nil || !bindsNewObject {
            generation = try await checkPreconditions()?.generation ?? generation
        }
        predecessor = .seen(generation)
    }

    /// Whether the server checks the preconditions of an upload in one request.
    private var bindsNewObject: Bool {
        backend.dialect.bindsWrites
            || upload.preconditions == Preconditions(generation: 0)
                && backend.dialect.checksConditions(in: upload.reference.bucket)
    }

    /// The present version; nil if the caller may not read it and the server checks the preconditions.
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

    /// Checks the preconditions before the bytes that complete a session, if the server does not.
    func lookAgain() async throws(StorageError) {
        guard !backend.dialect.bindsWrites, !upload.preconditions.isEmpty else { return }
        try await checkPreconditions()
    }

    /// The stored object, if this upload has stored it. Otherwise binds the upload to the present version. Throws if
    /// another client has written since this process first looked.
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

    /// Whether the object was stored before the task was created, in an earlier process.
    private func isOlder(_ object: ObjectMetadata, _ clockLead: Duration) -> Bool {
        guard upload.isRestored, let began = upload.recorded?.began else { return false }
        return object.timeCreated < began.advanced(by: clockLead)
    }

    /// Whether the object equals the one that this upload would store.
    private func isOwn(_ object: ObjectMetadata) async throws(StorageError) -> Bool {
        if let hasWritten = hasWritten(object) { return hasWritten }
        guard upload.metadata.isContained(in: object.settable) else { return false }
        // For bytes that can be read only once, their checksum is the only proof.
        if case .incoming = upload.source, source.checksum(of: object.size) == nil { return false }
        return try await flaw(in: object) == nil
    }

    /// The answer to any step if the object is newer than the task and may not be replaced; nil otherwise.
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

    /// The object that a session claims to have stored, if it exists or a newer one has replaced it. A session may make
    /// this claim about bytes that were finally refused: then only the object itself proves it.
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

    /// The error for the refusal of an upload that is bound to a version.
    ///
    /// - Parameter isRepetition: an earlier attempt of this upload may have succeeded, so the next one looks first.
    func refusal(
        _ response: HTTPResponse, of request: RemoteRequest, isRepetition: Bool = false
    ) async throws(StorageError) -> StorageError {
        var refusal = StorageError.refusal(response, of: request, to: upload.reference, by: backend.dialect)
        if response.status == 404, request.headers["If-Match"] != nil, case .nothing = try await look() {
            return .preconditionFailed(upload.reference, ObjectVersion.none).after(httpStatus: 404)
        }
        guard response.status == 412, refusal.code == .unknown, !binding.isEmpty else { return refusal }
        guard isRepetition else { return try await backend.preconditionFailed(upload.reference, for: upload.caller) }
        refusal.retryable = true
        return refusal
    }
}

extension StorageError {
    /// The error of an upload of which an earlier request may be carried out nonetheless.
    var leftInDoubt: StorageError {
        mayBeStored == true
            ? self
            : adding("A request to store the object has no final answer: it may be stored, or may be stored later.")
                .with(\.mayBeStored, true)
    }

    static func neverStored(_ reference: Reference) -> StorageError {
        StorageError(
            .unknown, "The server says that it has stored the upload of \(reference.url), but it is not there."
        ).about(reference)
    }
}
