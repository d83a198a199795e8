import Checksums
import Database
import Platform
import LocalFiles
import Roots
import Storage
import Synchronization

/// An upload to the embedded engine. Small ones are stored as a row, larger ones in a file: at once, or in chunks.
final class EmbeddedUpload: TransferSession {
    typealias Strategy = UploadStrategy
    private typealias PendingAnswer = AbortableStep<UploadMachine.Answer>

    /// The number of bytes that the loop hashes in less time than it takes to wake a thread.
    private static let quicklyHashed = 16 << 10

    private let upload: Upload
    private let backend: EmbeddedBackend
    /// Runs one step at a time: an aborted step finishes before the next begins.
    private let queue: SerialQueue<State>
    private let latest = Mutex<StagingProgress?>(nil)
    private let context = Mutex(StepFlags())
    /// The bytes from the inspection. The first attempt takes them, and a pause drops them: a later attempt reads the
    /// file again.
    private let bytesOfFile: Mutex<[UInt8]?>

    private struct State {
        var staging: Staging?
        /// The checkpoint of an earlier process, until it has been verified.
        var known: UploadCheckpoint?
        /// The file receives all bytes in one step.
        var isWhole = false
        /// The file's row has the id of the task.
        var isClaimed = false
        /// The last step has failed, and the file may contain bytes of it.
        var hasFailed = false
        var isDiscarded = false
    }

    init(_ upload: Upload, _ backend: EmbeddedBackend) {
        bytesOfFile = Mutex(upload.bytesOfFile)
        self.upload = upload.bytesOfFile == nil ? upload : upload.with(bytesOfFile: nil)
        self.backend = backend
        let known = upload.bookmark.flatMap { try? UploadCheckpoint(text: $0.text) }
        queue = SerialQueue(on: backend.files, State(known: known))
    }

    func perform(_ step: UploadMachine.Step, _ context: StepContext) async -> UploadMachine.Answer {
        await PendingAnswer.answer(aborted: .aborted) { attempt in
            self.context.withLock { $0 = context.flags }
            let mayBeInVain = !context.replacesNewer || !upload.preconditions.isEmpty || backend.buckets.named != nil
            // The step after a comparison looks.
            if !mayBeInVain || step.isComparison {
                begin(step, context.bytes, attempt)
            } else {
                beginUnlessInVain(step, context.bytes, attempt)
            }
        }
    }

    func park() {
        bytesOfFile.withLock { $0 = nil }
        queue.submit { $0.staging?.park() }
    }

    private func begin(_ step: UploadMachine.Step, _ bytes: IncomingBytes?, _ attempt: PendingAnswer) {
        switch step {
        case .sendWhole: sendWhole(attempt)
        case .open: open(attempt)
        case .query: query(dropping: bytes?.dropsProvisional == true, attempt)
        case .send(let range): send(range, of: upload.with(bytes), attempt)
        // Every answer of this engine says what is stored, so nothing is in doubt.
        case .settle: attempt.answer(.aborted)
        case .compare(let range): compare(range, with: bytes?.piece, attempt)
        }
    }

    /// Fails early if the commit would refuse the upload. The commit checks again.
    private func beginUnlessInVain(_ step: UploadMachine.Step, _ bytes: IncomingBytes?, _ attempt: PendingAnswer) {
        Loop.task { [self] in
            do throws(StorageError) {
                let isInVain = try await backend.store.read { [self] database in
                    try checkBuckets(database)
                    try database.check(upload.preconditions, at: upload.reference)
                    return try isSuperseded(database)
                }
                if isInVain { attempt.answer(superseded) } else if !attempt.isAborted { begin(step, bytes, attempt) }
            } catch {
                attempt.answer(.failed(error))
            }
        }
    }

    func discard() {
        queue.submit { [self] state in
            state.isDiscarded = true
            state.known = nil
            if state.staging != nil {
                removeStaging(&state)
            } else if upload.isRestored, let task = upload.recorded?.id {
                Loop.task { [backend] in backend.removeFiles(for: task) }
            }
        }
    }

    /// Removes the file after a failed upload in one step: the next attempt uses another one.
    private func removeWhole(_ file: Int64) {
        queue.submit { [self] state in
            guard state.isWhole else { return }
            if state.staging?.file == file { state.staging = nil }
            backend.remove(file)
        }
    }

    private func removeStaging(_ state: inout State) {
        guard let file = state.staging?.file else { return }
        state.staging = nil
        latest.withLock { $0 = nil }
        backend.remove(file)
    }

    func bookmark() async -> Bookmark? {
        guard let progress = latest.withLock({ $0 }) else { return upload.bookmark }
        return await progress.lastCheckpoint().flatMap { checkpoint in try? checkpoint.text }.map(Bookmark.init)
    }

    /// The directories that the source must be in.
    private var allowed: AllowedDirectories? {
        upload.isSpooled ? .own : backend.allowed.narrowed(to: upload.record.request?.confinement).reading
    }

    private func sendWhole(_ attempt: PendingAnswer) {
        switch upload.source {
        case .object(let source): copy(source.request, attempt)
        case .data(let bytes) where bytes.count <= EmbeddedBackend.largestRow: commit(whole: bytes, attempt)
        case .file(let path, let identity) where identity.size <= EmbeddedBackend.largestRow:
            sendRow(of: path, identity, attempt)
        case .data, .file:
            stage(attempt) { [self] state, staging throws(StorageError) in
                state.isWhole = true
                try finish(staging, 0..<(upload.source.size ?? 0), of: upload, attempt)
            }
        case .incoming: attempt.answer(.failed(StorageError(.internalError, "The bytes come in chunks.")))
        }
    }

    /// The bytes of a file become a row of the database.
    private func sendRow(of path: String, _ identity: FileIdentity, _ attempt: PendingAnswer) {
        if let bytes = bytesOfFile.withLock({ exchange(&$0, with: nil) }) { return commit(whole: bytes, attempt) }
        queue.submit { [self] _ in
            do throws(StorageError) {
                let bytes = try SourceFile(path, identity, in: allowed).readWhole()
                commit(whole: bytes, here: true, attempt)
            } catch {
                attempt.answer(.failed(error))
            }
        }
    }

    /// The bytes become a row of the database.
    private func commit(whole bytes: [UInt8], _ attempt: PendingAnswer) {
        if bytes.count <= Self.quicklyHashed { return commit(whole: bytes, here: false, attempt) }
        queue.submit { [self] _ in commit(whole: bytes, here: true, attempt) }
    }

    private func commit(whole bytes: [UInt8], here: Bool, _ attempt: PendingAnswer) {
        let checksum = Checksum(of: bytes)
        let (md5, crc32c) = (checksum.md5, checksum.crc32c)
        do throws(StorageError) { try upload.check(md5: md5, crc32c) } catch {
            return attempt.answer(.failed(error))
        }
        commit(.bytes(bytes), size: Int64(bytes.count), md5: md5, crc32c: crc32c, here: here, attempt)
    }

    private func open(_ attempt: PendingAnswer) {
        // An aborted step may nevertheless have opened the upload.
        if latest.withLock({ $0 != nil }) { return attempt.answer(.opened()) }
        stage(attempt) { [self] _, staging in
            rest(staging)
            attempt.answer(.opened())
        }
    }

    /// Closes the descriptors of an upload that waits for its client.
    private func rest(_ staging: Staging) { if case .incoming = upload.source { staging.park() } }

    private typealias StagedStep = @Sendable (inout State, Staging) throws(StorageError) -> Void

    /// Runs `body` with an empty file, on a thread that may block.
    private func stage(_ attempt: PendingAnswer, _ body: @escaping StagedStep) {
        backend.reserved.take { [self] reserved in
            queue.submit { [self] state in
                do throws(StorageError) {
                    try stage(reserved.get(), attempt, &state, body)
                } catch {
                    attempt.answer(.failed(error))
                }
            }
        }
    }

    private func stage(
        _ file: Int64, _ attempt: PendingAnswer, _ state: inout State, _ body: @escaping StagedStep
    ) throws(StorageError) {
        guard !attempt.isAborted, !state.isDiscarded else { return backend.remove(file) }
        try backend.objectFiles.root.check()
        guard let target = try backend.objectFiles.empty(file) else {
            // Another program has removed or replaced the file.
            backend.reserved.forget()
            return stage(attempt, body)
        }
        let staging = Staging(
            file: file, target, in: backend.objectFiles, upload.source, from: allowed, hashing: backend.hashing,
            blocks: backend.blocks)
        use(staging, &state)
        if upload.isRestored { claim(&state) }
        do throws(StorageError) {
            try body(&state, staging)
        } catch {
            removeStaging(&state)
            throw error
        }
    }

    /// Binds the file to the task, so that the next start keeps it. The task's record, which names the file, is written
    /// later.
    private func claim(_ state: inout State) {
        guard !state.isClaimed, let task = upload.recorded?.id, let file = state.staging?.file else { return }
        state.isClaimed = true
        backend.claim(file, for: task)
    }

    private func use(_ staging: Staging, _ state: inout State) {
        (state.staging, state.known, state.isClaimed, state.hasFailed) = (staging, nil, false, false)
        let progress = staging.progress
        latest.withLock { $0 = progress }
    }

    /// Continues a file of an earlier process only if it belongs to this task and its bytes match the checkpoint.
    ///
    /// - Parameter dropping: provisional bytes are dropped.
    private func query(dropping: Bool, _ attempt: PendingAnswer) {
        Loop.task { [self] in
            do throws(StorageError) {
                let task = upload.isRestored ? upload.recorded?.id : nil
                let files = try await backend.store.read { try task.map($0.files) ?? [] }
                let kept = await latest.withLock { $0 }?.lastCheckpoint()
                queue.submit { [self] state in
                    let isBeyond = state.staging.map { $0.offset > kept?.offset ?? 0 } ?? false
                    if state.hasFailed || dropping && isBeyond { return rollBack(to: kept, attempt, &state) }
                    continueStaging(among: files, attempt, &state)
                }
            } catch {
                attempt.answer(.failed(error))
            }
        }
    }

    /// Removes what has been written since the checkpoint.
    private func rollBack(to kept: UploadCheckpoint?, _ attempt: PendingAnswer, _ state: inout State) {
        do throws(StorageError) {
            guard let former = state.staging,
                let staging = try Staging(former, backTo: kept, hashing: backend.hashing)
            else {
                removeStaging(&state)
                return attempt.answer(.forgotten(.lostStaging(upload.reference)))
            }
            (state.staging, state.hasFailed) = (staging, false)
            let progress = staging.progress
            latest.withLock { $0 = progress }
            rest(staging)
            attempt.answer(.received(upTo: staging.offset))
        } catch {
            attempt.answer(.failed(error))
        }
    }

    private func continueStaging(among files: [Int64], _ attempt: PendingAnswer, _ state: inout State) {
        if let staging = state.staging { return attempt.answer(.received(upTo: staging.offset)) }
        do throws(StorageError) {
            guard let known = state.known, files.contains(known.file), let staging = try restored(known, attempt) else {
                return attempt.answer(.forgotten(.lostStaging(upload.reference)))
            }
            use(staging, &state)
            attempt.answer(.received(upTo: staging.offset))
        } catch {
            attempt.answer(.failed(error))
        }
    }

    private func restored(_ checkpoint: UploadCheckpoint, _ attempt: PendingAnswer) throws(StorageError) -> Staging? {
        try Staging(
            checkpoint, in: backend.objectFiles, upload.source, from: allowed, hashing: backend.hashing,
            blocks: backend.blocks
        ) {
            !attempt.isAborted
        }
    }

    /// Answers whether the first bytes of a piece are those in the file.
    private func compare(_ range: Range<Int64>, with piece: IncomingBytes.Piece?, _ attempt: PendingAnswer) {
        queue.submit { state in
            guard let staging = state.staging, let piece else {
                return attempt.answer(.failed(StorageError(.internalError, "There are no bytes to compare.")))
            }
            do throws(StorageError) {
                let difference = try staging.firstDifference(from: piece.prefix(upTo: range.upperBound))
                attempt.answer(
                    difference.map { .failed(.otherBytes(at: $0)) } ?? .received(upTo: range.upperBound))
            } catch {
                attempt.answer(.failed(error))
            }
            staging.park()
        }
    }

    private func send(_ range: Range<Int64>, of upload: Upload, _ attempt: PendingAnswer) {
        queue.submit { [self] state in
            guard let staging = state.staging else {
                return attempt.answer(.failed(StorageError(.internalError, "The upload was never opened.")))
            }
            do throws(StorageError) {
                guard range.upperBound != upload.source.size else {
                    return try finish(staging, range, of: upload, attempt)
                }
                try staging.copy(range, of: upload.source, while: { !attempt.isAborted })
                if !upload.source.isProvisional {
                    claim(&state)
                    staging.saveCheckpoint()
                }
                rest(staging)
                attempt.answer(.received(upTo: staging.offset))
            } catch {
                state.hasFailed = true
                rest(staging)
                attempt.answer(.failed(error))
            }
        }
    }

    /// Copies the remaining bytes, and commits the object.
    private func finish(
        _ staging: Staging, _ rest: Range<Int64>, of upload: Upload, _ attempt: PendingAnswer
    ) throws(StorageError) {
        try staging.copy(rest, of: upload.source, while: { !attempt.isAborted })
        if attempt.isAborted { return removeWhole(staging.file) }
        let md5 = try staging.finish()
        try upload.check(md5: md5, staging.crc32c)
        commit(
            .file(staging.file), size: rest.upperBound, md5: md5, crc32c: staging.crc32c, here: true, attempt)
    }

    private func commit(
        _ body: NewObject.Body, size: Int64, md5: [UInt8], crc32c: UInt32, here: Bool, _ attempt: PendingAnswer
    ) {
        let object = NewObject(
            reference: upload.reference, metadata: upload.metadata, size: size, md5: md5, crc32c: crc32c, body: body,
            record: upload.recorded, isUnrecorded: context.withLock { $0.isUnrecorded })
        commit(here: here, attempt) { [backend] database, token, now in
            try database.put(object, token: token, at: now, backend.generations)
        } then: { [self] isStored in
            guard case .file(let file) = body else { return }
            // The file of an object is no longer that of the upload, which may be discarded.
            if isStored { queue.submit { $0.staging = nil } } else { removeWhole(file) }
        }
    }

    private func copy(_ request: CopyRequest, _ attempt: PendingAnswer) {
        commit(here: false, attempt) { [upload, backend] database, token, now in
            try database.copy(
                request, as: upload, token: token, at: now, backend.generations, backend.checkCanBeRead)
        }
    }

    /// - Parameter then: called with whether the object is stored, before the answer.
    private func commit(
        here: Bool, _ attempt: PendingAnswer, _ put: @escaping EmbeddedBackend.Store,
        then: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        backend.commit(for: upload.isRecorded ? upload.record.id : nil, here: here) { [self] database, token, now in
            try checkBuckets(database)
            try database.check(upload.preconditions, at: upload.reference)
            guard try !isSuperseded(database) && attempt.mayCommit() else { return nil }
            return try put(database, token, now)
        } then: { [self] outcome in
            if case .success(_?) = outcome { then(true) } else { then(false) }
            switch outcome {
            case .success(let stored?): attempt.answer(.completed(stored.metadata))
            case .success(nil): attempt.answer(attempt.isAborted ? .aborted : superseded)
            case .failure(let error): attempt.answer(.failed(error))
            }
        }
    }

    /// Throws `bucketNotFound` for the bucket of the object, or of the copied object.
    private func checkBuckets(_ database: Database) throws {
        try backend.buckets.check(upload.reference, in: database)
        if let source = upload.source.copy?.request.reference { try backend.buckets.check(source, in: database) }
    }

    private func isSuperseded(_ database: Database) throws -> Bool {
        guard !context.withLock({ $0.replacesNewer }) else { return false }
        if let began = upload.began { return try database.hasObject(at: upload.reference, newerThan: began) }
        guard let task = upload.recorded?.id else { return false }
        return try database.hasObject(at: upload.reference, newerThan: task)
    }

    private var superseded: UploadMachine.Answer { .superseded(.newerObject(at: upload.reference)) }
}

extension UploadSource {
    /// The bytes of the step are dropped if the next ones cannot be read.
    fileprivate var isProvisional: Bool {
        if case .incoming(let bytes) = self { bytes.piece?.isProvisional == true } else { false }
    }
}

extension StorageError {
    fileprivate static func lostStaging(_ reference: Reference) -> StorageError {
        StorageError(
            .unknown, "What was stored of the upload of \(reference.url) is not there any more, or is damaged.")
    }
}
