"""What can go wrong, as exceptions that carry the names and codes of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


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
        """The same call may succeed later without any change to it."""
        return bool(self.data.get("retryable", False))


class Unknown(StorageError):
    """What has no code of its own, such as a local file that cannot be read; the message says why."""

    code = -13000


class ObjectNotFound(StorageError):
    code = -13010


class BucketNotFound(StorageError):
    code = -13011


class ProjectNotFound(StorageError):
    code = -13012


class QuotaExceeded(StorageError):
    code = -13013


class Unauthenticated(StorageError):
    code = -13020


class Unauthorized(StorageError):
    code = -13021


class RetryLimitExceeded(StorageError):
    code = -13030


class NonMatchingChecksum(StorageError):
    code = -13031


class DownloadSizeExceeded(StorageError):
    code = -13032


class Cancelled(StorageError):
    code = -13040


class InvalidArgument(StorageError):
    code = -13050


class BucketMismatch(StorageError):
    code = -13051


class InternalError(StorageError):
    code = -13052


class PathError(StorageError):
    code = -13053


_STORAGE_ERRORS = {kind.code: kind for kind in StorageError.__subclasses__()}


class RPCError(StorageError):
    """The message itself was refused, with one of JSON-RPC's own codes, such as -32602."""

    _NAMES: ClassVar[dict[int, str]] = {
        -32700: "parseError", -32600: "invalidRequest", -32601: "methodNotFound",
        -32602: "invalidParams", -32603: "internalError", -32800: "requestCancelled",
    }  # fmt: skip

    @property
    def name(self) -> str:
        return self._NAMES.get(self.code, "rpcError")


class ServiceGone(StorageError):
    """There is no service to talk to: it could not be reached, it ended, or the session was closed."""

    def __init__(self, message: str, status: int | None = None, stderr: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        """The exit status of the process, negative for a signal; None where it is not known."""
        self.stderr = tuple(stderr)
        """The last lines that it wrote to stderr."""


def error_from_wire(wire: Mapping[str, Any]) -> StorageError:
    """The exception for the `error` of an answer or a snapshot."""
    code = int(wire["code"])
    data = wire.get("data")
    return _STORAGE_ERRORS.get(code, RPCError)(str(wire["message"]), code, data if isinstance(data, dict) else None)
