import Platform
import JSONRPC
import JSONText
import Storage
import TestSupport
import Testing

@testable import Methods

@Loop @Suite(.watchdog(minutes: 10)) struct ConnectionTokensTests {
    let client = TokenClient()
    let time = TimeOfDay()

    func tokens(own: String? = nil) -> ConnectionTokens {
        ConnectionTokens(of: client, fallback: own.map { OwnToken(secret: $0) }, now: { [time] in time.now })
    }

    /// Returns the tokens of a connection whose client has set one.
    func tokens(holding secret: String, for seconds: Double? = nil, own: String? = nil) -> ConnectionTokens {
        let tokens = tokens(own: own)
        tokens.set(.idToken, to: Token(.idToken, secret, expires: seconds.map(tokens.moment)))
        return tokens
    }

    @Test func `A client without a token is not asked for one`() async throws {
        #expect(try await tokens().secret() == nil)
        #expect(try await tokens(own: "own").secret() == "own")
        #expect(try await tokens(own: "own").secret(insteadOf: "own") == nil)
        #expect(client.asked == 0)
    }

    @Test func `A token is used for its kind until it is removed`() async throws {
        let tokens = tokens(holding: "first", own: "own")
        #expect(try await tokens.secret() == "first")
        #expect(try await tokens.secret(.accessToken) == "own")
        #expect(try await tokens.secret(.appCheckToken) == "own")
        tokens.set(.idToken, to: Token(.idToken, "second"))
        #expect(try await tokens.secret(insteadOf: "first") == "second")
        tokens.set(.idToken, to: nil)
        #expect(try await tokens.secret() == "own")
        #expect(client.asked == 0)
    }

    @Test func `Callers whose token was refused share one refresh request`() async throws {
        let tokens = tokens(holding: "old")
        let callers = (1...100).map { _ in Task.immediate { @Loop in try await tokens.secret(insteadOf: "old") } }
        let question = try await client.questions.next()
        #expect(question.method == "auth/refreshToken" && question.timeout == .seconds(30))
        #expect(question.params == ["kind": "idToken", "reason": "refused"])
        let other = Task.immediate { @Loop in try await tokens.secret() }
        client.answer(question.number, .success(["token": "new"]))
        for caller in callers { #expect(try await caller.value == "new") }
        #expect(try await other.value == "new")
        #expect(try await tokens.secret(insteadOf: "old") == "new", "who comes late gets the present one")
        #expect(client.asked == 1)
    }

    @Test func `Each kind of token is refreshed separately`() async throws {
        let tokens = tokens(holding: "id")
        tokens.set(.accessToken, to: Token(.accessToken, "access"))
        async let id = tokens.secret(insteadOf: "id")
        async let access = tokens.secret(.accessToken, insteadOf: "access")
        for _ in 1...2 {
            let question = try await client.questions.next()
            client.answer(question.number, .success(.string("new " + (question.params["kind"]?.string ?? ""))))
        }
        #expect(try await (id, access) == (nil, nil), "a token has no blanks")
        #expect(client.asked == 2)
    }

    @Test func `A token is refreshed half a minute before it expires`() async throws {
        let tokens = tokens(holding: "old", for: 61)
        time.advance(bySeconds: 30)
        #expect(try await tokens.secret() == "old")
        time.advance(bySeconds: 1)
        async let fresh = tokens.secret()
        let question = try await client.questions.next()
        #expect(question.params == ["kind": "idToken", "reason": "expired"])
        client.answer(question.number, .success(["token": "new", "expiresIn": 3600]))
        #expect(try await fresh == "new")
        time.advance(bySeconds: 3569)
        #expect(try await tokens.secret() == "new")
        #expect(client.asked == 1)
    }

    @Test func `A token with a shorter lifetime is used`() async throws {
        let tokens = tokens(holding: "old", for: 1)
        async let fresh = tokens.secret()
        client.answer(try await client.questions.next().number, .success(["token": "new", "expiresIn": 1]))
        #expect(try await fresh == "new")
    }

    @Test func `Without a new token the old one is used while it is valid`() async throws {
        let tokens = tokens(holding: "old", for: 30)
        async let first = tokens.secret()
        client.answer(try await client.questions.next().number, .failure(PeerRequestError.timedOut))
        #expect(try await first == "old")
        time.advance(bySeconds: 30)
        async let second = tokens.secret()
        client.answer(try await client.questions.next().number, .failure(PeerRequestError.timedOut))
        #expect(try await second == nil)
    }

    @Test func `A client that gave no new token is not asked again after the next refusal`() async throws {
        let tokens = tokens(holding: "old", for: 29)
        async let first = tokens.secret()
        client.answer(try await client.questions.next().number, .failure(RPCError.methodNotFound("auth/refreshToken")))
        #expect(try await first == "old")
        #expect(try await tokens.secret(insteadOf: "old") == nil)
        #expect(client.asked == 1)
        async let next = tokens.secret()
        let question = try await client.questions.next()
        #expect(question.params == ["kind": "idToken", "reason": "refused"])
        client.answer(question.number, .success("new"))
        #expect(try await next == "new")
    }

    nonisolated static let noAnswers: [Result<JSON, any Error>] = [
        .failure(RPCError.methodNotFound("auth/refreshToken")), .failure(PeerRequestError.timedOut),
        .failure(PeerRequestError.disconnected),
        .failure(PeerRequestError.malformedResponse), .success(nil), .success([:]), .success(["token": nil]),
        .success(["token": 1]),
        .success(["token": ""]), .success(""), .success("with\nline"), .success(["token": "with blank"]),
        .success(["token": "new", "expiresIn": 0]), .success(["token": "new", "expiresIn": -1]),
        .success(["token": "new", "expiresIn": "3600"]), .success("old"), .success(["token": "old", "expiresIn": 1]),
        .success([["token": "new"]]), .success(.string(String(repeating: "x", count: 65537))),
    ]

    @Test(arguments: noAnswers.indices)
    func `An invalid answer gives no token, and never that of the service`(index: Int) async throws {
        for own in [nil, "own", "old"] {
            let tokens = tokens(holding: "old", own: own)
            async let fresh = tokens.secret(insteadOf: "old")
            client.answer(try await client.questions.next().number, Self.noAnswers[index])
            #expect(try await fresh == nil)
        }
    }

    @Test func `A refused token is not used again`() async throws {
        let tokens = tokens(holding: "old")
        for refused in ["old", nil, "older"] {
            async let fresh = tokens.secret(insteadOf: refused)
            client.answer(try await client.questions.next().number, .failure(PeerRequestError.timedOut))
            #expect(try await fresh == nil)
        }
        async let fresh = tokens.secret()
        client.answer(try await client.questions.next().number, .success("new"))
        #expect(try await fresh == "new")
    }

    @Test func `A plain string is a token, and null for expiresIn counts as absent`() async throws {
        for answer: JSON in ["new", ["token": "new", "expiresIn": nil, "more": 1]] {
            let tokens = tokens(holding: "old")
            async let fresh = tokens.secret(insteadOf: "old")
            client.answer(try await client.questions.next().number, .success(answer))
            #expect(try await fresh == "new")
            time.advance(bySeconds: 1_000_000_000)
            #expect(try await tokens.secret() == "new")
        }
    }

    @Test func `Setting a token ends the refresh`() async throws {
        let tokens = tokens(holding: "old")
        async let fresh = tokens.secret(insteadOf: "old")
        let question = try await client.questions.next()
        tokens.set(.idToken, to: Token(.idToken, "set"))
        #expect(try await fresh == "set")
        #expect(try await client.withdrawn.next() == question.number)
        client.answer(question.number, .success("late"))
        #expect(try await tokens.secret() == "set")
    }

    @Test func `Removing the token ends the refresh`() async throws {
        let tokens = tokens(holding: "old", own: "own")
        async let fresh = tokens.secret(insteadOf: "old")
        _ = try await client.questions.next()
        tokens.set(.idToken, to: nil)
        #expect(try await fresh == "own")
    }

    @Test func `Setting the refused token again ends the refresh, without a token`() async throws {
        let tokens = tokens(holding: "old")
        async let fresh = tokens.secret(insteadOf: "old")
        _ = try await client.questions.next()
        tokens.set(.idToken, to: Token(.idToken, "old"))
        #expect(try await fresh == nil)
        #expect(try await tokens.secret() == "old")
        #expect(client.asked == 1)
    }

    @Test func `A closed connection is not asked, and its last token is used while it is valid`() async throws {
        let tokens = tokens(holding: "old", for: 40)
        client.hasLeft = true
        #expect(try await tokens.secret() == "old")
        time.advance(bySeconds: 39)
        #expect(try await tokens.secret() == "old")
        time.advance(bySeconds: 1)
        #expect(try await tokens.secret() == nil)
    }

    @Test func `Tokens do not retain their connection`() async throws {
        var other: TokenClient? = TokenClient()
        weak let trace = other
        let tokens = try ConnectionTokens(of: #require(other), fallback: nil, now: { [time] in time.now })
        tokens.set(.idToken, to: Token(.idToken, "old"))
        other = nil
        #expect(trace == nil)
        #expect(try await tokens.secret(insteadOf: "old") == nil)
    }

    @Test func `A cancelled caller does not cancel the other callers`() async throws {
        let tokens = tokens(holding: "old")
        let impatient = Task { @Loop in try await tokens.secret(insteadOf: "old") }
        let question = try await client.questions.next()
        let patient = Task.immediate { @Loop in try await tokens.secret(insteadOf: "old") }
        impatient.cancel()
        await #expect(throws: StorageError.self) { try await impatient.value }
        client.answer(question.number, .success("new"))
        #expect(try await patient.value == "new")
        #expect(client.asked == 1)
    }
}

extension ConnectionTokens {
    func secret(_ kind: Token.Kind = .idToken, insteadOf refused: String? = nil) async throws -> String? {
        try await token(kind, insteadOf: refused.map { Token(kind, $0) })?.secret
    }
}
