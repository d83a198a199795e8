import Checksums
import Database
import Platform
import FoundationEssentials
import LocalFiles
import Roots
import Storage
import Synchronization

/// An upload to the embedded engine. Small ones are stored as a row, larger ones in chunks in a file.
final class EmbeddedUpload: UploadSession {
    private typealias PendingAnswer = AbortableStep<UploadMachine.Answer>

    private let upload: Upload
    private let backend: EmbeddedBackend
    /// Runs steps one after the other: an abandoned one finishes before the next.
    private let queue: SerialQueue<State>
    private let current = Mutex<PendingAnswer?>(nil)
    private let latest = Mutex<StagingProgress?>(nil)
    private let replacesNewer = Mutex(true)

    private struct State {
        var staging: Staging?
        /// The checkpoint of an earlier process, until it is verified.
        var known: UploadCheckpoint?
        var isDiscarded = false
    }

    init(_ upload: Upload, _ backend: EmbeddedBackend) {
        self.upload = upload
        self.backend = backend
        let known = upload.bookmark.flatMap { try? UploadCheckpoint(text: $0.text) }
        queue = SerialQueue(on: backend.files, State(known: known))
    }

    func perform(_ step: UploadMachine.Step, replacesNewer: Bool) async -> UploadMachine.Answer {
        await withCheckedContinuation { waiter in
            let attempt = PendingAnswer(waiter, aborted: .aborted)
            current.withLock { $0 = attempt }
            self.replacesNewer.withLock { $0 = replacesNewer }
            if replacesNewer, upload.preconditions.isEmpty {
                begin(step, attempt)
            } else {
                beginUnlessInVain(step, attempt)
            }
        }
    }

    private func begin(_ step: UploadMachine.Step, _ attempt: PendingAnswer) {
        switch step {
        case .sendWhole: sendWhole(attempt)
        case .open: open(attempt)
        case .query: query(attempt)
        case .send(let range): send(range, attempt)
        }
    }

    /// Skips the work of an upload that the commit would refuse. The commit checks again.
    private func beginUnlessInVain(_ step: UploadMachine.Step, _ attempt: PendingAnswer) {
        Loop.task { [self] in
            do throws(StorageError) {
                let isInVain = try await backend.store.read { [self] database in
                    try database.check(upload.preconditions, at: upload.reference)
                    return try isSuperseded(database)
                }
                if isInVain { attempt.answer(superseded) } else if !attempt.isAborted { begin(step, attempt) }
            } catch {
                attempt.answer(.failed(error))
            }
        }
    }

    func abort() {
        current.withLock { $0 }?.abort()
        queue.submit { $0.staging?.park() }
    }

    func discard() {
        queue.submit { [self] state in
            state.isDiscarded = true
            state.known = nil
            if let file = state.staging?.file {
                state.staging = nil
                backend.remove(file)
            } else if upload.isRestored, let task = upload.record?.id {
                Loop.task { [backend] in backend.removeFiles(for: task) }
            }
        }
    }

    func bookmark() async -> Bookmark? {
        guard let progress = latest.withLock({ $0 }) else { return upload.bookmark }
        return await progress.lastCheckpoint().flatMap { checkpoint in try? checkpoint.text }.map(Bookmark.init)
    }
}

// MARK: - In one request

extension EmbeddedUpload {
    /// The directories that the source must be in; nil for a spooled file.
    private var allowed: AllowedDirectories? { upload.isSpooled ? nil : backend.allowed.reading }

    private func sendWhole(_ attempt: PendingAnswer) {
        switch upload.source {
        case .data(let bytes):
            commit(whole: bytes, attempt)
        case .file(let path, let identity):
            queue.submit { [self] _ in
                do throws(StorageError) {
                    commit(whole: try read(path, identity), attempt)
                } catch {
                    attempt.answer(.failed(error))
                }
            }
        }
    }

    private func commit(whole bytes: [UInt8], _ attempt: PendingAnswer) {
        let checksum = Checksum(of: bytes)
        commit(.bytes(bytes), size: Int64(bytes.count), md5: checksum.md5, crc32c: checksum.crc32c, attempt)
    }

    private func read(_ path: String, _ identity: FileIdentity) throws(StorageError) -> [UInt8] {
        let source = try SourceFile(path, identity, in: allowed)
        let bytes = try source.readWhole()
        try source.checkUnchanged()
        return bytes
    }
}

// MARK: - Chunk by chunk

extension EmbeddedUpload {
    /// Two threads: the store numbers the file, and a thread that may block creates it.
    private func open(_ attempt: PendingAnswer) {
        // An aborted step may have opened the upload all the same.
        if latest.withLock({ $0 != nil }) { return attempt.answer(.opened()) }
        numberFile(attempt)
    }

    /// `taken` is the number of a file that is not the service's own.
    private func numberFile(_ attempt: PendingAnswer, insteadOf taken: Int64? = nil) {
        backend.numberFile(for: upload.record?.id, insteadOf: taken) {
            !attempt.isAborted
        } then: { [self] outcome in
            switch outcome {
            case .success(let file?): queue.submit { [self] in create(file, attempt, &$0) }
            case .success(nil): break
            case .failure(let error): attempt.answer(.failed(error))
            }
        }
    }

    private func create(_ file: Int64, _ attempt: PendingAnswer, _ state: inout State) {
        do throws(StorageError) {
            guard try backend.objectFiles.create(file) else { return numberFile(attempt, insteadOf: file) }
            stage(file, attempt, &state)
            attempt.answer(.opened())
        } catch {
            attempt.answer(.failed(error))
        }
    }

    /// Deletes the file of an aborted attempt; the next attempt deletes all earlier files of the task.
    private func stage(_ file: Int64, _ attempt: PendingAnswer, _ state: inout State) {
        guard !attempt.isAborted, !state.isDiscarded else { return backend.remove(file) }
        let staging = Staging(
            file: file, in: backend.objectFiles, upload.source, from: allowed, hashing: backend.hashing)
        staging.saveCheckpoint()
        hold(staging, &state)
    }

    private func hold(_ staging: Staging, _ state: inout State) {
        (state.staging, state.known) = (staging, nil)
        let progress = staging.progress
        latest.withLock { $0 = progress }
    }

    /// Continues a file of an earlier process only if it belongs to this task and its bytes match the checkpoint.
    private func query(_ attempt: PendingAnswer) {
        Loop.task { [self] in
            do throws(StorageError) {
                let task = upload.isRestored ? upload.record?.id : nil
                let files = try await backend.store.read { try task.map($0.files) ?? [] }
                queue.submit { [self] state in goOn(among: files, attempt, &state) }
            } catch {
                attempt.answer(.failed(error))
            }
        }
    }

    private func goOn(among files: [Int64], _ attempt: PendingAnswer, _ state: inout State) {
        if let staging = state.staging { return attempt.answer(.received(upTo: staging.offset)) }
        do throws(StorageError) {
            guard let known = state.known, files.contains(known.file), let staging = try restored(known, attempt) else {
                return attempt.answer(.forgotten(.lostStaging(upload.reference)))
            }
            hold(staging, &state)
            attempt.answer(.received(upTo: staging.offset))
        } catch {
            attempt.answer(.failed(error))
        }
    }

    private func restored(_ checkpoint: UploadCheckpoint, _ attempt: PendingAnswer) throws(StorageError) -> Staging? {
        try Staging(checkpoint, in: backend.objectFiles, upload.source, from: allowed, hashing: backend.hashing) {
            !attempt.isAborted
        }
    }

    private func send(_ range: Range<Int64>, _ attempt: PendingAnswer) {
        guard range.upperBound == upload.source.size else {
            return work(attempt) { staging throws(StorageError) in
                try staging.copy(range, while: { !attempt.isAborted })
                staging.saveCheckpoint()
                return .received(upTo: staging.offset)
            }
        }
        work(attempt) { [self] staging throws(StorageError) in
            try staging.copy(range, while: { !attempt.isAborted })
            if attempt.isAborted { return .aborted }
            let md5 = try staging.finish()
            let (file, crc32c) = (staging.file, staging.crc32c)
            commit(.file(file), size: range.upperBound, md5: md5, crc32c: crc32c, attempt)
            return nil
        }
    }

    /// Runs `body` on a thread that may block. Nil means that the answer follows later.
    private func work(
        _ attempt: PendingAnswer, _ body: @escaping @Sendable (Staging) throws(StorageError) -> UploadMachine.Answer?
    ) {
        queue.submit { state in
            guard let staging = state.staging else {
                return attempt.answer(.failed(StorageError(.internalError, "The upload was never opened.")))
            }
            do throws(StorageError) {
                if let answer = try body(staging) { attempt.answer(answer) }
            } catch {
                attempt.answer(.failed(error))
            }
        }
    }
}

// MARK: - Committing

extension EmbeddedUpload {
    private func commit(_ body: NewObject.Body, size: Int64, md5: [UInt8], crc32c: UInt32, _ attempt: PendingAnswer) {
        do throws(StorageError) { try upload.checkMD5(md5) } catch { return attempt.answer(.failed(error)) }
        let object = NewObject(
            reference: upload.reference, metadata: upload.metadata, size: size, md5: md5, crc32c: crc32c, body: body,
            record: upload.record)
        backend.commit(object) { [self] database in
            try database.check(upload.preconditions, at: upload.reference)
            return try !isSuperseded(database) && attempt.mayCommit()
        } then: { [self] outcome in
            switch outcome {
            case .success(let stored?): attempt.answer(.completed(stored))
            case .success(nil): attempt.answer(attempt.isAborted ? .aborted : superseded)
            case .failure(let error): attempt.answer(.failed(error))
            }
        }
    }

    private func isSuperseded(_ database: Database) throws -> Bool {
        guard let task = upload.record?.id, !replacesNewer.withLock({ $0 }) else { return false }
        return try database.hasObject(at: upload.reference, newerThan: task)
    }

    private var superseded: UploadMachine.Answer { .superseded(.newerObject(at: upload.reference)) }
}

extension StorageError {
    fileprivate static func lostStaging(_ reference: Reference) -> StorageError {
        StorageError(
            .unknown, "What was stored of the upload of \(reference.url) is not there any more, or is damaged.")
    }
}
