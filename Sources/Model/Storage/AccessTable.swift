/// The access rules that a test sets for the gateway: the first rule that matches a request decides.
public struct AccessTable: Sendable {
    public enum Action: String, CaseIterable, Sendable { case get, list, create, update, delete }

    /// The client whose request is checked.
    public enum Requester: Equatable, Sendable {
        case anonymous
        /// Nil for a token without a uid.
        case user(uid: String?)
        /// The program that owns the objects. It is allowed everything.
        case owner
    }

    /// The clients that a rule admits.
    public enum Allowed: Equatable, Sendable {
        case anybody, signedIn, owner
        case user(String)
    }

    public struct Rule: Sendable {
        /// Matches the URLs (`gs://`) that begin with this text; the URL of a list ends with a slash.
        public var prefix: String
        /// Nil for every action.
        public var action: Action?
        public var allowed: Allowed

        public init(_ prefix: String, _ action: Action?, _ allowed: Allowed) {
            (self.prefix, self.action, self.allowed) = (prefix, action, allowed)
        }
    }

    /// The answer for requests that match no rule.
    public var allowsByDefault = true
    public var rules: [Rule] = []

    public init() {}

    public func allows(_ action: Action, _ url: String, by requester: Requester) -> Bool {
        if requester == .owner { return true }
        let rule = rules.first { ($0.action ?? action) == action && url.utf8.starts(with: $0.prefix.utf8) }
        return rule?.allowed.includes(requester) ?? allowsByDefault
    }
}

extension AccessTable.Allowed {
    fileprivate func includes(_ requester: AccessTable.Requester) -> Bool {
        switch (self, requester) {
        case (.anybody, _), (_, .owner), (.signedIn, .user): true
        case (.user(let uid), .user(let other)): other?.hasSameBytes(as: uid) ?? false
        case (.owner, _), (.signedIn, .anonymous), (.user, .anonymous): false
        }
    }
}
