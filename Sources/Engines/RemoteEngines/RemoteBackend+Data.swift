import HTTPClient
import HTTPText
import Storage
import Synchronization

// Reads objects into memory with one request if the response header identifies the bytes. Otherwise, or if the bytes do
// not match it, the metadata is read.

/// The result of requesting the bytes of the current generation.
private enum FirstAnswer {
    case described(MediaOutcome<[UInt8]>, StoredContent)
    /// The header does not identify the object; the bytes are nil if there are too many.
    case undescribed([UInt8]?, MediaDescription)
}

extension RemoteBackend {
    package func data(
        of reference: Reference, part: BytePart?, known: ObjectMetadata?, maxSize: Int64, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        if let part { return try await bytes(part, of: reference, known: known, maxSize, caller) }
        var known = known
        return try await retrying(caller) { () async throws(StorageError) in
            let object = known
            known = nil
            let first =
                object == nil
                ? try await self.firstAnswer(reference, maxSize, caller) : .undescribed(nil, MediaDescription())
            if case .described(.done(let bytes), _) = first { return bytes }
            var doubt: (Int64, StorageError)?
            if case .described(.doubtful(let error), let content) = first { doubt = (content.generation, error) }
            return try await self.settled(reference, caller, known: object, doubt: doubt) {
                object async throws(StorageError) in
                guard object.size <= maxSize else { throw .sizeExceeded(reference, object.size, maxSize) }
                let content = StoredContent(object)
                if case .undescribed(let bytes?, let described) = first, content.holds(bytes, described) {
                    return .done(bytes)
                }
                return try await self.bytes(of: content, caller)
            }
        }
    }

    private func bytes(
        _ part: BytePart, of reference: Reference, known: ObjectMetadata?, _ maxSize: Int64, _ caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        var known = known
        return try await retrying(caller) { () async throws(StorageError) in
            let object = known
            known = nil
            return try await self.settled(reference, caller, known: object) { object async throws(StorageError) in
                let range = try part.range(in: object.size)
                guard range.count <= maxSize else { throw .sizeExceeded(reference, Int64(range.count), maxSize) }
                if range.count == object.size { return try await self.bytes(of: StoredContent(object), caller) }
                if range.isEmpty { return .done([]) }
                return try await self.bytes(range, of: object, caller)
            }
        }
    }

    package func piece(
        _ range: Range<Int64>, of object: ObjectMetadata, task: String, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        do throws(StorageError) {
            return try await LastStatus.attached { () async throws(StorageError) in
                switch try await self.bytes(range, of: object, caller) {
                case .done(let bytes): return bytes
                case .doubtful(let error): throw try await self.cause(of: error, about: object, caller)
                }
            }
        } catch {
            throw error.orAbout(object.reference).explained(dialect)
        }
    }

    /// Why the bytes of a generation cannot be read: an error, or a change of the object.
    private func cause(
        of error: StorageError, about object: ObjectMetadata, _ caller: Caller
    ) async throws(StorageError) -> StorageError {
        switch try await look(at: object.reference, for: caller) {
        case .hidden(let refusal): return refusal
        case .nothing: return .objectNotFound(object.reference)
        case .object(let now, _):
            if now.generation == object.generation { return error }
            return .replacedWhileRead(object.reference, by: now.version)
        }
    }

    /// A range of this generation, unverified.
    func bytes(
        _ range: Range<Int64>, of object: ObjectMetadata, _ caller: Caller
    ) async throws(StorageError) -> MediaOutcome<[UInt8]> {
        let memory = MemoryDestination(expecting: Int64(range.count))
        let sink = MediaSink(
            StoredContent(object), from: range.lowerBound, to: range.upperBound, into: memory, dialect)
        switch try await fetch(into: sink, caller) {
        case .done: return .done(memory.taken)
        case .doubtful(let error): return .doubtful(error)
        }
    }

    private func firstAnswer(
        _ reference: Reference, _ maxSize: Int64, _ caller: Caller
    ) async throws(StorageError) -> FirstAnswer {
        let sink = DescribedMediaSink(reference, maxSize: maxSize, dialect)
        var request = dialect.media(of: reference, generation: nil, isGzip: true, from: 0, to: nil)
        request.sink = sink
        let answer = await answer(to: request, reference, caller)
        if case .success(let response) = answer {
            // These statuses do not fit a request without preconditions and without a range.
            let isStrange = [412, 416].contains(response.status)
            guard response.isSuccess || isStrange else {
                throw .refusal(response, of: request, to: reference, by: dialect)
            }
            sink.bodyEnded(response)
        }
        switch sink.head {
        case .described(let media, let memory):
            let outcome = try outcome(of: answer, to: request, media)
            return .described(verified(outcome, memory, media.content), media.content)
        case .tooLarge(let content): throw .sizeExceeded(reference, content.size, maxSize).after(httpStatus: 200)
        case .recoded(let content): return .described(try await bytes(of: content, caller), content)
        case .undescribed(let memory):
            if memory.isFull { return .undescribed(nil, MediaDescription()) }
            return .undescribed(memory.taken, dialect.description(in: try answer.get().headers, of: reference))
        case nil:
            _ = try answer.get()
            return .undescribed(nil, MediaDescription())
        }
    }

    private func bytes(of content: StoredContent, _ caller: Caller) async throws(StorageError) -> MediaOutcome<[UInt8]>
    {
        guard content.size > 0 else { return .done([]) }
        let memory = MemoryDestination(expecting: content.size)
        let outcome = try await fetch(into: MediaSink(content, from: 0, into: memory, dialect), caller)
        return verified(outcome, memory, content)
    }

    private func verified(
        _ outcome: MediaOutcome<MediaDescription>, _ memory: MemoryDestination, _ content: StoredContent
    ) -> MediaOutcome<[UInt8]> {
        switch outcome {
        case .doubtful(let error): return .doubtful(error)
        case .done(let described):
            let bytes = memory.taken
            guard let flaw = content.flaw(in: bytes, described) else { return .done(bytes) }
            return .doubtful(.damaged(content, flaw))
        }
    }
}
