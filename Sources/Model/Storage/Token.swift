/// A secret that authorises requests. It is sent only to the engine's server.
public struct Token: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of a token decides how it is sent.
    public enum Kind: String, CaseIterable, Sendable {
        /// Of a user of Firebase Authentication.
        case idToken
        /// OAuth 2.0, of Google Cloud.
        case accessToken
        case appCheckToken
    }

    public var kind: Kind
    public var secret: String
    /// When the token expires. Nil where its source does not say.
    public var expires: Timestamp?
    /// The project of Google Cloud that pays for requests with it. Nil for the project of the token.
    public var userProject: String?

    public init(_ kind: Kind, _ secret: String, expires: Timestamp? = nil) {
        (self.kind, self.secret, self.expires) = (kind, secret, expires)
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
    /// Whoever calls repeats what fails: the engine does not.
    public var isTriedOnce = false
    /// Hears of each wait before an operation is tried again, on any thread.
    public var willRetry: (@Sendable (RequestRetry) -> Void)?

    public init(tokens: (any TokenSource)? = nil, retryTime: Duration, userProject: String? = nil) {
        (self.tokens, self.retryTime, self.userProject) = (tokens, retryTime, userProject)
    }

    /// The same with another retry time.
    public func with(retryTime: Duration) -> Caller {
        var caller = self
        caller.retryTime = retryTime
        return caller
    }
}

public protocol URLSigner: Sendable {
    /// The account's e-mail address.
    var account: String { get }
    /// By SHA-256.
    func hash(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
    /// By RSASSA-PKCS1-v1_5 with SHA-256.
    func sign(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
}

/// Nil without a key.
public typealias URLSignerSource = @Sendable () async throws(StorageError) -> (any URLSigner)?

extension Token {
    static let longestSecret = 64 << 10

    /// Throws `invalidArgument`, which does not repeat the secret, unless it can stand in a header of HTTP.
    public init(_ kind: Kind, checking secret: String, expires: Timestamp? = nil) throws(StorageError) {
        if let fault = Self.fault(in: secret) { throw .invalidArgument("token", "The token \(fault).") }
        self.init(kind, secret, expires: expires)
    }

    private static func fault(in secret: String) -> String? {
        if secret.isEmpty { return "is empty" }
        if secret.utf8.count > longestSecret { return "is longer than \(longestSecret) bytes" }
        guard secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "has a character that is not printable ASCII, or white space"
        }
        return nil
    }
}
