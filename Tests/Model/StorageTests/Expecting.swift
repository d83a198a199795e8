import Storage
import Testing

/// Returns the storage error that `body` must throw.
func storageError<T>(
    _ location: SourceLocation = #_sourceLocation, _ body: () throws(StorageError) -> T
) throws -> StorageError {
    var found: StorageError?
    do throws(StorageError) { _ = try body() } catch { found = error }
    return try #require(found, "no error was thrown", sourceLocation: location)
}

func reference(_ path: String, in bucket: String = "b") throws -> Reference {
    try Reference(bucket: bucket, path: path)
}
