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

/// The version that a write requires. Zero stands for no object, nil for any version.
public struct Preconditions: Codable, Equatable, Sendable {
    public var generation: Int64?
    public var metageneration: Int64?

    public init(generation: Int64? = nil, metageneration: Int64? = nil) {
        (self.generation, self.metageneration) = (generation, metageneration)
    }

    public init(_ version: ObjectVersion) {
        self.init(generation: version.generation, metageneration: version.metageneration)
    }

    public var isEmpty: Bool { generation == nil && metageneration == nil }

    /// Throws `preconditionFailed` unless they hold for the version that is there.
    public func check(_ version: ObjectVersion, at reference: Reference) throws(StorageError) {
        guard generation ?? version.generation == version.generation,
            metageneration ?? version.metageneration == version.metageneration
        else { throw .preconditionFailed(reference, version) }
    }
}

extension StorageError {
    /// - Parameter version: the stored version; nil where it may not be read.
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
}
