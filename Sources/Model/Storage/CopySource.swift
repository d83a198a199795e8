import Synchronization

/// The request for a copy or a move.
public struct CopyRequest: Codable, Equatable, Sendable {
    /// The object that is copied.
    public var reference: Reference
    /// The preconditions on the source object.
    public var preconditions: Preconditions
    /// The object is removed in the same moment in which the copy is stored.
    public var isMove: Bool
    /// The copy has the source's metadata, except for kept properties that the upload sets. Otherwise it has the
    /// upload's metadata.
    public var keepsMetadata: Bool
    /// The copy shares the source's download tokens, so a URL of the source gives access to both. Only the embedded
    /// engine supports this; a move always keeps the tokens. Nil (false) in requests of earlier releases.
    public var keepsDownloadTokens: Bool?

    public init(
        of reference: Reference, if preconditions: Preconditions = Preconditions(), isMove: Bool = false,
        keepsMetadata: Bool = true, keepsDownloadTokens: Bool = false
    ) {
        (self.reference, self.preconditions) = (reference, preconditions)
        (self.isMove, self.keepsMetadata) = (isMove, keepsMetadata)
        self.keepsDownloadTokens = keepsDownloadTokens ? true : nil
    }

    /// The metadata of a copy of this object. `contentType` defaults to the source's.
    public func metadata(_ own: SettableMetadata, of object: SettableMetadata) -> SettableMetadata {
        if keepsMetadata {
            var kept = object
            let found = object.kept ?? KeptProperties()
            kept.kept = (own.kept ?? KeptProperties()).filled(from: isMove ? found : found.ofCopy)
            if kept.kept?.isEmpty == true { kept.kept = nil }
            return kept
        }
        var metadata = own
        metadata.content[.contentType] = own.content[.contentType] ?? object.content[.contentType]
        // The bytes stay composed, whatever metadata the copy has.
        if let count = object.kept?.componentCount {
            metadata.kept = metadata.kept ?? KeptProperties()
            metadata.kept?.componentCount = count
        }
        return metadata
    }
}

/// The source object of an upload that copies.
public final class CopySource: Sendable {
    public let request: CopyRequest
    private let state = Mutex<ObjectMetadata?>(nil)

    public init(_ request: CopyRequest) { self.request = request }

    public var reference: Reference { request.reference }

    /// The generation that is copied. Nil until the engine has looked it up; an engine that copies in one request may
    /// skip that.
    public var found: ObjectMetadata? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
