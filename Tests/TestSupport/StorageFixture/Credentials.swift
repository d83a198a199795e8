import HTTPClient
import HTTPText

extension StorageFixture {
    /// What requests have to carry.
    package struct Credentials: Sendable {
        /// Whole values of `Authorization`, scheme included.
        package var authorizations: Set<String>
        /// The value of `X-Firebase-AppCheck`; any or none where nil.
        package var appCheck: String?
        /// Whether an upload's address is not enough for its chunks, queries and its cancellation.
        package var coverSessions: Bool

        package init(_ authorizations: Set<String>, appCheck: String? = nil, coverSessions: Bool = false) {
            self.authorizations = authorizations
            self.appCheck = appCheck
            self.coverSessions = coverSessions
        }
    }
}

extension StorageFixture.Credentials {
    func check(_ call: Call, tokens: [String]) throws(Answer) {
        if call.session != nil, !coverSessions { return }
        if call.kind == .media, call.dialect == .firebase, let token = call.query["token"] {
            guard tokens.contains(token) else { throw call.dialect.refusal(403) }
            return
        }
        if let appCheck, call.dialect == .firebase, call.headers["X-Firebase-AppCheck"] != appCheck {
            throw call.dialect.refusal(401, "Firebase App Check token is invalid.")
        }
        guard let given = call.headers["Authorization"], authorizations.contains(given) else {
            switch call.dialect {
            case .firebase: throw call.dialect.refusal(401)
            case .s3: throw .s3(403, "AccessDenied")
            case .gcs: throw call.dialect.refusal(401).with("WWW-Authenticate", "Bearer")
            }
        }
    }
}
