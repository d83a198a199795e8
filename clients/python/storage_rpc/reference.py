# Rendered from aio/reference.py by protocol/render.py: edit that, not this.
"""References, and the uploads and downloads that they start, for threads."""

from __future__ import annotations

import threading
import contextlib
from collections.abc import Iterator
from typing import Any

from ._changes import ChangeBacklog, ChangeOf
from ._events import ENDS, Backlog, called
from ._methods import ReferenceMethods
from ._types import ListingOf, SnapshotOf, Status
from .errors import ServiceGone
from .wire import decode
from ._face import CallbackOf, Place, Waiting, happened


class Reference(
    Place,
    ReferenceMethods["Reference", "Listing", "UploadTask", "DownloadTask", "Snapshot"],
):
    """A path in a bucket: a value, equal to any other with the same bucket and path.

    >>> space = storage.reference("images/space.jpg")
    >>> space.put_file("space.jpg", on_progress=print).wait().size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    >>> space.update_metadata({"content_type": "image/jpeg", "custom_metadata": {"seen": "yes", "old": None}})
    """

    def __str__(self) -> str:
        return self.url

    def changes(self) -> Changes:
        """The changes of this object and of those below it from now on, whoever makes them; of a bucket those of all.

        >>> with storage.reference("uploads").changes() as changes:
        ...     for change in changes:
        ...         print(change.change, change.reference)
        """
        return Changes(self)

    def _start_upload_task(self, *start: Any) -> UploadTask:
        return self._start(UploadTask, *start)

    def _start_download_task(self, *start: Any) -> DownloadTask:
        return self._start(DownloadTask, *start)

    def _to_reference(self, message: Any) -> Reference:
        return Reference.from_wire(self._storage, message)

    def _to_listing(self, message: Any) -> Listing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._to_reference, all))}
        return decode(Listing, many)(message)


class Task(Waiting["Snapshot"]):
    """The common part of uploads and downloads. All methods may be called from any thread, and from callbacks.

    Iterating yields a snapshot for each event from then on, up to the last one; then it ends, or raises the error of
    the task. A slow consumer gets only the newest progress. Leaving the iteration early does not stop the task.
    """

    def __iter__(self) -> Iterator[Snapshot]:
        return Iteration(self)

    def snapshot(self, *, timeout: float | None = None) -> Snapshot:
        """The task as it is now."""
        if self._end.done():
            last: Snapshot = self._end.result()
            return last
        return self._ask("snapshot", {}, self._storage._tasks.snapshot(type(self)), timeout)

    def observe(self, status: Status, callback: Callback) -> str:
        """Adds an observer; returns its handle. Calls it at once if the status matches the state of the task.

        >>> task.observe("pause", lambda snapshot: print("paused at", snapshot.progress))
        """
        observing = self._observing(status, called("callback", callback))
        return self._ask("observe", {"status": status}, observing)

    def remove_observer(self, handle: str) -> bool:
        """Stops calls of its callback. False if there is no such observer."""
        was_there = self._events.silence(handle, keep=self._kept)
        if was_there:
            self._storage._ask(self._method("removeObserver"), {"handle": handle}, bool)
            self._events.note()
        return was_there is not False

    def remove_all_observers(self, status: Status | None = None) -> int:
        """Removes the observers of this session, or those of one status; returns their number."""
        return sum([self.remove_observer(handle) for handle in self._events.handles(status)])


class Iteration(Iterator["Snapshot"]):
    """One iteration over the events of a task."""

    def __init__(self, task: Task) -> None:
        self._task, self._news = task, threading.Event()
        self._last: Snapshot | None = None
        self._backlog: Backlog[Snapshot] = Backlog(self._news.set)
        task._follow(self._backlog)

    def __next__(self) -> Snapshot:
        if self._last and self._last.status in ENDS:
            raise self._last.error or StopIteration
        self._task._listen()
        while (snapshot := self._backlog.pop()) is None:
            self._news.wait()
            self._news.clear()
        self._last = snapshot
        return snapshot


class Change(ChangeOf[Reference]):
    """What happened to an object."""


class Changes(Iterator["Change"]):
    """The changes of objects, from the moment when this is entered or first asked for one, until it is closed."""

    def __init__(self, reference: Reference) -> None:
        self._reference, self._session = reference, reference._storage
        self._news = threading.Event()
        self._backlog: ChangeBacklog[Change] = ChangeBacklog(self._news.set, Change("missed", reference))
        self._handle: str | None = None
        self._closed = False

    def __enter__(self) -> Changes:
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __next__(self) -> Change:
        change = self.next()
        if change is None:
            raise StopIteration
        return change

    def next(self, within: float | None = None) -> Change | None:
        """The next change; None once this is closed. Raises `TimeoutError` after so many seconds."""
        self._begin()
        while (change := self._backlog.pop()) is None:
            if self._closed:
                return None
            if not happened(self._news, within):
                raise TimeoutError(f"Nothing has changed at {self._reference.url} within {within} seconds.")
            self._news.clear()
        return change

    def close(self) -> None:
        """Ends the iteration."""
        handle, self._handle, self._closed = self._handle, None, True
        self._news.set()
        if handle is not None:
            self._session._tasks.feeds.drop(handle)
            with contextlib.suppress(ServiceGone):
                self._session._ask("storage/removeObserver", {"handle": handle}, bool)

    def _begin(self) -> None:
        if self._handle is None and not self._closed:
            convert = decode(Change, {"ReferenceT": self._reference._to_reference})
            then = self._session._tasks.feeds.keep(self._backlog, convert)
            self._handle = self._session._ask("storage/observe", {"reference": self._reference._place}, then)


class UploadTask(Task):
    """An upload of the service.

    >>> task = storage.reference("films/long.mp4").put_file("long.mp4", on_progress=print)
    >>> task.pause(), task.resume()
    (True, True)
    >>> task.wait().md5_hash
    'ux+S6ymcFXpl1o4DbXKkBw=='
    """

    kind = "upload"


class DownloadTask(Task):
    """A download of the service to a file; its snapshots have metadata once the file exists.

    >>> storage.reference("films/long.mp4").write_to_file("long.mp4", on_progress=print).wait().size
    1073741824
    """

    kind = "download"


class Snapshot(SnapshotOf[Task, Reference]):
    """A task in one moment. `error` is set after a failure, and while the task is paused because it cannot continue by
    itself; `retry` is set while it waits before another attempt."""


class Listing(ListingOf[Reference]):
    """One page of the direct children of a reference."""


Callback = CallbackOf[Snapshot]
"""Called with the snapshot of each event."""
