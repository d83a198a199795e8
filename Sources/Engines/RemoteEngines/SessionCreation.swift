import Platform
import Storage

/// The request that opens an upload's session. It completes even if its step is stopped: the next step gets the
/// session, and a session that no step needs is cancelled at the server.
@Loop final class SessionCreation {
    typealias Opened = Result<RemoteSession, StorageError>

    private var isUnderWay = false
    private var isDiscarded = false
    /// The result of a finished request, until a step takes it.
    private var opened: Opened?
    private lazy var finished = Waiters()

    nonisolated init() {}

    typealias Open = @Loop () async throws(StorageError) -> RemoteSession

    /// The session, once it is open. Throws at once if the step is stopped. `open` makes the request, unless one is
    /// under way.
    func session(
        of upload: Upload, at backend: RemoteBackend, _ open: @escaping Open
    ) async throws(StorageError) -> RemoteSession {
        if case .failure? = opened { opened = nil }
        if opened == nil, !isUnderWay { begin(upload, backend, open) }
        while isUnderWay {
            do { try await finished.wait() } catch { throw StorageError(.cancelled, "The session is opening.") }
        }
        defer { opened = nil }
        guard let opened else { throw StorageError(.internalError, "The opening has no result.") }
        return try opened.get()
    }

    /// Cancels the session that was opened or is being opened, unless a step has taken it.
    func discard(_ upload: Upload, at backend: RemoteBackend) {
        isDiscarded = true
        if case .success(let session)? = opened { backend.cancel(session, upload) }
        opened = nil
    }

    private func begin(_ upload: Upload, _ backend: RemoteBackend, _ open: @escaping Open) {
        isUnderWay = true
        backend.background.run { [self] in
            do throws(StorageError) { opened = .success(try await open()) } catch { opened = .failure(error) }
            isUnderWay = false
            if isDiscarded { discard(upload, at: backend) }
            finished.wakeAll()
        }
    }
}
