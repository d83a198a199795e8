import Glibc
import Platform
import TestSupport
import Testing

@testable import EmbeddedEngine
@testable import Roots

/// A root belongs to one user: what another one could have made or changed is refused.
@Suite(.watchdog) struct RootPermissionTests {
    private let scratch: Scratch
    private var root: String { scratch.path + "/root" }

    init() throws {
        scratch = try Scratch()
        try #require(mkdir(root, 0o700) == 0)
    }

    private func refusal(of path: String) throws -> String {
        try #require(#expect(throws: StorageRoot.OpenError.self) { _ = try StorageRoot(path) }).message
    }

    private static func others(_ what: String, _ root: String) -> String {
        "The root \(root) cannot be used: other users may write to \(what); "
            + "chmod -R go-w '\(root)', or name another --root."
    }

    @Test(arguments: [0o770, 0o702, 0o1777] as [mode_t])
    func `A root that others may write to is refused, with the command that ends it`(mode: mode_t) async throws {
        #expect(chmod(root, mode) == 0)
        #expect(try refusal(of: root) == Self.others("it", root))
        #expect(try names(in: root) == [])
        #expect(chmod(root, mode & 0o755) == 0)
        try await EmbeddedBackend(StorageRoot(root), time: .system).open()
    }

    @Test(arguments: ["objects", "spool", "spaces", "replacement", "replacement-next"])
    func `A directory in a root that others may write to is refused`(name: String) throws {
        let path = "\(root)/\(name)"
        #expect(mkdir(path, 0o777) == 0 && chmod(path, 0o777) == 0)
        #expect(try refusal(of: root) == Self.others(name, root))
    }

    @Test(arguments: ["lock", "storage.sqlite3", "replacement/storage.sqlite3", "replacement-next/lock"])
    func `A file in a root that others may write to is refused`(name: String) throws {
        for directory in ["replacement", "replacement-next"] { #expect(mkdir("\(root)/\(directory)", 0o700) == 0) }
        let path = try scratch.file("root/\(name)", [])
        #expect(chmod(path, 0o666) == 0)
        #expect(try refusal(of: root) == Self.others(name, root))
        #expect(try names(in: root + "/replacement").count <= 1, "nothing was moved")
    }

    @Test(arguments: ["spaces", "replacement", "replacement-next", "replacement/objects"])
    func `A link where a start moves or removes files is not followed`(name: String) throws {
        let outside = scratch.path + "/outside"
        #expect(mkdir(outside, 0o700) == 0)
        _ = try scratch.file("outside/storage.sqlite3", [7])
        if name.contains("/") { #expect(mkdir(root + "/replacement", 0o700) == 0) }
        #expect(symlink(outside, "\(root)/\(name)") == 0)
        #expect(try refusal(of: root) == "The root \(root) cannot be used: \(name) is a symbolic link.")
        #expect(try names(in: outside) == ["storage.sqlite3"])
    }

    @Test(.enabled(if: geteuid() == 0, "needs to give files away"))
    func `What belongs to another user is not taken over`() throws {
        let link = scratch.path + "/link"
        #expect(symlink(root, link) == 0 && lchown(link, 65534, 0) == 0)
        let another = "belongs to another user (65534); name another --root."
        #expect(try refusal(of: link) == "The root \(link) cannot be used: it \(another)")
        #expect(mkdir(root + "/replacement", 0o700) == 0)
        _ = try scratch.file("root/replacement/storage.sqlite3", [])
        for path in ["replacement/storage.sqlite3", "replacement"] {
            #expect(chown("\(root)/\(path)", 65534, 0) == 0)
            #expect(try refusal(of: root) == "The root \(root) cannot be used: \(path) \(another)")
        }
    }
}
