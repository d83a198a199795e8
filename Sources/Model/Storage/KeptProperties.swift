/// The classes of Google Cloud Storage. The name of one is kept with an object; all objects are stored alike.
public enum StorageClass: String, CaseIterable, Codable, Sendable {
    case standard = "STANDARD"
    case nearline = "NEARLINE"
    case coldline = "COLDLINE"
    case archive = "ARCHIVE"
    // Classes of before, which clients still name.
    case multiRegional = "MULTI_REGIONAL"
    case regional = "REGIONAL"
    case durableReducedAvailability = "DURABLE_REDUCED_AVAILABILITY"
}

/// What Google Cloud Storage keeps with an object besides its content properties. Nil where nobody has set it.
public struct KeptProperties: Codable, Equatable, Sendable {
    public var customTime: Timestamp?
    /// Nil stands for `standard`.
    public var storageClass: StorageClass?
    /// While one of the two is true, the object is neither deleted nor replaced.
    public var temporaryHold: Bool?
    public var eventBasedHold: Bool?

    public init() {}

    package var isEmpty: Bool { self == KeptProperties() }

    /// Those of a copy: holds stay with the object that they are about.
    package var ofCopy: KeptProperties {
        var copied = self
        (copied.temporaryHold, copied.eventBasedHold) = (nil, nil)
        return copied
    }

    /// With the properties of another where this one has none.
    package func filled(from other: KeptProperties) -> KeptProperties {
        var filled = self
        filled.customTime = customTime ?? other.customTime
        filled.storageClass = storageClass ?? other.storageClass
        filled.temporaryHold = temporaryHold ?? other.temporaryHold
        filled.eventBasedHold = eventBasedHold ?? other.eventBasedHold
        return filled
    }

    /// Throws `unauthorized`, in Google's words, where a hold forbids to delete or replace the object.
    package func checkHolds(of reference: Reference) throws(StorageError) {
        let hold =
            eventBasedHold == true ? "Event-Based hold" : temporaryHold == true ? "Temporary hold" : nil
        guard let hold else { return }
        throw StorageError(
            .unauthorized,
            "Object '\(reference.bucket)/\(reference.object)' is under active \(hold) and cannot be deleted or "
                + "overwritten until the hold is removed."
        ).about(reference)
    }
}

extension ObjectMetadata {
    public var storageClass: StorageClass { settable.kept?.storageClass ?? .standard }
}

/// A change of kept properties: an absent one stays, a nil removes it, a value sets it.
public struct KeptChange: Equatable, Sendable {
    public var customTime: Timestamp??
    public var storageClass: StorageClass?
    public var temporaryHold: Bool??
    public var eventBasedHold: Bool??

    public init() {}

    public var isEmpty: Bool { self == KeptChange() }

    /// Throws `invalidArgument` where the custom time would go back, or away.
    func applied(to properties: KeptProperties) throws(StorageError) -> KeptProperties {
        var changed = properties
        if let customTime {
            if let now = properties.customTime, customTime.map({ $0 < now }) ?? true {
                throw .invalidArgument(
                    "customTime",
                    "The customTime of an object is not removed, and only moves forward: it is \(now.exactRFC3339).")
            }
            changed.customTime = customTime
        }
        changed.storageClass = storageClass ?? properties.storageClass
        if let temporaryHold { changed.temporaryHold = temporaryHold }
        if let eventBasedHold { changed.eventBasedHold = eventBasedHold }
        return changed
    }
}
