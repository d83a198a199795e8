import Platform
import JSONRPC
import Storage
import TestSupport
import Testing

@testable import Methods

/// Tokens from end to end: a client on a connection, and an engine that requires a token.
@Suite(.watchdog(minutes: 10)) struct RefreshTests {
    private func play(_ text: String, own: String? = nil, engine: EngineKind = .firebase) async throws {
        let watch = ContractWatch(try ContractDocument())
        try await TranscriptPlayer.play(Transcript("told here", text), check: watch.look) { _ in
            GuardedStage(own: own, engine: engine)
        }
    }

    @Test func `The service requests a token from the client after a refusal`() async throws {
        try await play(
            """
            >> {"jsonrpc": "2.0", "id": 1, "method": "auth/setToken", "params": {"token": "stale"}}
            << {"jsonrpc": "2.0", "id": 1, "result": null}
            >> {"jsonrpc": "2.0", "id": 2, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            << {"jsonrpc": "2.0", "id": "<ask>", "method": "auth/refreshToken", "params": {"kind": "idToken", "reason": "refused"}}
            >> {"jsonrpc": "2.0", "id": 3, "method": "service/ping"}
            << {"jsonrpc": "2.0", "id": 3, "result": "pong"}
            >> {"jsonrpc": "2.0", "id": "<ask>", "result": {"token": "fresh", "expiresIn": 3600}}
            << {"jsonrpc": "2.0", "id": 2, "result": {"size": 5, "...": "..."}}
            >> {"jsonrpc": "2.0", "id": 4, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            << {"jsonrpc": "2.0", "id": 4, "result": {"size": 5, "...": "..."}}
            """)
    }

    @Test func `A client may set a token instead of answering, or answer without one`() async throws {
        try await play(
            """
            >> {"jsonrpc": "2.0", "id": 1, "method": "auth/setToken", "params": {"token": "stale", "expiresIn": 29}}
            << {"jsonrpc": "2.0", "id": 1, "result": null}
            >> {"jsonrpc": "2.0", "id": 2, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            << {"jsonrpc": "2.0", "id": "<first>", "method": "auth/refreshToken", "params": {"kind": "idToken", "reason": "expired"}}
            >> {"jsonrpc": "2.0", "id": "<first>", "error": {"code": -32601, "message": "There is no such method."}}
            << {"jsonrpc": "2.0", "id": 2, "error": {"code": -13020, "message": "Who asks must be known.", "...": "..."}}
            >> {"jsonrpc": "2.0", "id": 3, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            << {"jsonrpc": "2.0", "id": "<third>", "method": "auth/refreshToken", "params": {"kind": "idToken", "reason": "refused"}}
            >> {"jsonrpc": "2.0", "id": 4, "method": "auth/setToken", "params": {"token": "fresh"}}
            << {"jsonrpc": "2.0", "id": 4, "result": null}
            << {"jsonrpc": "2.0", "id": 3, "result": {"size": 5, "...": "..."}}
            >> {"jsonrpc": "2.0", "id": "<third>", "result": "stale"}
            >> {"jsonrpc": "2.0", "id": 5, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            << {"jsonrpc": "2.0", "id": 5, "result": {"size": 5, "...": "..."}}
            """)
    }

    @Test func `Each connection has its own tokens, apart from those of the service`() async throws {
        try await play(
            """
            a>> {"jsonrpc": "2.0", "id": 1, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            a<< {"jsonrpc": "2.0", "id": 1, "result": {"size": 5, "...": "..."}}
            a>> {"jsonrpc": "2.0", "id": 2, "method": "auth/setToken", "params": {"token": "stale"}}
            a<< {"jsonrpc": "2.0", "id": 2, "result": null}
            b>> {"jsonrpc": "2.0", "id": 1, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            b<< {"jsonrpc": "2.0", "id": 1, "result": {"size": 5, "...": "..."}}
            a>> {"jsonrpc": "2.0", "id": 3, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            a<< {"jsonrpc": "2.0", "id": "<ask>", "method": "auth/refreshToken", "params": {"kind": "idToken", "reason": "refused"}}
            a>> {"jsonrpc": "2.0", "id": "<ask>", "result": null}
            a<< {"jsonrpc": "2.0", "id": 3, "error": {"code": -13020, "...": "..."}}
            """, own: "fresh")
    }

    @Test func `The default kind of a token depends on the engine`() async throws {
        let set = #">> {"jsonrpc": "2.0", "id": 1, "method": "auth/setToken", "params": {"token": "fresh"}}"#
        let rest = """

            << {"jsonrpc": "2.0", "id": 1, "result": null}
            >> {"jsonrpc": "2.0", "id": 2, "method": "reference/getMetadata", "params": {"reference": "gs://b/a"}}
            << {"jsonrpc": "2.0", "id": 2,
            """
        let known = #" "result": {"size": 5, "...": "..."}}"#
        let unknown = #" "error": {"code": -13020, "...": "..."}}"#
        for engine in [EngineKind.embedded, .firebase] { try await play(set + rest + known, engine: engine) }
        try await play(set + rest + unknown, engine: .gcs)
    }

    @Loop @Test func `Thousands of requests share one refresh, whose answer arrives behind them`() async throws {
        let wire = Wire()
        let connection = try TestService(.guarded()).serve(#require(wire.takeServer()))
        await wire.sendLine(#"{"jsonrpc":"2.0","id":0,"method":"auth/setToken","params":{"token":"stale"}}"#)
        #expect(await wire.line()?.contains(#""result":null"#) == true)
        let count = 5000
        let calls = (1...count).map {
            #"{"jsonrpc":"2.0","id":\#($0),"method":"reference/getMetadata","params":{"reference":"gs://b/a"}}"#
        }
        await wire.send((calls + [#"{"jsonrpc":"2.0","id":1073741824,"result":"fresh"}"#, ""]).joined(separator: "\n"))
        let lines = await wire.lines(count + 1)
        #expect(lines.count { $0.contains("auth/refreshToken") } == 1)
        #expect(lines.count { $0.contains(#""size":5"#) } == count)
        connection.close()
    }

    @Loop @Test func `A request that waits for a token can be cancelled`() async throws {
        let wire = Wire()
        let connection = try TestService(.guarded()).serve(#require(wire.takeServer()))
        await wire.sendLine(#"{"jsonrpc":"2.0","id":0,"method":"auth/setToken","params":{"token":"stale"}}"#)
        await wire.sendLine(
            #"{"jsonrpc":"2.0","id":7,"method":"reference/getMetadata","params":{"reference":"gs://b/a"}}"#)
        #expect(await wire.lines(2).last?.contains("auth/refreshToken") == true)
        await wire.sendLine(#"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}"#)
        #expect(await wire.line()?.contains("-32800") == true)
        connection.close()
    }

    @Loop @Test func `A refresh without an answer ends after half a minute`() async throws {
        let wire = Wire()
        let clock = ManualClock()
        let connection = try TestService(.guarded()).serve(#require(wire.takeServer()), clock: clock)
        await wire.sendLine(#"{"jsonrpc":"2.0","id":0,"method":"auth/setToken","params":{"token":"stale"}}"#)
        await wire.sendLine(
            #"{"jsonrpc":"2.0","id":7,"method":"reference/getMetadata","params":{"reference":"gs://b/a"}}"#)
        #expect(try await clock.nextSleep() == .seconds(30))
        clock.advance(by: .seconds(30))
        #expect(await wire.lines(3).last?.contains("-13020") == true)
        connection.close()
    }

    @Loop @Test(arguments: ["putData", "putFile"])
    func `An upload keeps the tokens of a closed connection`(method: String) async throws {
        let wire = Wire()
        let backend = ScriptedBackend()
        let scene = TestService(backend)
        let connection = try scene.serve(#require(wire.takeServer()))
        await wire.sendLine(#"{"jsonrpc":"2.0","id":0,"method":"auth/setToken","params":{"token":"first"}}"#)
        let source = method == "putData" ? #""text":"a""# : #""file":"/a""#
        await wire.sendLine(
            #"{"jsonrpc":"2.0","id":1,"method":"reference/\#(method)","params":{"reference":"gs://b/a",\#(source)}}"#)
        let tokens = try #require(try await backend.nextSession().upload.caller.tokens)
        #expect(try await tokens.token(.idToken, insteadOf: nil)?.secret == "first")
        await wire.sendLine(#"{"jsonrpc":"2.0","id":2,"method":"auth/setToken","params":{"token":"second"}}"#)
        _ = await wire.lines(3)
        connection.close()
        #expect(try await tokens.token(.idToken, insteadOf: nil)?.secret == "second")
        #expect(try await tokens.token(.idToken, insteadOf: Token(.idToken, "second")) == nil)
    }
}
