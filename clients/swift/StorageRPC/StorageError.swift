import Foundation

/// The domain of the errors as `NSError`.
public let StorageErrorDomain: String = "FIRStorageErrorDomain"

/// Why an operation has failed. As `NSError` it has the domain `StorageErrorDomain`, a code of `StorageErrorCode`, and the
/// details as user info.
///
/// `serverError` has, where they are known, `bucket`, `object`, `ResponseErrorCode` (the HTTP status, or that which the
/// servers of Firebase answer in this case), `ResponseErrorDomain`, both as `NSUnderlyingErrorKey`, `ResponseBody`, and under `StorageRPC` the
/// `StorageWire.StorageError` of the service. Sound: these values never change.
public enum StorageError: Error, CustomNSError, @unchecked Sendable {
    /// Any other failure; the message says which.
    case unknown(message: String, serverError: [String: Any])
    /// There is no object at the reference.
    case objectNotFound(object: String, serverError: [String: Any])
    /// There is no such bucket.
    case bucketNotFound(bucket: String)
    /// There is no such project.
    case projectNotFound(project: String)
    /// The quota of the bucket is used up.
    case quotaExceeded(bucket: String, serverError: [String: Any])
    /// The server does not accept the token.
    case unauthenticated(serverError: [String: Any])
    /// The user may not do that.
    case unauthorized(bucket: String, object: String, serverError: [String: Any])
    /// The operation has failed for as long as it may be retried.
    case retryLimitExceeded
    /// The bytes that have arrived are not those that were sent.
    case nonMatchingChecksum
    /// The object is larger than the maximum of the call, in bytes.
    case downloadSizeExceeded(total: Int64, maxSize: Int64)
    /// The task was cancelled.
    case cancelled
    /// An argument cannot be used; the message says why.
    case invalidArgument(message: String)
    /// A defect of the client or the service.
    case internalError(message: String)
    /// The URL names another bucket than that of the `Storage`.
    case bucketMismatch(message: String)
    /// The URL or the path cannot be that of an object.
    case pathError(message: String)

    /// `StorageErrorDomain`
    public static var errorDomain: String { StorageErrorDomain }

    /// The raw value of the `StorageErrorCode`.
    public var errorCode: Int { code.rawValue }

    private var code: StorageErrorCode {
        switch self {
        case .unknown: .unknown
        case .objectNotFound: .objectNotFound
        case .bucketNotFound: .bucketNotFound
        case .projectNotFound: .projectNotFound
        case .quotaExceeded: .quotaExceeded
        case .unauthenticated: .unauthenticated
        case .unauthorized: .unauthorized
        case .retryLimitExceeded: .retryLimitExceeded
        case .nonMatchingChecksum: .nonMatchingChecksum
        case .downloadSizeExceeded: .downloadSizeExceeded
        case .cancelled: .cancelled
        case .invalidArgument: .invalidArgument
        case .internalError: .internalError
        case .bucketMismatch: .bucketMismatch
        case .pathError: .pathError
        }
    }

    /// The details, with a sentence under `NSLocalizedDescriptionKey`: that of the service, where `serverError` has it.
    public var errorUserInfo: [String: Any] {
        var (info, sentence): ([String: Any], String)
        switch self {
        case .unknown(let message, let serverError): (info, sentence) = (serverError, message)
        case .objectNotFound(let object, let serverError):
            (info, sentence) = (serverError, "Object \(object) does not exist.")
        case .bucketNotFound(let bucket): (info, sentence) = ([:], "Bucket \(bucket) does not exist.")
        case .projectNotFound(let project): (info, sentence) = ([:], "Project \(project) does not exist.")
        case .quotaExceeded(let bucket, let serverError):
            (info, sentence) = (serverError, "The quota of bucket \(bucket) is exceeded.")
        case .unauthenticated(let serverError):
            (info, sentence) = (serverError, "The server does not accept this token.")
        case .unauthorized(let bucket, let object, let serverError):
            (info, sentence) = (serverError, "The user may not do that to gs://\(bucket)/\(object).")
        case .retryLimitExceeded: (info, sentence) = ([:], "The operation has failed for the whole retry time.")
        case .nonMatchingChecksum: (info, sentence) = ([:], "The bytes do not match the checksum of the object.")
        case .downloadSizeExceeded(let total, let maxSize):
            info = ["totalSize": total, "maxAllowedSize": maxSize]
            sentence = "The object has \(total) bytes: more than maxSize, \(maxSize). write(toFile:) has no maximum."
        case .cancelled: (info, sentence) = ([:], "User cancelled the upload/download.")
        case .invalidArgument(let message), .internalError(let message), .bucketMismatch(let message),
            .pathError(let message):
            (info, sentence) = ([:], message)
        }
        info[NSLocalizedDescriptionKey] = (info["StorageRPC"] as? StorageWire.StorageError)?.message ?? sentence
        return info
    }
}

extension StorageError {
    /// The error of the service that this one was made of. Nil if it has another origin, and of the cases without
    /// `serverError`; `StorageTaskSnapshot.serviceError` has all of those of a task.
    public var serviceError: StorageWire.StorageError? {
        errorUserInfo["StorageRPC"] as? StorageWire.StorageError
    }

    private static let statusDomain = "com.google.HTTPStatus"

    /// What the servers of Firebase Storage answer in these cases.
    private static let statuses: [Int64: Int64] = [
        -13010: 404, -13011: 404, -13013: 402, -13020: 401, -13021: 403, -13412: 412,
    ]

    init(_ error: StorageWire.StorageError, maxSize: Int64 = 0) {
        let (data, bucket, object) = (error.data, error.data.bucket ?? "", error.data.object ?? "")
        var server: [String: Any] = ["StorageRPC": error]
        server["bucket"] = data.bucket
        server["object"] = data.object
        server["ResponseBody"] = data.serverResponse
        if let status = data.httpStatus ?? Self.statuses[error.code] {
            server["ResponseErrorCode"] = Int(status)
            server["ResponseErrorDomain"] = Self.statusDomain
            server[NSUnderlyingErrorKey] = NSError(domain: Self.statusDomain, code: Int(status))
        }
        switch StorageErrorCode(rawValue: Int(error.code)) {
        case .objectNotFound: self = .objectNotFound(object: object, serverError: server)
        case .bucketNotFound: self = .bucketNotFound(bucket: bucket)
        case .projectNotFound: self = .projectNotFound(project: "")
        case .quotaExceeded: self = .quotaExceeded(bucket: bucket, serverError: server)
        case .unauthenticated: self = .unauthenticated(serverError: server)
        case .unauthorized: self = .unauthorized(bucket: bucket, object: object, serverError: server)
        case .retryLimitExceeded: self = .retryLimitExceeded
        case .nonMatchingChecksum: self = .nonMatchingChecksum
        case .downloadSizeExceeded: self = .downloadSizeExceeded(total: 0, maxSize: maxSize)
        case .cancelled: self = .cancelled
        case .invalidArgument: self = .invalidArgument(message: error.message)
        case .internalError: self = .internalError(message: error.message)
        case .bucketMismatch: self = .bucketMismatch(message: error.message)
        case .pathError: self = .pathError(message: error.message)
        case .unknown: self = .unknown(message: error.message, serverError: server)
        case nil:
            switch StorageWire.ErrorCode(rawValue: Int(error.code)) {
            case .invalidParams: self = .invalidArgument(message: error.message)
            case .requestCancelled: self = .cancelled
            case .preconditionFailed: self = .unknown(message: error.message, serverError: server)
            default: self = .internalError(message: error.message)
            }
        }
    }
}

#if !canImport(ObjectiveC)
    // `error as? NSError`, as code of the SDK has it, yields nil for the errors of Swift where there is no Objective-C,
    // except for those that are bridged to a class by themselves.
    extension StorageError: _ObjectiveCBridgeable {
        /// A `StorageError` as `NSError`.
        public final class Bridged: NSError, @unchecked Sendable {
            let error: StorageError

            init(_ error: StorageError) {
                self.error = error
                super.init(domain: StorageErrorDomain, code: error.errorCode, userInfo: error.errorUserInfo)
            }

            /// Errors are not archived.
            public required init?(coder: NSCoder) { nil }
        }

        /// This error as `NSError`.
        public func _bridgeToObjectiveC() -> Bridged { Bridged(self) }

        /// The error of an `NSError`.
        public static func _forceBridgeFromObjectiveC(_ source: Bridged, result: inout StorageError?) {
            result = source.error
        }

        /// The error of an `NSError`.
        public static func _conditionallyBridgeFromObjectiveC(_ source: Bridged, result: inout StorageError?) -> Bool {
            result = source.error
            return true
        }

        /// The error of an `NSError`.
        public static func _unconditionallyBridgeFromObjectiveC(_ source: Bridged?) -> StorageError {
            source?.error ?? .internalError(message: "There is no error.")
        }
    }
#endif
