import Platform
import Storage

/// Runs what writes to a file of the root; what fails is told as the upload's failure.
package func storing<Result>(_ path: String, _ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
    do throws(SystemError) {
        return try body()
    } catch  where error.isFull {
        throw StorageError(.quotaExceeded, "There is no room left to store the upload: \(path): \(error.reason).")
    } catch {
        throw StorageError(.unknown, "The upload cannot be stored: \(path): \(error.reason).")
    }
}
