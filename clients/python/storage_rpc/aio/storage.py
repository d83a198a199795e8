"""The way in: a session with a service."""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, TypeVar

from .._core import START_PATIENCE, command_line, hello
from .._methods import AsyncStorageMethods, Method
from .._tasks import Tasks, fresh_to_wire, no_method
from .._types import AsyncSnapshot
from ..errors import ServiceGone
from ..values import AsyncRefreshToken
from ..urls import is_url, not_in, parse_url
from ..wire import given
from .connection import Connection
from .dispatcher import Dispatcher
from .reference import AsyncReference
from .task import AsyncDownloadTask, AsyncTask, AsyncUploadTask
from .transport import Child, Socket

T = TypeVar("T")
NOT_OPENED = "The session has not been opened."


class AsyncStorage(AsyncStorageMethods):
    """A session with a service: a child process of its own, one that all share, or one that listens on a socket.

    >>> async with AsyncStorage() as storage:
    ...     async for snapshot in storage.reference("images/space.jpg").put_file("space.jpg"):
    ...         print(snapshot.progress)

    All calls must come from the event loop that it was opened in. Callbacks run one at a time; what they return is
    awaited, where that can be. A call that is cancelled is cancelled at the service, too. What the service writes to
    stderr goes to the logger "storage_rpc".
    """

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
        """`command` is the program that is started; else $STORAGE_RPC, else `storage-rpc` on the PATH.

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
        self._tasks: Tasks[AsyncSnapshot] = Tasks(AsyncSnapshot, lambda kind, id: kind(self, id), self._to_reference)
        self._opened: tuple[Connection, Dispatcher] | None = None

    async def open(self) -> AsyncStorage:
        """Starts or finds the service, as entering `async with` does."""
        if self._opened:
            return self
        transport = (
            await Child.start(self._command) if self._socket is None else await Socket.connect(os.fspath(self._socket))
        )
        self._opened = Connection(transport, self._hear, self._answer, self._tasks.lose), Dispatcher()
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

    async def __aenter__(self) -> AsyncStorage:
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

    def reference(
        self, path: str = "", *, bucket: str | None = None, object: str | None = None
    ) -> AsyncReference:
        """A reference to a path of a bucket; without a path, to its root. What begins as a URL does is taken for the
        URL of an object. `object` instead of a path names an object exactly, slashes as they are."""
        if path and object is not None:
            raise ValueError("A reference has a path or the exact name of an object, not both.")
        if is_url(path):
            found = self.reference_for_url(path)
            if bucket is not None and bucket != found.bucket:
                raise not_in(bucket, found.bucket, found.full_path)
            return found
        return AsyncReference(self.default_bucket if bucket is None else bucket, path, object, self)

    def reference_for_url(self, url: str) -> AsyncReference:
        """
        >>> storage.reference_for_url("gs://default-bucket/images/space.jpg").name
        'space.jpg'
        """
        return AsyncReference(*parse_url(url), None, self)

    def upload_task(self, id: str) -> AsyncUploadTask:
        """The upload of that id; asks nobody whether there is one."""
        return self._tasks.get(AsyncUploadTask, id)

    def download_task(self, id: str) -> AsyncDownloadTask:
        """The download of that id; asks nobody whether there is one."""
        return self._tasks.get(AsyncDownloadTask, id)

    async def upload_tasks(self) -> list[AsyncSnapshot]:
        """All uploads of the service that have not ended, and the newest of those that have."""
        return [task async for page in self.upload_task_pages() for task in page]

    async def download_tasks(self) -> list[AsyncSnapshot]:
        """All downloads of the service that have not ended, and the newest of those that have."""
        return [task async for page in self.download_task_pages() for task in page]

    def upload_task_pages(self, max_results: int = 1000) -> AsyncIterator[list[AsyncSnapshot]]:
        """The same, at most so many at a time: each task that is there from the first page to the last comes once."""
        return self._pages("uploadTask/list", AsyncUploadTask, max_results)

    def download_task_pages(self, max_results: int = 1000) -> AsyncIterator[list[AsyncSnapshot]]:
        """The same, at most so many at a time: each task that is there from the first page to the last comes once."""
        return self._pages("downloadTask/list", AsyncDownloadTask, max_results)

    async def call(self, method: str, **params: Any) -> Any:
        """Any method of the service, by its own name and with its own params.

        >>> await storage.call("service/ping")
        'pong'
        """
        return await self._connection.call(method, params, lambda result: result)

    # What the other parts of the package use

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
        self, method: Method, kind: type[AsyncTask], max_results: int
    ) -> AsyncIterator[list[AsyncSnapshot]]:
        token: str | None = None
        while True:
            params = given(maxResults=max_results, pageToken=token)
            snapshots, token = await self._ask(method, params, self._tasks.page(kind))
            yield snapshots
            if token is None:
                return

    async def _ask(self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._connection.call(method, params, then)

    def _hear(self, event: str, params: Mapping[str, Any]) -> None:
        self._tasks.hear(event, params, (AsyncUploadTask, AsyncDownloadTask))

    async def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        callback = self.on_refresh_token
        if method != "auth/refreshToken" or callback is None:
            raise no_method(method)
        fresh = callback(params["kind"], params["reason"])
        return fresh_to_wire(await fresh if inspect.isawaitable(fresh) else fresh)

    def _to_reference(self, message: Mapping[str, Any]) -> AsyncReference:
        return AsyncReference(message["bucket"], message["fullPath"], message.get("object"), self)
