// swift-format-ignore-file: NeverForceUnwrap
import FirebaseStorage
import Foundation

// The page "Upload files with Cloud Storage".

func uploads(_ storage: Storage) async throws {
    let storageRef = storage.reference()
    let localFile = URL(string: "path/to/image")!
    createAReference(storage)
    let error = await failure { try await storageRef.putDataAsync(Data()) }
    check(error.code == StorageErrorCode.invalidArgument.rawValue, "nothing can be uploaded to the root")
    try await fromMemory(storageRef)
    try await fromAFile(storageRef)
    try await withMetadata(storageRef, data: Data("Hello, world!".utf8), localFile: localFile)
    try await manage(storageRef.child("videos/managed.mov"), localFile: localFile)
    try await monitor(storageRef.child("images/monitored.jpg"), localFile: localFile)
    try await remove(storageRef.child("images/removed.jpg"), localFile: localFile)
    try await errors(storageRef)
    try await fullExample(storageRef.child("images/mountains.jpg"))
}

private func createAReference(_ storage: Storage) {
    let storageRef = storage.reference()
    let mountainsRef = storageRef.child("mountains.jpg")
    let mountainImagesRef = storageRef.child("images/mountains.jpg")

    check(mountainsRef.name == mountainImagesRef.name, "the names are the same")
    check(!(mountainsRef.fullPath == mountainImagesRef.fullPath), "the paths are different")
}

private func fromMemory(_ storageRef: StorageReference) async throws {
    let data = Data()
    let riversRef = storageRef.child("images/rivers.jpg")
    let uploadTask = riversRef.putData(data, metadata: nil) { (metadata, error) in
        guard let metadata = metadata else {
            return
        }
        let size = metadata.size
        riversRef.downloadURL { (url, error) in
            guard let downloadURL = url else {
                return
            }
            _ = (size, downloadURL)
        }
    }

    try await uploadTask.wait()
    let url: URL? = await called { done in
        riversRef.putData(Data("Hello, world!".utf8), metadata: nil) { (metadata, error) in
            dispatchPrecondition(condition: .onQueue(.main))
            check(metadata?.size == 13 && metadata?.contentType == "image/jpeg", "the metadata has size and type")
            riversRef.downloadURL { (url, error) in done(url) }
        }
    }
    check(url != nil, "there is a download URL after the upload")
}

private func fromAFile(_ storageRef: StorageReference) async throws {
    let localFile = URL(string: "path/to/image")!
    let riversRef = storageRef.child("images/rivers.jpg")
    let uploadTask = riversRef.putFile(from: localFile, metadata: nil) { metadata, error in
        guard let metadata = metadata else {
            return
        }
        let size = metadata.size
        riversRef.downloadURL { (url, error) in
            guard let downloadURL = url else {
                return
            }
            _ = (size, downloadURL)
        }
    }

    check(try await uploadTask.wait().metadata?.size == 400_000, "all of the file is stored")
}

private func withMetadata(_ storageRef: StorageReference, data: Data, localFile: URL) async throws {
    let mountainsRef = storageRef.child("images/mountains.jpg")
    let metadata = StorageMetadata()
    metadata.contentType = "image/jpeg"
    mountainsRef.putData(data, metadata: metadata)
    mountainsRef.putFile(from: localFile, metadata: metadata)

    let unknown = storageRef.child("images/mountains")
    check(
        try await unknown.putFileAsync(from: localFile, metadata: metadata).contentType == "image/jpeg",
        "a type is kept")
    check(
        try await unknown.putFileAsync(from: localFile).contentType == "application/octet-stream",
        "a type that nothing tells is application/octet-stream")
    let page = URL(fileURLWithPath: "page.html")
    try Data("<p>".utf8).write(to: page)
    check(
        try await unknown.putFileAsync(from: page).contentType == "text/html",
        "the extension of the file tells its type")
}

private func manage(_ storageRef: StorageReference, localFile: URL) async throws {
    let uploadTask = storageRef.putFile(from: localFile)
    uploadTask.pause()
    uploadTask.resume()
    uploadTask.cancel()

    do {
        let size = try await uploadTask.wait().metadata?.size
        check(size == 400_000, "an upload that has ended already cannot be cancelled")
    } catch {
        check((error as NSError).code == StorageErrorCode.cancelled.rawValue, "a cancelled upload fails")
    }
}

private func monitor(_ storageRef: StorageReference, localFile: URL) async throws {
    let uploadTask = storageRef.putFile(from: localFile)
    let observer = uploadTask.observe(.progress) { snapshot in
        // A progress event occurred
    }
    check(!observer.isEmpty, "an observer has a handle")

    let snapshot: StorageTaskSnapshot = await called { done in
        storageRef.putFile(from: localFile).observe(.success) { snapshot in done(snapshot) }
    }
    check(
        snapshot.progress?.completedUnitCount == 400_000 && snapshot.error == nil, "a snapshot has progress and error")
    check(snapshot.metadata?.size == 400_000, "after the success it has the metadata of the uploaded file")
    check(snapshot.reference == storageRef && snapshot.task is StorageUploadTask, "it has the reference and the task")
    (snapshot.task as? StorageTaskManagement)?.pause?()
}

private func remove(_ storageRef: StorageReference, localFile: URL) async throws {
    let uploadTask = storageRef.putFile(from: localFile)
    let observer = uploadTask.observe(.progress) { snapshot in
        check(false, "a removed observer hears nothing")
    }
    uploadTask.removeObserver(withHandle: observer)
    uploadTask.removeAllObservers(for: .progress)
    uploadTask.removeAllObservers()

    try await uploadTask.wait()
}

private func errors(_ storageRef: StorageReference) async throws {
    let missing = await failure { try await storageRef.child("a").putFileAsync(from: URL(string: "nothing")!) }
    check(missing.code == StorageErrorCode.unknown.rawValue, "a local file that is not there is an error")
    check(missing.domain == StorageErrorDomain, "errors have a domain")
}

private func fullExample(_ storageRef: StorageReference) async throws {
    let localFile = URL(string: "path/to/image")!
    let metadata = StorageMetadata()
    metadata.contentType = "image/jpeg"
    let uploadTask = storageRef.putFile(from: localFile, metadata: metadata)
    uploadTask.observe(.resume) { snapshot in
        // Upload resumed, also fires when the upload starts
    }
    uploadTask.observe(.pause) { snapshot in
        // Upload paused
    }
    uploadTask.observe(.progress) { snapshot in
        let percentComplete =
            100.0 * Double(snapshot.progress!.completedUnitCount)
            / Double(snapshot.progress!.totalUnitCount)
        check(percentComplete >= 0 && percentComplete <= 100, "progress is a percentage")
    }
    uploadTask.observe(.success) { snapshot in
        // Upload completed successfully
    }
    uploadTask.observe(.failure) { snapshot in
        if let error = snapshot.error as? NSError {
            switch (StorageErrorCode(rawValue: error.code)!) {
            case .objectNotFound:
                break
            case .unauthorized:
                break
            case .cancelled:
                break
            case .unknown:
                break
            default:
                break
            }
        }
    }

    check(try await uploadTask.wait().metadata?.contentType == "image/jpeg", "the full example uploads")

    let missing = storageRef.putFile(from: URL(string: "nothing")!)
    let code: Int? = await called { done in
        missing.observe(.failure) { snapshot in
            if let error = snapshot.error as? NSError { done(error.code) } else { done(nil) }
        }
    }
    check(code == StorageErrorCode.unknown.rawValue, "the error of a snapshot is an NSError")
}
