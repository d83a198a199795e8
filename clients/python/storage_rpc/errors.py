"""The exceptions of this package, with the names and codes of the contract."""

from __future__ import annotations

import errno
import re
from collections.abc import Mapping, Sequence
from typing import Any


ABSENT = (" does not exist.", ": No such file or directory.")
"""How the service says that something is not there."""
VERSION = "0.1.0"
"""That of this package, and of the service that it comes with."""
METHOD_NOT_FOUND = -32601
SHARING = "`storage-rpc connect`"
"""How the service says that its root is in use."""
ARGUMENTS = ("engine", "endpoint", "root", "trace")
"""The arguments of a session that are flags of the service."""
MOST_WORDS, MOST_LINES = 1000, 5  # characters and lines of what a program has said that are shown


class StorageError(Exception):
    """Any error of this package; `message` is a sentence for a person.

    >>> try:
    ...     storage.reference("images/none.jpg").get_metadata()
    ... except ObjectNotFound as error:
    ...     print(error.code, error.name, error.data["object"])
    -13010 objectNotFound images/none.jpg
    """

    code: int = 0

    def __init__(self, message: str, code: int | None = None, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = type(self).code if code is None else code
        self.data: Mapping[str, Any] = dict(data or {})

    @property
    def name(self) -> str:
        """The name of the code, as in the contract: `objectNotFound`."""
        kind = type(self).__name__
        return str(self.data.get("name", kind[:1].lower() + kind[1:]))

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later without a change."""
        return bool(self.data.get("retryable", False))


class RPCError(StorageError):
    """The service refused the message with a code of JSON-RPC, such as -32602."""

    @property
    def name(self) -> str:
        return RPC_NAMES.get(self.code, "rpcError")


class ServiceGone(StorageError):
    """The service could not be started or reached, it ended, or the session was closed."""

    def __init__(self, message: str, status: int | None = None, stderr: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        """The exit status of the process, negative for a signal; None if it is unknown."""
        self.stderr = tuple(stderr)
        """The last lines of its stderr."""


def error_from_wire(wire: Mapping[str, Any]) -> StorageError:
    """The exception for the `error` of an answer or a snapshot."""
    code = int(wire["code"])
    data = wire.get("data")
    message, values = str(wire["message"]), data if isinstance(data, dict) else {}
    kinds = {kind.code: kind for kind in StorageError.__subclasses__() if kind.code}
    kind = kinds.get(code, RPCError)
    if kind is Unknown and "file" in values and message.endswith(ABSENT):
        kind = LocalFileNotFound
    return kind(message, code, values)


def answer_error(method: str, wire: Mapping[str, Any], version: str | None) -> StorageError:
    """The exception for the `error` of an answer of a service of this version, which is older where it lacks the method."""
    error = error_from_wire(wire)
    if error.code != METHOD_NOT_FOUND or version is None or not is_older(version, VERSION):
        return error
    why = f'The service, storage-rpc {version}, is older than this client, {VERSION}, and has no method "{method}".'
    return RPCError(why, error.code, error.data)


def is_older(version: str, other: str) -> bool:
    """Whether a version comes before another. One that has no numbers does not."""
    try:
        one, two = ([int(part) for part in each.split("-")[0].split(".")] for each in (version, other))
    except ValueError:
        return False
    return one < two


def in_python(words: str) -> str:
    """What the service says to those who start it, with the names that the flags in it have here."""
    names = [name for name in ARGUMENTS if re.search(f"--{name}\\b", words)]
    if SHARING in words:
        advice = "In Python that is shared=True, in each process."
    elif names:
        are = "is an argument" if len(names) == 1 else "are arguments"
        advice = f"In Python, {' and '.join(names)} {are} of the session."
    else:
        return words
    return f"{words}{'' if words.endswith('.') else '.'} {advice}"


def beginning(lines: list[bytes]) -> str:
    """The first lines of what is no message, within bounds, and without what a terminal would obey."""
    texts = [line.decode(errors="replace").strip() for line in lines[:MOST_LINES]]
    text = "\n".join(filter(None, texts))[:MOST_WORDS]
    return "".join(one if one.isprintable() or one == "\n" else " " for one in text)


def cannot_start(command: Sequence[str], error: OSError) -> ServiceGone:
    advice = "set STORAGE_RPC to its path, or pass command=[...]"
    return ServiceGone(f'The program "{command[0]}" cannot be started: {error.strerror}; {advice}.')


def no_service_at(path: str, error: OSError) -> ServiceGone:
    return ServiceGone(f"No service can be reached at {path}: {error.strerror or error}.")


def obituary(status: int | None, last_words: Sequence[str]) -> ServiceGone:
    """The error for the end of a child process."""
    if status is None:
        return ServiceGone("The service has closed its output.", None, last_words)
    how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
    words = "\n".join(last_words)[-MOST_WORDS:]
    last = f": {in_python(words)}" if words else "."
    return ServiceGone(f"The service {how}{last}", status, last_words)


def disconnected() -> ServiceGone:
    return ServiceGone("The service has closed the connection.")


# Rendered from protocol/openrpc.json by protocol/render.py: edit that, not what follows.

__all__ = [
    "LocalFileNotFound",
    "RPCError",
    "ServiceGone",
    "StorageError",
    "error_from_wire",
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
    """Any other failure, which the message names: a local file that is missing, unreadable, not regular or changed, a
    disk that fails.

    Read the message: it names the path and the reason.
    """

    code = -13000


class ObjectNotFound(StorageError):
    """There is no object at the reference.

    Upload it first, wait for the upload that the message names, or correct the path.
    """

    code = -13010


class BucketNotFound(StorageError):
    """The remote engine has no such bucket. The embedded engine has every bucket.

    Correct the bucket.
    """

    code = -13011


class ProjectNotFound(StorageError):
    """The remote engine has no such project.

    Correct the project's set-up.
    """

    code = -13012


class QuotaExceeded(StorageError):
    """The disk, the quota of the project, or a bound of the service is exhausted; the message names it.

    Free space and try again, or raise the bound.
    """

    code = -13013


class Unauthenticated(StorageError):
    """The remote engine requires a token.

    Sign in, then try again.
    """

    code = -13020


class Unauthorized(StorageError):
    """The caller lacks a permission, or a local file is outside the allowed directories.

    Check the rules and permissions, --allow-read and --allow-write.
    """

    code = -13021


class RetryLimitExceeded(StorageError):
    """The retry time of the settings passed without progress. The message describes the last failure, data.attempts
    all of them.

    Try again later, or raise the retry time in the settings.
    """

    code = -13030


class NonMatchingChecksum(StorageError):
    """The received bytes do not match the checksum; nothing was stored or written.

    Try again; check metadata.md5_hash if it was given.
    """

    code = -13031


class DownloadSizeExceeded(StorageError):
    """The object is larger than max_size.

    Raise max_size, or write to a file.
    """

    code = -13032


class Cancelled(StorageError):
    """The task was cancelled.

    None: a client requested it.
    """

    code = -13040


class InvalidArgument(StorageError):
    """A param has an invalid value, such as an unknown task; data.param names it.

    Correct the value.
    """

    code = -13050


class BucketMismatch(StorageError):
    """The URL names another bucket than the param `bucket`.

    Leave `bucket` out, or correct it.
    """

    code = -13051


class InternalError(StorageError):
    """The engine failed in an unexpected way.

    Report it, with the message.
    """

    code = -13052


class PathError(StorageError):
    """The URL is not a storage URL.

    Use gs://BUCKET/PATH or a download URL.
    """

    code = -13053


class PreconditionFailed(StorageError):
    """The object does not match if_generation_match or if_metageneration_match, or another client changed it during a
    retry: data.generation and data.metageneration have the current values, "0" if there is no object.

    Read the current object, then decide again.
    """

    code = -13412


class LocalFileNotFound(Unknown, FileNotFoundError):
    """A local file, or the directory that a file is to be written in, does not exist; `filename` is its path."""

    def __init__(self, message: str, code: int | None = None, data: Mapping[str, Any] | None = None) -> None:
        super().__init__(message, code, data)
        self.errno = errno.ENOENT

    @property
    def filename(self) -> Any:
        return self.data.get("file")

    def __str__(self) -> str:
        return self.message
