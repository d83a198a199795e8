import Synchronization

/// A change of an object.
public struct ObjectChange: Equatable, Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        case created, replaced
        /// The metadata changed.
        case updated
        case deleted
    }

    public var kind: Kind
    public var reference: Reference
    /// The stored version, or after a deletion the last one.
    public var version: ObjectVersion

    public init(_ kind: Kind, _ reference: Reference, _ version: ObjectVersion) {
        (self.kind, self.reference, self.version) = (kind, reference, version)
    }

    public init(_ kind: Kind, _ object: ObjectMetadata) { self.init(kind, object.reference, object.version) }
}

/// Publishes the changes of an engine's objects, by any client, in the order of their commits.
public final class ChangeFeed: Sendable {
    /// Called on any thread, with one call at a time. It must not block.
    public typealias Listener = @Sendable ([ObjectChange]) -> Void

    /// The struct avoids that a generic lock wraps the closure once more in each access.
    private struct State { var listener: Listener? }
    private let state = Mutex(State())

    public init() {}

    /// Replaces the listener; nil for none.
    public func listen(_ listener: Listener?) { state.withLock { $0.listener = listener } }

    /// Calls the listener. The caller must publish changes in the order of their commits.
    package func publish(_ changes: [ObjectChange]) { state.withLock { $0.listener }?(changes) }
}
