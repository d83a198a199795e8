import TestSupport
import JSONText
import Testing

@Suite(.enabled(if: !JSONTestSuite.files.isEmpty, "\(JSONTestSuite.isMissing)"))
struct JSONTestSuiteTests {
    @Test func acceptsWhatMustBeAccepted() {
        for file in JSONTestSuite.files("y_") {
            #expect(throws: Never.self, "\(file.name)") { try parse(file.bytes) }
        }
    }

    @Test func refusesWhatMustBeRefused() {
        for file in JSONTestSuite.files("n_") {
            #expect(throws: JSONSyntaxError.self, "\(file.name)") { try parse(file.bytes) }
        }
    }

    @Test func whatIsFreeStaysTheSameOnceAccepted() throws {
        for file in JSONTestSuite.files("i_") {
            guard let json = try? parse(file.bytes) else { continue }
            #expect(try parse(written(json)) == json, "\(file.name)")
        }
    }

    @Test func whatWasReadIsWrittenBack() throws {
        for file in JSONTestSuite.files("y_") {
            let json = try parse(file.bytes)
            #expect(try parse(written(json)) == json, "\(file.name)")
        }
    }
}
