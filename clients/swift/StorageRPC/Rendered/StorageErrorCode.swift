// Rendered from protocol/openrpc.json and harness.json by protocol/render.py: edit these, not this.
// swift-format-ignore-file

/// The codes of errors, as in the SDK.
public enum StorageErrorCode: Int, Swift.Error {
    /// Any other failure, which the message names: a local file that is missing, unreadable, not regular or
    /// changed, a disk that fails.
    case unknown = -13000
    /// There is no object at the reference.
    case objectNotFound = -13010
    /// The remote engine has no such bucket. The embedded engine has every bucket.
    case bucketNotFound = -13011
    /// The remote engine has no such project.
    case projectNotFound = -13012
    /// The disk, the quota of the project, or a bound of the service is exhausted; the message names it.
    case quotaExceeded = -13013
    /// The remote engine requires a token.
    case unauthenticated = -13020
    /// The caller lacks a permission, or a local file is outside the allowed directories.
    case unauthorized = -13021
    /// The retry time of the settings passed without progress. The message describes the last failure,
    /// data.attempts all of them.
    case retryLimitExceeded = -13030
    /// The received bytes do not match the checksum; nothing was stored or written.
    case nonMatchingChecksum = -13031
    /// The object is larger than maxSize.
    case downloadSizeExceeded = -13032
    /// The task was cancelled.
    case cancelled = -13040
    /// A param has an invalid value, such as an unknown task; data.param names it.
    case invalidArgument = -13050
    /// The URL names another bucket than the param `bucket`.
    case bucketMismatch = -13051
    /// The engine failed in an unexpected way.
    case internalError = -13052
    /// The URL is not a storage URL.
    case pathError = -13053
}

extension StorageWire {
    /// All codes of errors that the service answers.
    public enum ErrorCode: Int {
        /// The request is not JSON; the error's message names the position.
        case parseError = -32700
        /// The message is JSON, but not a request: a wrong id, method, params or jsonrpc; an empty or too long
        /// message; anything but exit after shutdown.
        case invalidRequest = -32600
        /// There is no such method.
        case methodNotFound = -32601
        /// A param is missing, mistyped or unknown; message and data.param name it.
        case invalidParams = -32602
        /// A defect of the service.
        case internalError = -32603
        /// $/cancelRequest, or the end of the service, ended the request.
        case requestCancelled = -32800
        /// Any other failure, which the message names: a local file that is missing, unreadable, not regular or
        /// changed, a disk that fails.
        case unknown = -13000
        /// There is no object at the reference.
        case objectNotFound = -13010
        /// The remote engine has no such bucket. The embedded engine has every bucket.
        case bucketNotFound = -13011
        /// The remote engine has no such project.
        case projectNotFound = -13012
        /// The disk, the quota of the project, or a bound of the service is exhausted; the message names it.
        case quotaExceeded = -13013
        /// The remote engine requires a token.
        case unauthenticated = -13020
        /// The caller lacks a permission, or a local file is outside the allowed directories.
        case unauthorized = -13021
        /// The retry time of the settings passed without progress. The message describes the last failure,
        /// data.attempts all of them.
        case retryLimitExceeded = -13030
        /// The received bytes do not match the checksum; nothing was stored or written.
        case nonMatchingChecksum = -13031
        /// The object is larger than maxSize.
        case downloadSizeExceeded = -13032
        /// The task was cancelled.
        case cancelled = -13040
        /// A param has an invalid value, such as an unknown task; data.param names it.
        case invalidArgument = -13050
        /// The URL names another bucket than the param `bucket`.
        case bucketMismatch = -13051
        /// The engine failed in an unexpected way.
        case storageInternalError = -13052
        /// The URL is not a storage URL.
        case pathError = -13053
        /// The object does not match ifGenerationMatch or ifMetagenerationMatch, or another client changed it
        /// during a retry: data.generation and data.metageneration have the current values, "0" if there is no
        /// object.
        case preconditionFailed = -13412
    }
}
