import Foundation
import Platform
import Testing

/// Returns when the condition holds. After a minute in which the loop has had its turns, it records an issue that quotes
/// the line which awaits, and returns.
@Loop public func until(
    file: String = #filePath, _ location: SourceLocation = #_sourceLocation, _ condition: @Loop () throws -> Bool
) async rethrows {
    let deadline = ContinuousClock.now + .seconds(60)
    var iterations = 0
    while try !condition() {
        iterations += 1
        guard iterations < 10_000 || ContinuousClock.now < deadline else {
            let lines = (try? String(contentsOfFile: file, encoding: .utf8))?.split(
                separator: "\n", omittingEmptySubsequences: false)
            let line = lines?.dropFirst(location.line - 1).first?.trimmingCharacters(in: .whitespaces) ?? ""
            Issue.record("this did not hold within a minute: \(line)", sourceLocation: location)
            return
        }
        await Loop.nextIteration()
    }
}
