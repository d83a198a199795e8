import Checksums
import Glibc
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine

/// Source files that changed between two processes.
@Suite(.watchdog(minutes: 10)) struct RestoredSourceTests {
    static let places: [any EngineFixture.Type] = [
        EmbeddedFixture.self, FirebaseFixture.self, GCSFixture.self,
    ]

    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (_ path: String, _ size: Int, Scratch) throws -> Void

        init(_ said: String, _ make: @escaping @Sendable (_ path: String, _ size: Int, Scratch) throws -> Void) {
            (testDescription, self.make) = (said, make)
        }
    }

    static let changes = [
        Change("its size went from") { path, size, _ in #expect(truncate(path, size - 1) == 0) },
        Change("its size went from") { path, size, _ in #expect(truncate(path, size + 1) == 0) },
        Change("it was written to") { path, _, _ in try write(path, at: 5, andHide: false) },
        Change("another file took its place") { path, size, scratch in
            let other = try scratch.file("other", noise(size))
            #expect(rename(other, path) == 0)
        },
        Change("it was written to, or its name") { path, size, _ in try write(path, at: size / 2, andHide: true) },
        Change("does not exist") { path, _, _ in #expect(unlink(path) == 0) },
    ]

    /// Flips a bit, and optionally restores the file's modification time.
    private static func write(_ path: String, at offset: Int, andHide: Bool) throws {
        var status = stat()
        #expect(stat(path, &status) == 0)
        let file = open(path, O_RDWR)
        defer { close(file) }
        var byte: UInt8 = 0
        #expect(pread(file, &byte, 1, offset) == 1)
        byte ^= 1
        #expect(pwrite(file, &byte, 1, offset) == 1)
        if andHide { #expect(futimens(file, [status.st_atim, status.st_mtim]) == 0) }
    }

    @Test(arguments: changes, [20_000, 4 * granule])
    func `A restored upload of a changed file fails with the kind of change`(change: Change, size: Int) async throws {
        for type in Self.places {
            let scratch = try Scratch()
            let path = try scratch.file("source", noise(size))
            let place = try await type.init()
            var upload: Upload
            if size > granule {
                upload = try await place.backend.interrupted(file: path, to: "a", at: 2 * granule)
            } else {
                upload = try await place.backend.upload(file: path, to: "a")
                upload.isRestored = true
            }
            try change.make(path, size, scratch)
            let again = try await place.reopened()
            let error = try await failure { _ = try await again.backend.continueUpload(upload) }
            #expect(error.code == .unknown && error.file == path && error.message.contains(change.testDescription))
            if let again = again as? EmbeddedFixture { #expect(try await again.settledContents(.none) == .none) }
            #expect(try await again.contents().objects == 0)
        }
    }

    @Test(arguments: [5, 4 * granule - 5])
    func `Older records without a change time compare the first and last bytes of the file`(at offset: Int) async throws
    {
        let (again, upload) = try await interruptedByAnEarlierVersion { try Self.write($0, at: offset, andHide: true) }
        let error = try await failure { _ = try await again.backend.continueUpload(upload) }
        #expect(error.message.contains("its first or its last bytes are others"))
    }

    @Test func `Bytes that were sent before a crash are kept although the file has changed since`() async throws {
        let (again, upload) = try await interruptedByAnEarlierVersion { try Self.write($0, at: 10_000, andHide: true) }
        let stored = try await again.backend.continueUpload(upload)
        #expect(stored.checksums.crc32c == Checksum(of: noise(4 * granule)).crc32c)
        #expect(try await again.bytes(of: ref("a")) == noise(4 * granule))
    }

    /// An upload whose record has neither a change time nor the inode's generation.
    private func interruptedByAnEarlierVersion(
        _ change: (_ path: String) throws -> Void
    ) async throws -> (EmbeddedFixture, Upload) {
        let path = try scratch.file("source", noise(4 * granule))
        let place = try await EmbeddedFixture()
        var upload = try await place.backend.interrupted(file: path, to: "a", at: 2 * granule)
        guard case .file(_, var identity) = upload.source else { throw Unexpected() }
        (identity.changedSeconds, identity.changedNanoseconds, identity.generation) = (nil, nil, nil)
        upload.source = .file(path: path, identity)
        try change(path)
        return (try await place.reopened(), upload)
    }

    private let scratch: Scratch
    private struct Unexpected: Error {}

    init() throws { scratch = try Scratch() }
}
