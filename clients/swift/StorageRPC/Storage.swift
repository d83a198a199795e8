import Foundation

/// Cloud Storage for Firebase through a service: where references come from.
///
/// All `Storage` of one service have one connection, and each has settings of its own.
///
/// Sound: all that changes is guarded by `lock`.
open class Storage: NSObject, @unchecked Sendable {
    private let lock = NSLock()
    private var values: (service: StorageService, settings: SessionSettings, queue: DispatchQueue, isUsed: Bool)
    /// The bucket of references that name none. Empty if the URL was: then URLs may name any bucket.
    let bucket: String

    // MARK: Making one

    private static let cache = Cache()

    /// Sound: all that changes is guarded by `lock`.
    private final class Cache: @unchecked Sendable {
        let lock = NSLock()
        var storages: [StorageService: [String: Storage]] = [:]
        var service = StorageService.environment
    }

    /// The service of `storage()` and `storage(url:)`. At first that of the environment.
    public static var defaultService: StorageService {
        get { cache.lock.withLock { cache.service } }
        set { cache.lock.withLock { cache.service = newValue } }
    }

    /// The storage of the default service with its default bucket: always the same object.
    open class func storage() -> Storage { storage(service: defaultService) }

    /// The storage of the default service with the bucket of a URL, `gs://BUCKET`; with an empty one of any bucket.
    ///
    /// - Precondition: the URL names a bucket and no path.
    open class func storage(url: String) -> Storage { storage(service: defaultService, url: url) }

    /// The storage of a service, with its default bucket or that of a URL.
    ///
    /// - Precondition: the URL names a bucket and no path.
    public static func storage(service: StorageService, url: String? = nil) -> Storage {
        var bucket = service.defaultBucket
        if let url {
            let path = url.isEmpty ? StoragePath(bucket: "") : try? StoragePath(url: url)
            guard let path, path.fullPath.isEmpty else { fatalError("\(url) is not the URL of a bucket.") }
            bucket = path.bucket
        }
        return cache.lock.withLock {
            let storage = cache.storages[service]?[bucket] ?? Storage(service: service, bucket: bucket)
            cache.storages[service, default: [:]][bucket] = storage
            return storage
        }
    }

    private init(service: StorageService, bucket: String) {
        self.bucket = bucket
        values = (service, SessionSettings(), .main, false)
    }

    // MARK: Settings

    /// How long a failing upload is retried without progress, in seconds. Tasks keep that of their start.
    public var maxUploadRetryTime: TimeInterval {
        get { lock.withLock { values.settings.maxUploadRetryTime } }
        set { lock.withLock { values.settings.maxUploadRetryTime = newValue } }
    }

    /// How long a failing download is retried without progress, in seconds. Tasks keep that of their start.
    public var maxDownloadRetryTime: TimeInterval {
        get { lock.withLock { values.settings.maxDownloadRetryTime } }
        set { lock.withLock { values.settings.maxDownloadRetryTime = newValue } }
    }

    /// How long any other failing call is retried, in seconds.
    public var maxOperationRetryTime: TimeInterval {
        get { lock.withLock { values.settings.maxOperationRetryTime } }
        set { lock.withLock { values.settings.maxOperationRetryTime = newValue } }
    }

    /// The size of the pieces of an upload, rounded up to a multiple of 256 KiB. While it is `Int64.max` the service
    /// chooses, and the pieces grow with the upload.
    public var uploadChunkSizeBytes: Int64 {
        get { lock.withLock { values.settings.uploadChunkSizeBytes ?? .max } }
        set { lock.withLock { values.settings.uploadChunkSizeBytes = newValue == .max ? nil : newValue } }
    }

    /// Where handlers and completions run. The main queue has to be served: by `RunLoop.main.run()`, `dispatchMain()` or an
    /// asynchronous `main`. Async functions without `onProgress` need no queue.
    public var callbackQueue: DispatchQueue {
        get { lock.withLock { values.queue } }
        set { lock.withLock { values.queue = newValue } }
    }

    /// Uses the emulator of Firebase, or the gateway of storage-rpc, in place of what the service would use.
    ///
    /// - Precondition: the host is not empty, the port is not negative, and no reference was made before.
    open func useEmulator(withHost host: String, port: Int) {
        guard !host.isEmpty else { fatalError("The host of the emulator is empty.") }
        guard port >= 0 else { fatalError("The port of the emulator is negative.") }
        lock.withLock {
            guard !values.isUsed else {
                fatalError("useEmulator(withHost:port:) must be called before a reference is made.")
            }
            values.service = values.service.emulating(host: host, port: port)
        }
    }

    /// The service of this storage.
    public var service: StorageService { lock.withLock { values.service } }
    var settings: SessionSettings { lock.withLock { values.settings } }
    var session: Session { Session.shared(service) }

    // MARK: References

    /// A reference to the root of the bucket.
    open func reference() -> StorageReference { reference(StoragePath(bucket: bucket)) }

    /// A reference to a path in the bucket.
    open func reference(withPath path: String) -> StorageReference { reference().child(path) }

    /// A reference to what a `gs://` URL or a download URL names.
    ///
    /// - Precondition: the URL is one of these, and of the bucket of this storage. `reference(for:)` throws instead.
    open func reference(forURL url: String) -> StorageReference {
        do {
            return try reference(found: url)
        } catch {
            fatalError(error.localizedDescription)
        }
    }

    /// A reference to what a `gs://` URL or a download URL names.
    ///
    /// - Throws: `StorageError.pathError` for other URLs, and `StorageError.bucketMismatch` for those of another bucket.
    open func reference(for url: URL) throws -> StorageReference { try reference(found: url.absoluteString) }

    private func reference(found url: String) throws(StorageError) -> StorageReference {
        let path = try StoragePath(url: url)
        guard bucket.isEmpty || path.bucket == bucket else {
            throw .bucketMismatch(message: "\(url) is of bucket \(path.bucket), and this storage of bucket \(bucket).")
        }
        return reference(path)
    }

    func reference(_ path: StoragePath) -> StorageReference {
        lock.withLock { values.isUsed = true }
        return StorageReference(storage: self, path: path)
    }

    // MARK: The service

    /// Asks the service for anything of the contract. If the Swift task is cancelled, the request is, too.
    ///
    /// - Throws: a `StorageError`.
    public func ask<Call: StorageCall>(_ call: Call) async throws -> Call.Answer {
        try await session.ask(call, with: settings)
    }

    /// Ends the connection of this process to the service. A private service ends after its running tasks, unless it serves
    /// others; a shared one, or one on a socket, continues. The next call opens a new connection.
    public func close() async {
        guard let session = Session.existing(service) else { return }
        await withCheckedContinuation { continuation in session.close { continuation.resume() } }
    }

    // MARK: As an object

    /// A storage of the same bucket and with the same callback queue.
    override open func copy() -> Any {
        let copy = Storage(service: service, bucket: bucket)
        copy.callbackQueue = callbackQueue
        return copy
    }

    /// Whether the other object is a storage of the same service and bucket.
    override open func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Storage else { return false }
        return service == other.service && bucket == other.bucket
    }

    /// Equal for equal storages.
    override open var hash: Int { bucket.hashValue }
}
