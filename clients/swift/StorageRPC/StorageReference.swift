import Foundation

/// A bucket and a path in it, which may name an object or a folder. Nothing need be there.
///
/// Completions run on the `callbackQueue` of the storage. Errors are `StorageError`s. Sound: it does not change.
open class StorageReference: NSObject, @unchecked Sendable {
    /// The storage that the reference is of.
    public let storage: Storage
    let path: StoragePath

    init(storage: Storage, path: StoragePath) { (self.storage, self.path) = (storage, path) }

    /// The name of the bucket.
    public var bucket: String { path.bucket }
    /// The path in the bucket, without slashes at its ends; empty at the root.
    public var fullPath: String { path.fullPath }
    /// The last segment of the path; empty at the root.
    public var name: String { path.name }

    /// The root of the bucket.
    open func root() -> StorageReference { storage.reference(path.root) }

    /// The reference one level up. Nil at the root.
    open func parent() -> StorageReference? { path.parent.map(storage.reference) }

    /// A reference to a path below this one.
    open func child(_ path: String) -> StorageReference { storage.reference(self.path.child(path)) }

    // MARK: Uploads

    /// Uploads bytes.
    @discardableResult
    open func putData(_ uploadData: Data, metadata: StorageMetadata? = nil) -> StorageUploadTask {
        putData(uploadData, metadata: metadata, completion: nil)
    }

    /// Uploads bytes; `completion` gets the metadata of the stored object, or the error.
    @discardableResult
    open func putData(
        _ uploadData: Data, metadata: StorageMetadata? = nil,
        completion: ((_: StorageMetadata?, _: (any Error)?) -> Void)?
    ) -> StorageUploadTask {
        started(.put(uploadData, at: self, metadata: metadata), completion) { $0.metadata }
    }

    /// Uploads a regular file of this machine. A URL without a scheme is a path.
    @discardableResult
    open func putFile(from fileURL: URL, metadata: StorageMetadata? = nil) -> StorageUploadTask {
        putFile(from: fileURL, metadata: metadata, completion: nil)
    }

    /// Uploads a regular file; `completion` gets the metadata of the stored object, or the error.
    @discardableResult
    open func putFile(
        from fileURL: URL, metadata: StorageMetadata? = nil,
        completion: ((_: StorageMetadata?, _: (any Error)?) -> Void)?
    ) -> StorageUploadTask {
        started(.put(file: fileURL, at: self, metadata: metadata), completion) { $0.metadata }
    }

    // MARK: Downloads

    /// Downloads an object of at most `maxSize` bytes to memory.
    @discardableResult
    open func getData(maxSize: Int64, completion: @escaping ((_: Data?, _: (any Error)?) -> Void))
        -> StorageDownloadTask
    {
        let task = StorageDownloadTask.getting(self, maxSize: maxSize)
        return started(task, completion) { [unowned task] _ in task.data }
    }

    /// Downloads an object to a file, which appears when all of it is verified.
    @discardableResult
    open func write(toFile fileURL: URL) -> StorageDownloadTask { write(toFile: fileURL, completion: nil) }

    /// Downloads an object to a file; `completion` gets the URL of the file, or the error.
    @discardableResult
    open func write(toFile fileURL: URL, completion: ((_: URL?, _: (any Error)?) -> Void)?) -> StorageDownloadTask {
        started(.writing(self, to: fileURL), completion) { _ in fileURL }
    }

    /// Starts a task whose end is also that of a completion.
    func started<Task: StorageObservableTask, Value>(
        _ task: Task, _ completion: ((Value?, (any Error)?) -> Void)?, value: @escaping (StorageTaskSnapshot) -> Value?
    ) -> Task {
        if let completion {
            task.observe(.success) { completion(value($0), nil) }
            task.observe(.failure) { completion(nil, $0.error) }
        }
        task.enqueue()
        return task
    }

    // MARK: Calls

    /// Asks for a URL that downloads the object without credentials.
    open func downloadURL(completion: @escaping ((_: URL?, _: (any Error)?) -> Void)) {
        send(StorageCalls.ReferenceDownloadURL(reference: path.wire), completion) { try Self.url($0.url) }
    }

    /// Gets the metadata of the object.
    open func getMetadata(completion: @escaping ((_: StorageMetadata?, _: (any Error)?) -> Void)) {
        send(StorageCalls.ReferenceGetMetadata(reference: path.wire), completion) { StorageMetadata($0) }
    }

    /// Changes the properties of the metadata that were assigned, and gets all.
    open func updateMetadata(
        _ metadata: StorageMetadata, completion: ((_: StorageMetadata?, _: (any Error)?) -> Void)?
    ) {
        let call = StorageCalls.ReferenceUpdateMetadata(reference: path.wire, metadata: metadata.update)
        send(call, completion) { StorageMetadata($0) }
    }

    /// Lists all that is directly below this reference.
    open func listAll(completion: @escaping ((_: StorageListResult?, _: (any Error)?) -> Void)) {
        send(StorageCalls.ReferenceListAll(reference: path.wire), completion) { [self] in result($0) }
    }

    /// Lists at most `maxResults`, 1 to 1000, of what is directly below this reference.
    open func list(maxResults: Int64, completion: @escaping ((_: StorageListResult?, _: (any Error)?) -> Void)) {
        let call = StorageCalls.ReferenceList(reference: path.wire, maxResults: maxResults)
        send(call, completion) { [self] in result($0) }
    }

    /// Lists the next at most `maxResults`, 1 to 1000, after those of the result that had the token.
    open func list(
        maxResults: Int64, pageToken: String, completion: @escaping ((_: StorageListResult?, _: (any Error)?) -> Void)
    ) {
        let call = StorageCalls.ReferenceList(reference: path.wire, maxResults: maxResults, pageToken: pageToken)
        send(call, completion) { [self] in result($0) }
    }

    /// Deletes the object.
    open func delete(completion: ((_: (any Error)?) -> Void)?) {
        send(
            StorageCalls.ReferenceDelete(reference: path.wire),
            completion.map { then in { (_: Void?, error) in then(error) } }
        ) {
            _ in
        }
    }

    private func send<Call: StorageCall, Value>(
        _ call: Call, _ completion: ((Value?, (any Error)?) -> Void)?,
        value: @escaping @Sendable (Call.Answer) throws -> Value
    ) {
        let (queue, completion) = (storage.callbackQueue, Lent(completion))
        storage.session.send(call, with: storage.settings) { answer in
            let outcome = Lent(Result { try value(answer.get()) })
            guard completion.value != nil else { return }
            queue.async {
                switch outcome.value {
                case .success(let value): completion.value?(value, nil)
                case .failure(let error): completion.value?(nil, error)
                }
            }
        }
    }

    func result(_ listing: StorageWire.Listing) -> StorageListResult {
        StorageListResult(
            prefixes: listing.prefixes.map { storage.reference(StoragePath($0)) },
            items: listing.items.map { storage.reference(StoragePath($0)) }, pageToken: listing.pageToken)
    }

    static func url(_ text: String) throws(StorageError) -> URL {
        guard let url = URL(string: text) else { throw .internalError(message: "\(text) is no URL.") }
        return url
    }

    // MARK: As an object

    /// An equal reference.
    override open func copy() -> Any { StorageReference(storage: storage, path: path) }

    /// Whether the other object is a reference to the same path of the same storage. Names are compared by bytes.
    override open func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? StorageReference else { return false }
        return storage == other.storage && path == other.path
    }

    /// Equal for equal references.
    override open var hash: Int { path.hashValue }

    /// The `gs://` URL.
    override open var description: String { path.url }
}

/// A page of a list. Sound: it does not change.
open class StorageListResult: NSObject, @unchecked Sendable {
    /// The folders.
    public let prefixes: [StorageReference]
    /// The objects.
    public let items: [StorageReference]
    /// What `list(maxResults:pageToken:)` takes for the next page. Nil on the last one.
    public let pageToken: String?

    init(prefixes: [StorageReference], items: [StorageReference], pageToken: String?) {
        (self.prefixes, self.items, self.pageToken) = (prefixes, items, pageToken)
    }

    /// An equal result.
    override open func copy() -> Any { StorageListResult(prefixes: prefixes, items: items, pageToken: pageToken) }
}
