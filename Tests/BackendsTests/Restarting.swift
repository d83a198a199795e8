import Storage
import TestSupport
import Testing

/// The unit of the uploads that one process begins and another one ends.
let granule = 256 << 10

extension Backend {
    /// The upload of a file, so far as a process came that was killed: as the next one finds it. What was sent after
    /// its bookmark was kept, that one does not know.
    func interrupted(
        file path: String, to name: String, at offset: Int, thenSending extra: Int = 0, md5Hash: String? = nil
    ) async throws -> Upload {
        var upload = try await upload(file: path, to: name)
        upload.expectedMD5 = md5Hash
        guard case .file(_, let identity) = upload.source else { return upload }
        let request = TaskRequest(file: path, identity: identity, retryTime: 600, hasOwnTokens: false)
        var record = TaskRecord(
            id: "task \(name)".replacing(" ", with: "-"), kind: .upload, number: 1, began: .now,
            reference: upload.reference,
            progress: Progress(completedUnitCount: 0, totalUnitCount: identity.size), md5Hash: md5Hash,
            stage: .unfinished(request, nil))
        upload.record = record
        try await taskStore?.keep(record, isUrgent: true)
        let session = beginUpload(upload)
        guard case .opened = await session.perform(.open) else { throw Aborted() }
        try await send(0..<offset, by: session)
        upload.bookmark = await session.bookmark()
        record.stage = .unfinished(request, upload.bookmark)
        try await taskStore?.keep(record, isUrgent: false)
        try await send(offset..<offset + extra, by: session)
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

/// Where an upload went on, and how much it sent.
final class Steps {
    private(set) var all: [UploadMachine.Step] = []
    func take(_ step: UploadMachine.Step) { all.append(step) }

    var sent: [Range<Int64>] {
        all.compactMap { if case .send(let range) = $0 { range } else { nil } }
    }
}
