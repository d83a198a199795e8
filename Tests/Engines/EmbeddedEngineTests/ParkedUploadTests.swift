import Foundation
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

@Suite(.watchdog(minutes: 10)) struct ParkedUploadTests {
    /// The number of descriptors of this process that lead to a file.
    private func descriptors(of path: String) throws -> Int {
        let files = FileManager.default
        return try files.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
            (try? files.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")) == path
        }
    }

    @Test func `An upload that is parked between two steps has no open files, and continues`() async throws {
        let place = try await EmbeddedFixture()
        let bytes = noise(3 * granule)
        let source = try place.scratch.file("source", bytes)
        let session = place.backend.beginUpload(try await place.backend.upload(file: source, to: "a"))
        #expect(await session.perform(.open) == .opened())
        #expect(await session.perform(.send(0..<Int64(granule))) == .received(upTo: Int64(granule)))
        let staged = place.scratch.path + "/root/objects/" + (try #require(try place.names().first))
        #expect(try descriptors(of: source) == 1 && descriptors(of: staged) == 1)
        session.park()
        try await eventually { try descriptors(of: source) == 0 && descriptors(of: staged) == 0 }
        guard case .completed(let stored) = await session.perform(.send(Int64(granule)..<Int64(bytes.count))) else {
            return #expect(Bool(false), "the upload did not continue")
        }
        #expect(stored.size == bytes.count)
        #expect(try await place.bytes(of: ref("a")) == bytes)
    }
}
