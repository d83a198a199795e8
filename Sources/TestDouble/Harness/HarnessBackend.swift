import Platform
import Storage

/// An engine that is restricted to the buckets and the quota of a space, and whose calls are subject to the rules of a
/// harness.
package final class HarnessBackend: Backend {
    private let engine: any Backend
    private let ledger: SpaceLedger
    /// Nil for calls of the harness itself, to which no rules apply.
    private let harness: Harness?

    package let properties: EngineProperties

    package init(_ engine: any Backend, _ ledger: SpaceLedger, _ harness: Harness?) {
        (self.engine, self.ledger, self.harness) = (engine, ledger, harness)
        var properties = engine.properties
        // Rules apply to each deletion.
        properties.deletionsTogether = nil
        if harness != nil {
            // Uploads in chunks begin at 64 KiB, since rules can affect only the bytes of chunks.
            properties.oneRequestLimit = min(properties.oneRequestLimit, 64 << 10)
            // A file may change while a rule holds an attempt, so each attempt reads it.
            properties.earlyReadLimit = nil
        }
        self.properties = properties
    }

    package var withoutRules: HarnessBackend { HarnessBackend(engine, ledger, nil) }

    package func preconditionChecks(in bucket: String) -> PreconditionChecks {
        engine.preconditionChecks(in: bucket)
    }

    package func beginUpload(_ upload: Upload) -> any UploadSession {
        let session = SpaceUpload(engine.beginUpload(upload), upload.reference, upload.source, ledger)
        guard let harness else { return session }
        return HarnessSession(
            session, harness, of: upload.reference, task: upload.folder ?? upload.task, size: upload.source.size,
            copy: upload.source.copy?.request, for: upload.caller)
    }

    package func beginDownload(_ download: Download) -> any DownloadSession {
        let session = SpaceDownload(engine.beginDownload(download), download.reference, ledger)
        guard let harness else { return session }
        return HarnessSession(
            session, harness, of: download.reference, task: download.folder ?? download.task, size: nil, copy: nil,
            for: download.caller)
    }

    /// One attempt of a download. The reader of the pieces retries it.
    package func piece(
        _ range: Range<Int64>, of object: ObjectMetadata, task: String, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        try ledger.check(object.reference)
        guard let harness else { return try await engine.piece(range, of: object, task: task, for: caller) }
        let call = Call(operation: .fetch, reference: object.reference, task: task, range: range)
        let answer = await HarnessCall<FetchedPiece>(harness, call, caller).answer { [engine] limited in
            let range = limited.range ?? range
            do throws(StorageError) {
                let bytes = try await engine.piece(range, of: object, task: task, for: caller)
                return FetchedPiece(.success(limited.isDamaged ? bytes.damaged : bytes), from: range.lowerBound)
            } catch {
                return .failed(error)
            }
        }
        return try answer.bytes.get()
    }

    package func verifyStored(_ object: ObjectMetadata) async { await engine.verifyStored(object) }

    package func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        try await pass(.getMetadata, reference, caller) { engine async throws(StorageError) in
            try await engine.metadata(of: reference, for: caller)
        }
    }

    package func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata {
        try await pass(.updateMetadata, reference, caller) { engine async throws(StorageError) in
            try await engine.updateMetadata(of: reference, change, if: conditions, for: caller)
        }
    }

    package func delete(
        _ reference: Reference, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) {
        try await pass(.delete, reference, caller) { [ledger] engine async throws(StorageError) in
            try await engine.delete(reference, if: conditions, for: caller)
            ledger.remove(reference)
        }
    }

    /// These calls prepare a request, which is subject to the rules; they are not.
    package func lastGeneration() async throws(StorageError) -> Int64? { try await engine.lastGeneration() }
    package func mayBeDamaged(_ object: FolderObject) -> Bool { engine.mayBeDamaged(object) }
    package func isNewer(
        _ reference: Reference, than began: Beginning, for caller: Caller
    ) async throws(StorageError) -> Bool {
        try await engine.isNewer(reference, than: began, for: caller)
    }

    package func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing {
        try await pass(.list, query.reference, caller) { [ledger] engine async throws(StorageError) in
            var listing = try await engine.list(query, for: caller)
            // Buckets that the space names exist from its beginning.
            if ledger.buckets != nil { listing.isBucketMissing = false }
            return listing
        }
    }

    /// Rules are about objects, so none applies to this call.
    package func buckets(of project: String?, most: Int, for caller: Caller) async throws(StorageError) -> [String] {
        let all = try await engine.buckets(of: project, most: most, for: caller)
        guard let named = ledger.buckets else { return all }
        return named.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    package func data(
        of reference: Reference, part: BytePart?, known: ObjectMetadata?, maxSize: Int64, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        try await pass(.getData, reference, caller) { engine async throws(StorageError) in
            try await engine.data(of: reference, part: part, known: known, maxSize: maxSize, for: caller)
        }
    }

    package func downloadURL(
        of reference: Reference, expiresIn seconds: Int64?, for caller: Caller
    ) async throws(StorageError) -> String {
        try await pass(.downloadURL, reference, caller) { engine async throws(StorageError) in
            try await engine.downloadURL(of: reference, expiresIn: seconds, for: caller)
        }
    }

    package func revokeDownloadURL(of reference: Reference, for caller: Caller) async throws(StorageError) -> String {
        try await pass(.revokeDownloadURL, reference, caller) { engine async throws(StorageError) in
            try await engine.revokeDownloadURL(of: reference, for: caller)
        }
    }

    /// Admits a request that has no function above. Throws if a rule makes it fail, or if its bucket is not in the
    /// space.
    package func admit(
        _ operation: Operation, _ reference: Reference, for caller: Caller
    ) async throws(StorageError) {
        try await pass(operation, reference, caller) { _ in }
    }

    package func settle() async { await engine.settle() }

    /// Performs an operation on an object of the space. Retries one that fails by a rule, as a remote engine retries one
    /// that fails at its server.
    @Loop private func pass<Value: Sendable>(
        _ operation: Operation, _ reference: Reference, _ caller: Caller,
        _ perform: @escaping @Sendable (any Backend) async throws(StorageError) -> Value
    ) async throws(StorageError) -> Value {
        let inSpace = { @Sendable [engine, ledger] () async throws(StorageError) -> Value in
            try ledger.check(reference)
            return try await perform(engine)
        }
        guard let harness, !caller.isPreparing else { return try await inSpace() }
        let call = Call(operation: operation, reference: reference)
        let harnessed = HarnessCall<Result<Value, StorageError>>(harness, call, caller)
        var budget = RetryBudget(limit: caller.retryTime, seed: harness.random.next())
        while true {
            let answer = await harnessed.answer { _ in
                await HarnessClock.$isOperation.withValue(true) {
                    do throws(StorageError) { return .success(try await inSpace()) } catch { return .failure(error) }
                }
            }
            guard case .failure(let error) = answer, harnessed.wasStruck, error.retryable, !caller.isTriedOnce else {
                return try answer.get()
            }
            let now = harness.clock.timeOfDay
            let delay = try budget.delay(after: error, took: .zero, at: now)
            caller.willRetry?(RequestRetry(attempt: budget.retries, at: now.advanced(by: delay), error: error))
            switch await harnessed.rest(for: delay) {
            case .proceed: break
            case .fail(let error), .lose(let error): throw error.about(reference)
            case .abort: throw .stopped(reference)
            }
            budget.rested(delay)
        }
    }
}

extension StorageError {
    static func stopped(_ reference: Reference) -> StorageError {
        StorageError(.cancelled, "The request about \(reference.url) was cancelled.").about(reference)
    }
}
