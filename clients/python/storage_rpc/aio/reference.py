"""References, and the uploads and downloads that they start, for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar, Union

from .._core import PATIENCE
from .._events import ENDS, STATUSES, Backlog, Events, Observer
from .._methods import AsyncReferenceMethods, AsyncTaskMethods, Method, TaskVerb
from .._tasks import TaskBase
from .._types import ListingOf, Metadata, SnapshotOf, Status
from ..wire import decode, reference_to_wire, segments
from ._session import Session

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound="AsyncTask")


@dataclass(frozen=True)
class AsyncReference(
    AsyncReferenceMethods["AsyncReference", "AsyncListing", "AsyncUploadTask", "AsyncDownloadTask", "AsyncSnapshot"]
):
    """A path in a bucket: a value, made without a request. The service checks it when it is used.

    >>> space = storage.reference("images/space.jpg")
    >>> (await space.put_file("space.jpg", on_progress=print)).size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    """

    bucket: str
    full_path: str
    object: str | None
    """The exact name of the object where `full_path` does not determine it, as in `folder/` or `a//b`."""
    _storage: Session[AsyncSnapshot] = field(compare=False, repr=False)

    def __post_init__(self) -> None:
        path = "/".join(segments(self.full_path if self.object is None else self.object))
        object.__setattr__(self, "full_path", path)
        if self.object == path != "":
            object.__setattr__(self, "object", None)

    @property
    def name(self) -> str:
        """The last part of the path; empty at the root."""
        return self.full_path.rpartition("/")[2]

    @property
    def url(self) -> str:
        """`gs://bucket/full_path`, never percent-encoded."""
        return f"gs://{self.bucket}/{self.full_path}"

    def __str__(self) -> str:
        return self.url

    def child(self, path: str) -> AsyncReference:
        return AsyncReference(self.bucket, f"{self.full_path}/{path}", None, self._storage)

    def parent(self) -> AsyncReference | None:
        """None at the root."""
        if not self.full_path:
            return None
        return AsyncReference(self.bucket, self.full_path.rpartition("/")[0], None, self._storage)

    def root(self) -> AsyncReference:
        return AsyncReference(self.bucket, "", None, self._storage)

    # Used by the rendered methods

    async def _ask(self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._storage._ask(method, {"reference": self._place, **params}, then)

    def _start_upload_task(self, *start: Any) -> AsyncUploadTask:
        return self._start(AsyncUploadTask, *start)

    def _start_download_task(self, *start: Any) -> AsyncDownloadTask:
        return self._start(AsyncDownloadTask, *start)

    def _start(
        self,
        kind: type[AnyTask],
        method: Method,
        params: Mapping[str, Any],
        on_progress: AsyncCallback | None,
        observe: Mapping[Status, AsyncCallback] | None,
    ) -> AnyTask:
        callbacks = dict(observe or {})
        if on_progress:
            callbacks["progress"] = on_progress
        task = kind(self._storage)
        task._begin(method, {"reference": self._place, **params, "observe": True}, callbacks)
        return task

    @property
    def _place(self) -> Mapping[str, str]:
        return reference_to_wire(self.bucket, self.full_path, self.object)

    def _to_reference(self, message: Any) -> AsyncReference:
        return AsyncReference(message["bucket"], message["fullPath"], message.get("object"), self._storage)

    def _to_listing(self, message: Any) -> AsyncListing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._to_reference, all))}
        return decode(AsyncListing, many)(message)


class AsyncTask(AsyncTaskMethods, TaskBase["AsyncSnapshot"]):
    """The common part of uploads and downloads.

    Awaiting a task returns the metadata of the object, or raises the error of the task. Cancelling the await cancels
    the task too, as with a task of asyncio; `wait` only waits.

    Iterating yields a snapshot for each event from then on, up to the last one; then it ends, or raises the error of
    the task. A slow consumer gets only the newest progress. Leaving the iteration early does not stop the task.
    """

    def __init__(self, storage: Session[AsyncSnapshot], id: str | None = None) -> None:
        self.id = id
        """Unique across restarts of the service; None until the task has started."""
        loop = asyncio.get_running_loop()
        self.observers = {}
        self._storage = storage
        self._end: asyncio.Future[AsyncSnapshot] = loop.create_future()
        self._end.add_done_callback(_ignore)
        self._callbacks_ran = asyncio.Event()
        self._events = Events(self._end, storage._dispatcher.post, self._callbacks_ran.set)
        self._listening: asyncio.Future[Any] | None = None
        self._started: asyncio.Future[str] = loop.create_future()
        if id is not None:
            self._started.set_result(id)

    async def started(self) -> str:
        """The id, once the service has created the task."""
        return await asyncio.shield(self._started)

    async def snapshot(self) -> AsyncSnapshot:
        """The task as it is now."""
        if self._end.done():
            return self._end.result()
        return await self._ask("snapshot", {}, lambda result: self._storage._tasks.snapshot(type(self), result))

    async def wait(self) -> Metadata:
        """Returns the metadata of the object after all callbacks have run. Raises the error of the task."""
        self._storage._connection.guard.check()
        await self._listen()
        snapshot = await asyncio.shield(self._end)
        if not self._storage._dispatcher.is_current:
            await self._callbacks_ran.wait()
        if snapshot.error:
            raise snapshot.error
        return snapshot.metadata

    def __await__(self) -> Generator[Any, None, Metadata]:
        return self._result().__await__()

    async def _result(self) -> Metadata:
        try:
            return await self.wait()
        except asyncio.CancelledError:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.cancel(), PATIENCE)
            raise

    def __aiter__(self) -> AsyncIterator[AsyncSnapshot]:
        return Iteration(self)

    # Observers

    async def observe(self, status: Status, callback: AsyncCallback) -> str:
        """Adds an observer; returns its handle. Calls it at once if the status matches the state of the task.

        >>> await task.observe("pause", lambda snapshot: print("paused at", snapshot.progress))
        """
        return await self._observe(status, callback)

    async def remove_observer(self, handle: str) -> bool:
        """Stops calls of its callback. False if there is no such observer."""
        was_there = self._events.silence(handle, keep=STATUSES)
        if was_there:
            await self._storage._ask(self._method("removeObserver"), {"handle": handle}, bool)
            self._events.note()
        return was_there is not False

    async def remove_all_observers(self, status: Status | None = None) -> int:
        """Removes the observers of this session, or those of one status; returns their number."""
        return sum([await self.remove_observer(handle) for handle in self._events.handles(status)])

    # What the other parts of the package use

    def _begin(self, method: Method, params: Mapping[str, Any], callbacks: Mapping[Status, AsyncCallback]) -> None:
        """Requests the task, and observes all its events."""

        def begun(answer: Any) -> str:
            id: str = answer["task"]
            handles: dict[Status, str] = answer["observers"]
            self.id = id
            self._storage._tasks.keep(self, id)
            self._storage._tasks.begin(self, handles, callbacks)
            return id

        self._started = self._listening = self._storage._connection.submit(method, params, begun).answer
        self._started.add_done_callback(self._note_start)

    def _note_start(self, started: asyncio.Future[str]) -> None:
        error = None if started.cancelled() else started.exception()
        if isinstance(error, Exception):
            self._events.lose(error)

    async def _listen(self) -> None:
        """Observes a task that this session did not start."""
        if self._listening is None:
            self._listening = asyncio.ensure_future(self._observe_all())
        await asyncio.shield(self._listening)

    async def _observe_all(self) -> None:
        try:
            await asyncio.gather(*(self._observe(status, None) for status in STATUSES))
        except Exception as error:
            self._events.lose(error)

    async def _observe(self, status: Status, callback: AsyncCallback | None) -> str:
        def then(result: Any) -> str:
            observer = Observer(status, callback)
            self._storage._tasks.register(self, {result["handle"]: observer}, own=callback is None)
            return str(result["handle"])

        return await self._ask("observe", {"status": status}, then)

    async def _ask(self, verb: TaskVerb, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._storage._ask(self._method(verb), {"task": await self.started(), **params}, then)


class Iteration(AsyncIterator["AsyncSnapshot"]):
    """One iteration over the events of a task."""

    def __init__(self, task: AsyncTask) -> None:
        self._task, self._news = task, asyncio.Event()
        self._last: AsyncSnapshot | None = None
        self._backlog: Backlog[AsyncSnapshot] = Backlog(self._news.set)
        task._events.follow(self._backlog)

    async def __anext__(self) -> AsyncSnapshot:
        if self._last and self._last.status in ENDS:
            raise self._last.error or StopAsyncIteration
        self._task._storage._connection.guard.check()
        await self._task._listen()
        while (snapshot := self._backlog.pop()) is None:
            self._news.clear()
            await self._news.wait()
        self._last = snapshot
        return snapshot


class AsyncUploadTask(AsyncTask):
    """An upload of the service.

    >>> async for snapshot in storage.reference("films/long.mp4").put_file("long.mp4"):
    ...     print(snapshot.progress)
    """

    kind = "upload"


class AsyncDownloadTask(AsyncTask):
    """A download of the service to a file; its snapshots have metadata once the file exists.

    >>> (await storage.reference("films/long.mp4").write_to_file("long.mp4")).size
    1073741824
    """

    kind = "download"


def _ignore(end: asyncio.Future[Any]) -> None:
    """Marks the exception as retrieved: a task may fail while nothing awaits it."""
    if not end.cancelled():
        end.exception()


class AsyncSnapshot(SnapshotOf[AsyncTask, AsyncReference]):
    """A task in one moment. `error` is set after a failure, and while the task is paused because it cannot continue by
    itself; `retry` is set while it waits before another attempt."""


class AsyncListing(ListingOf[AsyncReference]):
    """One page of the direct children of a reference."""


AsyncCallback = Callable[[AsyncSnapshot], Union[Awaitable[object], object]]
"""Called with the snapshot of each event; if it returns an awaitable, the next callback waits for it."""
