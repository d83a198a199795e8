import Platform
import HTTPClient
import HTTPText
import Storage

// An upload succeeds only if the stored size and checksum match the bytes that were read here.

extension UploadDestination {
    /// The metadata of the stored object. Throws `nonMatchingChecksum` for an object that does not match, and deletes
    /// it only if the response to this upload names it and the service can delete exactly that generation: any other
    /// may belong to another client.
    ///
    /// - Parameter request: the request that has written the object; nil for one that only names it.
    func verified(
        _ response: HTTPResponse, to request: RemoteRequest? = nil
    ) async throws(StorageError) -> ObjectMetadata {
        let named: ObjectMetadata?
        do throws(GarbledAnswer) {
            named =
                if let request {
                    try backend.dialect.metadata(writtenBy: request, response, of: upload.reference, size: nil)
                } else {
                    try backend.dialect.metadata(in: response, of: upload.reference)
                }
        } catch {
            guard !error.isAboutOther else { throw .garbled(error.what, response, upload.reference) }
            named = nil
        }
        if let named { return try await verified(named) }
        guard case .object(let stored, _) = try await backend.look(at: upload.reference, for: upload.caller),
            stored.generation != predecessor.generation
        else { throw .garbled("no metadata", response, upload.reference) }
        return try await verified(stored, isNamed: false)
    }

    /// - Parameter isNamed: the server says that this upload has stored the object.
    func verified(_ stored: ObjectMetadata, isNamed: Bool = true) async throws(StorageError) -> ObjectMetadata {
        let flaw: String?
        do throws(StorageError) {
            flaw = try await self.flaw(in: stored)
        } catch {
            if isNamed { await backend.delete(stored, upload) }
            throw error
        }
        guard let flaw else { return stored }
        let outcome = isNamed ? await backend.delete(stored, upload) : Self.isKept
        throw StorageError(
            .nonMatchingChecksum,
            "What was stored at \(upload.reference.url) is not what was uploaded: \(flaw). \(outcome)."
        ).about(upload.reference)
    }

    fileprivate nonisolated static let isKept = "It is kept, since it may now belong to another client"

    /// How the stored object differs from the source; nil if it does not. Prefers the CRC32C, which is computed while
    /// the bytes are sent.
    func flaw(in stored: ObjectMetadata) async throws(StorageError) -> String? {
        if let size = upload.source.size, size != stored.size {
            return "it has \(stored.size) bytes instead of \(size)"
        }
        if let flaw = upload.flaw(inMD5: stored.checksums.md5, hasOwn: source.checksum(of: stored.size) != nil) {
            return flaw
        }
        if let crc32c = stored.checksums.crc32c {
            let mine = try await source.crc32c(of: stored.size)
            return crc32c == mine ?? crc32c ? nil : "its CRC32C is \(crc32c) instead of \(mine ?? 0)"
        }
        guard let md5 = stored.checksums.md5, let mine = try await source.md5(of: stored.size) else { return nil }
        return md5 == mine
            ? nil : "its MD5 is \(md5.base64) instead of \(mine.base64)"
    }
}

extension Upload {
    /// How the MD5 of a stored object differs from the client's; nil if it does not.
    ///
    /// - Parameter hasOwn: the bytes were compared with the client's MD5 before they were sent. Otherwise only the
    ///   server can compare it.
    fileprivate func flaw(inMD5 md5: [UInt8]?, hasOwn: Bool) -> String? {
        if let md5, let expectedMD5, [UInt8](base64: expectedMD5) != md5 {
            return "its MD5 is \(md5.base64), but metadata.md5Hash says \(expectedMD5)"
        }
        guard case .incoming(let bytes) = source, let expected = bytes.expected.md5 else { return nil }
        guard let md5 else { return hasOwn ? nil : "the server does not say its MD5, which could not be compared" }
        return md5 == expected ? nil : "its MD5 is \(md5.base64), but md5Hash says \(expected.base64)"
    }
}

extension RemoteBackend {
    /// Cancels a session at the server, in the background.
    @Loop func cancel(_ session: RemoteSession, _ upload: Upload) {
        background.run { [self] in
            _ = await sendDetached(dialect.cancel(session), upload) { [dialect] in dialect.isCancelled(in: $0) }
        }
    }

    /// Deletes the object that this upload has stored, if the service can delete exactly that generation. Returns a
    /// sentence about the outcome.
    @Loop @discardableResult func delete(_ stored: ObjectMetadata, _ upload: Upload) async -> String {
        guard let request = dialect.delete(stored.reference, generation: stored.generation) else {
            return UploadDestination.isKept
        }
        let isDeleted = await sendDetached(request, upload) { [dialect] response in
            response.status == 404 || response.isSuccess && (try? dialect.checkDeleted(in: response)) != nil
        }
        return isDeleted ? "It was deleted" : "It could not be deleted"
    }

    /// Makes up to three attempts, even if the calling task is cancelled.
    @Loop private func sendDetached(
        _ request: RemoteRequest, _ upload: Upload, _ isDone: @escaping @Sendable (HTTPResponse) -> Bool
    ) async -> Bool {
        let caller = upload.caller.with(retryTime: .seconds(4))
        let tries = Loop.task { [self] in
            for attempt in 0..<3 {
                do {
                    if attempt > 0 { try await time.clock.sleep(for: .milliseconds(500)) }
                    let response = try await LastStatus.attached { () async throws(StorageError) in
                        try await self.ask(request, for: caller, about: upload.reference)
                    }
                    if isDone(response) { return true }
                    let refusal = StorageError.refusal(response, of: request, to: upload.reference, by: self.dialect)
                    if !response.isSuccess, !refusal.retryable { return false }
                } catch {
                    continue
                }
            }
            return false
        }
        return await tries.value
    }
}
