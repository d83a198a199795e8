import JSONText
import TestSupport
import Testing

@testable import JSONRPC

@Suite(.watchdog) struct ParamsTests {
    private typealias Reading = @Sendable (inout Params) throws(RPCError) -> Void
    private static let one: JSON = 1

    /// Decodes the value of the only member "p" of an object; the message of an error must begin with the full path.
    private static let complaints: [(JSON?, Reading, String)] = [
        (nil, { (p) throws(RPCError) in _ = try p.string("p") }, "is missing"),
        (nil, { (p) throws(RPCError) in _ = try p.require("p") }, "is missing"),
        (.null, { (p) throws(RPCError) in _ = try p.string("p") }, "must be a string, not null"),
        (one, { (p) throws(RPCError) in _ = try p.string("p") }, "must be a string, not the number 1"),
        (one, { (p) throws(RPCError) in _ = try p.optionalString("p") }, "must be a string, not the number 1"),
        (["x"], { (p) throws(RPCError) in _ = try p.optionalString("p") }, "must be a string, not an array"),
        (one, { (p) throws(RPCError) in _ = try p.optionalBool("p") }, "must be true or false, not the number 1"),
        ("true", { (p) throws(RPCError) in _ = try p.optionalBool("p") }, "must be true or false, not a string"),
        ("1", { (p) throws(RPCError) in _ = try p.optionalInteger("p") }, "must be a whole number, not a string"),
        (1.5, { (p) throws(RPCError) in _ = try p.optionalInteger("p") }, "must be a whole number, not the number 1.5"),
        (
            .number(.init(literal: "1e-3")), { (p) throws(RPCError) in _ = try p.optionalInteger("p") },
            "must be a whole number, not the number 1e-3"
        ),
        (
            .number(.init(literal: "9223372036854775808")), { (p) throws(RPCError) in _ = try p.optionalInteger("p") },
            "must be a whole number, not the number 9223372036854775808"
        ),
        (
            .number(.init(literal: "1e999")), { (p) throws(RPCError) in _ = try p.optionalNumber("p") },
            "must be a number, not the number 1e999"
        ),
        (true, { (p) throws(RPCError) in _ = try p.optionalNumber("p") }, "must be a number, not a boolean"),
        ([], { (p) throws(RPCError) in _ = try p.optionalObject("p") }, "must be an object, not an array"),
        ("{}", { (p) throws(RPCError) in _ = try p.optionalObject("p") }, "must be an object, not a string"),
        (["a": 1], { (p) throws(RPCError) in _ = try p.optionalInteger("p") }, "must be a whole number, not an object"),
        (one, { (p) throws(RPCError) in try p.finish() }, "is unknown"),
    ]

    @Test func `An error names the whole path of a param`() {
        for (value, read, complaint) in Self.complaints {
            for path in ["", "metadata.", "metadata.customMetadata."] {
                var params = Params(value.map { [.init(key: "p", value: $0)] } ?? [], path: path)
                let error = #expect(throws: RPCError.self) { try read(&params) }
                #expect(error?.code == -32602)
                #expect(error?.message == "Param \"\(path)p\" \(complaint).")
                #expect(error?.data == ["param": .string(path + "p")])
            }
        }
    }

    @Test func `Nested objects extend the path`() throws {
        var params = Params([.init(key: "a", value: ["b": ["c": 1]])])
        var a = try #require(try params.optionalObject("a"))
        let b = try #require(try a.optionalObject("b"))
        #expect(b.fullName("c") == "a.b.c")
        let error = #expect(throws: RPCError.self) { try b.finish() }
        #expect(error?.message.contains("\"a.b.c\"") == true)
        try a.finish()
        try params.finish()
    }

    @Test func `Optional params may be missing or null`() throws {
        for members in [[], [JSON.Member(key: "p", value: .null)]] {
            var params = Params(members)
            #expect(try params.optionalString("p") == nil)
            params = Params(members)
            #expect(try params.optionalInteger("p") == nil && params.optionalBool("p") == nil)
            params = Params(members)
            #expect(try params.optionalObject("p") == nil)
            try params.finish()
        }
    }

    @Test func `The last of several params with one name counts`() throws {
        var params = Params([.init(key: "p", value: 1), .init(key: "q", value: .null), .init(key: "p", value: "x")])
        #expect(try params.string("p") == "x")
        #expect(params.takeOrNull("q") == .null && params.takeOrNull("q") == nil)
        try params.finish()
    }

    @Test(arguments: ["0", "-0", "9223372036854775807", "-9223372036854775808"])
    func `Integers have 64 bits`(literal: String) throws {
        var params = Params([.init(key: "p", value: .number(.init(literal: literal)))])
        #expect(try params.optionalInteger("p") == Int64(literal))
    }
}
