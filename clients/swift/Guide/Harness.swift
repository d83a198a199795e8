import FirebaseStorage
import Foundation
import StorageRPC

// The uploads of the guide, when something goes wrong or stops.

func harness(_ storage: Storage) async throws {
    let localFile = URL(fileURLWithPath: "film.mov")
    try Data(count: 4 << 20).write(to: localFile)
    storage.uploadChunkSizeBytes = 1 << 20
    try await pauseAtAByte(storage, localFile)
    try await cancel(storage, localFile)
    try await refusedChunk(storage, localFile)
    try await wait(storage, localFile)
}

private func arm(_ storage: Storage, _ effect: StorageWire.HarnessEffect, at: Int64) async throws {
    _ = try await storage.ask(StorageCalls.HarnessArm(on: [.send], do: effect, at: at))
}

/// Observes all statuses; the handlers run on the main queue.
private func observe(_ uploadTask: StorageUploadTask) -> Heard {
    let heard = Heard()
    for status in [StorageTaskStatus.resume, .pause, .success, .failure] {
        uploadTask.observe(status) { snapshot in
            MainActor.assumeIsolated { heard.statuses.append(snapshot.status) }
        }
    }
    return heard
}

private func pauseAtAByte(_ storage: Storage, _ localFile: URL) async throws {
    try await arm(storage, .init(hold: true), at: 2 << 20)
    let uploadTask = storage.reference().child("paused.mov").putFile(from: localFile)
    let heard = observe(uploadTask)
    let held = try await storage.ask(StorageCalls.HarnessSettled()).held
    check(held.map(\.at) == [2 << 20], "the upload is held at a byte")
    check(try await uploadTask.perform(.pause), "a running upload can be paused")
    check(!(try await uploadTask.perform(.pause)), "a paused upload cannot be paused")
    check(uploadTask.snapshot.status == .pause, "the snapshot says so")
    check(uploadTask.snapshot.progress?.completedUnitCount == 2 << 20, "the progress is that of the pause")
    uploadTask.resume()
    try await uploadTask.wait()
    let last: StorageTaskStatus = await called { done in uploadTask.observe(.success) { done($0.status) } }
    check(last == .success, "an observer of an ended task hears of its end")
    let statuses = await heard.statuses
    check(statuses == [.resume, .pause, .resume, .success], "\(statuses) are the events")
}

private func cancel(_ storage: Storage, _ localFile: URL) async throws {
    try await arm(storage, .init(hold: true), at: 1 << 20)
    let uploadTask = storage.reference().child("cancelled.mov").putFile(from: localFile)
    _ = try await storage.ask(StorageCalls.HarnessSettled())
    uploadTask.cancel()
    let code: Int? = await called { done in
        uploadTask.observe(.failure) { snapshot in done((snapshot.error as? NSError)?.code) }
    }
    check(code == StorageErrorCode.cancelled.rawValue, "a cancelled upload fails")
    check(!(try await uploadTask.snapshot.reference.objectExists()), "nothing is stored")
}

private func refusedChunk(_ storage: Storage, _ localFile: URL) async throws {
    try await arm(storage, .init(fail: .init(error: "unauthorized")), at: 3 << 20)
    let error = await failure {
        try await storage.reference().child("refused.mov").putFileAsync(from: localFile)
    }
    check(error.code == StorageErrorCode.unauthorized.rawValue, "a refused chunk is the error of the upload")
}

private func wait(_ storage: Storage, _ localFile: URL) async throws {
    _ = try await storage.ask(StorageCalls.HarnessClock(at: "2026-01-01T00:00:00Z"))
    try await arm(storage, .init(fail: .init(httpStatus: 503)), at: 1 << 20)
    let uploadTask = storage.reference().child("waiting.mov").putFile(from: localFile)
    let resting = try await storage.ask(StorageCalls.HarnessSettled()).resting
    check(resting.count == 1 && uploadTask.snapshot.retry?.attempt == 1, "the upload waits for a retry")
    _ = try await storage.ask(StorageCalls.HarnessClock(toNext: true))
    check(try await uploadTask.wait().metadata?.size == 4 << 20, "then it goes on")
}
