import Dispatch
import Glibc
import Storage
import Synchronization
import Testing

private let caller = Caller(retryTime: .seconds(600))

extension Backend {
    package func list(
        _ path: String, _ maxResults: Int = Listing.mostResults, after token: String? = nil,
        in bucket: String = "b"
    ) async throws -> Listing {
        try await list(ListQuery(ref(path, in: bucket), maxResults: maxResults, pageToken: token), for: caller)
    }

    package func delete(_ path: String, in bucket: String = "b") async throws {
        try await delete(ref(path, in: bucket), if: .init(), for: caller)
    }

    package func data(_ path: String, maxSize: Int64 = .max, in bucket: String = "b") async throws -> [UInt8] {
        try await data(of: ref(path, in: bucket), maxSize: maxSize, for: caller)
    }

    package func data(of reference: Reference, maxSize: Int64, for caller: Caller) async throws(StorageError) -> [UInt8]
    {
        try await data(of: reference, part: nil, known: nil, maxSize: maxSize, for: caller)
    }

    package func downloadURL(_ path: String, expiresIn seconds: Int64? = nil) async throws -> String {
        try await downloadURL(of: ref(path), expiresIn: seconds, for: caller)
    }

    package func revokeDownloadURL(_ path: String) async throws -> String {
        try await revokeDownloadURL(of: ref(path), for: caller)
    }

    package func download(
        _ path: String, to file: String, in bucket: String = "b"
    ) throws -> StoppableSession<DownloadStrategy> {
        StoppableSession(
            beginDownload(Download(reference: try ref(path, in: bucket), file: file, task: "task", caller: caller)))
    }

    /// Downloads in one attempt.
    @discardableResult
    package func fetch(_ path: String, to file: String, in bucket: String = "b") async throws -> ObjectMetadata {
        let session = try download(path, to: file, in: bucket)
        switch await session.fetch({ _ in }) {
        case .completed(let metadata): return metadata
        case .failed(let error), .superseded(let error):
            session.discard()
            throw error
        case .received, .aborted: throw Aborted()
        }
    }
}

package struct Aborted: Error {
    package init() {}
}

extension StorageError {
    /// Remote engines add what their server said.
    package func isObjectNotFound(_ reference: Reference) -> Bool {
        let plain = StorageError.objectNotFound(reference)
        return code == plain.code && message == plain.message && bucket == plain.bucket && object == plain.object
            && !retryable
    }
}

/// Records the progress of a download.
package final class ProgressRecorder: Sendable {
    private let all = Mutex<[Progress]>([])

    package init() {}

    package func take(_ progress: Progress) { all.withLock { $0.append(progress) } }
    package var counts: [Int64] { all.withLock { $0.map(\.completedUnitCount) } }
    package var totals: Set<Int64> { Set(all.withLock { $0.map(\.totalUnitCount) }) }
}

/// Blocks a thread until the test opens it.
package final class ThreadGate: Sendable {
    private let arrived = Mail<Void>()
    private let gate = DispatchSemaphore(value: 0)

    package init() {}

    /// Does nothing in a task: those run on the few threads of Swift's pool, which all tests share.
    package func wait() {
        guard withUnsafeCurrentTask(body: { $0 == nil }) else { return }
        arrived.deliver(())
        gate.wait()
    }

    package func reached(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await arrived.next(isolation: isolation, file: file, location)
    }
    package func open() { gate.signal() }
}

/// All names in a directory, hidden ones too.
package func names(in directory: String) throws -> [String] {
    let open = try #require(opendir(directory))
    defer { closedir(open) }
    var names: [String] = []
    while let entry = readdir(open) {
        let name = withUnsafeBytes(of: entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
}
