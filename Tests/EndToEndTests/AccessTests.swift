import Foundation
import TestSupport
import Testing

/// Access: `--allow-read` and `--allow-write`, permissions of files, and the users that may connect.
@Suite(.watchdog) struct AccessTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "access-\(UUID().uuidString)").path

    init() throws {
        for name in ["in", "out"] {
            try FileManager.default.createDirectory(atPath: "\(directory)/\(name)", withIntermediateDirectories: true)
            try Data("Hello".utf8).write(to: URL(filePath: "\(directory)/\(name)/file"))
        }
        #expect(symlink("../out/file", directory + "/in/link") == 0)
    }

    private func cleanUp() { try? FileManager.default.removeItem(atPath: directory) }

    private func run(_ words: String..., umask: String = "022") async -> (status: Int32, text: String) {
        await run(words, umask: umask)
    }

    private func run(
        _ words: [String], _ more: String..., umask: String = "022"
    ) async -> (status: Int32, text: String) {
        let words = ["-c", "umask \(umask); exec \"$0\" \"$@\"", ServiceProcess.program] + words + more
        let outcome = await Command(
            "/bin/sh", words + ["--root", directory + "/root"], in: directory, withErrors: true
        ).run()
        return (outcome.status, Place.withoutNotices(outcome.text))
    }

    private func mode(_ name: String) -> mode_t {
        var status = stat()
        return lstat("\(directory)/\(name)", &status) == 0 ? status.st_mode & 0o777 : 0
    }

    @Test func `Commands cannot read or write outside of the allowed directories`() async throws {
        defer { cleanUp() }
        #expect(await run("put", "in/file", "a", "--allow-read", "in").status == 0)
        #expect(await run("get", "a", "in/new", "--allow-write=in/", "--allow-read", "out").status == 0)
        for name in ["out/file", "out/none", "in/link", "in/../out/file"] {
            let put = await run("put", name, "b", "--allow-read", "in")
            let sentence = "File \(directory)/\(name) may not be read: it is in no directory that --allow-read names."
            #expect(put == (1, "storage-rpc: \(sentence) (unauthorized)\n"))
        }
        for name in ["out/new", "none/new", "new"] {
            let get = await run("get", "a", name, "--allow-write", "in", "--allow-write", "out/../in")
            #expect(get.status == 1 && get.text.contains("/\(name) may not be written: it is in no directory that"))
            #expect(mode(name) == 0)
        }
    }

    @Test func `An error for a path through an outside directory does not reveal whether it exists`() async throws {
        defer { cleanUp() }
        #expect(await run("put", "in/file", "a", "--allow-read", "in").status == 0)
        for name in ["out/../in/file", "none/../in/file", "out/file/../../in/file", "out/none/../../in/file"] {
            for (words, verb) in [(["put", name, "b"], "read"), (["get", "a", name], "write")] {
                let told = await run(words, "--allow-\(verb)", "in")
                let sentence = "may not be \(verb == "read" ? "read" : "written"): it is in no directory that"
                let expected =
                    "storage-rpc: File \(directory)/\(name) \(sentence) --allow-\(verb) names. (unauthorized)\n"
                #expect(told == (1, expected))
            }
        }
        for name in [".//./in/file", "../\(directory.split(separator: "/").last ?? "")/in/file"] {
            #expect(await run("put", name, "b", "--allow-read", "./in/").status == 0, "\(name)")
        }
    }

    @Test func `The program does not start with an allowed directory that does not exist`() async throws {
        defer { cleanUp() }
        let none = await run("put", "in/file", "a", "--allow-read", "none")
        #expect(none == (64, "storage-rpc: --allow-read none cannot be used: No such file or directory\n"))
        #expect(await run("serve", "--allow-write", "in/file").status == 64)
        #expect(await run("serve", "--allow-write").status == 64)
        let elsewhere = await run("ls", "--socket", "none", "--allow-read", "in")
        #expect(elsewhere.status == 64 && elsewhere.text.contains("--allow-read is for the service that listens"))
    }

    @Test(arguments: [("000", 0o666), ("022", 0o644), ("027", 0o640), ("077", 0o600)] as [(String, mode_t)])
    func `Downloaded files follow the umask, and files of the root are always private`(umask: String, expected: mode_t)
        async throws
    {
        defer { cleanUp() }
        try Data(count: 300_000).write(to: URL(filePath: directory + "/in/large"))
        #expect(await run("put", "in/file", "a", umask: umask).status == 0)
        #expect(await run("put", "in/large", "b", umask: umask).status == 0)
        #expect(await run("get", "a", "got", umask: umask).status == 0)
        #expect(mode("got") == expected)
        #expect(mode("root") == 0o700 && mode("root/objects") == 0o700)
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory + "/root").filter { $0 != "objects" }
        #expect(files.contains("objects/1") && files.allSatisfy { mode("root/" + $0) == 0o600 })
    }

    @Test func `A socket refuses other users, even if the permissions of its file admit them`() async throws {
        defer { cleanUp() }
        let path = directory + "/socket"
        let service = try ServiceProcess([
            "serve", "--socket", path, "--root", directory + "/root", "--log-level", "info",
        ])
        try service.waitForLog("listens on")
        #expect(mode("socket") == 0o600)
        #expect(await visit(path, as: geteuid()) == "pong")
        if geteuid() == 0 {
            #expect(await visit(path, as: 65534) == "PermissionError")
            #expect(chmod(path, 0o666) == 0 && chmod(directory, 0o755) == 0)
            #expect(await visit(path, as: 65534) == "closed")
        }
        service.signal(SIGTERM)
        #expect(try service.waitForExit() == 0)
    }

    /// What a process of this user receives when it connects.
    private func visit(_ path: String, as user: uid_t) async -> String {
        let script = """
            import os, socket, sys
            if int(sys.argv[2]) != os.geteuid(): os.setuid(int(sys.argv[2]))
            with socket.socket(socket.AF_UNIX) as visitor:
                visitor.settimeout(60)
                try:
                    visitor.connect(sys.argv[1])
                    visitor.sendall(b'{"jsonrpc":"2.0","id":1,"method":"service/ping"}\\n')
                    said = visitor.recv(1000)
                    print("pong" if b"pong" in said else said or "closed", end="")
                except (BrokenPipeError, ConnectionResetError): print("closed", end="")
                except OSError as error: print(type(error).__name__, end="")
            """
        return await Command("python3", ["-c", script, path, "\(user)"]).run().text
    }
}
