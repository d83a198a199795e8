import JSONText
import JSONRPC
import Storage
import TestSupport
import Testing

@testable import Methods

/// Holds what `protocol/openrpc.json` lists to what there is.
@Suite struct DocumentTests {
    let document: ContractDocument

    init() throws { document = try ContractDocument() }

    @Test func methodsAreThoseOfTheTableInItsOrder() {
        #expect(document.methods.map { $0["name"]?.string } == allMethods.names)
    }

    @Test func notificationsAreThoseThatTheServiceSends() {
        let own = document.notifications.filter { $0["from"] == "service" }
        #expect(own.map { $0["name"]?.string } == allNotifications)
    }

    @Test func notificationsAreShownAsTheyAreDescribed() throws {
        for notification in document.notifications {
            let example = try #require(notification["example"])
            for param in try #require(notification["params"]?.array) {
                let value = try #require(example[param["name"]?.string ?? ""])
                #expect(try document.violation(value, #require(param["schema"])) == nil)
            }
        }
    }

    @Test func storageErrorsAreThoseOfTheSDK() {
        let codes = document.errors.filter { ($0["code"]?.number?.int64 ?? 0) > -32000 }
        #expect(
            codes.map { "\($0["code"]?.text ?? "") \($0["name"]?.string ?? "")" }
                == StorageError.Code.allCases.map { "\($0.rawValue) \($0)" })
    }

    @Test func errorComponentsAreThoseOfTheTable() {
        let components = document.resolve("#/components/errors")?.object ?? []
        #expect(
            components.map { [$0.value["code"], $0.value["message"]] }
                == document.errors.map { [$0["code"], $0["name"]] })
    }

    @Test func everyErrorHasMeaningAndRemedy() {
        for error in document.errors {
            #expect(error["meaning"]?.string?.isEmpty == false && error["remedy"]?.string?.isEmpty == false)
        }
    }

    @Test func everyReferenceLeadsSomewhere() {
        for reference in document.json.references { #expect(document.resolve(reference) != nil, "\(reference)") }
    }

    @Test func everyMethodSaysWhatItIsAndShowsIt() {
        for method in document.methods {
            for member in ["summary", "description"] {
                #expect(method[member]?.string?.isEmpty == false, "\(method["name"]?.text ?? "") has no \(member)")
            }
            #expect(method["examples"]?.array?.isEmpty == false, "\(method["name"]?.text ?? "") has no example")
        }
    }
}

extension JSON {
    /// Every `$ref` in it.
    fileprivate var references: [String] {
        let own = self["$ref"]?.string.map { [$0] } ?? []
        return own + (object?.flatMap(\.value.references) ?? []) + (array?.flatMap(\.references) ?? [])
    }
}
