import Foundation
import TestSupport
import Testing

/// What is on the screen after Ctrl-C, and what the same command says then.
@Suite(.watchdog) struct CtrlCTests {
    private let place = Place()

    /// A service whose transfers of chunks stop at the first MiB, with the objects `o`, `t/large` and `t/small`, and the same
    /// files.
    private func heldService() async throws -> ServiceProcess {
        let service = try place.listeningService(["--harness"])
        let made = await place.sh(
            """
            mkdir t; head -c 3145728 /dev/urandom > t/large; echo 1 > t/small
            $S put -q t/large o --socket socket; $S put -q -r t t --socket socket
            for on in send fetch; do
                $S call harness/arm '{"on":"'$on'","at":1048576,"do":{"hold":true},"times":null}' --socket socket
            done
            $S call harness/arm '{"on":"copy","do":{"hold":true},"times":null}' --socket socket
            """)
        #expect(made.status == 0, "\(made)")
        return service
    }

    @Test(arguments: [
        ("put t/large x", "33%", "paused at 33% of 3.0 MiB. The same command resumes it"),
        ("put -r t x", "33%", "paused at 33% of 3.0 MiB, 1 of 2 files. The same command resumes it"),
        ("sync t gs://default-bucket/x", "33%", "paused at 33% of 3.0 MiB, 1 of 2 files. The same command resumes it"),
        ("get o out", "33%", "paused at 33% of 3.0 MiB. The same command resumes it"),
        ("get -r t out", "33%", "paused at 33% of 3.0 MiB, 1 of 2 files. The same command resumes it"),
        (
            "sync gs://default-bucket/t out", "33%",
            "paused at 33% of 3.0 MiB, 1 of 2 files. The same command resumes it"
        ),
        ("cp o x", "waits for gs://default-bucket/o", "waits for gs://default-bucket/o"),
        ("cp -r t x", "waits for gs://default-bucket/t/", "paused at 0% of 3.0 MiB, 0 of 2 files"),
    ])
    func `After Ctrl-C nothing is drawn, and the last line says what is kept`(
        words: String, key: String, last: String
    ) async throws {
        let service = try await heldService()
        let isKept = last.hasPrefix("paused at 33%")
        // The second run resumes what the first one has begun.
        for (columns, key) in [(40, key), (200, isKept ? "checking the 1.0 MiB already stored" : key)] {
            let terminal = Terminal(
                directory: place.directory, environment: ["TMPDIR": place.directory], columns: columns)
            let words = words.split(separator: " ").map(String.init) + ["--socket", "socket"]
            let (status, shown) = await terminal.run(words, [(key, "\u{3}")])
            let screen = terminal.screen(shown)
            #expect(status == 128 + 2, "\(shown)")
            #expect(!screen.contains { $0.hasPrefix("[") }, "\(screen)")
            let lines = screen.joined().components(separatedBy: "storage-rpc: ").dropFirst()
            #expect(lines.last?.hasPrefix(last) == true, "\(screen)")
            guard columns == 200 else { continue }
            #expect(screen.count == lines.count, "\(screen)")
            guard isKept else { continue }
            #expect(lines.first?.hasPrefix("resuming ") == true, "\(screen)")
            #expect(lines.first?.contains(" at 33% of 3.0 MiB") == true, "\(screen)")
        }
        withExtendedLifetime(service) {}
    }

    @Test func `A terminal has colours unless NO_COLOR is set, and other outputs have none`() async throws {
        #expect(await place.sh("printf x | $S put -q - d/x; printf x | $S put -q - y").status == 0)
        let environment = ["XDG_DATA_HOME": place.root, "NO_COLOR": ""]
        let coloured = Terminal(directory: place.directory, environment: environment)
        #expect(await coloured.run(["ls"], []).shown == "\u{1B}[1;34md/\u{1B}[0m\r\ny\r\n")
        let error = await coloured.run(["cat", "none"], []).shown
        #expect(error.hasPrefix("\u{1B}[1;31mstorage-rpc: \u{1B}[0m"), "\(error)")
        for variables in [["NO_COLOR": "1"], ["TERM": "dumb"], ["TERM": ""]] {
            let plain = Terminal(directory: place.directory, environment: environment.merging(variables) { $1 })
            #expect(await plain.run(["ls"], []).shown == "d/\r\ny\r\n")
        }
        #expect(await place.sh("TERM=xterm $S ls").text == "d/\ny\n")
    }
}
