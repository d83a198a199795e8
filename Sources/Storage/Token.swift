/// A secret that authorises requests. It is sent only to the engine's server.
public struct Token: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of a token decides how it is sent.
    public enum Kind: String, CaseIterable, Sendable {
        /// Of a user of Firebase Authentication.
        case idToken
        /// OAuth 2.0, of Google Cloud.
        case accessToken
        /// Of an app, from Firebase App Check.
        case appCheckToken
    }

    public var kind: Kind
    public var secret: String
    /// From then on it is worth nothing; nil where nobody said.
    public var expires: Timestamp?
    /// The project of Google Cloud that pays for what is asked with it; nil where nobody said.
    public var userProject: String?

    public init(_ kind: Kind, _ secret: String, expires: Timestamp? = nil) {
        self.kind = kind
        self.secret = secret
        self.expires = expires
    }

    public var description: String { "\(kind)(…)" }
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind]) }
}

/// Where tokens come from: a client, a file, a command, a service that issues them.
public protocol TokenSource: Sendable {
    /// The token to send now; nil where this source has none of that kind. One that has expired, or that the
    /// server has just `refused`, is not given again. Throws `unauthenticated` that says what to look at.
    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token?
    /// Whether the tokens belong to one client.
    func isPersonal() async -> Bool
}

extension TokenSource {
    public func isPersonal() async -> Bool { false }
}

/// The tokens and the retry time of a call to an engine.
public struct Caller: Sendable {
    /// Nil sends no token.
    public var tokens: (any TokenSource)?
    /// How long failures may be retried.
    public var retryTime: Duration
    /// The project of Google Cloud that pays; nil leaves that to the tokens.
    public var userProject: String?

    public init(tokens: (any TokenSource)? = nil, retryTime: Duration, userProject: String? = nil) {
        self.tokens = tokens
        self.retryTime = retryTime
        self.userProject = userProject
    }

    /// The same with another retry time.
    public func with(retryTime: Duration) -> Caller {
        Caller(tokens: tokens, retryTime: retryTime, userProject: userProject)
    }
}
