"""References, and the uploads and downloads that they start, for asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from .._changes import ChangeBacklog, ChangeOf
from .._events import ENDS, Backlog, called
from .._methods import AsyncReferenceMethods
from .._types import ListingOf, SnapshotOf, Status
from ..errors import ServiceGone
from ..wire import decode
from ._face import CallbackOf, Place, Waiting, happened


class AsyncReference(
    Place,
    AsyncReferenceMethods["AsyncReference", "AsyncListing", "AsyncUploadTask", "AsyncDownloadTask", "AsyncSnapshot"],
):
    """A path in a bucket: a value, equal to any other with the same bucket and path.

    >>> space = storage.reference("images/space.jpg")
    >>> (await space.put_file("space.jpg", on_progress=print)).size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    >>> await space.update_metadata({"content_type": "image/jpeg", "custom_metadata": {"seen": "yes", "old": None}})
    """

    def __str__(self) -> str:
        return self.url

    def changes(self) -> AsyncChanges:
        """The changes of this object and of those below it from now on, whoever makes them; of a bucket those of all.

        >>> async with storage.reference("uploads").changes() as changes:
        ...     async for change in changes:
        ...         print(change.change, change.reference)
        """
        return AsyncChanges(self)

    def _start_upload_task(self, *start: Any) -> AsyncUploadTask:
        return self._start(AsyncUploadTask, *start)

    def _start_download_task(self, *start: Any) -> AsyncDownloadTask:
        return self._start(AsyncDownloadTask, *start)

    def _to_reference(self, message: Any) -> AsyncReference:
        return AsyncReference._from_wire(self._storage, message)

    def _to_listing(self, message: Any) -> AsyncListing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._to_reference, all))}
        return decode(AsyncListing, many)(message)


class AsyncTask(Waiting["AsyncSnapshot"]):
    """The common part of uploads and downloads.

    Awaiting a task returns the metadata of the object, or raises the error of the task. Cancelling the await cancels
    the task too, as with a task of asyncio; `wait` only waits.

    Iterating yields a snapshot for each event from then on, up to the last one; then it ends, or raises the error of
    the task. A slow consumer gets only the newest progress. Leaving the iteration early does not stop the task.
    """

    def __aiter__(self) -> AsyncIterator[AsyncSnapshot]:
        return Iteration(self)

    async def snapshot(self) -> AsyncSnapshot:
        """The task as it is now."""
        if self._end.done():
            last: AsyncSnapshot = self._end.result()
            return last
        return await self._ask("snapshot", {}, self._storage._tasks.snapshot(type(self)))

    async def observe(self, status: Status, callback: AsyncCallback) -> str:
        """Adds an observer; returns its handle. Calls it at once if the status matches the state of the task.

        >>> await task.observe("pause", lambda snapshot: print("paused at", snapshot.progress))
        """
        observing = self._observing(status, called("callback", callback))
        return await self._ask("observe", {"status": status}, observing)

    async def remove_observer(self, handle: str) -> bool:
        """Stops calls of its callback. False if there is no such observer."""
        was_there = self._events.silence(handle, keep=self._kept)
        if was_there:
            await self._storage._ask(self._method("removeObserver"), {"handle": handle}, bool)
            self._events.note()
        return was_there is not False

    async def remove_all_observers(self, status: Status | None = None) -> int:
        """Removes the observers of this session, or those of one status; returns their number."""
        return sum([await self.remove_observer(handle) for handle in self._events.handles(status)])


class Iteration(AsyncIterator["AsyncSnapshot"]):
    """One iteration over the events of a task."""

    def __init__(self, task: AsyncTask) -> None:
        self._task, self._news = task, asyncio.Event()
        self._last: AsyncSnapshot | None = None
        self._backlog: Backlog[AsyncSnapshot] = Backlog(self._news.set)
        task._follow(self._backlog)

    async def __anext__(self) -> AsyncSnapshot:
        if self._last and self._last.status in ENDS:
            raise self._last.error or StopAsyncIteration
        await self._task._listen()
        while (snapshot := self._backlog.pop()) is None:
            await self._news.wait()
            self._news.clear()
        self._last = snapshot
        return snapshot


class AsyncChange(ChangeOf[AsyncReference]):
    """What happened to an object."""


class AsyncChanges(AsyncIterator["AsyncChange"]):
    """The changes of objects, from the moment when this is entered or first asked for one, until it is closed."""

    def __init__(self, reference: AsyncReference) -> None:
        self._reference, self._session = reference, reference._storage
        self._news = asyncio.Event()
        self._backlog: ChangeBacklog[AsyncChange] = ChangeBacklog(self._news.set, AsyncChange("missed", reference))
        self._handle: str | None = None
        self._closed = False

    async def __aenter__(self) -> AsyncChanges:
        await self._begin()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def __anext__(self) -> AsyncChange:
        change = await self.next()
        if change is None:
            raise StopAsyncIteration
        return change

    async def next(self, within: float | None = None) -> AsyncChange | None:
        """The next change; None once this is closed. Raises `TimeoutError` after so many seconds."""
        await self._begin()
        while (change := self._backlog.pop()) is None:
            if self._closed:
                return None
            if not await happened(self._news, within):
                raise TimeoutError(f"Nothing has changed at {self._reference.url} within {within} seconds.")
            self._news.clear()
        return change

    async def close(self) -> None:
        """Ends the iteration."""
        handle, self._handle, self._closed = self._handle, None, True
        self._news.set()
        if handle is not None:
            self._session._tasks.feeds.drop(handle)
            with contextlib.suppress(ServiceGone):
                await self._session._ask("storage/removeObserver", {"handle": handle}, bool)

    async def _begin(self) -> None:
        if self._handle is None and not self._closed:
            convert = decode(AsyncChange, {"ReferenceT": self._reference._to_reference})
            then = self._session._tasks.feeds.keep(self._backlog, convert)
            self._handle = await self._session._ask("storage/observe", {"reference": self._reference._place}, then)


class AsyncUploadTask(AsyncTask):
    """An upload of the service.

    >>> task = storage.reference("films/long.mp4").put_file("long.mp4", on_progress=print)
    >>> await task.pause(), await task.resume()
    (True, True)
    >>> (await task).md5_hash
    'ux+S6ymcFXpl1o4DbXKkBw=='
    """

    kind = "upload"


class AsyncDownloadTask(AsyncTask):
    """A download of the service to a file; its snapshots have metadata once the file exists.

    >>> (await storage.reference("films/long.mp4").write_to_file("long.mp4", on_progress=print)).size
    1073741824
    """

    kind = "download"


class AsyncSnapshot(SnapshotOf[AsyncTask, AsyncReference]):
    """A task in one moment. `error` is set after a failure, and while the task is paused because it cannot continue by
    itself; `retry` is set while it waits before another attempt."""


class AsyncListing(ListingOf[AsyncReference]):
    """One page of the direct children of a reference."""


AsyncCallback = CallbackOf[AsyncSnapshot]
"""Called with the snapshot of each event."""
