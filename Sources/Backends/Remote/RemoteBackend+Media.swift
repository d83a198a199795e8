import FoundationEssentials
import HTTP
import Storage
import Synchronization

/// What an attempt to fetch bytes of one generation came to.
enum MediaOutcome<Value: Sendable>: Sendable {
    case done(Value)
    /// That generation may not be there any more. If it still is, this is why it failed.
    case doubtful(StorageError)
}

extension RemoteBackend {
    /// Looks at the metadata and has bytes fetched, anew where the object was overwritten meanwhile.
    func settled<Value: Sendable>(
        _ reference: Reference, _ caller: Caller,
        _ fetch: (ObjectMetadata) async throws(StorageError) -> MediaOutcome<Value>
    ) async throws(StorageError) -> Value {
        var doubt: (generation: Int64, error: StorageError)?
        for _ in 0..<4 {
            let object = try await metadataOnce(
                from: dialect.metadata(of: reference, generation: nil), reference, caller)
            if let doubt, doubt.generation == object.generation { throw doubt.error }
            switch try await fetch(object) {
            case .done(let value): return value
            case .doubtful(let error): doubt = (object.generation, error)
            }
        }
        throw .everOther(reference)
    }

    /// Fetches what is missing. Returns when all of it is with the store; throws a retryable error where it may go on
    /// later.
    func fetch(into sink: MediaSink, _ caller: Caller) async throws(StorageError) -> MediaOutcome<HTTPHeaders> {
        let reference = sink.object.reference
        var request = dialect.media(of: sink.object, from: sink.offset)
        request.sink = sink
        let response: HTTPResponse
        do throws(StorageError) {
            response = try await ask(request, for: caller, about: reference)
        } catch {
            if sink.isTooMuch { return .doubtful(.tooMuch(sink.object)) }
            switch sink.head {
            case .changed: return .doubtful(.everOther(reference))
            case .garbled(let what): throw .garbled(what, HTTPResponse(status: 206), reference, retryable: true)
            case .bytes, nil: throw error
            }
        }
        return try outcome(of: response, to: request, sink)
    }

    private func outcome(
        of response: HTTPResponse, to request: RemoteRequest, _ sink: MediaSink
    ) throws(StorageError) -> MediaOutcome<HTTPHeaders> {
        let (status, reference) = (response.status, sink.object.reference)
        switch MediaHead(status: status, headers: response.headers, of: sink.object, from: sink.offset) {
        case .bytes where sink.left == 0: return .done(response.headers)
        case .bytes: throw .garbled("\(sink.left) bytes are missing", response, reference, retryable: true)
        case .changed: return .doubtful(.everOther(reference))
        case .garbled(let what): throw .garbled(what, response, reference, retryable: true)
        case nil:
            var refusal = StorageError.refusal(response, of: request, to: reference)
            // The next try begins with the first byte.
            if status == 416 { refusal.retryable = true }
            guard [404, 412, 416].contains(status) else { throw refusal }
            return .doubtful(refusal)
        }
    }
}

// MARK: - Into memory

extension RemoteBackend {
    public func data(of reference: Reference, maxSize: Int64, for caller: Caller) async throws(StorageError) -> [UInt8]
    {
        try await patiently(caller) { () async throws(StorageError) in
            try await self.settled(reference, caller) { object async throws(StorageError) in
                guard object.size <= maxSize else { throw .sizeExceeded(object, maxSize) }
                return try await self.bytes(of: object, caller)
            }
        }
    }

    private func bytes(of object: ObjectMetadata, _ caller: Caller) async throws(StorageError) -> MediaOutcome<[UInt8]>
    {
        guard object.size > 0 else { return .done([]) }
        let memory = MediaInMemory(expecting: object.size)
        switch try await fetch(into: MediaSink(object, from: 0, into: memory), caller) {
        case .doubtful(let error): return .doubtful(error)
        case .done(let headers):
            let bytes = memory.taken
            guard let flaw = object.flaw(in: bytes, headers) else { return .done(bytes) }
            return .doubtful(.damaged(object, flaw))
        }
    }
}

private final class MediaInMemory: MediaStore {
    private let bytes: Mutex<[UInt8]>

    /// A size that is a lie takes no memory.
    init(expecting size: Int64) {
        var room: [UInt8] = []
        room.reserveCapacity(Int(min(size, 16 << 20)))
        bytes = Mutex(room)
    }

    var taken: [UInt8] { bytes.withLock { $0 } }

    func take(_ more: UnsafeRawBufferPointer, wake: HTTPWaker) -> HTTPBodyWrite {
        bytes.withLock { $0.append(contentsOf: more) }
        return .taken
    }
}

extension ObjectMetadata {
    /// What the answer with the bytes says counts where the metadata say nothing.
    fileprivate func flaw(in bytes: [UInt8], _ headers: HTTPHeaders) -> String? {
        var checksum = Checksum()
        if let crc32c = crc32c ?? headers.storedCRC32C {
            bytes.withUnsafeBytes { checksum.updateCRC($0) }
            return checksum.crc32c == crc32c ? nil : "their CRC32C is another"
        }
        guard let md5 = md5 ?? headers.storedMD5 else { return nil }
        bytes.withUnsafeBytes { checksum.updateMD5($0) }
        return checksum.md5 == md5 ? nil : "their MD5 is another"
    }
}

extension StorageError {
    static func damaged(_ object: ObjectMetadata, _ how: String) -> StorageError {
        StorageError(
            .nonMatchingChecksum,
            "The \(object.size) bytes of object \(object.reference.object) did not arrive as they are stored: \(how)."
        ).about(object.reference)
    }

    fileprivate static func tooMuch(_ object: ObjectMetadata) -> StorageError { damaged(object, "there are more") }

    /// Overwritten again and again, or answers that are not about one and the same object.
    fileprivate static func everOther(_ reference: Reference) -> StorageError {
        var error = StorageError(.unknown, "Object \(reference.object) was another while it was being fetched.")
        error.retryable = true
        return error.about(reference)
    }
}
