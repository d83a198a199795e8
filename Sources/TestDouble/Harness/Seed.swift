import Platform
import Storage

/// Objects that a test stores in a space in advance.
package struct Seed: Sendable {
    package enum Content: Sendable {
        case bytes([UInt8])
        /// The path of a file.
        case file(String)
        /// `size` bytes that depend only on `number`.
        case generated(number: Int, size: Int)
    }

    package struct Object: Sendable {
        package var reference: Reference
        package var content: Content
        package var metadata = MetadataChange()

        package init(_ reference: Reference, _ content: Content) {
            (self.reference, self.content) = (reference, content)
        }
    }

    /// Stores objects of at most `oneRequestLimit` bytes, all or none. Nil for an engine without such a function.
    package typealias PutAll = @Sendable ([Upload]) async throws(StorageError) -> Void

    /// The maximum number of bytes that are stored at once.
    private static let batch: Int64 = 16 << 20

    package let count: Int
    private let object: @Sendable (Int) throws(StorageError) -> Object

    package init(_ objects: [Object]) { self.init(count: objects.count) { objects[$0] } }

    package init(count: Int, _ object: @escaping @Sendable (Int) throws(StorageError) -> Object) {
        (self.count, self.object) = (count, object)
    }

    /// Stores all objects, or none. Returns the number of bytes.
    package func store(
        in backend: any Backend, _ ledger: SpaceLedger, _ caller: Caller, small limit: Int64, _ putAll: PutAll?
    ) async throws(StorageError) -> Int64 {
        var bytes: Int64 = 0
        var stored: [Reference] = []
        var batch: [Upload] = []
        var batchBytes: Int64 = 0
        do throws(StorageError) {
            for number in 0..<count {
                if Task.isCancelled { throw StorageError(.cancelled, "The request was cancelled.") }
                let upload = try await upload(object(number), in: backend, caller)
                bytes = bytes.addingSaturated(upload.size)
                if let putAll, upload.size <= limit {
                    batch.append(upload)
                    batchBytes += upload.size
                    guard batchBytes >= Self.batch || batch.count == 10_000 else { continue }
                    try await put(&batch, ledger, putAll, &stored)
                    batchBytes = 0
                } else {
                    try await backend.store(upload)
                    stored.append(upload.reference)
                }
            }
            if let putAll { try await put(&batch, ledger, putAll, &stored) }
            return bytes
        } catch {
            for reference in stored { try? await backend.delete(reference, if: Preconditions(), for: caller) }
            throw error
        }
    }

    private func put(
        _ batch: inout [Upload], _ ledger: SpaceLedger, _ putAll: PutAll, _ stored: inout [Reference]
    ) async throws(StorageError) {
        var reserved: Int64 = 0
        defer { ledger.giveBack(reserved) }
        for upload in batch {
            reserved = reserved.addingSaturated(try ledger.reserve(upload.size, at: upload.reference))
        }
        try await putAll(batch)
        for upload in batch {
            ledger.add(upload.size, at: upload.reference)
            stored.append(upload.reference)
        }
        batch = []
    }

    private func upload(
        _ object: Object, in backend: any Backend, _ caller: Caller
    ) async throws(StorageError) -> Upload {
        var names = [object.reference.name]
        let source: UploadSource
        switch object.content {
        case .bytes(let bytes): source = .data(bytes)
        case .file(let path):
            names.insert(path, at: 0)
            source = .file(path: path, try await backend.properties.files.inspect(path, below: nil))
        case .generated(let number, let size):
            source = .data(Self.bytes(number, size))
        }
        return Upload(
            reference: object.reference, source: source, metadata: try .ofUpload(object.metadata, named: names),
            expectedMD5: object.metadata.md5Hash, caller: caller)
    }
}

extension Seed {
    private static func bytes(_ number: Int, _ size: Int) -> [UInt8] {
        var generator = SplitMix64(seed: UInt64(number))
        var bytes: [UInt8] = []
        bytes.reserveCapacity(size + 7)
        while bytes.count < size { withUnsafeBytes(of: generator.next().littleEndian) { bytes += $0 } }
        bytes.removeLast(bytes.count - size)
        return bytes
    }
}

extension Upload {
    /// A seed has bytes, or a file that was inspected.
    fileprivate var size: Int64 { source.size ?? 0 }
}

extension Backend {
    /// Stores an object without a task.
    fileprivate func store(_ upload: Upload) async throws(StorageError) {
        let session = beginUpload(upload)
        let size = upload.size
        func next(after offset: Int64) -> UploadStrategy.Step {
            .send(offset..<min(size, offset.addingSaturated(properties.chunkSizes.largest)))
        }
        var step = size <= properties.oneRequestLimit ? UploadStrategy.Step.sendWhole : .open
        while true {
            switch await session.perform(step, StepContext()) {
            case .completed: return
            case .opened: step = next(after: 0)
            case .received(let offset): step = next(after: offset)
            case .failed(let error), .unsettled(let error), .forgotten(let error), .superseded(let error): throw error
            case .aborted: throw StorageError(.cancelled, "The upload was aborted.").about(upload.reference)
            }
        }
    }
}
