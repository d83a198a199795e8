import LocalFiles
import Platform
import Storage

/// The engine of a command without a root: it has no objects, stores none, and creates no files.
package struct EmptyBackend: Backend {
    package let properties: EngineProperties

    package init(allowed: FileAccessPolicy) {
        let threads = WorkerThreads("files", limit: 4)
        properties = EmbeddedBackend.properties(LocalDisk(allowed, on: threads), ChangeFeed())
    }

    package func beginUpload(_ upload: Upload) -> any UploadSession {
        EmptySession<UploadStrategy> { .failed(refusal(of: upload)) }
    }

    private func refusal(of upload: Upload) -> StorageError {
        do throws(StorageError) { try upload.preconditions.check(.none, at: upload.reference) } catch { return error }
        guard let source = upload.source.copy?.request.reference else {
            return StorageError(.unknown, "\(upload.reference.url) cannot be stored: there is no root.")
        }
        return .objectNotFound(source)
    }

    package func beginDownload(_ download: Download) -> any DownloadSession {
        EmptySession<DownloadStrategy> { .failed(.objectNotFound(download.reference)) }
    }

    package func metadata(of reference: Reference, for caller: Caller) async throws(StorageError) -> ObjectMetadata {
        throw .objectNotFound(reference)
    }

    package func updateMetadata(
        of reference: Reference, _ change: MetadataChange, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) -> ObjectMetadata {
        try conditions.check(.none, at: reference)
        throw .objectNotFound(reference)
    }

    package func delete(
        _ reference: Reference, if conditions: Preconditions, for caller: Caller
    ) async throws(StorageError) {
        try conditions.check(.none, at: reference)
        throw .objectNotFound(reference)
    }

    package func list(_ query: ListQuery, for caller: Caller) async throws(StorageError) -> Listing {
        if let token = query.pageToken { _ = try PageToken(token, of: query.reference) }
        var listing = Listing()
        listing.isBucketMissing = true
        return listing
    }

    package func buckets(of project: String?, most: Int, for caller: Caller) async throws(StorageError) -> [String] {
        []
    }

    package func data(
        of reference: Reference, part: BytePart?, known: ObjectMetadata?, maxSize: Int64, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        throw .objectNotFound(reference)
    }

    package func piece(
        _ range: Range<Int64>, of object: ObjectMetadata, task: String, for caller: Caller
    ) async throws(StorageError) -> [UInt8] {
        throw .objectNotFound(object.reference)
    }

    package func downloadURL(
        of reference: Reference, expiresIn seconds: Int64?, for caller: Caller
    ) async throws(StorageError) -> String {
        throw .objectNotFound(reference)
    }

    package func revokeDownloadURL(of reference: Reference, for caller: Caller) async throws(StorageError) -> String {
        throw .objectNotFound(reference)
    }
}

/// A transfer that fails, since there is no object.
private final class EmptySession<Strategy: TransferStrategy>: TransferSession {
    private let answer: @Sendable () -> Strategy.Answer

    init(_ answer: @escaping @Sendable () -> Strategy.Answer) { self.answer = answer }

    func perform(_ step: Strategy.Step, _ context: StepContext) async -> Strategy.Answer { answer() }
    func discard() {}
    func bookmark() async -> Bookmark? { nil }
}
