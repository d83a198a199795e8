import Foundation
import TestSupport
import Testing

/// The Node client's own tests, against the program of this build.
@Suite(.watchdog) struct NodeClientTests {
    @Test(
        .enabled(if: Node.command != nil, "The Node client is not tested: no node of 18 or later on the PATH."),
        .watchdog(minutes: 10))
    func `The own tests of the Node client pass`() async throws {
        let node = try #require(Node.command)
        let (status, output) = await node.run(["--test"], ["STORAGE_RPC": Self.program])
        #expect(status == 0, "\(output)")
        #expect(!output.contains("STORAGE_RPC does not name the program"), "\(output)")
    }

    /// Beside the program that runs the tests.
    private static let program =
        URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "storage-rpc").path
}

/// The `node` of the PATH, where it is recent enough.
private struct Node: Sendable {
    let path: String

    static let command: Node? = {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        let candidates = folders.map { Node(path: "\($0)/node") }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0.path) && $0.isRecentEnough }
    }()

    private var isRecentEnough: Bool {
        Command(path, ["-e", "process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)"]).runHere().status == 0
    }

    /// Runs from the folder of the client to the end.
    func run(_ arguments: [String], _ environment: [String: String]) async -> (status: Int32, output: String) {
        let folder = URL(filePath: #filePath).appending(path: "../../../clients/node").standardized.path
        let outcome = await Command(path, arguments, environment: environment, in: folder, withErrors: true).run()
        return (outcome.status, outcome.text)
    }
}
