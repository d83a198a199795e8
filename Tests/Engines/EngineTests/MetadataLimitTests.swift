import Platform
import Storage
import TestSupport
import Testing
import Transfers

@testable import EmbeddedEngine
@testable import RemoteEngines

/// The limits of metadata are the same on every engine.
@Suite(.watchdog(minutes: 10)) struct MetadataLimitTests {
    /// S3 has a lower limit.
    private static let places = ConformanceTests.places.filter { $0 != S3GatewayFixture.self }

    /// Metadata with one member that has so many bytes.
    struct Sized: Sendable {
        var member: String
        var make: @Sendable (_ bytes: Int) -> MetadataChange

        static let all =
            ContentProperty.allCases.map { property in
                Sized(member: "\(property)") { bytes in
                    var change = MetadataChange()
                    let letter = property == .contentType ? "ee" : "é"
                    change.content[property] = String(repeating: letter, count: bytes / 2) + (bytes % 2 == 0 ? "" : "x")
                    return change
                }
            } + [
                Sized(member: "customMetadata") { bytes in
                    var change = MetadataChange()
                    let half = String(repeating: "é", count: bytes / 4)
                    change.custom = .merge([half: half, "": String(repeating: "x", count: bytes - half.utf8.count * 2)])
                    return change
                }
            ]
    }

    private func isRefusal(_ error: StorageError, _ member: String, bytes: Int) -> Bool {
        let name = member == "customMetadata" ? "Custom metadata" : "metadata.\(member)"
        return error.code == .invalidArgument && error.param == "metadata.\(member)"
            && error.message == "\(name) has \(bytes) bytes, but at most 8192 may be stored."
    }

    @Loop @Test func `An upload with a property or custom metadata beyond 8 KiB is refused`()
        async throws
    {
        for type in Self.places {
            let place = try await type.init()
            let transfers = Transfers(backend: place.backend, time: .system)
            let scratch = try Scratch()
            let file = try scratch.file("source", [1])
            for sized in Sized.all {
                let tooMuch = sized.make(8193)
                let errors = [
                    try await failure {
                        _ = try await transfers.upload(UploadRequest(.data([1]), to: ref("a"), tooMuch))
                    },
                    try await failure {
                        _ = try await transfers.upload(UploadRequest(.file(file), to: ref("a"), tooMuch))
                    },
                ]
                for error in errors { #expect(isRefusal(error, sized.member, bytes: 8193), "\(error)") }
            }
            #expect(transfers.uploads.all.isEmpty)
            #expect(try await place.contents() == .none)
            if let place = place as? any RemoteFixture { #expect(place.fixture.requests.isEmpty) }
            for sized in Sized.all {
                let task = try await transfers.upload(
                    UploadRequest(.data([1]), to: ref(sized.member), sized.make(8192)))
                task.start()
                #expect(try await task.result().status == .success)
            }
        }
    }

    @Loop @Test func `An update beyond 8 KiB is refused and changes nothing`() async throws {
        for type in Self.places {
            let place = try await type.init()
            let transfers = Transfers(backend: place.backend, time: .system)
            let before = try await place.backend.put([1], at: "a")
            let asked = (place as? any RemoteFixture)?.fixture.requests.count
            for sized in Sized.all {
                let update = { try await transfers.updateMetadata(of: ref("a"), sized.make(8193)) }
                let error = try await failure { _ = try await update() }
                #expect(isRefusal(error, sized.member, bytes: 8193), "\(error)")
                let engines = try await failure {
                    _ = try await place.backend.updateMetadata(of: ref("a"), sized.make(8193))
                }
                #expect(engines == error)
            }
            #expect((place as? any RemoteFixture)?.fixture.requests.count == asked)
            #expect(try await place.backend.metadata(of: ref("a")) == before)
            for sized in Sized.all { _ = try await transfers.updateMetadata(of: ref("a"), sized.make(8192)) }
        }
    }

    @Test func `An update whose merged custom metadata exceeds 8 KiB is refused`() async throws {
        for type in Self.places {
            let place = try await type.init()
            var metadata = SettableMetadata()
            metadata.custom = ["old": String(repeating: "x", count: 8000)]
            let before = try await place.backend.run(.data([1], to: ref("a"), metadata))
            var change = MetadataChange()
            change.content = [.cacheControl: "no-store"]
            change.custom = .merge(["new": String(repeating: "y", count: 187)])
            let error = try await failure { _ = try await place.backend.updateMetadata(of: ref("a"), change) }
            #expect(isRefusal(error, "customMetadata", bytes: 8193), "\(error)")
            #expect(try await place.backend.metadata(of: ref("a")) == before)
            change.custom = .merge(["new": String(repeating: "y", count: 186)])
            #expect(try await place.backend.updateMetadata(of: ref("a"), change).settable.custom.count == 2)
        }
    }
}
