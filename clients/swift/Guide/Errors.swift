import FirebaseStorage
import Foundation

// The page "Handle errors for Cloud Storage".

/// An app may use the names that the client has beyond those of the SDK, also for members.
private enum StorageService { case shared }
extension StorageReference { fileprivate func exists() -> StorageService { .shared } }

func errors(_ storage: Storage) async throws {
    let storageRef = storage.reference()
    let error: NSError? = await called { done in
        storageRef.child("images/nothing.jpg").getMetadata { metadata, error in done(error as NSError?) }
    }
    check(error?.domain == StorageErrorDomain, "errors have the domain of the SDK")
    guard let error, let errorCode = StorageErrorCode(rawValue: error.code) else { return }
    switch errorCode {
    case .objectNotFound:
        break
    case .unauthorized, .cancelled, .unknown:
        check(false, "\(error) says that there is no object")
    default:
        check(false, "\(error) says that there is no object")
    }
    check(error.userInfo["bucket"] as? String == storageRef.bucket, "an error has the bucket")
    check(error.userInfo["object"] as? String == "images/nothing.jpg", "an error has the object")

    let missing = await failure { try await storageRef.child("a").putFileAsync(from: URL(fileURLWithPath: "nothing")) }
    check(missing.code == StorageErrorCode.unknown.rawValue, "a local file that is not there is an error")
    let mismatch = await failure { _ = try storage.reference(for: URL(fileURLWithPath: "/nothing")) }
    check(mismatch.code == StorageErrorCode.pathError.rawValue, "what is no URL of storage is refused")

    check(storageRef.exists() == .shared, "names of an app are those of the app")
    check(storage.maxUploadRetryTime == 600 && storage.maxOperationRetryTime == 120, "failures are retried so long")
}
