"""What can go wrong, as exceptions that carry the names and codes of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import _errors
from ._error import StorageError
from ._errors import *
from ._errors import RPC_NAMES

__all__ = ["RPCError", "ServiceGone", "StorageError", "error_from_wire"]
__all__ += _errors.__all__

_KINDS = {kind.code: kind for kind in StorageError.__subclasses__()}


class RPCError(StorageError):
    """The message itself was refused, with one of JSON-RPC's own codes, such as -32602."""

    @property
    def name(self) -> str:
        return RPC_NAMES.get(self.code, "rpcError")


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
    return _KINDS.get(code, RPCError)(str(wire["message"]), code, data if isinstance(data, dict) else None)


def cannot_start(command: Sequence[str], error: OSError) -> ServiceGone:
    advice = "set STORAGE_RPC to its path, or pass command=[...]"
    return ServiceGone(f'The program "{command[0]}" cannot be started: {error.strerror}; {advice}.')


def no_service_at(path: str, error: OSError) -> ServiceGone:
    return ServiceGone(f"No service can be reached at {path}: {error.strerror or error}.")


def obituary(status: int | None, last_words: Sequence[str]) -> ServiceGone:
    """Why a child process has nothing more to say."""
    if status is None:
        return ServiceGone("The service has closed its output.", None, last_words)
    how = f"ended with status {status}" if status >= 0 else f"was ended by signal {-status}"
    last = f": {last_words[-1]}" if last_words else "."
    return ServiceGone(f"The service {how}{last}", status, last_words)


def disconnected() -> ServiceGone:
    return ServiceGone("The service has closed the connection.")
