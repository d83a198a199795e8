import Foundation

/// The calls with a `Result` in place of a value and an error.
extension StorageReference {
    /// Asks for a URL that downloads the object without credentials.
    public func downloadURL(completion: @escaping (Result<URL, any Error>) -> Void) {
        downloadURL(completion: either(completion))
    }

    /// Downloads an object of at most `maxSize` bytes to memory.
    @discardableResult
    public func getData(maxSize: Int64, completion: @escaping (Result<Data, any Error>) -> Void) -> StorageDownloadTask
    {
        getData(maxSize: maxSize, completion: either(completion))
    }

    /// Gets the metadata of the object.
    public func getMetadata(completion: @escaping (Result<StorageMetadata, any Error>) -> Void) {
        getMetadata(completion: either(completion))
    }

    /// Lists the next at most `maxResults` after those of the result that had the token.
    public func list(
        maxResults: Int64, pageToken: String, completion: @escaping (Result<StorageListResult, any Error>) -> Void
    ) {
        list(maxResults: maxResults, pageToken: pageToken, completion: either(completion))
    }

    /// Lists at most `maxResults` of what is directly below this reference.
    public func list(maxResults: Int64, completion: @escaping (Result<StorageListResult, any Error>) -> Void) {
        list(maxResults: maxResults, completion: either(completion))
    }

    /// Lists all that is directly below this reference.
    public func listAll(completion: @escaping (Result<StorageListResult, any Error>) -> Void) {
        listAll(completion: either(completion))
    }

    /// Uploads bytes.
    @discardableResult
    public func putData(
        _ uploadData: Data, metadata: StorageMetadata? = nil,
        completion: @escaping (Result<StorageMetadata, any Error>) -> Void
    ) -> StorageUploadTask {
        putData(uploadData, metadata: metadata, completion: either(completion))
    }

    /// Uploads a regular file.
    @discardableResult
    public func putFile(
        from: URL, metadata: StorageMetadata? = nil, completion: @escaping (Result<StorageMetadata, any Error>) -> Void
    ) -> StorageUploadTask {
        putFile(from: from, metadata: metadata, completion: either(completion))
    }

    /// Changes the properties of the metadata that were assigned, and gets all.
    public func updateMetadata(
        _ metadata: StorageMetadata, completion: @escaping (Result<StorageMetadata, any Error>) -> Void
    ) {
        updateMetadata(metadata, completion: either(completion))
    }

    /// Downloads an object to a file.
    @discardableResult
    public func write(toFile: URL, completion: @escaping (Result<URL, any Error>) -> Void) -> StorageDownloadTask {
        write(toFile: toFile, completion: either(completion))
    }
}

private func either<Value>(_ completion: @escaping (Result<Value, any Error>) -> Void) -> (Value?, (any Error)?) -> Void
{
    { value, error in
        if let value {
            completion(.success(value))
        } else {
            completion(.failure(error ?? StorageError.internalError(message: "There is neither a value nor an error.")))
        }
    }
}
