import Foundation
import RemoteEngines
import HTTPClient
import HTTPText
import JSONText
import Platform
import Storage
import Testing

/// A remote engine whose service is the gateway of another process, in a space of its own.
package protocol GatewayFixture: EngineFixture where Tested == RemoteBackend {
    var space: GatewaySpace { get }
    init(_ space: GatewaySpace) throws
}

extension GatewayFixture {
    package init() async throws { try self.init(await GatewaySpace.enter()) }

    package func reopened() async throws -> Self { try Self(space) }

    package func bytes(of reference: Reference) async throws -> [UInt8] {
        try await space.get("/v0/b/\(reference.bucket)/o/\(reference.object.escaped)?alt=media").body
    }

    package func contents() async throws -> Contents {
        var count = 0
        for bucket in try await space.items("/storage/v1/b?project=p") {
            count += try await space.items("/storage/v1/b/\(bucket)/o").count
        }
        return Contents(objects: Int64(count), rows: 0, files: 0, filesOnDisk: 0)
    }

    fileprivate static func endpoint(_ space: GatewaySpace) throws -> Endpoint {
        try Endpoint("http://\(space.address)", from: "--endpoint", allowInsecure: false)
    }
}

package struct FirebaseGatewayFixture: GatewayFixture {
    package let space: GatewaySpace
    package let backend: RemoteBackend

    package init(_ space: GatewaySpace) throws {
        self.space = space
        backend = .firebase(at: try Self.endpoint(space), version: "test", http: HTTPClient(), time: .system)
    }
}

package struct GCSGatewayFixture: GatewayFixture {
    package let space: GatewaySpace
    package let backend: RemoteBackend

    package init(_ space: GatewaySpace) throws {
        self.space = space
        backend = .gcs(at: try Self.endpoint(space), version: "test", http: HTTPClient(), time: .system)
    }
}

package struct S3GatewayFixture: GatewayFixture {
    package let space: GatewaySpace
    package let backend: RemoteBackend

    package init(_ space: GatewaySpace) throws {
        self.space = space
        backend = try .s3(
            at: try Self.endpoint(space), region: "us-east-1", tokens: FixedAccessKey(), version: "test",
            http: HTTPClient(), time: .system)
    }
}

/// A key that every call is signed with.
package struct FixedAccessKey: TokenSource {
    private let secret: String

    package init(_ secret: String = "AKIDEXAMPLE:secret") { self.secret = secret }

    package func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        kind == .accessKey && refused == nil ? Token(kind, secret) : nil
    }
}

/// A space of a service that all tests of this process share. It ends with its last owner.
package final class GatewaySpace: @unchecked Sendable {
    /// Host and port.
    package let address: String
    private let wire: WireClient
    private let http = HTTPClient.direct

    private init(_ address: String, _ wire: WireClient) { (self.address, self.wire) = (address, wire) }

    /// It ends with the tests.
    private struct Service: @unchecked Sendable {
        let process: ServiceProcess
        let socket: String
    }

    private static let service = Result {
        let directory = FileManager.default.temporaryDirectory.appending(path: "gateway-\(CurrentProcess.id)").path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let socket = directory + "/socket"
        let process = try ServiceProcess(["serve", "--harness", "--stdio", "--socket", socket, "--log-level", "info"])
        process.endWithTests(removing: directory)
        try process.waitForLog("listens on \(socket)")
        return Service(process: process, socket: socket)
    }

    static func enter() async throws -> GatewaySpace {
        try await onThread {
            let wire = try WireClient(connectingTo: service.get().socket)
            wire.send(#"{"jsonrpc":"2.0","id":1,"method":"harness/space","params":{"gateway":true}}"#)
            let address = try wire.next()?["result"]?["gateway"]?.string
            return GatewaySpace(try #require(address), wire)
        }
    }

    fileprivate func get(_ path: String) async throws -> HTTPResponse {
        var request = HTTPRequest("GET", "http://\(address)\(path)")
        request.limits.answerBytes = 64 << 20
        return try await http.perform(request)
    }

    /// The names of all pages.
    fileprivate func items(_ path: String) async throws -> [String] {
        let body = try await get(path + (path.contains("?") ? "&" : "?") + "fields=items/name,nextPageToken").body
        let page = try JSON(parsing: String(decoding: body, as: UTF8.self))
        let names = page["items"]?.array?.compactMap { $0["name"]?.string } ?? []
        guard let token = page["nextPageToken"]?.string else { return names }
        return try await names + items("\(path)?pageToken=\(token.escaped)")
    }
}
