import Platform
import Storage

/// Turns errors of writing to a file of the root into errors of the upload.
package func storing<Result>(_ path: String, _ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch  where error.isFull {
        throw StorageError(.quotaExceeded, "There is no room left to store the upload: \(path): \(error.reason).")
    } catch {
        throw StorageError(.unknown, "The upload cannot be stored: \(path): \(error.reason).")
    }
}
