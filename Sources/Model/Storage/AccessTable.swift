/// Who may do what with objects, as a test says it: the first rule that fits counts.
public struct AccessTable: Sendable {
    public enum Action: String, CaseIterable, Sendable { case get, list, create, update, delete }

    /// Who asks.
    public enum Requester: Equatable, Sendable {
        case anonymous
        /// Nil for a token without one.
        case user(uid: String?)
        /// The program that owns the objects; no rule is about it.
        case owner
    }

    /// Whom a rule allows to do it.
    public enum Allowed: Equatable, Sendable {
        case anybody, signedIn, owner
        case user(String)
    }

    public struct Rule: Sendable {
        /// The beginning of `gs://` URLs; that of a list ends with a slash.
        public var prefix: String
        /// Nil for every one.
        public var action: Action?
        public var allowed: Allowed

        public init(_ prefix: String, _ action: Action?, _ allowed: Allowed) {
            (self.prefix, self.action, self.allowed) = (prefix, action, allowed)
        }
    }

    /// For what no rule is about.
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
