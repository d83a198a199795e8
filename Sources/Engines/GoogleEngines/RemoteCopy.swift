import HTTPClient
import Platform
import Storage
import Synchronization

/// What a later process needs to resume a copy.
private struct CopyBookmark: Codable {
    /// The object that is copied.
    var generation: Int64
    var metageneration: Int64
    var size: Int64
    var crc32c: UInt32?
    var md5: [UInt8]?
    /// The state of the way that its bytes take.
    var way: String
}

/// A copy or a move at a remote engine. The first step looks at the object: that generation is copied, and no other.
///
/// A service that copies objects does so itself (`ServerCopy`). Otherwise the bytes come here in pieces, and go into an
/// upload. The source of a move is deleted after that, unless it has changed meanwhile: then the move fails.
final class RemoteCopy: TransferSession {
    typealias Strategy = UploadStrategy
    typealias Answer = UploadStrategy.Answer

    /// Bytes of an object that are in memory on their way through this process.
    static let largestPiece: Int64 = 8 << 20

    private enum Way {
        case server(ServerCopy)
        case bytes(RemoteUpload)
    }

    private struct Work {
        var task: Task<Answer, Never>?
        var isStopped = false
    }

    private let upload: Upload
    private let source: CopySource
    private let backend: RemoteBackend
    private let work = Mutex(Work())
    /// Nil until the object was looked at.
    @Loop private var way: Way?
    /// The copy of a move whose source is still there.
    @Loop private var copied: ObjectMetadata?

    init(of source: CopySource, as upload: Upload, _ backend: RemoteBackend) {
        (self.source, self.upload, self.backend) = (source, upload, backend)
        guard let mark = upload.bookmark.flatMap({ try? CopyBookmark(text: $0.text) }) else { return }
        // Its own metadata is not needed any more: the copy was opened.
        source.found = ObjectMetadata(
            reference: source.reference, generation: mark.generation, metageneration: mark.metageneration,
            size: mark.size, timeCreated: upload.began, updated: upload.began, md5: mark.md5, crc32c: mark.crc32c,
            settable: SettableMetadata())
        way = Self.makeWay(of: source, as: upload, backend, mark.way)
    }

    func bookmark() async -> Bookmark? {
        guard let found = source.found else { return nil }
        let state: Bookmark? =
            switch await way {
            case .server(let copy): await copy.bookmark
            case .bytes(let upload): await upload.bookmark()
            case nil: nil
            }
        guard let state else { return nil }
        let mark = CopyBookmark(
            generation: found.generation, metageneration: found.metageneration, size: found.size,
            crc32c: found.crc32c, md5: found.md5, way: state.text)
        return (try? mark.text).map(Bookmark.init)
    }

    func perform(
        _ step: UploadStrategy.Step, replacesNewer: Bool, _ report: @escaping @Sendable (Progress) -> Void
    ) async -> Answer {
        work.withLock { $0 = Work() }
        let task = await Loop.immediateTask { [self] in await answer(to: step, replacesNewer: replacesNewer, report) }
        let isStopped = work.withLock { work in
            work.task = task
            return work.isStopped
        }
        if isStopped { task.cancel() }
        if step == .settle { stop(task, after: RemoteUpload.settlingTime) }
        return await task.value
    }

    private func stop(_ task: Task<Answer, Never>, after limit: Duration) {
        Task { @Loop [clock = backend.time.clock] in
            do { try await clock.sleep(for: limit) } catch { return }
            task.cancel()
        }
    }

    func abort() {
        let task = work.withLock { work in
            work.isStopped = true
            return work.task
        }
        task?.cancel()
    }

    func discard() {
        Task { @Loop in if case .bytes(let upload) = way { upload.discard() } }
    }

    private static func makeWay(
        of source: CopySource, as upload: Upload, _ backend: RemoteBackend, _ state: String?
    ) -> Way {
        var upload = upload
        if let found = source.found { upload.metadata = source.request.metadata(upload.metadata, of: found.settable) }
        upload.bookmark = state.map(Bookmark.init)
        if let dialect = backend.dialect.copies { return .server(ServerCopy(of: source, as: upload, backend, dialect)) }
        return .bytes(
            RemoteUpload(upload, backend) { [caller = upload.caller] range async throws(StorageError) in
                try await backend.bytes(range, of: source, caller)
            })
    }
}

@Loop extension RemoteCopy {
    private func answer(
        to step: UploadStrategy.Step, replacesNewer: Bool, _ report: @escaping @Sendable (Progress) -> Void
    ) async -> Answer {
        do throws(StorageError) {
            return try await LastStatus.attached { () async throws(StorageError) in
                if let copied = self.copied { return .completed(try await self.removeSource(of: copied)) }
                if step == .open { try await self.find() }
                let answer = await self.way(step, replacesNewer, report)
                switch answer {
                case .opened(let granularity, _):
                    return .opened(granularity: granularity, size: self.source.found?.size)
                case .completed(let stored) where self.source.request.isMove:
                    self.copied = stored
                    return .completed(try await self.removeSource(of: stored))
                default: return answer
                }
            }
        } catch {
            let error = error.orAbout(upload.reference).explained(backend.dialect)
            if copied != nil, step == .settle { return .unsettled(error) }
            return Task.isCancelled ? .aborted : .failed(error)
        }
    }

    private func way(
        _ step: UploadStrategy.Step, _ replacesNewer: Bool, _ report: @escaping @Sendable (Progress) -> Void
    ) async -> Answer {
        switch way {
        case .server(let copy): return await copy.answer(to: step, replacesNewer: replacesNewer)
        case .bytes(let upload):
            return await withTaskCancellationHandler {
                await upload.perform(step, replacesNewer: replacesNewer, report)
            } onCancel: {
                upload.abort()
            }
        case nil: return step == .settle ? .aborted : .forgotten(StorageError(.unknown, "The copy was never opened."))
        }
    }

    /// Looks at the object that is to be copied. A copy that begins anew is one of the same generation.
    private func find() async throws(StorageError) {
        let reference = source.reference
        switch try await backend.look(at: reference, for: upload.caller) {
        case .hidden(let refusal): throw refusal
        case .nothing: throw .objectNotFound(reference)
        case .object(let object, _):
            try source.request.preconditions.check(object.version, at: reference)
            if let found = source.found, found.generation != object.generation { throw .copiedObjectChanged(reference) }
            source.found = object
            way = Self.makeWay(of: source, as: upload, backend, nil)
        }
    }

    /// Deletes the generation that was copied. Another one stays.
    private func removeSource(of copy: ObjectMetadata) async throws(StorageError) -> ObjectMetadata {
        guard let found = source.found else { throw StorageError(.internalError, "A move has no source.") }
        do throws(StorageError) {
            try await backend.delete(
                source.reference, if: Preconditions(generation: found.generation),
                for: upload.caller.with(retryTime: .zero))
        } catch {
            switch (error.code, error.version) {
            // An earlier request has deleted it, or somebody else has.
            case (.objectNotFound, _), (.preconditionFailed, ObjectVersion.none?): break
            case (.preconditionFailed, _): throw .movedObjectChanged(source.reference, copy: copy.reference)
            default: throw error
            }
        }
        return copy
    }
}

extension UploadSource {
    /// In bytes: larger chunks are cut.
    var largestPiece: Int64 { copy == nil ? .max : RemoteCopy.largestPiece }
}

extension Upload {
    fileprivate var began: Timestamp { record?.began ?? Timestamp(microseconds: 0) }
}

extension RemoteBackend {
    /// A range of the generation that is copied. It is verified with the whole copy.
    func bytes(_ range: Range<Int64>, of source: CopySource, _ caller: Caller) async throws(StorageError) -> [UInt8] {
        guard let object = source.found else { throw StorageError(.internalError, "A copy has no source.") }
        let memory = MemoryDestination(expecting: range.upperBound - range.lowerBound)
        let sink = MediaSink(
            StoredContent(object), from: range.lowerBound, to: range.upperBound, into: memory, dialect)
        switch try await fetch(into: sink, caller) {
        case .done: return memory.taken
        case .doubtful(let error):
            guard case .object(let now, _) = try await look(at: object.reference, for: caller),
                now.generation == object.generation
            else { throw .copiedObjectChanged(object.reference) }
            throw error
        }
    }
}

extension StorageError {
    fileprivate static func copiedObjectChanged(_ reference: Reference) -> StorageError {
        StorageError(.unknown, "Object \(reference.url) was replaced or deleted while it was copied.").about(reference)
    }

    fileprivate static func movedObjectChanged(_ reference: Reference, copy: Reference) -> StorageError {
        StorageError(
            .preconditionFailed,
            "Object \(reference.url) was replaced while it was moved, and stays. What it was before is at \(copy.url)."
        ).about(reference)
    }
}

extension Range<Int64> {
    /// At most so many from the beginning.
    func upTo(_ count: Int64) -> Range<Int64> {
        lowerBound..<Swift.min(upperBound, lowerBound.addingSaturated(count))
    }
}
