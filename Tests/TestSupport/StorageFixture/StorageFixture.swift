import Testing
import JSONText
import Synchronization

/// A storage service on the loopback that speaks Firebase Storage v0, the JSON API of GCS and Amazon S3, as strictly as
/// these do, over one set of objects, and goes wrong where a test says so.
///
/// A request that comes for an upload session ends the right of those before it to add bytes.
package final class StorageFixture: Sendable {
    private let core: FixtureCore
    private let server: FixtureServer

    /// - Parameters:
    ///   - buckets: the only ones that there are; any where nil.
    ///   - runsClock: whether the clock of the service runs, for clients whose clocks run.
    package init(
        _ variant: Variant = .service, buckets: Set<String>? = nil, credentials: Credentials? = nil,
        runsClock: Bool = false
    ) throws {
        let core = FixtureCore()
        self.core = core
        server = try FixtureServer { peer in
            while true { try Exchange.perform(with: peer, core) }
        }
        core.change { [url = server.url] state in
            (state.url, state.variant, state.buckets, state.credentials) = (url, variant, buckets, credentials)
            if runsClock { state.stored.runClock() }
        }
    }

    /// `http://127.0.0.1:PORT`.
    package var url: String { server.url }
    package var connections: Int { server.connections }

    /// Setting them restarts the count of requests.
    package var faults: [Fault] {
        get { core.change { $0.script.all } }
        set { core.change { $0.script = PendingFaults(newValue) } }
    }

    /// Nothing is required where nil.
    package var credentials: Credentials? {
        get { core.change { $0.credentials } }
        set { core.change { $0.credentials = newValue } }
    }

    /// What GCS answers about a session that was cancelled: 410 or 404.
    package var cancelledStatus: Int {
        get { core.change { $0.cancelledStatus } }
        set { core.change { $0.cancelledStatus = newValue } }
    }

    /// Whether a session keeps all that has come of a chunk whose connection breaks, instead of whole granules.
    package var keepsAnyPart: Bool {
        get { core.change { $0.keepsAnyPart } }
        set { core.change { $0.keepsAnyPart = newValue } }
    }

    package var s3: S3Settings {
        get { core.change { $0.s3 } }
        set { core.change { $0.s3 = newValue } }
    }

    /// What one call of a copy at GCS moves.
    package var bytesPerRewrite: Int {
        get { core.change { $0.bytesPerRewrite } }
        set { core.change { $0.bytesPerRewrite = newValue } }
    }

    package var log: Log { core.change { $0.log } }
    package var requests: [Request] { log.requests }
    package var unfired: [Fault] { log.unfired }

    /// Returns when the log meets the condition. Waits as the function of that name does.
    package func until(
        isolation: isolated (any Actor)? = #isolation, file: String = #filePath,
        _ location: SourceLocation = #_sourceLocation,
        _ isMet: @escaping @Sendable (Log) -> Bool
    ) async throws {
        try await withWaiter(isolation: isolation, file: file, location) { waiter in
            core.change { $0.waiters.append((isMet, waiter)) }
        }
    }
}

// MARK: The objects

extension StorageFixture {
    /// `BUCKET/NAME`, in the order of their bytes.
    package var objects: [String] { core.change { $0.stored.all.map { "\($0.bucket)/\($0.name)" } } }

    /// Nil for an object whose bytes a wrong request has removed.
    package func bytes(_ bucket: String, _ name: String) -> [UInt8]? {
        core.change { $0.stored[bucket, name].flatMap { $0.isDestroyed ? nil : $0.bytes } }
    }

    /// As the protocol shows them; looking creates no token.
    package func metadata(_ bucket: String, _ name: String, as dialect: Dialect = .firebase) -> JSON? {
        core.change { state in
            let object = state.stored[bucket, name]
            return dialect == .firebase ? object?.firebase : object?.gcs(at: state.url)
        }
    }

    /// Stores an object as if it had been uploaded.
    package func put(
        _ bytes: [UInt8], _ bucket: String, _ name: String, metadata: JSON = [:], by dialect: Dialect = .firebase
    ) throws {
        try core.change { state throws(Answer) in
            _ = try state.store(bytes, bucket, name, metadata, contentType: nil, for: dialect)
        }
    }

    /// Changes an object's metadata as if it had been patched.
    package func change(_ bucket: String, _ name: String, _ metadata: JSON) {
        core.change { state in
            guard var object = state.stored[bucket, name], object.apply(metadata) else { return }
            state.change(&object)
        }
    }

    package func remove(_ bucket: String, _ name: String) { core.change { $0.stored[bucket, name] = nil } }
}

/// The state behind its lock, and those who wait for it to be so or so.
final class FixtureCore: Sendable {
    private let state = Mutex(FixtureState())

    func change<T: Sendable, E: Error>(_ body: (inout FixtureState) throws(E) -> T) throws(E) -> T {
        let (result, met) = state.withLock { state in
            let result = Result { () throws(E) in try body(&state) }
            return (result, state.takeMetWaiters())
        }
        for waiter in met { waiter.resume(.success(())) }
        return try result.get()
    }
}
