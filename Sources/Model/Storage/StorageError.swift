import Secrets

/// A failed operation on storage, with a code of the SDK's `StorageErrorCode`.
public struct StorageError: Error, Codable, Equatable, Sendable {
    public enum Code: Int, CaseIterable, Codable, Sendable {
        case unknown = -13000
        case objectNotFound = -13010
        case bucketNotFound = -13011
        case projectNotFound = -13012
        case quotaExceeded = -13013
        case unauthenticated = -13020
        case unauthorized = -13021
        case retryLimitExceeded = -13030
        case nonMatchingChecksum = -13031
        case downloadSizeExceeded = -13032
        case cancelled = -13040
        case invalidArgument = -13050
        case bucketMismatch = -13051
        case internalError = -13052
        case pathError = -13053
        case preconditionFailed = -13412
    }

    public var code: Code
    /// A sentence for people: what failed and why.
    public var message: String
    public var bucket: String?
    public var object: String?
    /// The local file that caused the error.
    public var file: String?
    /// The argument that caused the error.
    public var param: String?
    /// The stored version for which the preconditions do not hold.
    public var version: ObjectVersion?
    public var httpStatus: Int?
    public var serverResponse: String?
    public var retryable = false
    public var retryAfter: Duration?
    /// The cause may last for ten minutes, so retries take a fifth more time than usual.
    public var needsPatience: Bool?
    /// The request may have been executed, but its answer is lost. The gateway closes the connection.
    public var answerIsLost: Bool?
    /// The upload was cancelled, but its object may be stored, or may be stored later.
    public var mayBeStored: Bool?
    /// The failed attempts since the last progress, once the retry time is used up.
    public var attempts: [Attempt] = []

    public struct Attempt: Codable, Equatable, Sendable {
        public var time: Timestamp
        /// The status of the server's error response, if the server responded.
        public var httpStatus: Int?
        public var cause: String
        /// The number of bytes that the engine had acknowledged.
        public var completedUnitCount: Int64

        public init(time: Timestamp, httpStatus: Int?, cause: String, completedUnitCount: Int64) {
            (self.time, self.httpStatus, self.cause) = (time, httpStatus, cause)
            self.completedUnitCount = completedUnitCount
        }
    }

    /// Whether the error has a local cause: a file, an argument, the caller or this program.
    private var isLocal: Bool {
        param != nil || code == .cancelled || code == .internalError || (file != nil && code != .nonMatchingChecksum)
    }

    /// Adds the status of the server's earlier response, unless the error has a local cause.
    public func after(httpStatus: Int?) -> StorageError {
        isLocal ? self : with(\.httpStatus, self.httpStatus ?? httpStatus)
    }

    /// The text for the log, without names and without texts of a server.
    public var logText: String { "\(code.rawValue)" + (httpStatus.map { " (status \($0))" } ?? "") }

    /// The engine has no room for the bytes. Stored bytes are kept, and the request can be repeated.
    package var isWithoutRoom: Bool { code == .quotaExceeded && httpStatus == nil }

    public init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

    public func about(_ reference: Reference) -> StorageError {
        with(\.bucket, reference.bucket).with(\.object, reference.object)
    }

    /// The error about this object, unless it already names one.
    public func orAbout(_ reference: Reference) -> StorageError { object == nil ? about(reference) : self }

    /// The error with another sentence at the end of its message.
    public func adding(_ sentence: String) -> StorageError { with(\.message, "\(message) \(sentence)") }

    /// The error with another value of one property.
    public func with<Value>(_ property: WritableKeyPath<StorageError, Value>, _ value: Value) -> StorageError {
        var error = self
        error[keyPath: property] = value
        return error
    }

    public static func objectNotFound(_ reference: Reference) -> StorageError {
        StorageError(.objectNotFound, "Object \(reference.object) does not exist.").about(reference)
    }

    /// The bucket of the reference does not exist.
    public static func bucketNotFound(_ reference: Reference) -> StorageError {
        StorageError(.bucketNotFound, "Bucket \(reference.bucket) does not exist.").about(reference)
    }

    public static func cancelled(_ kind: TaskKind, of reference: Reference) -> StorageError {
        StorageError(.cancelled, "User cancelled the \(kind) of \(reference.url).").about(reference)
    }

    /// The error of a cancelled upload whose last request has no answer.
    public var inDoubt: StorageError {
        adding("The server has not answered its last request: the object may be stored, or may be stored later.")
            .with(\.mayBeStored, true)
    }

    public static func invalidArgument(_ param: String, _ message: String) -> StorageError {
        StorageError(.invalidArgument, message).with(\.param, param)
    }

    /// The text is no storage URL. The message leaves out the URL's query and password, which may be secret.
    public static func notAStorageURL(_ url: String, _ why: String) -> StorageError {
        StorageError(.pathError, "\(url.withoutSecretParts) is not a storage URL: \(why).").with(\.param, "url")
    }

    /// A local file cannot be read, or it changes while it is read.
    public static func file(_ path: String, _ why: String) -> StorageError {
        StorageError(.unknown, "File \(path) \(why).").with(\.file, path)
    }

    package static func sizeExceeded(_ reference: Reference, _ size: Int64, _ maxSize: Int64) -> StorageError {
        StorageError(
            .downloadSizeExceeded,
            "Object \(reference.object) has \(size) bytes, which exceeds the maximum of \(maxSize) bytes."
        ).about(reference)
    }

    /// A limit is reached; `flag` raises it.
    public static func noRoom(for what: String, _ flag: String, is limit: Int) -> StorageError {
        StorageError(.quotaExceeded, "There is no room for more \(what): \(flag) is \(limit).").with(\.retryable, true)
    }

    package static func tooManyBuckets(_ most: Int) -> StorageError {
        StorageError(.quotaExceeded, "There are more than \(most) buckets, which is what --max-list-results allows.")
    }

    package static var urlsDoNotExpire: StorageError {
        .invalidArgument(
            "expiresIn", "Download URLs of this engine hold until they are revoked; only signed ones end by themselves."
        )
    }
}
