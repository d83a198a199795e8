"""The way in: a session with a service."""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, TypeVar

from ._core import START_PATIENCE, command_line, hello
from ._methods import Method, StorageMethods
from ._tasks import Tasks, fresh_to_wire, no_method
from ._types import Settings, Snapshot, Status
from .connection import Connection
from .dispatcher import Dispatcher
from .reference import Reference
from .task import DownloadTask, Task, UploadTask
from .transport import Child, Socket
from .urls import is_url
from .values import Callback, RefreshToken
from .wire import given

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound=Task)


class Storage(StorageMethods):
    """A session with a service: a child process of its own, one that all share, or one that listens on a socket.

    >>> with Storage() as storage:
    ...     storage.reference("images/space.jpg").put_file("space.jpg", on_progress=print).wait()

    All calls may come from any thread, and from callbacks; callbacks run one at a time, on a thread
    of the session. What the service writes to stderr goes to the logger "storage_rpc".
    """

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
        """`command` is the program that is started; else $STORAGE_RPC, else `storage-rpc` on the PATH.

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
        self._tasks: Tasks[Snapshot] = Tasks(Snapshot, lambda kind, id: kind(self, id), self._to_reference)
        self._connection = Connection(transport, self._hear, self._answer, self._tasks.lose)
        atexit.register(self.close)
        try:
            self._server = self._initialize()
        except BaseException:
            self.close(drain=False)
            raise

    def __enter__(self) -> Storage:
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

    def reference(self, path: str = "", *, bucket: str | None = None, object: str | None = None) -> Reference:
        """A reference to a path of a bucket; without a path, to its root. What begins as a URL does is taken for the
        URL of an object. `object` instead of a path names an object exactly, slashes as they are."""
        if path and object is not None:
            raise ValueError("A reference has a path or the exact name of an object, not both.")
        if is_url(path):
            return self._refer(given(url=path, bucket=bucket))
        place = {"path": path} if object is None else {"object": object}
        return self._refer({**place, "bucket": self.default_bucket if bucket is None else bucket})

    def reference_for_url(self, url: str) -> Reference:
        """
        >>> storage.reference_for_url("gs://default-bucket/images/space.jpg").name
        'space.jpg'
        """
        return self._refer({"url": url})

    @property
    def settings(self) -> Settings:
        return self.get_settings()

    def upload_task(self, id: str) -> UploadTask:
        """The upload of that id; asks nobody whether there is one."""
        return self._tasks.get(UploadTask, id)

    def download_task(self, id: str) -> DownloadTask:
        """The download of that id; asks nobody whether there is one."""
        return self._tasks.get(DownloadTask, id)

    def upload_tasks(self, *, timeout: float | None = None) -> list[Snapshot]:
        """All uploads of the service that have not ended, and the newest of those that have."""
        return [task for page in self.upload_task_pages(timeout=timeout) for task in page]

    def download_tasks(self, *, timeout: float | None = None) -> list[Snapshot]:
        """All downloads of the service that have not ended, and the newest of those that have."""
        return [task for page in self.download_task_pages(timeout=timeout) for task in page]

    def upload_task_pages(self, max_results: int = 1000, *, timeout: float | None = None) -> Iterator[list[Snapshot]]:
        """The same, at most so many at a time: each task that is there from the first page to the last comes once."""
        return self._pages("uploadTask/list", UploadTask, max_results, timeout)

    def download_task_pages(self, max_results: int = 1000, *, timeout: float | None = None) -> Iterator[list[Snapshot]]:
        """The same, at most so many at a time: each task that is there from the first page to the last comes once."""
        return self._pages("downloadTask/list", DownloadTask, max_results, timeout)

    def call(self, method: str, timeout: float | None = None, **params: Any) -> Any:
        """Any method of the service, by its own name and with its own params.

        >>> storage.call("service/ping")
        'pong'
        """
        return self._connection.call(method, params, lambda result: result, self._patience(timeout))

    # What the other parts of the package use

    def _ask(
        self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        return self._connection.call(method, params, then, self._patience(timeout))

    def _pages(
        self, method: Method, kind: type[Task], max_results: int, timeout: float | None
    ) -> Iterator[list[Snapshot]]:
        token: str | None = None
        while True:
            params = given(maxResults=max_results, pageToken=token)
            snapshots, token = self._ask(method, params, self._tasks.page(kind), timeout)
            yield snapshots
            if token is None:
                return

    def _begin(
        self, kind: type[AnyTask], answer: Mapping[str, Any], callbacks: Mapping[Status, Callback]
    ) -> AnyTask:
        task = self._tasks.get(kind, answer["task"])
        handles: dict[Status, str] = answer["observers"]
        task.observers = {status: handle for status, handle in handles.items() if status in callbacks}
        self._tasks.begin(task, handles, callbacks)
        return task

    def _patience(self, timeout: float | None) -> float | None:
        return self._timeout if timeout is None else timeout

    def _hear(self, event: str, params: Mapping[str, Any]) -> None:
        self._tasks.hear(event, params, (UploadTask, DownloadTask))

    def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """On a thread of its own."""
        callback = self.on_refresh_token
        if method != "auth/refreshToken" or callback is None:
            raise no_method(method)
        return fresh_to_wire(callback(params["kind"], params["reason"]))

    def _to_reference(self, message: Mapping[str, Any]) -> Reference:
        return Reference.from_wire(self, message)

    def _refer(self, params: Mapping[str, str]) -> Reference:
        return self._ask("storage/reference", params, self._to_reference)

    def _initialize(self) -> Mapping[str, Any]:
        patience = START_PATIENCE if self._timeout is None else self._timeout
        server: Mapping[str, Any] = self._ask("initialize", hello(), lambda result: result, patience)
        self._connection.core.max_message_bytes = server["limits"]["maxMessageBytes"]
        return server
