import Foundation
import StorageRPC
import TestSupport
import Testing

/// A private service in a directory of its own, with a harness, and a `Storage` of it whose callback queue is not that of
/// other tests. The service ends when the test calls `close`, or with the test process.
final class ClientFixture: Sendable {
    static let key = DispatchSpecificKey<String>()

    let directory: URL
    let queue = DispatchQueue(label: "callbacks")
    let storage: Storage

    init(flags: [String] = ["--harness"], command: [String] = [ServiceProcess.program, "serve"]) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "storage-rpc-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        var service = Self.service(in: directory, flags: flags)
        service.command = command
        storage = Storage.storage(service: service)
        queue.setSpecific(key: Self.key, value: "callbacks")
        storage.callbackQueue = queue
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    static func service(in directory: URL, flags: [String] = []) -> StorageService {
        StorageService(
            command: [ServiceProcess.program, "serve"], root: directory.appending(path: "root").path, flags: flags)
    }

    var root: StorageReference { storage.reference() }

    /// Runs a test, and ends the service after it.
    static func with<Value>(
        flags: [String] = ["--harness"], command: [String] = [ServiceProcess.program, "serve"],
        _ body: (ClientFixture) async throws -> Value
    ) async throws -> Value {
        let fixture = try ClientFixture(flags: flags, command: command)
        do {
            let value = try await body(fixture)
            await fixture.stop()
            return value
        } catch {
            await fixture.stop()
            throw error
        }
    }

    private func stop() async {
        _ = try? await storage.ask(StorageCalls.ServiceStop())
        await storage.close()
    }

    func file(_ name: String, bytes: Int) throws -> URL {
        let url = directory.appending(path: name)
        try Data(count: bytes).write(to: url)
        return url
    }

    func arm(_ effect: StorageWire.HarnessEffect, at: Int64? = nil, times: Int64 = 1) async throws {
        _ = try await storage.ask(StorageCalls.HarnessArm(on: [.send], do: effect, at: at, times: .value(times)))
    }

    @discardableResult func settled() async throws -> StorageCalls.HarnessSettled.Answer {
        try await storage.ask(StorageCalls.HarnessSettled())
    }

    /// An upload of 4 MiB in chunks of 1 MiB that is held before the chunk at 2 MiB, so many times: again after each resume.
    func heldUpload(_ name: String = "film.mov", times: Int64 = 1) async throws -> StorageUploadTask {
        storage.uploadChunkSizeBytes = 1 << 20
        try await arm(.init(hold: true), at: 2 << 20, times: times)
        let task = root.child(name).putFile(from: try file(name, bytes: 4 << 20))
        try await settled()
        return task
    }
}

/// What handlers have received, in their order. Sound: guarded by `lock`.
final class Heard: @unchecked Sendable {
    private let lock = NSLock()
    private var all: [StorageTaskStatus] = []

    var statuses: [StorageTaskStatus] { lock.withLock { all } }
    func append(_ status: StorageTaskStatus) { lock.withLock { all.append(status) } }

    /// Observes these statuses of a task.
    init(_ task: StorageObservableTask? = nil, _ statuses: [StorageTaskStatus] = [.resume, .pause, .success, .failure])
    {
        for status in statuses { task?.observe(status) { [self] in append($0.status) } }
    }
}

/// The code of the error that a call throws.
func code(_ body: () async throws -> Void) async -> StorageErrorCode? {
    do {
        try await body()
        return nil
    } catch {
        return StorageErrorCode(rawValue: (error as NSError).code)
    }
}
