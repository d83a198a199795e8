import Platform

/// A secret that authorises requests. It is sent only to the engine's server.
public struct Token: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    /// The kind of a token decides how it is sent.
    public enum Kind: String, CaseIterable, Sendable {
        /// A token of a user of Firebase Authentication.
        case idToken
        /// An OAuth 2.0 token of Google Cloud.
        case accessToken
        case appCheckToken
        /// An `AccessKey`. It signs requests, and only its ID and its session token are sent.
        case accessKey
    }

    public var kind: Kind
    public var secret: String
    /// When the token expires. Nil if its source does not say.
    public var expires: Timestamp?
    /// The project of Google Cloud that pays for requests with the token. Nil for the token's own project.
    public var userProject: String?

    public init(_ kind: Kind, _ secret: String, expires: Timestamp? = nil) {
        (self.kind, self.secret, self.expires) = (kind, secret, expires)
    }

    public var description: String { "\(kind)(…)" }
    public var customMirror: Mirror { Mirror(self, children: ["kind": kind]) }
}

/// A key of Amazon S3, or of a server with the same protocol: the text of a token of the kind `accessKey`.
public struct AccessKey: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
    public let id: String
    public let secret: String
    /// Is sent with each request. Nil for a key that does not expire.
    public let sessionToken: String?

    public init(id: String, secret: String, sessionToken: String? = nil) {
        (self.id, self.secret, self.sessionToken) = (id, secret, sessionToken)
    }

    /// Parses `ID:SECRET` or `ID:SECRET:SESSION-TOKEN`, where `%3A` is a colon of the ID. Nil for any other text.
    public init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count >= 2, !parts.contains("") else { return nil }
        self.init(
            id: parts[0].replacing("%3A", with: ":"), secret: String(parts[1]),
            sessionToken: parts.count == 3 ? String(parts[2]) : nil)
    }

    /// `ID:SECRET` or `ID:SECRET:SESSION-TOKEN`.
    public var text: String {
        ([id.replacing(":", with: "%3A"), secret] + (sessionToken.map { [$0] } ?? [])).joined(separator: ":")
    }

    public var description: String { "AccessKey(…)" }
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension Token {
    /// The key that the token is; nil for a token of another kind.
    public var accessKey: AccessKey? { kind == .accessKey ? AccessKey(secret) : nil }

    /// The texts to hide where a server repeats them. The ID of a key is among them if it is long enough to be no
    /// word that occurs in other texts.
    public var secrets: [String] {
        guard let accessKey else { return [secret] }
        let id = accessKey.id.utf8.count < 16 ? [] : [accessKey.id]
        return id + [accessKey.secret] + (accessKey.sessionToken.map { [$0] } ?? [])
    }
}

/// A source of tokens: a client, a file, a command, or a service that issues them.
public protocol TokenSource: Sendable {
    /// The token to send now; nil if the source has none of that kind. Never a token that has expired, or that the
    /// server has just `refused`. Throws `unauthenticated` with a hint what to check.
    func token(_ kind: Token.Kind, insteadOf refused: Token?) async throws(StorageError) -> Token?
    /// Whether the tokens belong to one client.
    @Loop var isPersonal: Bool { get }
}

extension TokenSource {
    @Loop public var isPersonal: Bool { false }
}

/// The tokens and the retry time of a call to an engine.
public struct Caller: Sendable {
    /// The source of the call's tokens; nil sends none.
    public var tokens: (any TokenSource)?
    /// The maximum time of retries.
    public var retryTime: Duration
    /// The project of Google Cloud that pays; nil for the project that the tokens name.
    public var userProject: String?
    /// The engine does not retry: the caller does.
    public var isTriedOnce = false
    /// The call prepares one that a client has requested: a harness applies no rules to it.
    public var isPreparing = false
    /// Called on any thread before each wait for a retry.
    public var willRetry: (@Sendable (RequestRetry) -> Void)?

    public init(tokens: (any TokenSource)? = nil, retryTime: Duration, userProject: String? = nil) {
        (self.tokens, self.retryTime, self.userProject) = (tokens, retryTime, userProject)
    }

    /// The caller for a call that prepares another one.
    public var preparing: Caller {
        var caller = self
        caller.isPreparing = true
        return caller
    }

    /// The caller with another retry time.
    public func with(retryTime: Duration) -> Caller {
        var caller = self
        caller.retryTime = retryTime
        return caller
    }
}

public protocol URLSigner: Sendable {
    /// The account's e-mail address.
    var account: String { get }
    /// The SHA-256 of the bytes.
    func hash(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
    /// The signature of the bytes: RSASSA-PKCS1-v1_5 with SHA-256.
    func sign(_ bytes: [UInt8]) async throws(StorageError) -> [UInt8]
}

/// Returns nil if there is no key.
public typealias URLSignerSource = @Sendable () async throws(StorageError) -> (any URLSigner)?

extension Token {
    static let longestSecret = 64 << 10

    /// Throws `invalidArgument`, without repeating the secret, if an HTTP header cannot hold it.
    public init(_ kind: Kind, checking secret: String, expires: Timestamp? = nil) throws(StorageError) {
        if let fault = kind.fault(in: secret) { throw .invalidArgument("token", "The token \(fault).") }
        self.init(kind, secret, expires: expires)
    }
}

extension Token.Kind {
    /// What is wrong with a secret, as a text that follows "the token"; nil if nothing is.
    fileprivate func fault(in secret: String) -> String? {
        if secret.isEmpty { return "is empty" }
        if secret.utf8.count > Token.longestSecret { return "is longer than \(Token.longestSecret) bytes" }
        guard secret.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            return "has a character that is not printable ASCII, or white space"
        }
        return misshapes(secret) ? "is not \(Self.shapeOfKey)" : nil
    }

    /// Whether the text does not have the form of this kind.
    public func misshapes(_ secret: String) -> Bool { self == .accessKey && AccessKey(secret) == nil }

    public static let shapeOfKey = "ID:SECRET or ID:SECRET:SESSION-TOKEN"
}
