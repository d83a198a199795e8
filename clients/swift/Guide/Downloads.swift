// swift-format-ignore-file: NeverForceUnwrap
import FirebaseStorage
import Foundation

// The page "Download files with Cloud Storage".

func downloads(_ storage: Storage) async throws {
    let islandRef = storage.reference().child("images/island.jpg")
    try await islandRef.putFileAsync(from: URL(string: "path/to/image")!)
    try await createAReference(storage, islandRef)
    try await inMemory(islandRef)
    try await toALocalFile(islandRef)
    try await aURL(islandRef)
    try await manage(islandRef)
    try await monitor(islandRef)
    try await fullExample(storage)
}

private func createAReference(_ storage: Storage, _ islandRef: StorageReference) async throws {
    let pathReference = storage.reference(withPath: "images/island.jpg")
    let gsReference = storage.reference(forURL: "gs://\(islandRef.bucket)/images/island.jpg")
    let httpsReference = storage.reference(forURL: try await islandRef.downloadURL().absoluteString)

    check(pathReference == islandRef, "a path is a reference")
    check(gsReference == islandRef, "a gs:// URL is a reference")
    check(httpsReference == islandRef, "a download URL is a reference")
}

private func inMemory(_ islandRef: StorageReference) async throws {
    let data: Data? = await called { done in
        islandRef.getData(maxSize: 1 * 1024 * 1024) { data, error in
            dispatchPrecondition(condition: .onQueue(.main))
            done(error == nil ? data : nil)
        }
    }
    check(data == Data(count: 400_000), "the bytes are those that were stored")
    check(try await islandRef.data(maxSize: 400_000).count == 400_000, "an object may have just maxSize bytes")

    let error = await failure { _ = try await islandRef.data(maxSize: 399_999) }
    check(error.code == StorageErrorCode.downloadSizeExceeded.rawValue, "one byte more is an error")
}

private func toALocalFile(_ islandRef: StorageReference) async throws {
    let localURL = URL(string: "path/to/island.jpg")!
    let url: URL? = await called { done in
        islandRef.write(toFile: localURL) { url, error in done(error == nil ? url : nil) }
    }
    check(url == localURL, "the completion has the URL of the file")
    let stored = try Data(contentsOf: URL(fileURLWithPath: "path/to/island.jpg"))
    check(stored.count == 400_000, "the file has all bytes")
    check(try await islandRef.writeAsync(toFile: localURL) == localURL, "a file is replaced")
}

private func aURL(_ islandRef: StorageReference) async throws {
    let url: URL? = await called { done in islandRef.downloadURL { url, error in done(url) } }
    check(url?.query?.contains("token=") == true, "a download URL has a token")
    check(try await islandRef.downloadURL() == url, "it stays the same")
}

private func manage(_ islandRef: StorageReference) async throws {
    let downloadTask = islandRef.write(toFile: URL(string: "path/to/managed.jpg")!)
    downloadTask.pause()
    downloadTask.resume()
    downloadTask.cancel()

    do {
        let size = try await downloadTask.wait().metadata?.size
        check(size == 400_000, "a download that has ended already cannot be cancelled")
    } catch {
        check((error as NSError).code == StorageErrorCode.cancelled.rawValue, "a cancelled download fails")
    }
}

private func monitor(_ islandRef: StorageReference) async throws {
    let downloadTask = islandRef.write(toFile: URL(string: "path/to/removed.jpg")!)
    let observer = downloadTask.observe(.progress) { snapshot in
        check(false, "a removed observer hears nothing")
    }
    downloadTask.removeObserver(withHandle: observer)
    downloadTask.removeAllObservers(for: .progress)
    downloadTask.removeAllObservers()
    try await downloadTask.wait()

    let snapshot: StorageTaskSnapshot = await called { done in
        islandRef.write(toFile: URL(string: "path/to/monitored.jpg")!).observe(.success) { snapshot in done(snapshot) }
    }
    check(snapshot.progress?.completedUnitCount == 400_000, "a snapshot has the progress")
    check(snapshot.reference == islandRef && snapshot.task is StorageDownloadTask, "it has the reference and the task")
    check(snapshot.metadata?.size == 400_000 && snapshot.error == nil, "after the success it has the metadata")
}

private func fullExample(_ storage: Storage) async throws {
    let starsRef = storage.reference().child("images/island.jpg")
    let heard = Heard()
    let downloadTask = starsRef.write(toFile: URL(string: "path/to/stars.jpg")!)
    for status in [StorageTaskStatus.resume, .pause, .success] {
        downloadTask.observe(status) { snapshot in
            MainActor.assumeIsolated { heard.statuses.append(snapshot.status) }
        }
    }
    downloadTask.observe(.progress) { snapshot in
        let percentComplete =
            100.0 * Double(snapshot.progress!.completedUnitCount)
            / Double(snapshot.progress!.totalUnitCount)
        check(percentComplete >= 0 && percentComplete <= 100, "progress is a percentage")
    }
    try await downloadTask.wait()

    let missing = storage.reference().child("images/nothing.jpg").write(toFile: URL(string: "path/to/nothing.jpg")!)
    let code: StorageErrorCode? = await called { done in
        missing.observe(.failure) { snapshot in
            guard let errorCode = (snapshot.error as? NSError)?.code else { return done(nil) }
            done(StorageErrorCode(rawValue: errorCode))
        }
    }
    check(code == .objectNotFound, "what is not there cannot be downloaded")
    check(!FileManager.default.fileExists(atPath: "path/to/nothing.jpg"), "no file appears")
    let statuses = await heard.statuses
    check(statuses == [.resume, .success], "\(statuses) are the events")
}
