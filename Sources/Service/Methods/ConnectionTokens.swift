import Platform
import JSONRPC
import JSONText
import Storage
import Transfers

/// The tokens of one connection: set by its client, and refreshed by asking the client.
///
/// All requests that find the token stale share one refresh. It ends when the client answers, sets a token itself, or
/// cannot answer any more. A client that has set a token of a kind never gets the service's own token of that kind.
@Loop
package final class ConnectionTokens: TokenSource {
    nonisolated static let refreshToken = "auth/refreshToken"
    /// In seconds. Tokens that expire within this time count as expired.
    static let margin = 30.0
    static let timeout = Duration.seconds(30)

    private struct OwnToken {
        var token: Token
        var isRefused = false
        /// The client was asked for a fresh token before this one expires, and gave none.
        var isLast = false
    }

    @Loop private final class Refresh {
        let isOver = Waiters()
        var asking: Task<Void, Never>?
    }

    private enum Reason: String { case expired, refused }

    private weak var peer: (any Peer)?
    private var fallback: (any TokenSource)?
    private var now: @Sendable () -> Timestamp
    private var own: [Token.Kind: OwnToken] = [:]
    private var refreshes: [Token.Kind: Refresh] = [:]

    /// `fallback` provides the kinds of tokens that the client of `peer` has not set.
    init(of peer: any Peer, fallback: (any TokenSource)?, now: @escaping @Sendable () -> Timestamp) {
        (self.peer, self.fallback, self.now) = (peer, fallback, now)
    }

    /// Moves the connection to another space, with that space's fallback and clock.
    func move(fallback: (any TokenSource)?, now: @escaping @Sendable () -> Timestamp) {
        (self.fallback, self.now) = (fallback, now)
    }

    /// Ends all refreshes without a token.
    func giveUp() {
        for (kind, refresh) in refreshes {
            refresh.asking?.cancel()
            end(refresh, of: kind)
        }
    }

    /// Sets or removes the client's token, and ends a pending refresh.
    func set(_ kind: Token.Kind, to token: Token?) {
        own[kind] = token.map { OwnToken(token: $0) }
        refreshes[kind]?.asking?.cancel()
        end(refreshes[kind], of: kind)
    }

    func moment(in seconds: Double) -> Timestamp { now().advanced(bySeconds: seconds) }

    package func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        try await token(kind, insteadOf: refused, for: nil)
    }

    /// The token for a request, which does not count as active while the client is asked.
    fileprivate func token(
        _ kind: Token.Kind, insteadOf refused: Token?, for request: Request<ConnectionContext>?
    ) async throws(StorageError) -> Token? {
        if let refused, let given = own[kind], given.token.secret == refused.secret {
            own[kind] = OwnToken(token: given.token, isRefused: true)
            // The client has already been asked for a fresh token.
            if given.isLast { return nil }
        }
        if let reason = staleness(of: kind) { try await refresh(kind, reason, for: request) }
        if let found = own[kind] {
            let isGood = !found.isRefused && found.token.secret != refused?.secret && !isPast(found.token)
            return isGood ? found.token : nil
        }
        let other = try await fallback?.token(kind, insteadOf: refused)
        return other?.secret == refused?.secret ? nil : other
    }

    @Loop package var isPersonal: Bool { !own.isEmpty }

    private func isPast(_ token: Token, in seconds: Double = 0) -> Bool {
        token.expires.map { $0 <= moment(in: seconds) } ?? false
    }

    private func staleness(of kind: Token.Kind) -> Reason? {
        guard let found = own[kind] else { return nil }
        if found.isRefused { return .refused }
        return isPast(found.token, in: Self.margin) ? .expired : nil
    }
}

// MARK: - Asking the client

extension ConnectionTokens {
    private func refresh(
        _ kind: Token.Kind, _ reason: Reason, for request: Request<ConnectionContext>?
    ) async throws(StorageError) {
        let refresh = refreshes[kind] ?? beginRefresh(kind, reason)
        do {
            if let request {
                try await request.whileWaitingForPeer { try await refresh.isOver.wait() }
            } else {
                try await refresh.isOver.wait()
            }
        } catch {
            throw StorageError(.cancelled, "The wait for a fresh token was cancelled.")
        }
    }

    private func beginRefresh(_ kind: Token.Kind, _ reason: Reason) -> Refresh {
        let refresh = Refresh()
        refreshes[kind] = refresh
        refresh.asking = Task {
            let fresh = await ask(kind, reason)
            guard refreshes[kind] === refresh else { return }
            if let fresh { take(fresh) } else if reason == .expired { own[kind]?.isLast = true }
            end(refresh, of: kind)
        }
        return refresh
    }

    /// Accepts a fresh token. A client that repeats the refused token has no other.
    private func take(_ fresh: Token) {
        if let found = own[fresh.kind], found.isRefused, found.token.secret == fresh.secret { return }
        own[fresh.kind] = OwnToken(token: fresh)
    }

    private func end(_ refresh: Refresh?, of kind: Token.Kind) {
        refreshes[kind] = nil
        refresh?.isOver.wakeAll()
    }

    /// Asks the client for a token. Nil if it does not answer with one; the engine's error then says what is missing.
    private func ask(_ kind: Token.Kind, _ reason: Reason) async -> Token? {
        let params: JSON = ["kind": .string(kind.rawValue), "reason": .string(reason.rawValue)]
        do {
            let answer = try await peer?.request(Self.refreshToken, params, timeout: Self.timeout)
            return try answer.flatMap { try token(kind, in: $0) }
        } catch {
            return nil
        }
    }

    /// Decodes `{token, expiresIn?}`, or the token alone.
    private func token(_ kind: Token.Kind, in answer: JSON) throws(StorageError) -> Token? {
        guard let secret = answer.string ?? answer["token"]?.string else { return nil }
        guard let expiresIn = answer["expiresIn"], !expiresIn.isNull else { return try Token(kind, checking: secret) }
        guard let seconds = expiresIn.number?.double, seconds > 0 else { return nil }
        return try Token(kind, checking: secret, expires: moment(in: seconds))
    }
}

/// The tokens of a connection, used by one of its requests.
private struct RequestTokens: TokenSource {
    let request: Request<ConnectionContext>

    @Loop func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token? {
        try await request.context.tokens.token(kind, insteadOf: refused, for: request)
    }

    @Loop var isPersonal: Bool { request.context.tokens.isPersonal }
}

extension Request<ConnectionContext> {
    /// The tokens for work before the reply. Work that outlives the request uses the tokens of the connection.
    var tokens: any TokenSource { RequestTokens(request: self) }
    var client: TransferClient {
        var client = TransferClient(tokens: tokens, settings: context.settings)
        client.willRetry = context.willRetry
        return client
    }
    var transfers: Transfers { context.transfers }
}

extension Timestamp {
    /// The moment after a number of seconds, at most thirty years later.
    fileprivate func advanced(bySeconds seconds: Double) -> Timestamp {
        advanced(by: .microseconds(Int64(saturating: min(seconds, 1e9) * 1e6)))
    }
}
