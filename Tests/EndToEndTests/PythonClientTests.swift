import Foundation
import TestSupport
import Testing

/// The Python client's own tests, against the program of this build.
@Suite(.watchdog) struct PythonClientTests {
    @Test(
        .enabled(if: Python.command != nil, "The Python client is not tested: no python3 of 3.9 or later on the PATH."),
        .watchdog(minutes: 10))
    func `The own tests of the Python client pass`() async throws {
        let python = try #require(Python.command)
        let tests = ["-m", "unittest", "discover", "-s", "clients/python/tests", "-t", "clients/python"]
        let (status, output) = await python.run(
            tests, ["STORAGE_RPC": Self.program, "PYTHONDONTWRITEBYTECODE": "1"])
        #expect(status == 0, "\(output)")
        #expect(!output.contains("skipped="), "\(output)")
    }

    /// Beside the program that runs the tests.
    private static let program =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "storage-rpc").path
}

/// The `python3` of the PATH, where it is recent enough.
private struct Python: Sendable {
    let path: String

    static let command: Python? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let candidates = folders.map { Python(path: "\($0)/python3") }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) && $0.isRecentEnough }
    }()

    private var isRecentEnough: Bool {
        Command(path, ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]).runHere().status == 0
    }

    /// Runs from the root of the checkout to the end.
    func run(_ arguments: [String], _ environment: [String: String]) async -> (status: Int32, output: String) {
        let root = URL(filePath: #filePath).appending(path: "../../..").standardized.path
        let outcome = await Command(path, arguments, environment: environment, in: root, withErrors: true).run()
        return (outcome.status, outcome.text)
    }
}
