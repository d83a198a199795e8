import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

/// Random operations on few names, compared with a map in memory.
@Suite(.watchdog) struct ObjectWalkTests {
    private struct Object: Equatable {
        var bytes: [UInt8]
        var custom: ByteKeyedDictionary<String>
    }

    private static let names = ["a", "b", "c", "d/e", "d/f", "d"]
    private static let sizes = [0, 10, 97_000, 150_000]

    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `Writes, copies, moves and deletions are those of a map`(seed: UInt64) async throws {
        var random = SeededGenerator(state: seed)
        var place = try await EmbeddedFixture()
        var map: [String: Object] = [:]
        for step in 0..<120 {
            func pick<T>(_ all: [T]) -> T { all[Int(random.next() % UInt64(all.count))] }
            let (name, other) = (pick(Self.names), pick(Self.names))
            switch random.next() % 8 {
            case 0, 1:
                var metadata = SettableMetadata()
                metadata.custom = ["step": "\(step)"]
                let bytes = noise(pick(Self.sizes), seed: UInt64(step))
                _ = try await place.backend.run(.data(bytes, to: ref(name), metadata))
                map[name] = Object(bytes: bytes, custom: metadata.custom)
            case 2, 3: try await copy(place, name, other, isMove: false, &map)
            case 4, 5:
                guard name != other else { continue }
                try await copy(place, name, other, isMove: true, &map)
            case 6:
                if map.removeValue(forKey: name) != nil {
                    try await place.backend.delete(name)
                } else {
                    #expect(try await failure { try await place.backend.delete(name) }.code == .objectNotFound)
                }
            default: if random.next() % 4 == 0 { place = try await place.reopened() }
            }
            try await expect(map, place)
        }
        for name in map.keys { try await place.backend.delete(name) }
        #expect(try await place.settledContents(.none) == .none)
    }

    private func copy(
        _ place: EmbeddedFixture, _ name: String, _ other: String, isMove: Bool, _ map: inout [String: Object]
    ) async throws {
        let upload = try Upload.copy(of: ref(name), to: ref(other), isMove: isMove)
        guard let object = map[name] else {
            #expect(try await failure { _ = try await place.backend.run(upload) }.code == .objectNotFound)
            return
        }
        _ = try await place.backend.run(upload)
        map[other] = object
        if isMove { map[name] = nil }
    }

    private func expect(_ map: [String: Object], _ place: EmbeddedFixture) async throws {
        for name in Self.names {
            guard let object = map[name] else {
                let error = try await failure { _ = try await place.backend.metadata(of: ref(name)) }
                #expect(error.code == .objectNotFound)
                continue
            }
            #expect(try await place.backend.metadata(of: ref(name)).settable.custom == object.custom)
            #expect(try await place.bytes(of: ref(name)) == object.bytes)
        }
        #expect(try await place.contents().objects == Int64(map.count))
    }
}
