import Foundation
import TestSupport
import Testing

@Suite(.watchdog) struct ArchitectureTests {
    private let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    private func text(_ path: String) throws -> String {
        try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    @Test func `The README of the sources names each target and its dependencies`() throws {
        let target = /\.(?:executableTarget|target)\(\s*name: "([^"]+)"(?:,\s*dependencies: \[([^\]]*)\])?/
        let targets = try text("Package.swift").matches(of: target)
            .map { match in
                let names = (match.2 ?? "").matches(of: /"([^"]+)"/).map { String($0.1) }
                return "\(match.1): \(names.joined(separator: ", "))"
            }
            .filter { line in
                !["CTestProcess", "Fuzz", "StorageRPC", "FirebaseStorage"].contains { line.hasPrefix($0) }
            }
        let rows = try text("Sources/README.md").matches(of: /\| `([^`]+)` \| [^|]+ \| ([^|]+) \|/)
            .map { "\($0.1): \($0.2 == "–" ? "" : $0.2)" }
        #expect(targets.count > 20 && rows == targets)
    }

    @Test func `A room depends on rooms of its own wing and of the wings below it`() throws {
        let package = try text("Package.swift")
        let list = try #require(package.firstMatch(of: /let wings: KeyValuePairs = \[([^;]*?)\n\]/))
        let wings = list.1.matches(of: /"(\w+)": \[([^\]]+)\]/).map { wing in
            (name: String(wing.1), rooms: wing.2.matches(of: /"(\w+)"/).map { String($0.1) })
        }
        let page = try text("Sources/README.md")
        let named = page.matches(of: /\n\d\. `(\w+)`:/).map { String($0.1) }
        #expect(wings.count > 5 && named == wings.map(\.name))
        let floors = Dictionary(
            uniqueKeysWithValues: wings.enumerated().flatMap { floor, wing in wing.rooms.map { ($0, floor) } })
        for (room, floor) in floors {
            let folder = root.appending(path: "Sources/\(wings[floor].name)/\(room)")
            #expect(FileManager.default.fileExists(atPath: folder.path), "\(room)")
        }
        for row in page.matches(of: /\| `(\w+)` \| [^|]+ \| ([^|]+) \|/) {
            let floor = try #require(floors[String(row.1)], "\(row.1)")
            for needed in row.2.matches(of: /\w+/) {
                #expect(floors[String(needed.0)] ?? -1 >= floor, "\(row.1) depends on \(needed.0)")
            }
        }
    }

    @Test func `The Swift client depends on no room, and no unsafe flag reaches it`() throws {
        let package = try text("Package.swift")
        #expect(package.contains(".target(name: \"StorageRPC\", path: \"clients/swift/StorageRPC\"),"))
        let first = try #require(package.firstRange(of: "guard !clients.contains(target.name) else { continue }"))
        #expect(!package[..<first.lowerBound].suffix(500).contains("unsafeFlags"))
    }

    /// The files that read a clock of the system.
    private static let clocks = [
        "System/Platform/TimeSource.swift": "it is the clock",
        "storage-rpc/Server.swift": "the service takes the clock when it starts, and bounds its shutdown in real time",
        "storage-rpc/Spaces/SpaceServers.swift":
            "connections are bounded in real time, whatever a harness does to the clock",
        "storage-rpc/Spaces/Spaces.swift": "connections are bounded in real time, whatever a harness does to the clock",
        "storage-rpc/Spaces/TestSpace.swift": "a reset does not wait for ever, whatever a harness does to the clock",
        "System/Platform/Histogram+Timing.swift":
            "commits and syncs take real time, whatever a harness does to the clock",
        "TestDouble/Harness/HarnessClock.swift": "it runs as the system's until a test stops it",
        "System/Platform/LoopExecutor.swift": "the system may soon start threads again",
        "System/Platform/Thread.swift": "blocks a thread while another process holds a file",
        "Wire/JSONRPC/Connection.swift": "the program passes its clock",
        "System/ClientMemory/MemoryQuota.swift": "the program passes its clock",
        "Engines/Credentials/ShellCommand.swift": "a command is another process",
        "Commands/CommandLine/Client.swift": "a person waits",
        "Commands/CommandLine/ProgressDisplay.swift": "a person reads it",
        "Commands/CommandLine/ProgressReport.swift": "a person reads it",
        "Commands/CommandLine/RunningTransfers.swift": "a person reads it",
        "Commands/CommandLine/TreeItems.swift": "a person reads it",
        "Commands/CommandLine/WaitNotice.swift": "a person waits",
        "Commands/CommandLine/RootService.swift": "the service is another process",
        "storage-rpc/Engines/LocalEngine.swift": "another process holds the root",
        "storage-rpc/Log.swift": "a line of the log has the time, whatever a harness does to the clock",
        "Wire/HTTPClient/Transfer.swift": "libcurl measures real time",
        "Wire/HTTPClient/TransferLoop.swift": "libcurl measures real time",
        "Wire/HTTPClient/TransferThread.swift": "libcurl measures real time",
    ]

    @Test func `Only the named files read a clock of the system`() throws {
        let clock =
            /clock_gettime|gettimeofday|usleep|ContinuousClock|SuspendingClock|Date\(\)|Task\.sleep|monotonicNow\(|TimeSource\.system/
        #expect(try sources(containing: clock) == Self.clocks.keys.sorted())
    }

    @Test func `Only Platform imports Glibc and CSystem`() throws {
        let files = try sources(containing: /import (?:\w+ )?(?:Glibc|CSystem)\b/)
        #expect(!files.isEmpty && files.allSatisfy { $0.hasPrefix("System/Platform/") }, "\(files)")
    }

    @Test func `The gateway's server names no type of Google's APIs and of Amazon's`() throws {
        let gateway = "Sources/TestDouble/Gateway"
        let declaration = /(?m)^(?:@Loop |final |private )*(?:struct|class|enum) (\w+)/
        let types = try ["Google", "Amazon"].flatMap { folder in
            try files(in: "\(gateway)/\(folder)", containing: declaration).flatMap { file in
                try text("\(gateway)/\(folder)/\(file)").matches(of: declaration).map { String($0.1) }
            }
        }
        let names = try Regex("\\b(?:\(types.joined(separator: "|")))\\b")
        #expect(types.count > 15)
        #expect(try files(in: "\(gateway)/Server", containing: names) == [])
    }

    @Test func `Each marker of unchecked code has a comment that states why it is sound`() throws {
        let marker = /@unchecked|nonisolated\(unsafe\)|Unmanaged/
        for file in try sources(containing: marker) {
            #expect(try text("Sources/\(file)").contains("Sound: "), "\(file)")
        }
    }

    @Test func `Each test suite has the watchdog`() throws {
        for file in try files(in: "Tests", containing: /(?m)^ +@Test\b/) {
            let code = try text("Tests/\(file)")
            let suites = code.matches(of: /(?m)^(?:@Loop )?@Suite\b([^{]*)/)
            #expect(!suites.isEmpty && suites.allSatisfy { $0.1.contains(".watchdog") }, "\(file)")
        }
    }

    /// The files that let real time pass for another reason than a condition.
    private static let timed = [
        "EndToEndTests/GatewayTests.swift": "a service is killed at any moment",
        "EndToEndTests/SpaceTests.swift": "a service is killed at any moment",
        "TestSupport/EmbeddedFixture.swift": "files are made ahead on another thread",
        "TestSupport/Waiting.swift": "it is the way to wait",
        "TestSupport/Watchdog.swift": "it measures real time",
    ]

    @Test func `Tests wait for conditions in one way`() throws {
        let sleep = /\busleep|nanosleep|Task\.sleep|blockThread|Thread\.sleep|asyncAfter|\.timeLimit\(/
        let found = try files(in: "Tests", containing: sleep).filter { !$0.hasPrefix("ContractTests/Architecture") }
        #expect(found == Self.timed.keys.sorted())
    }

    private func sources(containing pattern: some RegexComponent) throws -> [String] {
        try files(in: "Sources", containing: pattern)
    }

    private func files(in folder: String, containing pattern: some RegexComponent) throws -> [String] {
        let files = try #require(FileManager.default.enumerator(atPath: root.appending(path: folder).path))
        return try files.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") }
            .filter { try text("\(folder)/\($0)").contains(pattern) }.sorted()
    }
}
