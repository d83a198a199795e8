# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not this.
"""The errors of the contract, by their codes."""

from ._error import StorageError

__all__ = [
    "Unknown",
    "ObjectNotFound",
    "BucketNotFound",
    "ProjectNotFound",
    "QuotaExceeded",
    "Unauthenticated",
    "Unauthorized",
    "RetryLimitExceeded",
    "NonMatchingChecksum",
    "DownloadSizeExceeded",
    "Cancelled",
    "InvalidArgument",
    "BucketMismatch",
    "InternalError",
    "PathError",
    "PreconditionFailed",
]

RPC_NAMES = {
    -32700: "parseError",
    -32600: "invalidRequest",
    -32601: "methodNotFound",
    -32602: "invalidParams",
    -32603: "internalError",
    -32800: "requestCancelled",
}


class Unknown(StorageError):
    """Something else; the message says what: a local file that is missing, unreadable, not regular or changed, a disk
    that fails.

    Read the message; it names path and reason.
    """

    code = -13000


class ObjectNotFound(StorageError):
    """There is no object at the reference.

    Upload it first, or correct the path.
    """

    code = -13010


class BucketNotFound(StorageError):
    """A remote engine has no such bucket. The embedded one has every bucket.

    Correct the bucket.
    """

    code = -13011


class ProjectNotFound(StorageError):
    """A remote engine has no such project.

    Correct the project's set-up.
    """

    code = -13012


class QuotaExceeded(StorageError):
    """There is no room left: on the disk, in the project, or within one of the service's bounds, which the message
    names.

    Make room, then try again; or raise the bound.
    """

    code = -13013


class Unauthenticated(StorageError):
    """A remote engine wants to know who is asking.

    Sign in, then try again.
    """

    code = -13020


class Unauthorized(StorageError):
    """Whoever asks may not do that, or a local file is not where it is allowed to be.

    Check rules and permissions, --allow-read and --allow-write.
    """

    code = -13021


class RetryLimitExceeded(StorageError):
    """There was no progress for as long as the settings allow; the message tells of the last failure, data.attempts
    of all.

    Try again later, or raise the retry time in the settings.
    """

    code = -13030


class NonMatchingChecksum(StorageError):
    """The bytes that arrived are not those that were meant; nothing was stored or written.

    Try again; check metadata.md5Hash where it was given.
    """

    code = -13031


class DownloadSizeExceeded(StorageError):
    """The object is larger than the caller allowed.

    Raise maxSize, or write to a file.
    """

    code = -13032


class Cancelled(StorageError):
    """The task was cancelled.

    Nothing: it was asked for.
    """

    code = -13040


class InvalidArgument(StorageError):
    """A good param with a value that cannot be used; data.param names it. An unknown task too.

    Correct the value.
    """

    code = -13050


class BucketMismatch(StorageError):
    """The URL is in another bucket than the one given.

    Leave bucket out, or correct it.
    """

    code = -13051


class InternalError(StorageError):
    """The engine made a mistake.

    Report it, with the message.
    """

    code = -13052


class PathError(StorageError):
    """The URL is not a storage URL.

    Use gs://BUCKET/PATH or a download URL.
    """

    code = -13053


class PreconditionFailed(StorageError):
    """What is there is not what ifGenerationMatch or ifMetagenerationMatch asks for, or somebody else has written
    while a remote engine was asked again: data.generation and data.metageneration tell what is there, "0" where
    nothing is.

    Look at what is there, then decide anew.
    """

    code = -13412
