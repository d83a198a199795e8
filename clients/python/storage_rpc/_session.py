"""A session with a service, for threads: its connection, its tasks, and the thread of its callbacks."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, Generic, TypeVar

from ._core import START_PATIENCE, command_line, hello
from ._methods import Method
from ._tasks import RefreshToken, S, TaskBase, Tasks, fresh_to_wire, no_method
from ._types import Status
from .connection import Connection
from .dispatcher import Dispatcher
from .transport import Child, Socket
from .wire import given

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound=TaskBase[Any])
Self = TypeVar("Self", bound="Session[Any]")


class Session(Generic[S]):
    """Opens and closes the session, and sends its requests."""

    def __init__(
        self,
        *,
        command: Sequence[str] | None = None,
        socket: str | os.PathLike[str] | None = None,
        root: str | os.PathLike[str] | None = None,
        shared: bool = False,
        bucket: str | None = None,
        timeout: float | None = None,
        on_refresh_token: RefreshToken | None = None,
    ) -> None:
        """`command` is the program to start; by default $STORAGE_RPC, else `storage-rpc` on the PATH.

        `root` is where that program keeps objects. With `shared` all sessions on one root, of any process and any
        client, have one service, which is started by the first and goes on when the last has been closed, until its
        tasks have ended and a minute has passed. `bucket` is the one meant by paths, else the service's
        own default. `timeout`, in seconds, is for each call that names none; without it calls wait.
        `on_refresh_token` is where fresh tokens come from: when one that `set_token` has set expires or is refused,
        it is called with the kind and "expired" or "refused", on a thread of its own. It has 30 seconds to return
        a token, `(token, expires_in)`, or None for "no more"; it is not called while the session is being closed.
        """
        if socket is not None and (command is not None or root is not None or shared):
            raise ValueError("A service on a socket is running already: it takes no command, root or shared.")
        self._bucket, self._timeout = bucket, timeout
        self.on_refresh_token = on_refresh_token
        transport = Child(command_line(command, root, shared)) if socket is None else Socket(os.fspath(socket))
        self._dispatcher = Dispatcher()
        self._tasks = self._new_tasks()
        self._connection = Connection(transport, self._tasks.hear, self._answer, self._tasks.lose)
        atexit.register(self.close)
        try:
            self._server = self._initialize()
        except BaseException:
            self.close(drain=False)
            raise

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(drain=kind is None)

    def close(self, *, drain: bool = True) -> None:
        """Ends the session, as leaving `with` does, and the end of the program.

        The child is ended too: once the tasks under way have ended, or with `drain=False` (which is what
        an exception that leaves `with` means) at once. A service that is shared, or on a socket, goes on, and so do
        its tasks. A fork of the process has nothing to close.
        """
        if self._connection.guard.is_fork:
            return
        atexit.unregister(self.close)
        self._connection.close(drain=drain)
        self._dispatcher.close()

    @property
    def default_bucket(self) -> str:
        return str(self._server["defaultBucket"]) if self._bucket is None else self._bucket

    def call(self, method: str, timeout: float | None = None, **params: Any) -> Any:
        """Calls any method of the service by its name on the wire.

        >>> storage.call("service/ping")
        'pong'
        """
        return self._connection.call(method, params, lambda result: result, self._patience(timeout))

    def _new_tasks(self) -> Tasks[S]:
        raise NotImplementedError

    def _ask(
        self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        return self._connection.call(method, params, then, self._patience(timeout))

    def _pages(
        self, method: Method, kind: type[TaskBase[S]], max_results: int, timeout: float | None
    ) -> Iterator[list[S]]:
        token: str | None = None
        while True:
            params = given(maxResults=max_results, pageToken=token)
            snapshots, token = self._ask(method, params, self._tasks.page(kind), timeout)
            yield snapshots
            if token is None:
                return

    def _begin(
        self, kind: type[AnyTask], answer: Mapping[str, Any], callbacks: Mapping[Status, Callable[[S], object]]
    ) -> AnyTask:
        task = self._tasks.get(kind, answer["task"])
        handles: dict[Status, str] = answer["observers"]
        self._tasks.begin(task, handles, callbacks)
        return task

    def _patience(self, timeout: float | None) -> float | None:
        return self._timeout if timeout is None else timeout

    def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """Answers a request of the service; runs on a thread of its own."""
        callback = self.on_refresh_token
        if method != "auth/refreshToken" or callback is None:
            raise no_method(method)
        return fresh_to_wire(callback(params["kind"], params["reason"]))

    def _initialize(self) -> Mapping[str, Any]:
        patience = START_PATIENCE if self._timeout is None else self._timeout
        server: Mapping[str, Any] = self._ask("initialize", hello(), lambda result: result, patience)
        self._connection.core.max_message_bytes = server["limits"]["maxMessageBytes"]
        return server
