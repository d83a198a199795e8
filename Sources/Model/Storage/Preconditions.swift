/// The version of an object: the generation of its bytes and the metageneration of its metadata.
public struct ObjectVersion: Codable, Equatable, Sendable {
    public var generation: Int64
    public var metageneration: Int64

    public static let none = ObjectVersion(generation: 0, metageneration: 0)

    public init(generation: Int64, metageneration: Int64) {
        (self.generation, self.metageneration) = (generation, metageneration)
    }
}

extension ObjectMetadata {
    public var version: ObjectVersion { ObjectVersion(generation: generation, metageneration: metageneration) }
}

/// How an engine checks the preconditions of a write.
public enum PreconditionCheck: String, Sendable {
    /// With the write itself: of two clients that require the same version only one succeeds.
    case atomic
    /// Just before the write: a write of another client in between is not noticed.
    case compared
}

/// How the preconditions of each kind of write are checked in a bucket.
public struct PreconditionChecks: Equatable, Sendable {
    /// Of objects that are uploaded in one request.
    public var upload: PreconditionCheck
    public var largeUpload: PreconditionCheck
    public var copy: PreconditionCheck
    public var updateMetadata: PreconditionCheck
    public var delete: PreconditionCheck

    public init(all check: PreconditionCheck) {
        (upload, largeUpload, copy, updateMetadata, delete) = (check, check, check, check, check)
    }
}

/// The versions that a request requires. Zero requires that no object exists, nil allows any version.
public struct Preconditions: Codable, Equatable, Sendable {
    public var generation: Int64?
    public var metageneration: Int64?
    /// The object must exist, and its version must differ from these.
    public var notGeneration: Int64?
    public var notMetageneration: Int64?
    /// The generation that the request names: the object counts as missing if it has another one.
    public var named: Int64?

    public init(
        generation: Int64? = nil, metageneration: Int64? = nil, notGeneration: Int64? = nil,
        notMetageneration: Int64? = nil, named: Int64? = nil
    ) {
        (self.generation, self.metageneration) = (generation, metageneration)
        (self.notGeneration, self.notMetageneration, self.named) = (notGeneration, notMetageneration, named)
    }

    public init(_ version: ObjectVersion) {
        self.init(generation: version.generation, metageneration: version.metageneration)
    }

    public var isEmpty: Bool { self == Preconditions() }

    /// Throws `objectNotFound` if the object does not have the named generation, and `preconditionFailed` if another
    /// condition does not hold for the stored version.
    public func check(_ version: ObjectVersion, at reference: Reference) throws(StorageError) {
        guard named ?? version.generation == version.generation else { throw .objectNotFound(reference) }
        guard generation ?? version.generation == version.generation,
            metageneration ?? version.metageneration == version.metageneration,
            Self.isOther(version.generation, than: notGeneration, version),
            Self.isOther(version.metageneration, than: notMetageneration, version)
        else { throw .preconditionFailed(reference, version) }
    }

    private static func isOther(_ number: Int64, than refused: Int64?, _ version: ObjectVersion) -> Bool {
        refused.map { $0 != number && version != .none } ?? true
    }
}

extension StorageError {
    /// - Parameter version: the stored version; nil if the caller may not read it.
    public static func preconditionFailed(
        _ reference: Reference, _ version: ObjectVersion?, _ why: String = "is not what the preconditions ask for"
    ) -> StorageError {
        let present =
            switch version {
            case nil: ""
            case ObjectVersion.none?: ": there is no object"
            case let version?: ": generation \(version.generation), metageneration \(version.metageneration)"
            }
        return StorageError(.preconditionFailed, "What is at \(reference.url) \(why)\(present).").about(reference)
            .with(\.version, version)
    }

    /// Whether the error says that the object does not exist.
    public var isAboutNothing: Bool {
        code == .objectNotFound || code == .preconditionFailed && version?.generation == 0
    }

    public func isAbout(_ reference: Reference) -> Bool {
        object?.hasSameBytes(as: reference.object) == true && bucket?.hasSameBytes(as: reference.bucket) == true
    }

    /// The error of a download in pieces whose object was replaced.
    public static func replacedWhileRead(_ reference: Reference, by version: ObjectVersion) -> StorageError {
        .preconditionFailed(reference, version, "was replaced while it was read")
    }
}
