import Foundation
import TestSupport
import Testing

/// The tests and programs that `protocol/promises.md` names.
@Suite(.watchdog) struct PromiseTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL

    private let page = try? String(contentsOf: package.appending(path: "protocol/promises.md"), encoding: .utf8)

    @Test func `Every test and program that a promise names exists`() throws {
        let page = try #require(page)
        let tests = try #require(FileManager.default.enumerator(atPath: Self.package.appending(path: "Tests").path))
        let paths = tests.compactMap { ($0 as? String).map { "/" + $0 } }
        var file: String?
        var names = 0
        for match in page.matches(of: /`([A-Za-z]+Tests\/[A-Za-z0-9]+)`|`(Tests\/[A-Za-z]+\/run)`|"([^"]+)"/) {
            if let suite = match.1 {
                let path = try #require(paths.first { $0.hasSuffix("/\(suite).swift") }, "\(suite)")
                file = try String(contentsOf: Self.package.appending(path: "Tests/\(path)"), encoding: .utf8)
            } else if let program = match.2 {
                #expect(FileManager.default.isExecutableFile(atPath: Self.package.appending(path: program).path))
            } else if let name = match.3, name != "name" {
                names += 1
                #expect(file?.contains("`\(name)`") == true, "\(name)")
            }
        }
        #expect(names > 30)
    }

    @Test func `Every promise names a test or a program`() throws {
        let promises = try #require(page).split(separator: "\n- ").dropFirst()
        #expect(promises.count > 20)
        for promise in promises { #expect(promise.contains("\n  - `"), "\(promise)") }
    }
}
