import Foundation

/// An upload. Also that of a copy or a move, and of a stream.
open class StorageUploadTask: StorageObservableTask, StorageTaskManagement, @unchecked Sendable {
    override var receiver: String { "uploadTask" }

    /// What the streams hold that write this upload. Guarded by `lock`.
    weak var lease: Lease?

    /// The largest upload that one message brings; larger ones are streams, in pieces of this size.
    private static let piece = 8 << 20

    static func put(
        _ data: Data, at reference: StorageReference, metadata: StorageMetadata?, ifGenerationMatch: Int64? = nil
    ) -> StorageUploadTask {
        let metadata = metadata?.upload
        guard data.count <= piece else {
            return putPieces(of: data, at: reference, metadata: metadata, ifGenerationMatch: ifGenerationMatch)
        }
        return StorageUploadTask(reference: reference).starting { all in
            StorageCalls.ReferencePutData(
                reference: reference.path.wire, data: data.base64EncodedString(), metadata: metadata,
                ifGenerationMatch: ifGenerationMatch, observe: all)
        }
    }

    static func put(
        file: URL, at reference: StorageReference, metadata: StorageMetadata?, ifGenerationMatch: Int64? = nil
    ) -> StorageUploadTask {
        let metadata = metadata?.upload
        return StorageUploadTask(reference: reference).starting { all throws(StorageError) in
            StorageCalls.ReferencePutFile(
                reference: reference.path.wire, file: try localPath(file), metadata: metadata,
                ifGenerationMatch: ifGenerationMatch, observe: all)
        }
    }

    private static func putPieces(
        of data: Data, at reference: StorageReference, metadata: StorageWire.MetadataWrite?, ifGenerationMatch: Int64?
    ) -> StorageUploadTask {
        StorageUploadTask(reference: reference).starting(isFed: true) { all in
            StorageCalls.ReferencePutStream(
                reference: reference.path.wire, metadata: metadata, size: Int64(data.count),
                ifGenerationMatch: ifGenerationMatch, observe: all)
        } then: { task, id in
            // Two pieces are on their way: one is encoded while the other one is stored.
            for offset in [0, piece] { append(data, from: offset, to: id, of: task) }
        }
    }

    private static func append(_ data: Data, from offset: Int, to id: String, of task: StorageObservableTask) {
        guard offset < data.count else { return }
        task.carrier.send(
            isOfTask: true,
            making: { () throws(StorageError) in
                let bytes = data.dropFirst(offset).prefix(piece).base64EncodedString()
                return StorageCalls.UploadTaskAppend(task: id, data: bytes, offset: Int64(offset))
            }
        ) { session, answer in
            switch answer {
            case .success(let taken) where taken.offset == data.count:
                session.send(StorageCalls.UploadTaskFinish(task: id), isOfTask: true) { _ in }
            case .success:
                append(data, from: offset + 2 * piece, to: id, of: task)
            case .failure(let error):
                task.fail(error)
                session.send(StorageCalls.UploadTaskCancel(task: id), isOfTask: true) { _ in }
            }
        }
    }
}

/// A download.
open class StorageDownloadTask: StorageObservableTask, StorageTaskManagement, @unchecked Sendable {
    override var receiver: String { "downloadTask" }

    private var received = Data()
    /// Nil for a download to a file.
    private var maxSize: Int64?
    private var hasAll = false
    private var isTooLarge = false
    /// The success, if the service has sent it before the last bytes.
    private var success: Report?

    /// The bytes of a download to memory.
    var data: Data { lock.withLock { received } }

    static func writing(_ reference: StorageReference, to file: URL) -> StorageDownloadTask {
        StorageDownloadTask(reference: reference).starting { all throws(StorageError) in
            StorageCalls.ReferenceWriteToFile(reference: reference.path.wire, file: try localPath(file), observe: all)
        }
    }

    /// A download to memory is a stream that this task reads: so it can be paused, and has no other maximum.
    static func getting(_ reference: StorageReference, maxSize: Int64) -> StorageDownloadTask {
        let task = StorageDownloadTask(reference: reference)
        task.maxSize = maxSize
        return task.starting(isFed: true) { all in
            StorageCalls.ReferenceGetStream(reference: reference.path.wire, observe: all)
        } then: { task, id in
            (task as? StorageDownloadTask)?.read(id)
        }
    }

    /// Asks for the next piece: at most one byte more than there is room for.
    private func read(_ id: String) {
        let room = min((maxSize ?? 0) - Int64(data.count), 1 << 20 - 1)
        let call = StorageCalls.DownloadTaskRead(task: id, length: max(1, room + 1))
        carrier.send(call, isOfTask: true) { [self] answer in take(answer, of: id) }
    }

    private func take(_ answer: Result<StorageWire.StreamPiece, StorageError>, of id: String) {
        guard case .success(let piece) = answer else {
            if case .failure(let error) = answer { fail(error) }
            return
        }
        let (success, isTooLarge) = lock.withLock { () -> (Report?, Bool) in
            received += Data(base64Encoded: piece.data) ?? Data()
            hasAll = piece.isEnd
            self.isTooLarge = max(Int64(received.count), current.total) > maxSize ?? 0
            return (self.success, self.isTooLarge)
        }
        if let success {
            super.hear(limited(success))
        } else if isTooLarge && !piece.isEnd {
            cancel()
        } else if !piece.isEnd {
            read(id)
        }
    }

    override func hear(_ report: Report) {
        guard maxSize != nil else { return super.hear(report) }
        let isEarly = lock.withLock {
            guard report.status == .success && !hasAll else { return false }
            success = report
            return true
        }
        if !isEarly { super.hear(limited(report)) }
    }

    /// The end of a download of too many bytes is that it has too many.
    private func limited(_ report: Report) -> Report {
        let (count, maxSize, isTooLarge) = lock.withLock { (Int64(received.count), self.maxSize ?? 0, self.isTooLarge) }
        guard report.status.isEnd, max(report.total, count) > maxSize, isTooLarge || report.error == nil else {
            return report
        }
        return report.failed(.downloadSizeExceeded(total: max(report.total, count), maxSize: maxSize))
    }
}

/// A task over a folder: `snapshot.folder` has its counts.
open class StorageFolderTask: StorageObservableTask, StorageTaskManagement, @unchecked Sendable {
    override var receiver: String { "folderTask" }
}

/// What the answers to the requests that start tasks have in common.
protocol StartedTask: Decodable, Sendable {
    var task: String { get }
    var report: Report { get }
}

extension StorageWire.Snapshot: StartedTask {
    var report: Report { Report(self) }
}

extension StorageWire.FolderSnapshot: StartedTask {
    var report: Report { Report(self) }
}

extension StorageObservableTask {
    /// This task, whose start sends the request. `then` is called with its id.
    ///
    /// - Parameter isFed: this process brings or fetches its bytes.
    func starting<Call: StorageCall>(
        isFed: Bool = false, with call: @escaping @Sendable ([StorageWire.Status]) throws(StorageError) -> Call,
        then: @escaping @Sendable (StorageObservableTask, String) -> Void = { _, _ in }
    ) -> Self where Call.Answer: StartedTask {
        start = { session, task in
            session.send(
                with: task.reference.storage.settings, feeding: isFed ? task : nil,
                making: { () throws(StorageError) in try call([.resume, .progress, .pause, .success, .failure]) }
            ) { session, answer in
                let id = try? answer.get().task
                task.started(answer.map(\.report), id: id ?? "", in: session)
                if let id { then(task, id) }
            }
        }
        return self
    }
}
