import HTTPClient
import LocalFiles
import Platform
import Storage

/// The state from which the next process resumes a copy that the service makes.
private struct ServerCopyBookmark: Codable {
    var token: String?
    var copied: Int64
    /// The generation before the copy.
    var before: Int64?
}

/// A copy that the service makes itself, so that no bytes pass through this process.
@Loop final class ServerCopy {
    private let upload: Upload
    private let source: CopySource
    private let backend: RemoteBackend
    private let dialect: any CopyDialect
    private let destination: UploadDestination
    /// The token of the last call; nil before the first one.
    private var token: String?
    private var copied: Int64 = 0
    /// The request that makes the object of the parts was sent, or may have been sent by an earlier process. Nil until that
    /// is known.
    private var isCompleting: Bool? = false
    private let opening = SessionCreation()

    nonisolated init(of source: CopySource, as upload: Upload, _ backend: RemoteBackend, _ dialect: any CopyDialect) {
        (self.source, self.upload, self.backend, self.dialect) = (source, upload, backend, dialect)
        let mark = upload.bookmark.flatMap { try? ServerCopyBookmark(text: $0.text) }
        destination = UploadDestination(upload, UploadReader(upload, at: backend), backend, before: mark?.before)
        if let mark { (token, copied, isCompleting) = (mark.token, mark.copied, mark.token == nil ? false : nil) }
    }

    var bookmark: Bookmark? {
        let mark = ServerCopyBookmark(token: token, copied: copied, before: destination.predecessor.generation)
        return (try? mark.text).map(Bookmark.init)
    }

    /// Cancels a copy in parts at the server, unless the request that completes it was sent or may have been sent.
    func discard() {
        opening.discard(upload, at: backend)
        cancelParts()
    }

    private func cancelParts() {
        guard let (session, object, parts) = copyInParts else { return }
        token = nil
        switch isCompleting {
        case false?: backend.cancel(session, upload)
        case nil: backend.cancel(session, upload, unlessWhole: object.size, parts)
        case true?: break
        }
    }

    /// The session of a copy in parts, with its source.
    private var copyInParts: (RemoteSession, ObjectMetadata, any PartDialect)? {
        guard let token, let object = source.found, case .parts(let parts) = backend.dialect.sessions,
            let session = dialect.session(of: token, copying: object)
        else { return nil }
        return (session, object, parts)
    }

    /// The answer to a step. Throws an error that concerns the source.
    func answer(
        to step: UploadStrategy.Step, replacesNewer: Bool
    ) async throws(StorageError) -> UploadStrategy.Answer {
        destination.replacesNewer = replacesNewer
        do throws(StorageError) {
            switch step {
            case .open: return try await open()
            case .query:
                if let stored = try await stored() { return .completed(stored) }
                if isCompleting == nil, let (session, object, parts) = copyInParts {
                    isCompleting = try? await backend.hasAllParts(session, of: object.size, upload, parts)
                }
                guard token == nil, isRestored, dialect.repeatsMetadata else { return .received(upTo: copied) }
                return .forgotten(StorageError(.unknown, "The copy of \(source.reference.url) has not begun."))
            case .send: return try await send()
            case .settle:
                if let stored = try await stored() { return .completed(stored) }
                guard destination.fate.mayBeStored else { return .aborted }
                throw StorageError(.unknown, "The server has not answered the copy to \(upload.reference.url).")
            case .sendWhole, .compare: throw StorageError(.internalError, "The service copies in several calls.")
            }
        } catch {
            if error.object == source.reference.object, !destination.fate.mayBeStored { throw error }
            let error = error.orAbout(upload.reference).explained(backend.dialect)
            let isInDoubt = Task.isCancelled || error.retryable || step == .settle
            if destination.fate.mayBeStored, isInDoubt { return .unsettled(error) }
            guard !Task.isCancelled else { return .aborted }
            return .failed(destination.fate.isInDoubt ? error.leftInDoubt : error)
        }
    }

    private func open() async throws(StorageError) -> UploadStrategy.Answer {
        if let answer = try await destination.answerIfSuperseded() { return answer }
        try backend.dialect.check(upload.metadata)
        if let expected = source.found?.checksums.md5 { try upload.checkMD5(expected) }
        if !isAtOnce { try await destination.lookBefore(createsSession: true) }
        (token, copied, isCompleting) = (nil, 0, false)
        return .opened()
    }

    /// Whether an earlier process has read the metadata of the source, which the bookmark does not have.
    private var isRestored: Bool { upload.bookmark != nil }

    /// Whether one request makes the copy: the look right before it is the only one.
    private var isAtOnce: Bool { source.found.map(dialect.copiesAtOnce) ?? false }

    /// The object that a call without an answer has stored; nil if it has not.
    private func stored() async throws(StorageError) -> ObjectMetadata? {
        destination.fate.mayBeStored ? try await destination.ownStoredObject() : nil
    }

    private func send() async throws(StorageError) -> UploadStrategy.Answer {
        let turn = try await backend.turn(of: upload.reference, for: upload.caller)
        defer { turn?.done() }
        if let stored = try await stored() { return .completed(stored) }
        if let answer = try await destination.answerIfSuperseded() { return answer }
        if isAtOnce, !destination.predecessor.isSeen {
            try await destination.lookBefore(createsSession: true)
        } else {
            try await destination.lookAgain()
        }
        guard let object = source.found else { throw StorageError(.internalError, "A copy has no source.") }
        if token == nil, !isAtOnce, case .parts = backend.dialect.sessions { token = try await openedToken(object) }
        let parts = copyInParts?.2, isLast = parts != nil && copied == object.size, isRepeated = isCompleting != false
        if parts != nil { try await checkSource(object) }
        if isLast { isCompleting = true }
        let request = dialect.copy(
            object, as: upload, destination.nextWrite(), after: token, if: destination.binding)
        let response: HTTPResponse
        do throws(StorageError) {
            response = try await destination.last(reach: { $0?.mayHaveReachedServer == true ? .all : .nothing }) {
                onLost async throws(StorageError) in
                try await backend.ask(request, for: upload.caller, about: upload.reference, onLost: onLost)
            }
        } catch {
            if !isRepeated, !destination.fate.mayBeStored { isCompleting = false }
            throw error
        }
        turn?.done()
        func refused(_ response: HTTPResponse) async throws(StorageError) -> StorageError {
            if isLast, !isRepeated, let parts, parts.isFinal(response), parts.changesNothing(response) {
                isCompleting = false
            }
            return try await refusal(response, of: request, object)
        }
        guard response.isSuccess else { throw try await refused(response) }
        switch try status(response, to: request, object) {
        case .refused(let response): throw try await refused(response)
        case .stored: return .completed(try await destination.verified(response))
        case .done(let stored): return .completed(try await destination.verified(stored))
        case .copied(let count, let token):
            destination.fate.handle(.begunAnew)
            (self.token, copied) = (token, count)
            return .received(upTo: count)
        }
    }

    private func status(
        _ response: HTTPResponse, to request: RemoteRequest, _ object: ObjectMetadata
    ) throws(StorageError) -> CopyStatus {
        try response.understood(about: upload.reference) { response throws(GarbledAnswer) in
            try dialect.copied(response, by: request, of: object, to: upload.reference, after: token)
        }
    }

    /// Opens the session of a copy in parts.
    private func openedToken(_ object: ObjectMetadata) async throws(StorageError) -> String {
        let request = dialect.copy(object, as: upload, destination.nextWrite(), after: nil, if: destination.binding)
        return try await opening.session(of: upload, at: backend) { [self] () async throws(StorageError) in
            let response = try await backend.ask(request, for: upload.caller, about: upload.reference)
            guard response.isSuccess else { throw try await refusal(response, of: request, object) }
            switch try status(response, to: request, object) {
            case .refused(let response): throw try await refusal(response, of: request, object)
            case .copied(0, let token) where dialect.session(of: token, copying: object) != nil:
                return RemoteSession(text: token)
            case .copied, .done, .stored: throw .garbled("no session", response, upload.reference)
            }
        }.text
    }

    /// Throws if the source of a copy in parts was replaced: Ceph does not check the condition of a part.
    private func checkSource(_ object: ObjectMetadata) async throws(StorageError) {
        let now = try await backend.look(at: source, for: upload.caller)
        guard now.generation == object.generation else { throw .replaced(now) }
    }

    private func refusal(
        _ response: HTTPResponse, of request: RemoteRequest, _ object: ObjectMetadata
    ) async throws(StorageError) -> StorageError {
        switch response.status {
        case 400 where token != nil, 410 where token != nil: return expired(response, of: request)
        case 404 where !backend.dialect.error(in: response).isMissingBucket:
            let now = try await backend.look(at: source, for: upload.caller)
            guard now.generation == object.generation else { return .replaced(now) }
            guard token == nil else { return expired(response, of: request) }
            return .refusal(response, of: request, to: object.reference, by: backend.dialect)
        case 412:
            let now = try await backend.look(at: source, for: upload.caller)
            guard now.generation == object.generation else { return .replaced(now) }
            return try await destination.refusal(
                response, of: request, isRepetition: destination.predecessor.isBound)
        default: return .refusal(response, of: request, to: upload.reference, by: backend.dialect)
        }
    }

    /// The error for a token that has expired, or whose session the server has lost: the copy starts over.
    private func expired(_ response: HTTPResponse, of request: RemoteRequest) -> StorageError {
        cancelParts()
        (token, copied, isCompleting) = (nil, 0, false)
        return .refusal(response, of: request, to: upload.reference, by: backend.dialect).with(\.retryable, true)
    }
}
