import Storage

/// The request of a client that begins an upload.
public struct UploadRequest: Sendable {
    public enum Source: Sendable {
        case data([UInt8])
        /// The path of a local file. A file that cannot be read fails the task, not the request.
        case file(String)
        /// A client of JSON-RPC appends the bytes. `size` is nil if the last request decides the size.
        case stream(size: Int64?)
        /// A client of the gateway sends the bytes in several requests. `size` is nil if only the last one contains it.
        case incoming(size: Int64?)
        /// An object that is copied or moved. A missing object fails the task, not the request.
        case object(CopyRequest)
    }

    var source: Source
    var reference: Reference
    /// The metadata of the new object. A copy takes the other values from its source.
    var change: MetadataChange
    var conditions: Preconditions
    /// Nil for a client without tokens and with the settings of the service.
    var client: TransferClient?
    /// Whether the client learns of the task when the task has ended. A task of one request is then recorded only when
    /// it has to wait.
    public var isAwaited = false
    /// The key of the request.
    public var key: String?
    var folder: FolderTask?
    /// The folder's list of the target has no object with the name.
    var isListedAsNew = false

    public init(
        _ source: Source, to reference: Reference, _ change: MetadataChange = .init(),
        if conditions: Preconditions = .init(), for client: TransferClient? = nil
    ) {
        (self.source, self.reference, self.change) = (source, reference, change)
        (self.conditions, self.client) = (conditions, client)
    }

    /// Throws `invalidArgument` for values that no upload can have.
    func check() throws(StorageError) {
        try change.check()
        if case .stream(let size?) = source, size < 0 {
            throw .invalidArgument("size", "size must be at least 0, not \(size).")
        }
        guard case .object(let copy) = source else {
            _ = try reference.checkedAsObject("cannot be written")
            return
        }
        _ = try reference.checkedAsObject("cannot be written", param: "to")
        _ = try copy.reference.checkedAsObject("cannot be copied")
        if copy.isMove, copy.reference == reference {
            throw .invalidArgument("to", "The object \(reference.url) cannot be moved onto itself.")
        }
    }

    var isStream: Bool { if case .stream = source { true } else { false } }
    var isFile: Bool { if case .file = source { true } else { false } }

    /// The metadata of the new object. For a copy, without the values that the copy takes from its source.
    var metadata: SettableMetadata {
        get throws(StorageError) {
            switch source {
            case .file(let path): return try .ofUpload(change, named: [path, reference.name])
            case .data, .stream, .incoming: return try .ofUpload(change, named: [reference.name])
            case .object:
                var metadata = SettableMetadata()
                try metadata.apply(change)
                return metadata
            }
        }
    }
}

/// The inspected source of an upload.
struct FoundSource {
    let source: UploadSource
    /// The bytes of a small file that was read.
    var bytes: [UInt8]?
    /// Why the file cannot be read; nil if it can.
    var failure: StorageError?
}
