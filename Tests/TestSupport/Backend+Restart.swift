import EmbeddedEngine
import Platform
import Storage
import Testing

/// The unit of the uploads that one process begins and another one ends.
package let granule = 256 << 10

extension Backend {
    /// The upload of a file by a process that was killed, as the next process finds it. Bytes sent after the bookmark
    /// was stored are unknown to the next process.
    package func interrupted(
        file path: String, to name: String, at offset: Int, thenSending extra: Int = 0, md5Hash: String? = nil
    ) async throws -> Upload {
        var upload = try await upload(file: path, to: name)
        guard case .file(_, let identity) = upload.source else { return upload }
        upload.record = TaskRecord(
            id: "task \(name)".replacing(" ", with: "-"), kind: .upload, number: 1, began: TimeSource.system.now(),
            reference: upload.reference,
            progress: Progress(completedUnitCount: 0, totalUnitCount: identity.size), metadata: upload.metadata,
            md5Hash: md5Hash,
            stage: .unfinished(
                TaskRequest(file: path, identity: identity, retryTime: 600, hasOwnTokens: false), nil))
        upload.isRecorded = true
        try await (self as? EmbeddedBackend)?.taskStore.keep(upload.record, isUrgent: true)
        let session = beginUpload(upload)
        guard case .opened = await session.perform(.open) else { throw Aborted() }
        try await send(0..<offset, by: session)
        upload.bookmark = await session.bookmark()
        try await (self as? EmbeddedBackend)?.taskStore.keep(upload.record, isUrgent: false)
        try await send(offset..<offset + extra, by: session)
        upload.isRestored = true
        return upload
    }

    /// A copy by a process that was killed, as the next process finds it: without the size of its source.
    ///
    /// - Parameter isRecorded: the bookmark was stored after the sent bytes, not before them.
    package func interrupted(
        copy upload: Upload, afterSending count: Int = 0, isRecorded: Bool = false
    ) async throws -> Upload {
        var upload = upload
        upload.record = TaskRecord(
            id: "task", kind: .upload, number: 1, began: TimeSource.system.now().advanced(by: .seconds(-10)),
            reference: upload.reference, progress: .unknown, metadata: upload.metadata,
            stage: .unfinished(TaskRequest(file: "", retryTime: 0, hasOwnTokens: false), nil))
        upload.isRecorded = true
        let session = beginUpload(upload)
        guard case .opened = await session.perform(.open) else { throw Aborted() }
        upload.bookmark = await session.bookmark()
        var offset: Int64 = 0
        while offset < count, case .received(let end) = await session.perform(.send(offset..<Int64(count))) {
            offset = end
        }
        if isRecorded { upload.bookmark = await session.bookmark() }
        upload.source = .object(CopySource(try #require(upload.source.copy).request))
        upload.isRestored = true
        return upload
    }

    private func send(_ range: Range<Int>, by session: any UploadSession) async throws {
        for start in stride(from: range.lowerBound, to: range.upperBound, by: granule) {
            let end = Int64(min(start + granule, range.upperBound))
            #expect(await session.perform(.send(Int64(start)..<end)) == .received(upTo: end))
        }
    }
}

/// Records the steps of an upload.
package final class Steps {
    package private(set) var all: [UploadMachine.Step] = []

    package init() {}

    package func take(_ step: UploadMachine.Step) { all.append(step) }

    package var sent: [Range<Int64>] {
        all.compactMap { if case .send(let range) = $0 { range } else { nil } }
    }
}

extension TaskRecord {
    /// An upload that has not ended, with a value in every field and characters that are hard to store.
    package static func sample(_ id: String = "task", _ stage: Stage? = nil) throws -> TaskRecord {
        var request = TaskRequest(
            file: "/a \"b\"\n\u{E9}", identity: .ofSize(77), retryTime: 600.5, chunkSize: 5, hasOwnTokens: true)
        request.isSpooled = true
        var metadata = SettableMetadata()
        metadata.content = [.contentType: "x/y"]
        metadata.custom = ["": "", "k": "v", "\u{E9}": "e\u{301}", "e\u{301}": "\u{E9}/"]
        return TaskRecord(
            id: id, kind: .upload, number: 3, began: Timestamp(microseconds: 9), reference: try ref("dir/a\0b"),
            progress: Progress(completedUnitCount: 5, totalUnitCount: 77), metadata: metadata, md5Hash: "abc",
            stage: stage ?? .unfinished(request, Bookmark("secret")))
    }
}
