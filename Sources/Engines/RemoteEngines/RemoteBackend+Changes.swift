import HTTPClient
import Storage

// Changes that take effect once even if requests are retried: the metadata is read first, and again after a lost
// response. A retry carries the generation as a precondition if the protocol supports that.

private struct ObjectChange<Value: Sendable>: Sendable {
    let reference: Reference
    let caller: Caller
    /// The preconditions of the client.
    let conditions: Preconditions
    /// Prepares the request, given the object that was looked up. Nil if the object has to be known and is not.
    let request: @Sendable (Preconditions, ObjectMetadata?) throws(StorageError) -> RemoteRequest?
    /// Reads the outcome from a successful response.
    let accept: @Sendable (HTTPResponse, RemoteRequest, ObjectMetadata?) throws(StorageError) -> Value
    /// The effect of a request whose response was lost.
    let effect: @Sendable (_ before: ObjectVersion, _ now: ObjectMetadata?) throws(StorageError) -> ChangeEffect<Value>
    /// The outcome if the object no longer exists after a lost response; nil if that is a failure.
    let whenGone: Value?
}

private enum ChangeEffect<Value: Sendable>: Sendable {
    case done(Value)
    /// The change was not carried out; the object has this version.
    case pending(ObjectVersion)
}

extension RemoteBackend {
    package func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata {
        try change.check()
        guard !change.replacesAll else {
            throw StorageError(.internalError, "The engine \(properties.kind.rawValue) does not replace all metadata.")
        }
        do throws(StorageError) {
            return try await once(
                ObjectChange(
                    reference: reference, caller: caller, conditions: conditions,
                    request: { [dialect] conditions, object throws(StorageError) in
                        try dialect.update(reference, change, of: object, if: conditions)
                    },
                    accept: { [dialect] response, request, object throws(StorageError) in
                        try response.understood(about: reference, retryable: dialect.marksWrites) {
                            response throws(GarbledAnswer) in
                            try dialect.metadata(writtenBy: request, response, of: reference, size: object?.size)
                        }
                    }, effect: { before, now throws(StorageError) in try change.effect(on: reference, before, now) },
                    whenGone: nil))
        } catch {
            if error.httpStatus == 400 { try await checkMerged(reference, change, caller) }
            throw error
        }
    }

    /// Throws the error that names the exceeded limit, since the server, which merges metadata, does not name it.
    private func checkMerged(
        _ reference: Reference, _ change: MetadataChange, _ caller: Caller
    ) async throws(StorageError) {
        guard var stored = try? await metadata(of: reference, for: caller).settable else { return }
        do throws(StorageError) { try stored.apply(change) } catch { throw error.with(\.httpStatus, 400) }
    }

    package func delete(
        _ reference: Reference, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) {
        try await once(
            ObjectChange(
                reference: reference, caller: caller, conditions: conditions,
                request: { [dialect] conditions, _ in dialect.delete(reference, if: conditions) },
                accept: { [dialect] response, _, _ throws(StorageError) in
                    // The next attempt reads the object first.
                    try response.understood(about: reference, retryable: true) { response throws(GarbledAnswer) in
                        try dialect.checkDeleted(in: response)
                    }
                },
                effect: { before, now in
                    // Any other generation is not the one to be deleted.
                    guard let now, now.generation == before.generation else { return .done(()) }
                    return .pending(now.version)
                }, whenGone: ()))
    }

    /// A request that is refused, or has no understood answer, may have deleted some of the objects.
    package func delete(
        together objects: [Reference], after writes: Int, for caller: Caller
    ) async -> Set<Reference> {
        let free = turns.beginAtOnce(objects, unlessWrittenAfter: writes)
        defer { for object in free { object.turn.done() } }
        let objects = free.map(\.reference)
        guard let first = objects.first, let request = dialect.delete(together: objects) else { return [] }
        do throws(StorageError) {
            let response = try await ask(request, for: caller, about: first)
            guard response.isSuccess else { return [] }
            return try response.understood(about: first) { response throws(GarbledAnswer) in
                try dialect.deleted(in: response, of: objects)
            }
        } catch {
            return []
        }
    }

    private func once<Value>(_ change: ObjectChange<Value>) async throws(StorageError) -> Value {
        var (before, mayBeDone, isHidden): (ObjectVersion?, Bool, Bool) = (nil, false, false)
        var object: ObjectMetadata?
        return try await retrying(change.caller) { () async throws(StorageError) in
            let turn = try await self.turn(of: change.reference, for: change.caller)
            defer { turn?.done() }
            // Others may have written between two turns.
            if turn != nil, !mayBeDone { before = nil }
            var binding: Preconditions?
            if !isHidden, before == nil || mayBeDone {
                let effect: ChangeEffect<Value>
                switch (try await self.look(at: change.reference, for: change.caller), before) {
                case (.hidden(let refusal), _):
                    if !self.dialect.bindsWrites, !change.conditions.isEmpty { throw refusal }
                    isHidden = true
                    return try await self.attempt(change, nil, nil, refusal, &mayBeDone)
                case (.nothing, nil):
                    try change.conditions.check(.none, at: change.reference)
                    throw try await self.missing(change.reference, change.caller)
                case (.object(let now, _), nil):
                    (before, object) = (now.version, now)
                    effect = .pending(now.version)
                case (.nothing, let before?): effect = try change.effect(before, nil)
                case (.object(let now, _), let before?):
                    object = now
                    effect = try change.effect(before, now)
                    if case .pending(let version) = effect { binding = Preconditions(version) }
                }
                switch effect {
                case .done(let value): return value
                case .pending(let version): try change.conditions.check(version, at: change.reference)
                }
            }
            return try await self.attempt(change, binding, object, nil, &mayBeDone)
        }
    }

    /// - Parameters:
    ///   - binding: the preconditions of a repetition.
    ///   - object: the object that was looked up; nil if it is hidden from the caller by a `refusal`.
    private func attempt<Value>(
        _ change: ObjectChange<Value>, _ binding: Preconditions?, _ object: ObjectMetadata?, _ refusal: StorageError?,
        _ mayBeDone: inout Bool
    ) async throws(StorageError) -> Value {
        guard let request = try change.request(binding ?? change.conditions, object) else {
            throw refusal ?? StorageError(.internalError, "The object was not looked up.")
        }
        var isLost = false
        let response: HTTPResponse
        do throws(StorageError) {
            response = try await ask(
                request, for: change.caller, about: change.reference, onLost: { isLost = $0.mayHaveReachedServer })
        } catch {
            mayBeDone = mayBeDone || isLost
            throw error
        }
        if response.isSuccess {
            do throws(StorageError) { return try change.accept(response, request, object) } catch {
                mayBeDone = true
                throw error
            }
        }
        var refusal = StorageError.refusal(response, of: request, to: change.reference, by: dialect)
        if refusal.code == .objectNotFound {
            if mayBeDone, let value = change.whenGone { return value }
            try change.conditions.check(.none, at: change.reference)
        }
        mayBeDone = mayBeDone || response.status >= 500 || response.status == 408
        if response.status == 412 {
            // Another client wrote first; the next attempt reads the object again.
            if binding != nil || dialect.marksWrites && change.conditions.isEmpty {
                refusal.retryable = true
            } else if !change.conditions.isEmpty {
                throw try await preconditionFailed(change.reference, for: change.caller)
            }
        }
        throw refusal
    }
}

extension MetadataChange {
    /// The effect of a change with a lost response: done if the metadata shows it; pending if it does not, after at
    /// most one other change.
    fileprivate func effect(
        on reference: Reference, _ before: ObjectVersion, _ now: ObjectMetadata?
    ) throws(StorageError) -> ChangeEffect<ObjectMetadata> {
        guard let now else { throw .objectNotFound(reference) }
        guard now.generation == before.generation else { throw .overtaken(reference, by: now.version) }
        if now.metageneration == before.metageneration { return .pending(now.version) }
        if isMet(by: now.settable) { return .done(now) }
        guard now.metageneration == before.metageneration + 1 else { throw .overtaken(reference, by: now.version) }
        return .pending(now.version)
    }

    private func isMet(by settable: SettableMetadata) -> Bool {
        guard content.allSatisfy({ settable.content[$0.key] ?? "" == $0.value ?? "" }) else { return false }
        switch custom {
        case .keep: return true
        case .removeAll: return settable.custom.isEmpty
        case .merge(let entries): return entries.allSatisfy { settable.custom[$0.key] == $0.value }
        }
    }
}
