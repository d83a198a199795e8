"""The way in: a session with a service."""

from __future__ import annotations

import atexit
import os
import threading
import weakref
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Callable, TypeVar

from . import wire
from .connection import Connection
from .errors import RPCError, ServiceGone
from .observers import Dispatcher, Observer
from .reference import Reference
from .task import DownloadTask, Task, UploadTask, snapshot_from_wire
from .transport import Child, Socket
from .values import Callback, RefreshToken, Settings, Snapshot, Status, TokenKind

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound=Task)
_EVENTS: Mapping[str, type[Task]] = {f"{kind.kind}Task/event": kind for kind in (UploadTask, DownloadTask)}
START_PATIENCE = 30.0  # seconds for the first answer


class Storage:
    """A session with a service: a child process of its own, or one that listens on a socket.

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
        bucket: str | None = None,
        timeout: float | None = None,
        on_refresh_token: RefreshToken | None = None,
    ) -> None:
        """`command` is the program that is started; else $STORAGE_RPC, else `storage-rpc` on the PATH.

        `root` is where that program keeps objects. `bucket` is the one meant by paths, else the service's
        own default. `timeout`, in seconds, is for each call that names none; without it calls wait.
        `on_refresh_token` is where fresh tokens come from, see `set_token`.
        """
        if socket is not None and (command is not None or root is not None):
            raise ValueError("A service on a socket is running already: it takes neither command nor root.")
        self._bucket, self._timeout, self._process = bucket, timeout, os.getpid()
        self.on_refresh_token = on_refresh_token
        self._lock = threading.Lock()
        self._tasks: weakref.WeakValueDictionary[tuple[type[Task], str], Task] = weakref.WeakValueDictionary()
        self._observed: set[Task] = set()
        transport = Child(self._command(command, root)) if socket is None else Socket(os.fspath(socket))
        self._dispatcher = Dispatcher()
        self._connection = Connection(transport, self._hear, self._answer, self._lose)
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
        an exception that leaves `with` means) at once. A service on a socket goes on, and so do its tasks.
        """
        if os.getpid() != self._process:
            return  # A fork: the session is the parent's.
        atexit.unregister(self.close)
        self._connection.close(drain=drain)
        self._dispatcher.close()

    @property
    def default_bucket(self) -> str:
        return str(self._server["defaultBucket"]) if self._bucket is None else self._bucket

    def reference(self, path: str = "", *, bucket: str | None = None) -> Reference:
        """A reference to a path of a bucket; without a path, to its root."""
        return self._reference({"path": path, "bucket": self.default_bucket if bucket is None else bucket})

    def reference_for_url(self, url: str) -> Reference:
        """
        >>> storage.reference_for_url("gs://default-bucket/images/space.jpg").name
        'space.jpg'
        """
        return self._reference({"url": url})

    @property
    def settings(self) -> Settings:
        return self._call("storage/getSettings", {}, wire.settings_from_wire)

    def update_settings(self, **settings: float) -> Settings:
        """Changes what is named, for all clients of the service.

        >>> storage.update_settings(max_upload_retry_time=30, upload_chunk_size_bytes=1 << 20)
        """
        params = {wire.camel(name): value for name, value in settings.items()}
        return self._call("storage/updateSettings", params, wire.settings_from_wire)

    def set_token(self, token: str | None, kind: TokenKind | None = None, expires_in: float | None = None) -> None:
        """In whose name the session asks from now on; None takes the token of that kind away.

        Without `kind` it is the one that the engine wants. When the token expires, `expires_in` seconds from now,
        or is refused, the session calls `on_refresh_token(kind, reason)` on a thread of its own; reason is
        "expired" or "refused". It has 30 seconds to return a token, `(token, expires_in)`, or None for "no more".
        From the moment the session is being closed it is not called any more.

        >>> storage.on_refresh_token = lambda kind, reason: user.sign_in_again()
        >>> storage.set_token(user.id_token, expires_in=3600)
        """
        params = {"token": token, "kind": kind, "expiresIn": expires_in}
        given = {name: value for name, value in params.items() if value is not None or name == "token"}
        self._call("auth/setToken", given, lambda result: None)

    def upload_task(self, id: str) -> UploadTask:
        """The upload of that id; asks nobody whether there is one."""
        return self._task(UploadTask, id)

    def download_task(self, id: str) -> DownloadTask:
        """The download of that id; asks nobody whether there is one."""
        return self._task(DownloadTask, id)

    def upload_tasks(self) -> list[Snapshot]:
        """All uploads of the service that have not ended, and the newest of those that have."""
        return self._all(UploadTask)

    def download_tasks(self) -> list[Snapshot]:
        """All downloads of the service that have not ended, and the newest of those that have."""
        return self._all(DownloadTask)

    def call(self, method: str, timeout: float | None = None, **params: Any) -> Any:
        """Any method of the service, by its own name and with its own params.

        >>> storage.call("service/ping")
        'pong'
        """
        return self._call(method, params, lambda result: result, timeout)

    # What the other parts of the package use

    def _call(
        self, method: str, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        return self._connection.call(method, params, then, self._timeout if timeout is None else timeout)

    def _task(self, kind: type[AnyTask], id: str) -> AnyTask:
        with self._lock:
            task = self._tasks.get((kind, id))
            if not isinstance(task, kind):
                task = self._tasks[kind, id] = kind(self, id)
            return task

    def _all(self, kind: type[Task]) -> list[Snapshot]:
        def then(result: Any) -> list[Snapshot]:
            return [snapshot_from_wire(self, kind, task) for task in result["tasks"]]

        return self._call(f"{kind.kind}Task/list", {}, then)

    def _begin_upload(self, answer: Mapping[str, Any], callbacks: Mapping[Status, Callback]) -> UploadTask:
        return self._begin(UploadTask, answer, callbacks)

    def _begin_download(self, answer: Mapping[str, Any], callbacks: Mapping[Status, Callback]) -> DownloadTask:
        return self._begin(DownloadTask, answer, callbacks)

    def _begin(
        self, kind: type[AnyTask], answer: Mapping[str, Any], callbacks: Mapping[Status, Callback]
    ) -> AnyTask:
        task = self._task(kind, answer["task"])
        handles: dict[Status, str] = answer["observers"]
        task.observers = {status: handle for status, handle in handles.items() if status in callbacks}
        task._hears_its_end = True
        self._register(task, {handle: Observer(one, callbacks.get(one)) for one, handle in handles.items()})
        return task

    def _register(self, task: Task, observers: Mapping[str, Observer]) -> None:
        task._add(observers)
        self._observed.add(task)

    # On the reader's thread

    def _hear(self, method: str, params: Mapping[str, Any]) -> None:
        kind = _EVENTS.get(method)
        if kind is None:
            return
        snapshot = snapshot_from_wire(self, kind, params["snapshot"])
        snapshot.task._hear(params["handle"], snapshot)
        if not snapshot.task._observers:
            self._observed.discard(snapshot.task)

    def _answer(self, method: str, params: Mapping[str, Any]) -> Any:
        """On a thread of its own."""
        callback = self.on_refresh_token
        if method != "auth/refreshToken" or callback is None:
            raise RPCError(f'There is no method "{method}".', -32601)
        fresh = callback(params["kind"], params["reason"])
        if not isinstance(fresh, tuple):
            return fresh
        token, expires_in = fresh
        return {"token": token, "expiresIn": expires_in}

    def _lose(self, gone: ServiceGone) -> None:
        for task in self._observed:
            task._lose(gone)

    def _reference(self, params: Mapping[str, str]) -> Reference:
        return self._call("storage/reference", params, lambda result: Reference.from_wire(self, result))

    def _initialize(self) -> Mapping[str, Any]:
        params = {"protocolVersion": 1, "client": {"name": "storage_rpc for Python"}}
        patience = START_PATIENCE if self._timeout is None else self._timeout
        server: Mapping[str, Any] = self._call("initialize", params, lambda result: result, patience)
        self._connection.max_message_bytes = server["limits"]["maxMessageBytes"]
        return server

    @staticmethod
    def _command(command: Sequence[str] | None, root: str | os.PathLike[str] | None) -> list[str]:
        words = list(command or [os.environ.get("STORAGE_RPC") or "storage-rpc"])
        return words if root is None else [*words, "--root", os.fspath(root)]
