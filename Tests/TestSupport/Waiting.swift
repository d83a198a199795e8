import Foundation
import Glibc
import Platform
import Synchronization
import Testing

/// What a wait of a test throws when its condition does not come true within the limit.
package struct WaitFailure: Error, CustomStringConvertible {
    package let description: String

    /// Names the line that waits, and quotes it.
    init(_ file: String, _ location: SourceLocation) {
        let lines = (try? String(contentsOfFile: file, encoding: .utf8))?.split(
            separator: "\n", omittingEmptySubsequences: false)
        let line = lines?.dropFirst(location.line - 1).first?.trimmingCharacters(in: .whitespaces) ?? ""
        description = "\(location.fileName):\(location.line): not within \(waitLimit): \(line)"
    }
}

/// The one limit of all waits in tests. No passing test comes near it, on however slow a machine.
package let waitLimit = Duration.seconds(120)

/// The deadline of one wait.
struct WaitDeadline {
    let file: String
    let location: SourceLocation
    private let end = ContinuousClock.now + waitLimit

    init(_ file: String, _ location: SourceLocation) { (self.file, self.location) = (file, location) }

    /// Throws when the test is cancelled, or the limit is reached.
    func check() throws {
        try Task.checkCancellation()
        if let failure { throw failure }
    }

    /// Nil before the limit.
    var failure: WaitFailure? { ContinuousClock.now >= end ? WaitFailure(file, location) : nil }
}

/// Returns when the condition holds; it is checked in each iteration of the loop, then each millisecond. Throws
/// `WaitFailure` at the limit, and when the test is cancelled.
@Loop package func until(
    file: String = #filePath, _ location: SourceLocation = #_sourceLocation, _ condition: @Loop () throws -> Bool
) async throws {
    let deadline = WaitDeadline(file, location)
    var iterations = 0
    while try !condition() {
        try deadline.check()
        iterations += 1
        if iterations > 500 { try await Task.sleep(for: .milliseconds(1)) }
        await Loop.nextIteration()
    }
}

/// The same for a condition that is not on the loop; it is checked each millisecond.
package func eventually(
    file: String = #filePath, _ location: SourceLocation = #_sourceLocation, _ condition: () async throws -> Bool
) async throws {
    let deadline = WaitDeadline(file, location)
    while try await !condition() {
        try deadline.check()
        try await Task.sleep(for: .milliseconds(1))
    }
}

/// Blocks the thread until the condition holds; otherwise as `until`. For use within `onThread`.
package func blockUntil(
    file: String = #filePath, _ location: SourceLocation = #_sourceLocation, _ condition: () throws -> Bool
) throws {
    let deadline = WaitDeadline(file, location)
    while try !condition() {
        try deadline.check()
        blockThread(milliseconds: 1)
    }
}

/// Blocks the thread until a descriptor has something to read, or its end. For use within `onThread`.
package func blockUntilReadable(
    _ descriptor: Int32, file: String = #filePath, _ location: SourceLocation = #_sourceLocation
) throws {
    let deadline = WaitDeadline(file, location)
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&request, 1, 100) <= 0 { try deadline.check() }
}

/// One caller that waits for a value, which the first of `resume`, the limit and cancellation ends.
package final class Waiter<Value: Sendable>: Sendable {
    fileprivate enum State {
        case new
        case waiting(CheckedContinuation<Value, any Error>)
        case ended
    }

    private let state = Mutex(State.new)

    /// Whether the caller still waited, and so received the result.
    @discardableResult
    package func resume(_ result: Result<Value, any Error>) -> Bool {
        let continuation: CheckedContinuation<Value, any Error>? = state.withLock { state in
            defer { state = .ended }
            guard case .waiting(let continuation) = state else { return nil }
            return continuation
        }
        continuation?.resume(with: result)
        return continuation != nil
    }

    fileprivate func install(_ continuation: CheckedContinuation<Value, any Error>) -> Bool {
        state.withLock { state in
            guard case .new = state else { return false }
            state = .waiting(continuation)
            return true
        }
    }
}

/// Waits until the waiter that `register` receives is resumed. Throws as `until` does. Stays on the actor of the
/// caller: between the resumption and the caller's next line nothing else of that actor is awaited.
package func withWaiter<Value: Sendable>(
    isolation: isolated (any Actor)? = #isolation,
    file: String = #filePath, _ location: SourceLocation = #_sourceLocation,
    _ register: (Waiter<Value>) -> Void
) async throws -> Value {
    let waiter = Waiter<Value>()
    let deadline = WaitDeadline(file, location)
    let id = Watch.shared.add {
        if let failure = deadline.failure { waiter.resume(.failure(failure)) }
    }
    defer { Watch.shared.remove(id) }
    return try await withTaskCancellationHandler {
        _ = isolation
        return try await withCheckedThrowingContinuation { continuation in
            if waiter.install(continuation) {
                register(waiter)
            } else {
                continuation.resume(throwing: CancellationError())
            }
        }
    } onCancel: {
        waiter.resume(.failure(CancellationError()))
    }
}
