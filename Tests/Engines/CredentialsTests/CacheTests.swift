import Platform
import Storage
import TestSupport
import Testing

@testable import Credentials

/// The test decides how each fetch ends.
@Loop @Suite(.watchdog(minutes: 10)) struct CacheTests {
    private typealias Outcome = Result<Token, StorageError>

    private let day = TestDay()
    private let fetches = Mail<CheckedContinuation<Outcome, Never>>()
    private let cache: TokenCache

    nonisolated init() {
        let (day, fetches) = (day, fetches)
        cache = TokenCache(of: "The test", now: { day.now }) { () async throws(StorageError) in
            try await withCheckedContinuation { fetches.deliver($0) }.get()
        }
    }

    private func token(_ secret: String, lasts seconds: Int64? = nil) -> Token {
        Token(.accessToken, secret, expires: seconds.map { day.now.later(bySeconds: $0) })
    }

    private func ask(insteadOf refused: Token? = nil) -> Task<Token, any Error> {
        Task { try await cache.token(insteadOf: refused) }
    }

    /// Completes the fetch with this token.
    private func fill(_ token: Token) async throws {
        let asking = ask()
        try await fetches.next().resume(returning: .success(token))
        #expect(try await asking.value == token)
    }

    @Test func `Concurrent callers share one fetch`() async throws {
        let all = (0..<100).map { _ in ask() }
        let fetch = try await fetches.next()
        let late = ask()
        try await until { cache.current?.waiting == 101 }
        fetch.resume(returning: .success(token("a")))
        for asking in all + [late] { #expect(try await asking.value.secret == "a") }
        #expect(fetches.waiting.isEmpty)
    }

    @Test func `Callers that report the same refused token share one fetch`() async throws {
        let old = token("old")
        try await fill(old)
        let all = (0..<100).map { _ in ask(insteadOf: old) }
        try await fetches.next().resume(returning: .success(token("new")))
        for asking in all { #expect(try await asking.value.secret == "new") }
        #expect(try await ask(insteadOf: old).value.secret == "new")
        #expect(fetches.waiting.isEmpty)
    }

    @Test func `A fetch that returns the refused token again fails for the caller that reported it`() async throws {
        let old = token("old")
        let (refusing, neutral) = (ask(insteadOf: old), ask())
        try await fetches.next().resume(returning: .success(old))
        await #expect(
            throws: StorageError(.unauthenticated, "The test gave again the token that the server had refused.")
        ) {
            try await refusing.value
        }
        #expect(try await neutral.value == old)
    }

    @Test func `A failure reaches all waiters, and the next call fetches again`() async throws {
        let all = (0..<5).map { _ in ask() }
        try await fetches.next().resume(returning: .failure(.busy))
        for asking in all { await #expect(throws: StorageError.busy) { try await asking.value } }
        try await fill(token("a"))
    }

    @Test func `A cancelled caller stops waiting immediately, and the others continue`() async throws {
        let (one, other) = (ask(), ask())
        let fetch = try await fetches.next()
        try await until { cache.current?.waiting == 2 }
        one.cancel()
        let error = await #expect(throws: StorageError.self) { try await one.value }
        #expect(error?.code == .cancelled)
        fetch.resume(returning: .success(token("a")))
        #expect(try await other.value.secret == "a")
    }

    @Test func `A fetch without waiters is cancelled, and the next call starts another`() async throws {
        let (one, other) = (ask(), ask())
        let first = try await fetches.next()
        try await until { cache.current?.waiting == 2 }
        let abandoned = cache.current?.work
        for asking in [one, other] {
            asking.cancel()
            await #expect(throws: StorageError.self) { try await asking.value }
        }
        let next = ask()
        let second = try await fetches.next()
        first.resume(returning: .success(token("a")))
        await abandoned?.value
        second.resume(returning: .success(token("b")))
        #expect(try await next.value.secret == "b")
        #expect(try await ask().value.secret == "b")
        #expect(fetches.waiting.isEmpty)
    }

    @Test func `A token is kept until a minute before it expires`() async throws {
        try await fill(token("a", lasts: 100))
        day.pass(seconds: 39)
        #expect(try await ask().value.secret == "a")
        day.pass(seconds: 1)
        try await fill(token("b", lasts: 30))
        try await fill(token("c"))
        day.pass(seconds: 1_000_000)
        #expect(try await ask().value.secret == "c")
    }

    @Test func `A fetched token that has already expired is an error`() async throws {
        let asking = ask()
        try await fetches.next().resume(returning: .success(token("a", lasts: 0)))
        let error = await #expect(throws: StorageError.self) { try await asking.value }
        #expect(error?.message == "The test gave a token that had expired at 2023-11-14T22:13:20.000Z.")
        try await fill(token("b"))
    }
}
