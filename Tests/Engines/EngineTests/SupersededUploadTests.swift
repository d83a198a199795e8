import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines

/// Uploads that an earlier process began, and objects that were stored since then under the same name.
@Suite(.watchdog(minutes: 10)) struct SupersededUploadTests {
    static let places: [any EngineFixture.Type] = [
        EmbeddedFixture.self, FirebaseFixture.self, GCSFixture.self,
    ]
    static let remotes: [any RemoteFixture.Type] = [FirebaseFixture.self, GCSFixture.self]
    let bytes = noise(2 * granule)
    let newer = noise(1000, seed: 2)
    let scratch: Scratch
    let path: String

    init() throws {
        scratch = try Scratch()
        path = try scratch.file("source", bytes)
    }

    private func expectSuperseded(_ answer: UploadMachine.Answer) throws {
        #expect(answer == .superseded(.newerObject(at: try ref("a"))))
    }

    @Test(arguments: [0, granule])
    func `A restored upload does not replace a newer object until a client resumes it`(sent: Int) async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: sent)
            // The embedded engine keeps nothing of an upload before its first chunk has ended.
            guard upload.bookmark != nil else { continue }
            try await place.backend.put(newer, at: "a")
            let again = try await place.reopened()
            let session = again.backend.beginUpload(upload)
            try expectSuperseded(await session.perform(.query, replacesNewer: false))
            #expect(try await again.bytes(of: ref("a")) == newer)
            #expect(await session.perform(.query) == .received(upTo: Int64(sent)))
            let answer = await session.perform(.send(Int64(sent)..<Int64(bytes.count)))
            guard case .completed = answer else { return #expect(Bool(false), "\(type): \(answer)") }
            #expect(try await again.bytes(of: ref("a")) == bytes)
        }
    }

    @Test func `A restored upload does not replace an object that is stored just before its last chunk`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
            let session = try await place.reopened().backend.beginUpload(upload)
            #expect(await session.perform(.query, replacesNewer: false) == .received(upTo: Int64(granule)))
            try await place.backend.put(newer, at: "a")
            let last = Int64(granule)..<Int64(bytes.count)
            try expectSuperseded(await session.perform(.send(last), replacesNewer: false))
            #expect(try await place.bytes(of: ref("a")) == newer)
        }
    }

    @Test func `A restored upload without a session does not replace a newer object`() async throws {
        for type in Self.places {
            let place = try await type.init()
            var upload = try await place.backend.interrupted(file: path, to: "a", at: 0)
            upload.bookmark = nil
            try await place.backend.put(newer, at: "a")
            for step in [UploadMachine.Step.open, .sendWhole] {
                let session = try await place.reopened().backend.beginUpload(upload)
                try expectSuperseded(await session.perform(step, replacesNewer: false))
            }
            #expect(try await place.bytes(of: ref("a")) == newer)
        }
    }

    @Test func `An upload of a folder does not replace an object that is newer than the folder's task`() async throws {
        for type in Self.places {
            let place = try await type.init()
            var upload = try await place.backend.interrupted(file: path, to: "a", at: 0)
            (upload.isRecorded, upload.bookmark, upload.isRestored) = (false, nil, false)
            let last = try await place.backend.lastGeneration()
            let now = TimeSource.system.now()
            try await place.backend.put(newer, at: "a")
            let caller = upload.caller
            // The embedded engine has it even if the clock was set back.
            for hours in last == nil ? [-1] : [-1, 1] {
                upload.began = Beginning(now.advanced(by: .seconds(3600 * hours)), lastGeneration: last)
                for step in [UploadMachine.Step.open, .sendWhole] {
                    let session = place.backend.beginUpload(upload)
                    try expectSuperseded(await session.perform(step, replacesNewer: false))
                }
                let began = try #require(upload.began)
                #expect(try await place.backend.isNewer(ref("a"), than: began, for: caller))
                #expect(try await !place.backend.isNewer(ref("none"), than: began, for: caller))
            }
            #expect(try await place.bytes(of: ref("a")) == newer)
            upload.began = Beginning(
                now.advanced(by: .seconds(3600)), lastGeneration: try await place.backend.lastGeneration())
            let began = try #require(upload.began)
            #expect(try await !place.backend.isNewer(ref("a"), than: began, for: caller))
            let session = place.backend.beginUpload(upload)
            guard case .completed = await session.perform(.sendWhole, replacesNewer: false) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(try await place.bytes(of: ref("a")) == bytes)
        }
    }

    @Test func `A restored upload replaces an object that is older than its task`() async throws {
        for type in Self.places {
            let place = try await type.init()
            try await place.backend.put(newer, at: "a")
            var upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
            // The time of a server is known only in whole seconds.
            upload.record.began = TimeSource.system.now().advanced(by: .seconds(3600))
            let session = try await place.reopened().backend.beginUpload(upload)
            #expect(await session.perform(.query, replacesNewer: false) == .received(upTo: Int64(granule)))
            let last = Int64(granule)..<Int64(bytes.count)
            guard case .completed = await session.perform(.send(last), replacesNewer: false) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(try await place.bytes(of: ref("a")) == bytes)
        }
    }

    @Test(arguments: [404, 410])
    func `A restored upload recognises the object that it stored itself`(status: Int) async throws {
        for type in Self.remotes {
            let place = try await type.init()
            var upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
            try await place.backend.put(bytes, at: "a")
            place.fixture.faults = [.init(.first(.query), .forget(status))]
            let session = try await place.reopened().backend.beginUpload(upload)
            guard case .completed = await session.perform(.query, replacesNewer: false) else {
                return #expect(Bool(false), "\(type)")
            }
            upload.bookmark = nil
            let other = try await place.reopened().backend.beginUpload(upload)
            guard case .completed = await other.perform(.open, replacesNewer: false) else {
                return #expect(Bool(false), "\(type)")
            }
        }
    }

    @Test func `A restored upload without permission to read the object waits for a client`() async throws {
        for type in Self.remotes {
            let place = try await type.init()
            let upload = try await place.backend.interrupted(file: path, to: "a", at: granule)
            place.fixture.faults = [.init(.first(.getMetadata), .answer(403))]
            let session = try await place.reopened().backend.beginUpload(upload)
            guard case .superseded(let error) = await session.perform(.query, replacesNewer: false) else {
                return #expect(Bool(false), "\(type)")
            }
            #expect(error.code == .unauthorized && error.message.hasSuffix("a client has to resume it."))
        }
    }
}
