import JSONText
import JSONRPC
import TestSupport
import Testing

/// Every param of the contract is read, and other params are refused.
@Suite(.watchdog) struct ParamTests {
    struct Param: Sendable, CustomTestStringConvertible {
        let method: JSON
        let name: String
        let isRequired: Bool
        var testDescription: String { "\(method["name"]?.string ?? "") \(name)" }

        /// An example that has the param.
        var example: Example? {
            Example.all.first { $0.method == method && $0.params.contains { $0.key == name } }
        }

        /// Whether null is a value of the param; otherwise null counts as absent.
        var takesNull: Bool {
            let descriptor = method["params"]?.array?.first { $0["name"]?.string == name }
            return descriptor?["schema"]?["type"]?.array?.contains("null") == true
        }

        func isOne(of rule: String) -> Bool { method[rule]?.array?.contains(.string(name)) == true }
    }

    private static let all = (try? ContractDocument())?.methods ?? []
    static let open = all.filter { $0["x-open-params"] == true }
    static let methods = all.filter { $0["x-open-params"] != true }
    static let params: [Param] = methods.flatMap { method in
        method["params"]?.array?.map { param in
            Param(method: method, name: param["name"]?.string ?? "", isRequired: param["required"]?.bool ?? false)
        } ?? []
    }

    @Test(arguments: params) func `A param of another type is refused by name`(_ param: Param) async throws {
        let example = try #require(param.example, "no example shows it")
        let wrong = example.params.replacing(param.name) {
            $0.string?.hasPrefix("<") == true ? true : $0.number == nil ? 7 : "seven"
        }
        #expect(try await refusal(of: example, wrong) == param.name)
    }

    @Test(arguments: params) func `A param is required exactly if the contract requires it`(_ param: Param) async throws
    {
        let example = try #require(param.example, "no example shows it")
        let mustBeThere = param.isRequired || param.isOne(of: "x-exactly-one-of")
        let without = example.params.filter { $0.key != param.name }
        #expect(try await (refusal(of: example, without) != nil) == mustBeThere)
        let withNull = example.params.replacing(param.name) { _ in .null }
        #expect(try await (refusal(of: example, withNull) != nil) == (mustBeThere && !param.takesNull))
    }

    @Test(arguments: methods) func `An unknown param is refused by name`(_ method: JSON) async throws {
        let example = try #require(Example.all.first { $0.method == method })
        let more = example.params + [.init(key: "stranger", value: 1)]
        #expect(try await refusal(of: example, more) == "stranger")
    }

    @Test(arguments: open) func `Methods with open params accept any param`(_ method: JSON) async throws {
        let example = try #require(Example.all.first { $0.method == method })
        for value in [nil, true, 1.5, "1", [], [:]] as [JSON] {
            let params = example.params.map { JSON.Member(key: $0.key, value: value) }
            let answer = try await answer(to: example.request(params + [.init(key: "stranger", value: value)], id: 1))
            #expect(answer["result"] != nil)
        }
    }

    @Test(arguments: methods.filter { $0["x-exactly-one-of"] != nil || $0["x-not-together"] != nil })
    func `Params that exclude each other are refused together`(_ method: JSON) async throws {
        let group = Self.params.filter {
            $0.method == method && ($0.isOne(of: "x-exactly-one-of") || $0.isOne(of: "x-not-together"))
        }
        let all = try group.flatMap { try #require($0.example).params }
        let example = try #require(group.first?.example)
        let once = all.enumerated().filter { index, member in !all[..<index].contains { $0.key == member.key } }
        let refused = try await refusal(of: example, once.map(\.element))
        #expect(group.contains { $0.name == refused })
    }

    @Test(arguments: methods.filter { $0["name"]?.string == "reference/deleteAll" }, ["include", "exclude"])
    func `A pattern that cannot be is refused by the name of its param`(_ method: JSON, _ name: String) async throws {
        let example = try #require(Example.all.first { $0.method == method })
        for (pattern, expected) in [("[a", name), ("a/[]", name), ("[!]", name), ("[z-a]", name), ("[!]]", nil)] {
            let params = example.params.filter { $0.key != name } + [.init(key: name, value: ["*", .string(pattern)])]
            #expect(try await refusal(of: example, params) == expected, "\(pattern)")
        }
    }

    private func refusal(of example: Example, _ params: [JSON.Member]) async throws -> String? {
        try await refusedParam(in: example.request(params, id: 1))
    }
}

/// Properties of metadata in requests are read, ignored or refused as the schema defines.
@Suite(.watchdog) struct MetadataWriteTests {
    static let properties = (try? ContractDocument())?.resolve("#/components/schemas/MetadataWrite/properties")
    static let readOnly = properties?.object?.filter { $0.value["readOnly"] == true }.map(\.key) ?? []
    static let writable = properties?.object?.filter { $0.value["readOnly"] != true }.map(\.key) ?? []

    @Test(arguments: writable) func `A writable property of another type is refused by name`(_ property: String)
        async throws
    {
        #expect(try await refusal(of: property, 7) == "metadata.\(property)")
        #expect(try await refusal(of: property, nil) == nil)
    }

    @Test(arguments: readOnly) func `A read-only property is ignored`(_ property: String) async throws {
        #expect(try await refusal(of: property, 7) == nil)
    }

    @Test func `An unknown property is refused`() async throws {
        #expect(try await refusal(of: "stranger", nil) == "metadata.stranger")
    }

    private func refusal(of property: String, _ value: JSON) async throws -> String? {
        let metadata: JSON = .object([.init(key: property, value: value)])
        return try await refusedParam(in: [
            "jsonrpc": "2.0", "id": 1, "method": "reference/updateMetadata",
            "params": ["reference": "gs://default-bucket/a", "metadata": metadata],
        ])
    }
}

/// The param for which a request is refused with -32602; nil for any other answer.
private func refusedParam(in request: JSON) async throws -> String? {
    let error = try await answer(to: request)["error"]
    guard error?["code"] == -32602, let param = error?["data"]?["param"]?.string else { return nil }
    #expect(error?["message"]?.string?.contains("\"\(param)\"") == true, "the message does not name \(param)")
    return param
}

extension [JSON.Member] {
    fileprivate func replacing(_ name: String, _ change: (JSON) -> JSON) -> Self {
        map { $0.key == name ? .init(key: name, value: change($0.value)) : $0 }
    }
}
