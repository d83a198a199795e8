/// The storage classes of Google Cloud Storage. An object keeps the name of its class; the class has no other effect.
public enum StorageClass: String, CaseIterable, Codable, Sendable {
    case standard = "STANDARD"
    case nearline = "NEARLINE"
    case coldline = "COLDLINE"
    case archive = "ARCHIVE"
    // Earlier classes, which clients still name.
    case multiRegional = "MULTI_REGIONAL"
    case regional = "REGIONAL"
    case durableReducedAvailability = "DURABLE_REDUCED_AVAILABILITY"
}

/// The properties that Google Cloud Storage keeps with an object besides its content properties. Nil for an unset one.
public struct KeptProperties: Codable, Equatable, Sendable {
    public var customTime: Timestamp?
    /// Nil means `standard`.
    public var storageClass: StorageClass?
    /// While this or `eventBasedHold` is true, the object can be neither deleted nor replaced.
    public var temporaryHold: Bool?
    public var eventBasedHold: Bool?
    /// The number of objects that the bytes were composed of; nil for bytes that a client has sent.
    public var componentCount: Int64?
    /// The entity tag of bytes that a client has sent in parts, without quotation marks.
    public var partsTag: String?
    /// The header `Expires` of answers with the bytes.
    public var expires: String?

    public init() {}

    package var isEmpty: Bool { self == KeptProperties() }

    /// The properties that a copy takes over: all except the holds, and the tag of the parts, which a copy does not have.
    package var ofCopy: KeptProperties {
        var copied = self
        (copied.temporaryHold, copied.eventBasedHold, copied.partsTag) = (nil, nil, nil)
        return copied
    }

    /// The properties that stay when all metadata is replaced: those of the bytes, and those that cannot be removed.
    package var unremovable: KeptProperties {
        var left = self
        (left.temporaryHold, left.eventBasedHold, left.expires) = (nil, nil, nil)
        return left
    }

    /// These properties, with the other's values for the unset ones.
    package func filled(from other: KeptProperties) -> KeptProperties {
        var filled = self
        filled.customTime = customTime ?? other.customTime
        filled.storageClass = storageClass ?? other.storageClass
        filled.temporaryHold = temporaryHold ?? other.temporaryHold
        filled.eventBasedHold = eventBasedHold ?? other.eventBasedHold
        filled.componentCount = componentCount ?? other.componentCount
        filled.partsTag = partsTag ?? other.partsTag
        filled.expires = expires ?? other.expires
        return filled
    }

    /// Throws `unauthorized`, with Google's message, if a hold prevents deleting or replacing the object.
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

/// A change of kept properties: an absent one is kept, a nil removes it, a value sets it.
public struct KeptChange: Equatable, Sendable {
    public var customTime: Timestamp??
    public var storageClass: StorageClass?
    public var temporaryHold: Bool??
    public var eventBasedHold: Bool??
    public var componentCount: Int64?
    public var partsTag: String?
    public var expires: String??

    public init() {}

    public var isEmpty: Bool { self == KeptChange() }

    /// Throws `invalidArgument` if the custom time would decrease or be removed, or if `expires` is too long.
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
        changed.componentCount = componentCount ?? properties.componentCount
        changed.partsTag = partsTag ?? properties.partsTag
        if let expires {
            guard expires?.utf8.count ?? 0 <= ContentProperty.maxBytes else {
                throw .invalidArgument("expires", "Expires has more than \(ContentProperty.maxBytes) bytes.")
            }
            changed.expires = expires
        }
        return changed
    }
}
