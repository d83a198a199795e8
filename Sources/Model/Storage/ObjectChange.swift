import Synchronization

/// What happened to an object.
public struct ObjectChange: Equatable, Sendable {
    public enum Kind: String, CaseIterable, Sendable {
        case created, replaced
        /// Its metadata.
        case updated
        case deleted
    }

    public var kind: Kind
    public var reference: Reference
    /// What is there now, or was there until its deletion.
    public var version: ObjectVersion

    public init(_ kind: Kind, _ reference: Reference, _ version: ObjectVersion) {
        (self.kind, self.reference, self.version) = (kind, reference, version)
    }

    public init(_ kind: Kind, _ object: ObjectMetadata) { self.init(kind, object.reference, object.version) }
}

/// Tells of the changes of an engine's objects, in the order in which they were committed, whoever made them.
public final class ChangeFeed: Sendable {
    /// Called on any thread, one call after the other; it must not block.
    public typealias Listener = @Sendable ([ObjectChange]) -> Void

    /// A closure is in a lock only within a structure: a generic lock wraps it once more in each access.
    private struct State { var listener: Listener? }
    private let state = Mutex(State())

    public init() {}

    /// Replaces the listener; nil for none.
    public func listen(_ listener: Listener?) { state.withLock { $0.listener = listener } }

    /// The caller calls in the order of the commits.
    package func publish(_ changes: [ObjectChange]) { state.withLock { $0.listener }?(changes) }
}
