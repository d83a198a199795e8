import Foundation
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

    @Test(.enabled(if: compiler != nil, "What libraries print is not tested: there is no C compiler."))
    func `Text that a library prints to stdout goes to stderr`() async throws {
        let (code, library) = (place.directory + "/noise.c", place.directory + "/noise.so")
        try Self.source.write(toFile: code, atomically: true, encoding: .utf8)
        let built = await Command(
            try #require(Self.compiler), ["-shared", "-fPIC", "-o", library, code, "-ldl"], withErrors: true
        ).run()
        try #require(built.status == 0, "\(built.text)")
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
