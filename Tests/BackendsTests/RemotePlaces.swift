import HTTPClient
import Storage
import TestSupport
import Testing

@testable import GoogleEngines

/// A remote engine, and the service that it talks to.
protocol RemoteUnderTest: BackendUnderTest where Tested == RemoteBackend {
    static var dialect: StorageFixture.Dialect { get }
    var fixture: StorageFixture { get }
    init(_ fixture: StorageFixture, limits: HTTPLimits, clock: any Clock<Duration>) throws
}

extension RemoteUnderTest {
    init() async throws { try self.init(StorageFixture()) }

    init(_ fixture: StorageFixture) throws { try self.init(fixture, limits: HTTPLimits()) }

    init(_ fixture: StorageFixture, limits: HTTPLimits) throws {
        try self.init(fixture, limits: limits, clock: ContinuousClock())
    }

    func reopened() async throws -> Self { try Self(fixture) }

    func bytes(of reference: Reference) async throws -> [UInt8] {
        try #require(fixture.bytes(reference.bucket, reference.object))
    }

    func contents() async throws -> Contents {
        Contents(objects: Int64(fixture.objects.count), rows: 0, files: 0, filesOnDisk: 0)
    }

    fileprivate static func endpoint(_ fixture: StorageFixture) throws -> Endpoint {
        try Endpoint(fixture.url, from: "--endpoint", allowInsecure: false)
    }
}

struct FirebaseUnderTest: RemoteUnderTest {
    static let dialect = StorageFixture.Dialect.firebase
    let fixture: StorageFixture
    let backend: RemoteBackend

    init(_ fixture: StorageFixture, limits: HTTPLimits, clock: any Clock<Duration>) throws {
        self.fixture = fixture
        let http = HTTPClient(environment: HTTPEnvironment { _ in nil })
        backend = .firebase(at: try Self.endpoint(fixture), version: "test", http: http, limits: limits, clock: clock)
    }
}

struct GCSUnderTest: RemoteUnderTest {
    static let dialect = StorageFixture.Dialect.gcs
    let fixture: StorageFixture
    let backend: RemoteBackend

    init(_ fixture: StorageFixture, limits: HTTPLimits, clock: any Clock<Duration>) throws {
        self.fixture = fixture
        let http = HTTPClient(environment: HTTPEnvironment { _ in nil })
        backend = .gcs(at: try Self.endpoint(fixture), version: "test", http: http, limits: limits, clock: clock)
    }
}

/// A clock that stands still, however long one rests.
struct HurriedClock: Clock {
    let now = ContinuousClock.now
    let minimumResolution = Duration.nanoseconds(1)

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
}
