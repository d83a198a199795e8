import Foundation
import Testing

/// The Python client's own tests, against the program of this build.
@Suite struct PythonClientTests {
    @Test(
        .enabled(if: Python.command != nil, "The Python client is not tested: no python3 of 3.9 or later on the PATH."),
        .timeLimit(.minutes(10)))
    func itsOwnTests() async throws {
        let python = try #require(Python.command)
        let tests = ["-m", "unittest", "discover", "-s", "clients/python/tests", "-t", "clients/python"]
        let (status, output) = try await python.run(
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
        let check = Process()
        check.executableURL = URL(filePath: path)
        check.arguments = ["-c", "import sys; sys.exit(sys.version_info < (3, 9))"]
        check.standardError = FileHandle.nullDevice
        do { try check.run() } catch { return false }
        check.waitUntilExit()
        return check.terminationStatus == 0
    }

    /// Runs from the root of the checkout to the end; what it writes goes by way of a file, which is never full.
    func run(_ arguments: [String], _ environment: [String: String]) async throws -> (status: Int32, output: String) {
        let file = FileManager.default.temporaryDirectory.appending(path: "python-\(UUID().uuidString).txt")
        try Data().write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let handle = try FileHandle(forWritingTo: file)
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.currentDirectoryURL = URL(filePath: #filePath).appending(path: "../../..").standardized
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = handle
        process.standardError = handle
        try await withCheckedThrowingContinuation { (ended: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in ended.resume() }
            do { try process.run() } catch { ended.resume(throwing: error) }
        }
        return (process.terminationStatus, String(decoding: try Data(contentsOf: file), as: UTF8.self))
    }
}
