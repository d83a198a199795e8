import CTestProcess
import Glibc
import Platform
import Synchronization
import Testing

/// Ends the process when a test runs for too long, and prints all open tests and all stacks before: so a hang has a name,
/// also where the test does not react to cancellation. The limit counts from the moment that the test runs.
///
/// Each suite has this trait; a test of the architecture checks it. The longest tests are printed at the end. An issue of a
/// test comes with what the last commands of the test printed.
package struct Watchdog: SuiteTrait, TestTrait, TestScoping {
    package let isRecursive = true
    let limit: Duration

    @concurrent package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        let began = ContinuousClock.now
        let name = "\(test.sourceLocation.fileID):\(test.sourceLocation.line) \"\(test.displayName ?? test.name)\""
        let id = Watch.shared.open(OpenTest(name: name, began: began, end: began + limit))
        defer { Watch.shared.close(id) }
        let outputs = CommandOutputs()
        let trait = IssueHandlingTrait.compactMapIssues { issue in
            var issue = issue
            issue.comments += outputs.latest.map { Comment(rawValue: "A command before it printed: \($0)") }
            return issue
        }
        try await CommandOutputs.$ofTest.withValue(outputs) {
            try await trait.provideScope(for: test, testCase: testCase, performing: function)
        }
    }
}

extension Trait where Self == Watchdog {
    /// Five minutes for each test.
    package static var watchdog: Self { watchdog(minutes: 5) }

    package static func watchdog(minutes: Int) -> Self { Watchdog(limit: .seconds(60 * minutes)) }
}

struct OpenTest: Sendable {
    let name: String
    let began: ContinuousClock.Instant
    let end: ContinuousClock.Instant
}

/// A thread that checks each second the tests that run, and the callers that wait.
final class Watch: Sendable {
    private struct State {
        var lastID = 0
        var tests: [Int: OpenTest] = [:]
        var checks: [Int: @Sendable () -> Void] = [:]
        /// Of finished tests, the longest first.
        var longest: [(seconds: Double, name: String)] = []

        mutating func nextID() -> Int {
            lastID += 1
            return lastID
        }
    }

    static let shared = Watch()

    private let state = Mutex(State())

    private init() {
        whenTestsEnd { [unowned self] in printLongest() }
        startTestThread("watchdog", stackSize: 1 << 20) { [unowned self] in
            while true {
                blockThread(milliseconds: 1000)
                state.withLock { $0.checks.values }.forEach { $0() }
                endOverdue()
            }
        }
    }

    func open(_ test: OpenTest) -> Int {
        state.withLock { state in
            let id = state.nextID()
            state.tests[id] = test
            return id
        }
    }

    func close(_ id: Int) {
        state.withLock { state in
            guard let test = state.tests.removeValue(forKey: id) else { return }
            let time = (ContinuousClock.now - test.began) / .seconds(1)
            state.longest.append((time, test.name))
            state.longest.sort { $0.seconds > $1.seconds }
            state.longest = Array(state.longest.prefix(5))
        }
    }

    private func printLongest() {
        let longest = state.withLock { $0.longest }
        writeError(longest.map { "◇ Among the longest tests: \(Int($0.seconds)) s: \($0.name)\n" }.joined())
    }

    /// Calls `check` each second until it is removed.
    func add(_ check: @escaping @Sendable () -> Void) -> Int {
        state.withLock { state in
            let id = state.nextID()
            state.checks[id] = check
            return id
        }
    }

    func remove(_ id: Int) { state.withLock { _ = $0.checks.removeValue(forKey: id) } }

    private func endOverdue() {
        let now = ContinuousClock.now
        let tests = state.withLock { $0.tests.values.sorted { $0.began < $1.began } }
        let overdue = tests.filter { $0.end <= now }
        guard !overdue.isEmpty else { return }
        let lines =
            overdue.map { "✘ A test hangs: \($0.name)" }
            + tests.map { "✘ Runs since \((now - $0.began).components.seconds) s: \($0.name)" }
        writeError(lines.joined(separator: "\n") + "\n")
        testprocess_print_stacks()
        writeError(lines.joined(separator: "\n") + "\n")
        testprocess_end()
    }

    private func writeError(_ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
    }
}
