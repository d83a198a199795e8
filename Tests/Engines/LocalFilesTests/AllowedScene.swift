import Glibc
import HTTPClient
import Platform
import Storage
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import RemoteEngines
@testable import LocalFiles
@testable import Roots

/// The allowed directory `in`, beside others that are not allowed.
struct AllowedScene {
    let scratch: Scratch
    private let fixture: StorageFixture
    var path: String { scratch.path }

    init() throws {
        scratch = try Scratch()
        fixture = try StorageFixture()
        for name in ["in", "in/sub", "out", "inside", "out/sub"] {
            #expect(mkdir(scratch.path + "/" + name, 0o700) == 0)
        }
        for name in ["in/file", "in/sub/deep", "out/secret", "inside/secret"] { _ = try scratch.file(name, [1]) }
    }

    func link(_ name: String, to target: String) throws { try #require(symlink(target, path + "/" + name) == 0) }

    func refusal(_ path: String, _ participle: String, _ flag: String) -> StorageError {
        var error = StorageError(
            .unauthorized, "File \(path) may not be \(participle): it is in no directory that \(flag) names.")
        error.file = path
        return error
    }

    /// An embedded and a remote engine.
    func backends(_ allowed: FileAccessPolicy) throws -> [any Backend] {
        let endpoint = try Endpoint(fixture.url, from: "--endpoint", allowInsecure: false)
        return [
            try EmbeddedBackend(StorageRoot(path + "/root"), time: .system, allowed: allowed),
            RemoteBackend.gcs(
                at: endpoint, version: "test", http: .direct,
                time: .system,
                allowed: allowed),
        ]
    }

    /// Moves `in/sub/swapped` or its directory outside and puts a link in its place: to the moved file or to nothing.
    enum Swap: CaseIterable {
        case file, directory, fileToNothing, directoryToNothing

        func swap(_ scene: AllowedScene) throws {
            let (file, sub, out) = (scene.path + "/in/sub/swapped", scene.path + "/in/sub", scene.path + "/out/moved")
            switch self {
            case .file: try #require(rename(file, out) == 0 && symlink(out, file) == 0)
            case .directory: try #require(rename(sub, out) == 0 && symlink(out, sub) == 0)
            case .fileToNothing: try #require(rename(file, out + "s") == 0 && symlink(out, file) == 0)
            case .directoryToNothing: try #require(rename(sub, out + "s") == 0 && symlink(out, sub) == 0)
            }
        }

        func undo(_ scene: AllowedScene) throws {
            let (file, sub, out) = (scene.path + "/in/sub/swapped", scene.path + "/in/sub", scene.path + "/out/moved")
            switch self {
            case .file: try #require(rename(out, file) == 0)
            case .directory: try #require(unlink(sub) == 0 && rename(out, sub) == 0)
            case .fileToNothing: try #require(rename(out + "s", file) == 0)
            case .directoryToNothing: try #require(unlink(sub) == 0 && rename(out + "s", sub) == 0)
            }
        }
    }
}
