import Foundation
import HTTPText
import JSONText
import TestSupport
import Testing

/// A preloaded library that prints to stdout.
@Suite(.watchdog) struct StandardOutputTests {
    private let place = Place()
    private static let compiler = ["/usr/bin/cc", "/usr/bin/clang", "/usr/bin/gcc"].first {
        FileManager.default.isExecutableFile(atPath: $0)
    }

    /// Prints at each fsync and fdatasync, and then calls the real function.
    private static let source = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdio.h>
        static int noisy(const char *name, int fd) {
            printf("{\\"noise\\":\\"%s\\"}\\n", name);
            fflush(stdout);
            int (*real)(int) = dlsym(RTLD_NEXT, name);
            return real(fd);
        }
        int fsync(int fd) { return noisy("fsync", fd); }
        int fdatasync(int fd) { return noisy("fdatasync", fd); }
        """

    /// The path of the library.
    private func library() async throws -> String {
        let (code, library) = (place.directory + "/noise.c", place.directory + "/noise.so")
        try Self.source.write(toFile: code, atomically: true, encoding: .utf8)
        let built = await Command(
            try #require(Self.compiler), ["-shared", "-fPIC", "-o", library, code, "-ldl"], withErrors: true
        ).run()
        try #require(built.status == 0, "\(built.text)")
        return library
    }

    @Test(
        .enabled(if: compiler != nil, "Syncs are not counted: there is no C compiler."),
        arguments: [
            (flags: [], syncs: true), (["--durability", "none"], false), (["--harness"], false),
            (["--harness", "--durability", "full"], true),
        ])
    func `Without durability nothing is synced, and the end of the process loses nothing`(flags: [String], syncs: Bool)
        async throws
    {
        let (library, log) = (try await library(), place.directory + "/log")
        try await onThread {
            let text = String(repeating: "x", count: 1 << 20)
            let (service, client) = try place.service(
                flags, setUp: "export LD_PRELOAD='\(library)'", redirect: "2> '\(log)'")
            for (name, text) in [("small", "x"), ("large", text)] {
                try client.call(
                    "reference/putData", #"{"reference":"gs://b/\#(name)","text":"\#(text)","wait":true}"#)
            }
            try client.call("reference/putDirectory", #"{"reference":"gs://b/d","directory":"\#(place.directory)"}"#)
            service.signal(SIGKILL)
            _ = try service.waitForExit()
            #expect(try String(contentsOfFile: log, encoding: .utf8).contains(#"{"noise""#) == syncs)
            guard !flags.contains("--harness") else { return }
            let (again, reader) = try place.service()
            let read = try reader.call("reference/getData", #"{"reference":"gs://b/large","maxSize":2000000}"#)
            #expect(read["data"]?.string == Array(text.utf8).base64)
            reader.wire.endInput()
            try reader.waitForEnd()
            #expect(try again.waitForExit() == 0)
        }
    }

    @Test(.enabled(if: compiler != nil, "What libraries print is not tested: there is no C compiler."))
    func `Text that a library prints to stdout goes to stderr`() async throws {
        let library = try await library()
        try await onThread {
            let (service, client) = try place.service(setUp: "export LD_PRELOAD='\(library)'")
            try client.call(
                "reference/putData",
                #"{"reference":"gs://b/a","text":"\#(String(repeating: "x", count: 1 << 20))","wait":true}"#)
            try #require(try client.call("service/ping") == "pong")
            client.wire.endInput()
            try client.waitForEnd()
            try service.waitForLog(#"{"noise":"f"#)
            try #require(try service.waitForExit() == 0)
        }
    }
}
