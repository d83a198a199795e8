import Synchronization

/// What a copy is made of, as its client asked for it.
public struct CopyRequest: Codable, Equatable, Sendable {
    /// The object that is copied.
    public var reference: Reference
    /// Those of that object.
    public var preconditions: Preconditions
    /// The object goes in the moment when the copy is there.
    public var isMove: Bool
    /// The copy has the metadata of the object, but for kept properties of the upload. Otherwise it has that of the upload.
    public var keepsMetadata: Bool
    /// A copy with the metadata of the object has its download tokens, too: who has its URL may read the copy and the object.
    /// Nil, which is false, in requests of earlier releases. A move keeps them in any case. For the embedded engine alone.
    public var keepsDownloadTokens: Bool?

    public init(
        of reference: Reference, if preconditions: Preconditions = Preconditions(), isMove: Bool = false,
        keepsMetadata: Bool = true, keepsDownloadTokens: Bool = false
    ) {
        (self.reference, self.preconditions) = (reference, preconditions)
        (self.isMove, self.keepsMetadata) = (isMove, keepsMetadata)
        self.keepsDownloadTokens = keepsDownloadTokens ? true : nil
    }

    /// The metadata of a copy of this object. Without a content type of its own it has that of the object.
    public func metadata(_ own: SettableMetadata, of object: SettableMetadata) -> SettableMetadata {
        if keepsMetadata {
            var kept = object
            kept.kept = (own.kept ?? KeptProperties()).filled(from: object.kept?.ofCopy ?? KeptProperties())
            if kept.kept?.isEmpty == true { kept.kept = nil }
            return kept
        }
        var metadata = own
        metadata.content[.contentType] = own.content[.contentType] ?? object.content[.contentType]
        return metadata
    }
}

/// The object that an upload copies.
public final class CopySource: Sendable {
    public let request: CopyRequest
    private let state = Mutex<ObjectMetadata?>(nil)

    public init(_ request: CopyRequest) { self.request = request }

    public var reference: Reference { request.reference }

    /// The generation that is copied. Nil until the engine has looked; an engine that copies at once need not.
    public var found: ObjectMetadata? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
