"""References, and the uploads and downloads that they start, for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from .._events import ENDS, Backlog, called
from .._methods import AsyncReferenceMethods
from .._types import ListingOf, SnapshotOf, Status
from ..wire import decode
from ._face import CallbackOf, Place, Waiting


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
