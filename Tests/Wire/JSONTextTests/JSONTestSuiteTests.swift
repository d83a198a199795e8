import TestSupport
import JSONText
import Testing

@Suite(.watchdog, .enabled(if: !JSONTestSuite.files.isEmpty, "\(JSONTestSuite.isMissing)"))
struct JSONTestSuiteTests {
    @Test func `Valid texts are accepted`() {
        for file in JSONTestSuite.files("y_") {
            #expect(throws: Never.self, "\(file.name)") { try parse(file.bytes) }
        }
    }

    @Test func `Invalid texts are refused`() {
        for file in JSONTestSuite.files("n_") {
            #expect(throws: JSONSyntaxError.self, "\(file.name)") { try parse(file.bytes) }
        }
    }

    @Test func `Texts of undefined validity stay the same once accepted`() throws {
        for file in JSONTestSuite.files("i_") {
            guard let json = try? parse(file.bytes) else { continue }
            #expect(try parse(written(json)) == json, "\(file.name)")
        }
    }

    @Test func `Parsed texts are written back unchanged`() throws {
        for file in JSONTestSuite.files("y_") {
            let json = try parse(file.bytes)
            #expect(try parse(written(json)) == json, "\(file.name)")
        }
    }
}
