"""References and sessions as far as they need no IO: for threads and for asyncio."""

from __future__ import annotations

import os
import weakref
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Callable, TypeVar, Union

from ._methods import Method
from ._events import called, known
from ._program import Engine, command_line
from ._tasks import TaskBase, Tasks
from ._types import Status, TokenKind
from .errors import RPCError
from .urls import check_engine, server_of
from .wire import place, reference_to_wire

FreshToken = Union[str, "tuple[str, float | None]", None]
"""A token, or a token and the seconds for which it is good; None for "no more"."""

RefreshToken = Callable[[TokenKind, str], FreshToken]
AsyncRefreshToken = Callable[[TokenKind, str], Union[Awaitable[FreshToken], FreshToken]]

Callback = Callable[[Any], object]
AnyTask = TypeVar("AnyTask", bound=TaskBase[Any, Any])


class ReferenceBase:
    """A path in a bucket."""

    bucket: str
    full_path: str
    object: str | None
    _storage: Any

    @property
    def _place(self) -> Mapping[str, str]:
        return reference_to_wire(self.bucket, self.full_path, self.object)

    def _target(self, reference: Any) -> Any:
        """Another reference, or its URL, as a param."""
        if isinstance(reference, str):
            check_engine(reference, self._storage._engine)
        return place(reference)

    def _start(
        self,
        kind: type[AnyTask],
        method: Method,
        params: Mapping[str, Any],
        on_progress: Callback | None,
        observe: Mapping[Status, Callback] | None,
        *timeout: float | None,
    ) -> AnyTask:
        callbacks = {} if observe is None else dict(observe)
        for status, callback in callbacks.items():
            called(f"observe[{known(status)!r}]", callback)
        if on_progress is not None:
            if "progress" in callbacks:
                raise ValueError("on_progress and observe['progress'] are one observer: give one of them.")
            callbacks["progress"] = called("on_progress", on_progress)
        task = kind(self._storage)
        task._start(method, {"reference": self._place, **params}, callbacks, *timeout)
        return task


class SessionBase:
    """The options of a session, and its tasks."""

    _kinds: Mapping[type[TaskBase[Any, Any]], type[Any]]
    """The classes of tasks, and those of their snapshots."""
    on_refresh_token: Any
    _to_reference: Any
    _to_item: Any

    def __init__(
        self,
        command: Sequence[str] | None,
        socket: str | os.PathLike[str] | None,
        root: str | os.PathLike[str] | None,
        shared: bool,
        bucket: str | None,
        trace: str | os.PathLike[str] | None,
        engine: Engine | None,
        endpoint: str | None,
        flags: Sequence[str],
        pauses_tasks: bool | None,
    ) -> None:
        self._command = command_line(command, root, shared, trace, socket, engine, endpoint, flags)
        self._pauses_tasks = socket is None and not shared if pauses_tasks is None else pauses_tasks
        self._waits_for_tasks = False
        self._socket = None if socket is None else os.fspath(socket)
        self._bucket = bucket
        self._server = server_of(self._command)
        self._engine: str | None = None
        """The engine of the service, once it has greeted."""
        self._tasks = Tasks(self, self._kinds)
        self._has_harness = False
        self._uploads: set[weakref.ref[Any]] = set()
        """The streams of uploads that the program still has."""

    def _greeted(self, server: Mapping[str, Any]) -> None:
        """Takes the answer to `initialize`. A private service waits for the running tasks itself before it ends, unless
        it serves this session through the service of another client. With a harness it lets go what a test holds."""
        self._engine = server.get("engine")
        self._has_harness = bool(server.get("harness"))
        self._waits_for_tasks = self._pauses_tasks and not self._has_harness

    def _ask_for_token(self, method: str, params: Mapping[str, Any]) -> Any:
        """Calls `on_refresh_token` for a request of the service. Refuses any other request."""
        if method != "auth/refreshToken" or self.on_refresh_token is None:
            raise RPCError(f'There is no method "{method}".', -32601)
        return self.on_refresh_token(params["kind"], params["reason"])


def fresh_to_wire(fresh: Any) -> Any:
    """The result of `auth/refreshToken`."""
    if not isinstance(fresh, tuple):
        return fresh
    token, expires_in = fresh
    return {"token": token, "expiresIn": expires_in}
