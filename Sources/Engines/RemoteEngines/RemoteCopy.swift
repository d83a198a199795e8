import HTTPClient
import Platform
import Storage

/// The state from which a later process resumes a copy.
private struct CopyBookmark: Codable {
    /// The generation of the source.
    var generation: Int64
    var metageneration: Int64
    var size: Int64
    var crc32c: UInt32?
    var md5: [UInt8]?
    /// The tag of the source's bytes. Nil in bookmarks of earlier versions.
    var tag: String?
    /// The state of the `Way` of the bytes.
    var way: String
}

/// A copy or a move at a remote engine. The first step reads the source's metadata: that generation is copied. If it is
/// replaced meanwhile, the copy starts over with the new one, unless the client has named the old one.
///
/// A service with copies of its own makes the copy (`ServerCopy`). Otherwise the bytes pass through this process in
/// pieces, into an upload. A move then deletes the source, and fails if the source has changed meanwhile.
final class RemoteCopy: TransferSession {
    typealias Strategy = UploadStrategy
    typealias Answer = UploadStrategy.Answer

    /// The maximum number of bytes of an object in memory on their way through this process.
    static let largestPiece: Int64 = 8 << 20

    private enum Way {
        case server(ServerCopy)
        case bytes(RemoteUpload)
    }

    private let upload: Upload
    private let source: CopySource
    private let backend: RemoteBackend
    /// Nil until the source's metadata has been read.
    @Loop private var way: Way?
    /// The copy of a move that has not yet removed its source.
    @Loop private var copied: ObjectMetadata?

    init(of source: CopySource, as upload: Upload, _ backend: RemoteBackend) {
        (self.source, self.upload, self.backend) = (source, upload, backend)
        guard let mark = upload.bookmark.flatMap({ try? CopyBookmark(text: $0.text) }) else { return }
        // A way that still needs the source's own metadata forgets its session: the source is then read again.
        var found = ObjectMetadata(
            reference: source.reference, generation: mark.generation, metageneration: mark.metageneration,
            size: mark.size, timeCreated: upload.record.began, updated: upload.record.began,
            checksums: Checksums(md5: mark.md5, crc32c: mark.crc32c),
            settable: SettableMetadata())
        found.tagOfBytes = mark.tag
        source.found = found
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
            crc32c: found.checksums.crc32c, md5: found.checksums.md5, tag: found.tagOfBytes,
            way: state.text)
        return (try? mark.text).map(Bookmark.init)
    }

    func perform(_ step: UploadStrategy.Step, _ context: StepContext) async -> Answer {
        await backend.answer(to: step) { [self] in await answer(to: step, context) }
    }

    func discard() {
        Task { @Loop in discardWay() }
    }

    @Loop private func discardWay() {
        switch way {
        case .server(let copy): copy.discard()
        case .bytes(let upload): upload.discard()
        case nil: break
        }
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
    private func answer(to step: UploadStrategy.Step, _ context: StepContext) async -> Answer {
        do throws(StorageError) {
            return try await LastStatus.attached { () async throws(StorageError) in
                if let copied = self.copied { return .completed(try await self.removeSource(of: copied)) }
                if step == .open { try await self.find() }
                if try self.isLast(step) { try await self.lookAgain() }
                let answer = try await self.way(step, context)
                if case .failed(let error) = answer, error.isAboutReplaced(self.source) { throw error }
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
            if copied == nil, error.isAboutReplaced(source), source.request.preconditions.generation == nil {
                return .forgotten(error)
            }
            return Task.isCancelled ? .aborted : .failed(error)
        }
    }

    private func way(_ step: UploadStrategy.Step, _ context: StepContext) async throws(StorageError) -> Answer {
        switch way {
        case .server(let copy): return try await copy.answer(to: step, replacesNewer: context.replacesNewer)
        case .bytes(let upload): return await upload.perform(step, context)
        case nil: return step == .settle ? .aborted : .forgotten(StorageError(.unknown, "The copy was never opened."))
        }
    }

    /// Reads the metadata of the source.
    private func find() async throws(StorageError) {
        let found = try await backend.look(at: source, for: upload.caller)
        // A copy of an earlier version of the source is not continued.
        discardWay()
        source.found = found
        way = Self.makeWay(of: source, as: upload, backend, nil)
    }

    /// Whether the step may store the copy while the service does not check the preconditions on the source.
    private func isLast(_ step: UploadStrategy.Step) throws(StorageError) -> Bool {
        guard case .send(let range) = step, case .bytes(let upload) = way, !source.request.preconditions.isEmpty else {
            return false
        }
        return try upload.piece(of: range).upperBound == source.found?.size
    }

    private func lookAgain() async throws(StorageError) {
        let now = try await backend.look(at: source, for: upload.caller)
        guard now.generation == source.found?.generation else { throw .replaced(now) }
    }

    /// Deletes the source that was copied, unless it has changed since.
    private func removeSource(of copy: ObjectMetadata) async throws(StorageError) -> ObjectMetadata {
        guard let found = source.found else { throw StorageError(.internalError, "A move has no source.") }
        do throws(StorageError) {
            try await backend.delete(
                source.reference, if: Preconditions(found.version), for: upload.caller.with(retryTime: .zero))
        } catch {
            LastStatus.record(nil)
            switch (error.code, error.version) {
            // An earlier request has deleted the source, or another client has.
            case (.objectNotFound, _), (.preconditionFailed, ObjectVersion.none?): break
            case (.preconditionFailed, let version):
                throw .movedObjectChanged(source.reference, version, copy: copy.reference)
            default: throw error
            }
        }
        return copy
    }
}

extension UploadSource {
    /// In bytes: larger chunks are split.
    var largestPiece: Int64 { copy == nil ? .max : RemoteCopy.largestPiece }
}

extension RemoteBackend {
    /// A range of the source's generation. The whole copy is verified later.
    func bytes(_ range: Range<Int64>, of source: CopySource, _ caller: Caller) async throws(StorageError) -> [UInt8] {
        guard let object = source.found else { throw StorageError(.internalError, "A copy has no source.") }
        switch try await bytes(range, of: object, caller) {
        case .done(let bytes): return bytes
        case .doubtful(let error):
            let now = try await look(at: source, for: caller)
            throw now.generation == object.generation ? error : .replaced(now)
        }
    }

    /// The present metadata of the source. Throws `objectNotFound`, and `preconditionFailed` if it does not meet the
    /// client's preconditions.
    func look(at source: CopySource, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        switch try await look(at: source.reference, for: caller) {
        case .hidden(let refusal): throw refusal
        case .nothing: throw .objectNotFound(source.reference)
        case .object(let object, _):
            LastStatus.record(nil)
            try source.request.preconditions.check(object.version, at: source.reference)
            return object
        }
    }
}

extension StorageError {
    /// The source has been replaced.
    static func replaced(_ now: ObjectMetadata) -> StorageError {
        .preconditionFailed(now.reference, now.version, "was replaced while it was copied")
    }

    fileprivate func isAboutReplaced(_ source: CopySource) -> Bool {
        code == .preconditionFailed && object == source.reference.object && bucket == source.reference.bucket
            && version?.generation != source.found?.generation && source.found != nil
    }

    fileprivate static func movedObjectChanged(
        _ reference: Reference, _ version: ObjectVersion?, copy: Reference
    ) -> StorageError {
        .preconditionFailed(
            reference, version, "was changed while it was moved, and is kept; \(copy.url) has its earlier content")
    }
}

extension Range<Int64> {
    /// The first `count` elements of the range, or fewer.
    func upTo(_ count: Int64) -> Range<Int64> {
        lowerBound..<Swift.min(upperBound, lowerBound.addingSaturated(count))
    }
}
