"""A session with a service, for asyncio: its connection, its tasks, and the asyncio task of its callbacks."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, Generic, TypeVar

from .._core import START_PATIENCE, command_line, hello
from .._methods import Method
from .._tasks import AsyncRefreshToken, S, TaskBase, Tasks, fresh_to_wire, no_method
from ..errors import ServiceGone
from ..wire import given
from .connection import Connection
from .dispatcher import Dispatcher
from .transport import Child, Socket

T = TypeVar("T")
Self = TypeVar("Self", bound="Session[Any]")
NOT_OPENED = "The session has not been opened."


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
        on_refresh_token: AsyncRefreshToken | None = None,
    ) -> None:
        """`command` is the program to start; by default $STORAGE_RPC, else `storage-rpc` on the PATH.

        `root` is where that program keeps objects. With `shared` all sessions on one root, of any process and any
        client, have one service, which is started by the first and goes on when the last has been closed, until its
        tasks have ended and a minute has passed. `bucket` is the one meant by paths, else the service's own
        default. `on_refresh_token` is where fresh tokens come from: when one that `set_token` has set expires or is
        refused, it is called with the kind and "expired" or "refused". It has 30 seconds to return, or to be awaited
        for, a token, `(token, expires_in)`, or None for "no more".
        """
        if socket is not None and (command is not None or root is not None or shared):
            raise ValueError("A service on a socket is running already: it takes no command, root or shared.")
        self._command, self._socket, self._bucket = command_line(command, root, shared), socket, bucket
        self.on_refresh_token = on_refresh_token
        self._tasks = self._new_tasks()
        self._opened: tuple[Connection, Dispatcher] | None = None

    async def open(self: Self) -> Self:
        """Starts or finds the service, as entering `async with` does."""
        if self._opened:
            return self
        transport = (
            await Child.start(self._command) if self._socket is None else await Socket.connect(os.fspath(self._socket))
        )
        self._opened = Connection(transport, self._tasks.hear, self._answer, self._tasks.lose), Dispatcher()
        try:
            server = await asyncio.wait_for(self.call("initialize", **hello()), START_PATIENCE)
        except BaseException as error:
            await self.close(drain=False)
            if isinstance(error, asyncio.TimeoutError):
                raise TimeoutError(f"The service has not answered within {START_PATIENCE} seconds.") from None
            raise
        self._connection.core.max_message_bytes = server["limits"]["maxMessageBytes"]
        self._bucket = self._bucket or server["defaultBucket"]
        return self

    async def __aenter__(self: Self) -> Self:
        return await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close(drain=kind is None)

    async def close(self, *, drain: bool = True) -> None:
        """Ends the session, as leaving `async with` does.

        The child is ended too: once the tasks under way have ended, or with `drain=False` (which is what an exception
        that leaves `async with` means, cancellation too) at once. A service that is shared, or on a socket, goes on,
        and so do its tasks. A fork of the process has nothing to close.
        """
        if self._opened and not self._connection.guard.is_fork:
            await self._connection.close(drain=drain)
            await self._dispatcher.close()

    @property
    def default_bucket(self) -> str:
        if self._bucket is None:
            raise ServiceGone(NOT_OPENED)
        return self._bucket

    async def call(self, method: str, **params: Any) -> Any:
        """Calls any method of the service by its name on the wire.

        >>> await storage.call("service/ping")
        'pong'
        """
        return await self._connection.call(method, params, lambda result: result)

    def _new_tasks(self) -> Tasks[S]:
        raise NotImplementedError

    @property
    def _connection(self) -> Connection:
        return self._both[0]

    @property
    def _dispatcher(self) -> Dispatcher:
        return self._both[1]

    @property
    def _both(self) -> tuple[Connection, Dispatcher]:
        if self._opened is None:
            raise ServiceGone(NOT_OPENED)
        return self._opened

    async def _pages(
        self, method: Method, kind: type[TaskBase[S]], max_results: int
    ) -> AsyncIterator[list[S]]:
        token: str | None = None
        while True:
            params = given(maxResults=max_results, pageToken=token)
            snapshots, token = await self._ask(method, params, self._tasks.page(kind))
            yield snapshots
            if token is None:
                return

    async def _ask(self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._connection.call(method, params, then)

    async def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        callback = self.on_refresh_token
        if method != "auth/refreshToken" or callback is None:
            raise no_method(method)
        fresh = callback(params["kind"], params["reason"])
        return fresh_to_wire(await fresh if inspect.isawaitable(fresh) else fresh)
