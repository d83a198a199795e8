import RemoteEngines
import HTTPClient
import Platform
import Storage
import Testing

/// A remote engine, and the service that it talks to.
package protocol RemoteFixture: EngineFixture where Tested == RemoteBackend {
    static var dialect: StorageFixture.Dialect { get }
    var fixture: StorageFixture { get }
    init(_ fixture: StorageFixture, limits: HTTPLimits, clock: any Clock<Duration>) throws
}

extension RemoteFixture {
    package init() async throws { try self.init(StorageFixture()) }

    package init(_ fixture: StorageFixture) throws { try self.init(fixture, limits: .patient) }

    package init(_ fixture: StorageFixture, limits: HTTPLimits) throws {
        try self.init(fixture, limits: limits, clock: ContinuousClock())
    }

    package func reopened() async throws -> Self { try Self(fixture) }

    package func bytes(of reference: Reference) async throws -> [UInt8] {
        try #require(fixture.bytes(reference.bucket, reference.object))
    }

    package func contents() async throws -> Contents {
        Contents(objects: Int64(fixture.objects.count), rows: 0, files: 0, filesOnDisk: 0)
    }

    fileprivate static func endpoint(_ fixture: StorageFixture) throws -> Endpoint {
        try Endpoint(fixture.url, from: "--endpoint", allowInsecure: false)
    }
}

package let remoteEngines: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]

package struct FirebaseFixture: RemoteFixture {
    package static let dialect = StorageFixture.Dialect.firebase
    package let fixture: StorageFixture
    package let backend: RemoteBackend

    package init(_ fixture: StorageFixture, limits: HTTPLimits, clock: any Clock<Duration>) throws {
        self.fixture = fixture
        backend = .firebase(
            at: try Self.endpoint(fixture), version: "test", http: .direct, limits: limits,
            time: TimeSource(clock: clock))
    }
}

package struct GCSFixture: RemoteFixture {
    package static let dialect = StorageFixture.Dialect.gcs
    package let fixture: StorageFixture
    package let backend: RemoteBackend

    package init(_ fixture: StorageFixture, limits: HTTPLimits, clock: any Clock<Duration>) throws {
        self.fixture = fixture
        backend = .gcs(
            at: try Self.endpoint(fixture), version: "test", http: .direct, limits: limits,
            time: TimeSource(clock: clock))
    }
}

package struct S3Fixture: RemoteFixture {
    package static let dialect = StorageFixture.Dialect.s3
    package let fixture: StorageFixture
    package let backend: RemoteBackend

    package init(_ fixture: StorageFixture, limits: HTTPLimits, clock: any Clock<Duration>) throws {
        try self.init(fixture, limits: limits, clock: clock, largestCopy: 5 << 30)
    }

    package init(
        _ fixture: StorageFixture, limits: HTTPLimits = .patient, clock: any Clock<Duration> = ContinuousClock(),
        largestCopy: Int64
    ) throws {
        self.fixture = fixture
        backend = try .s3(
            at: try Self.endpoint(fixture), region: "us-east-1", tokens: FixedAccessKey(fixture.s3.accessKey.text),
            version: "test", http: .direct, limits: limits, time: TimeSource(clock: clock), largestCopy: largestCopy)
    }
}

/// A clock whose sleeps return immediately.
package struct HurriedClock: Clock {
    package let now = ContinuousClock.now
    package let minimumResolution = Duration.nanoseconds(1)

    package init() {}

    package func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
}

extension HTTPLimits {
    /// Limits that no test reaches, on however slow a machine: for tests that are not about limits.
    package static var patient: HTTPLimits {
        var limits = HTTPLimits()
        (limits.connect, limits.stall, limits.answer) = (.seconds(3600), .seconds(3600), .seconds(3600))
        return limits
    }
}

extension HTTPClient {
    /// Uses no proxy.
    package static var direct: HTTPClient { HTTPClient(environment: HTTPEnvironment { _ in nil }) }
}
