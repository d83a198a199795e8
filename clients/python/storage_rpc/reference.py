"""References, and the uploads and downloads that they start, for threads."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, TypeVar

from ._events import ENDS, STATUSES, Backlog, Events, Observer
from ._methods import Method, ReferenceMethods, TaskMethods, TaskVerb
from ._session import Session
from ._tasks import TaskBase
from ._types import ListingOf, Metadata, SnapshotOf, Status
from .wire import decode, metadata_from_wire, reference_to_wire

T = TypeVar("T")
AnyTask = TypeVar("AnyTask", bound="Task")


@dataclass(frozen=True)
class Reference(ReferenceMethods["Reference", "Listing", "UploadTask", "DownloadTask", "Snapshot"]):
    """A path in a bucket: a value, equal to any other with the same bucket and path.

    >>> space = storage.reference("images/space.jpg")
    >>> space.put_file("space.jpg", on_progress=print).wait().size
    1048576
    >>> space.parent().child("moon.jpg").url
    'gs://default-bucket/images/moon.jpg'
    >>> space.update_metadata({"content_type": "image/jpeg", "custom_metadata": {"seen": "yes", "old": None}})
    """

    bucket: str
    full_path: str
    name: str = field(compare=False)
    """The last part of the path; empty at the root."""
    url: str = field(compare=False)
    """`gs://bucket/full_path`, never percent-encoded."""
    warnings: tuple[str, ...] = field(compare=False, repr=False)
    """Properties of the path that other tools may not support."""
    object: str | None
    """The exact name of the object where `full_path` does not determine it, as in `folder/` or `a//b`."""
    _storage: Session[Snapshot] = field(compare=False, repr=False)

    @classmethod
    def from_wire(cls, storage: Session[Snapshot], message: Mapping[str, Any]) -> Reference:
        warnings = tuple(message.get("warnings", ()))
        place = (message["bucket"], message["fullPath"], message["name"], message["url"])
        return cls(*place, warnings, message.get("object"), storage)

    def __str__(self) -> str:
        return self.url

    # Used by the rendered methods

    def _ask(
        self, method: Method, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        place = reference_to_wire(self.bucket, self.full_path, self.object)
        return self._storage._ask(method, {"reference": place, **params}, then, timeout)

    def _start_upload_task(self, *start: Any) -> UploadTask:
        return self._start(UploadTask, *start)

    def _start_download_task(self, *start: Any) -> DownloadTask:
        return self._start(DownloadTask, *start)

    def _start(
        self,
        kind: type[AnyTask],
        method: Method,
        params: Mapping[str, Any],
        on_progress: Callback | None,
        observe: Mapping[Status, Callback] | None,
        timeout: float | None,
    ) -> AnyTask:
        callbacks = dict(observe or {})
        if on_progress:
            callbacks["progress"] = on_progress
        statuses = [*{**callbacks, "success": None, "failure": None}]

        def begin(answer: Any) -> AnyTask:
            return self._storage._begin(kind, answer, callbacks)

        return self._ask(method, {**params, "observe": statuses}, begin, timeout)

    def _to_reference(self, message: Any) -> Reference:
        return Reference.from_wire(self._storage, message)

    def _to_listing(self, message: Any) -> Listing:
        many = {"tuple[ReferenceT, ...]": lambda all: tuple(map(self._to_reference, all))}
        return decode(Listing, many)(message)


class Task(TaskMethods, TaskBase["Snapshot"]):
    """The common part of uploads and downloads. All methods may be called from any thread, and from callbacks.

    Iterating yields a snapshot for each event from then on, up to the last one; then it ends, or raises the error of
    the task. A slow consumer gets only the newest progress. Leaving the iteration early does not stop the task.
    """

    def __init__(self, storage: Session[Snapshot], id: str) -> None:
        self.id = id
        """Unique across restarts of the service."""
        self.observers = {}
        self._storage = storage
        self._end: concurrent.futures.Future[Snapshot] = concurrent.futures.Future()
        self._callbacks_ran = threading.Event()
        self._events = Events(self._end, storage._dispatcher.post, self._callbacks_ran.set)
        self._listening = threading.Lock()
        self._kept = ENDS

    def __iter__(self) -> Iterator[Snapshot]:
        return Iteration(self)

    def snapshot(self, *, timeout: float | None = None) -> Snapshot:
        """The task as it is now."""
        if self._end.done():
            return self._end.result()
        return self._ask("snapshot", {}, lambda result: self._storage._tasks.snapshot(type(self), result), timeout)

    def wait(self, timeout: float | None = None) -> Metadata:
        """Returns the metadata of the object after all callbacks have run. Raises the error of the task.

        Raises `TimeoutError` after `timeout` seconds; the task continues.
        """
        self._storage._connection.guard.check()
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._events.own:
            # Without a timeout it waits for ever: the session's timeout is for calls that answer at once.
            return self._storage._connection.call(
                self._method("wait"), {"task": self.id}, lambda result: metadata_from_wire(result["metadata"]), timeout
            )
        try:
            snapshot = self._end.result(timeout)
        except concurrent.futures.TimeoutError:
            raise TimeoutError(f"The {self.kind} has not ended within {timeout} seconds.") from None
        if not self._storage._dispatcher.is_current:
            self._callbacks_ran.wait(None if deadline is None else max(0, deadline - time.monotonic()))
        if snapshot.error:
            raise snapshot.error
        return snapshot.metadata

    def observe(self, status: Status, callback: Callback) -> str:
        """Adds an observer; returns its handle. Calls it at once if the status matches the state of the task.

        >>> task.observe("pause", lambda snapshot: print("paused at", snapshot.progress))
        """
        return self._observe(status, callback)

    def remove_observer(self, handle: str) -> bool:
        """Stops calls of its callback. False if there is no such observer."""
        was_there = self._events.silence(handle, keep=self._kept)
        if was_there:
            self._storage._ask(self._method("removeObserver"), {"handle": handle}, bool)
            self._events.note()
        return was_there is not False

    def remove_all_observers(self, status: Status | None = None) -> int:
        """Removes the observers of this session, or those of one status; returns their number."""
        return sum(self.remove_observer(handle) for handle in self._events.handles(status))

    def _listen(self) -> None:
        """Adds the missing observers of the task itself: first those of its end."""
        self._storage._connection.guard.check()
        with self._listening:
            self._kept = STATUSES
            own = self._events.own
            known = {own[handle].status for handle in self._events.handles(None) if handle in own}
            for status in (*ENDS, *STATUSES):
                if status not in known and not self._events.over:
                    self._observe(status, None)
                    known.add(status)

    def _observe(self, status: Status, callback: Callback | None) -> str:
        def then(result: Any) -> str:
            observer = Observer(status, callback)
            self._storage._tasks.register(self, {result["handle"]: observer}, own=callback is None)
            return str(result["handle"])

        return self._ask("observe", {"status": status}, then)

    def _ask(
        self, verb: TaskVerb, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        return self._storage._ask(self._method(verb), {"task": self.id, **params}, then, timeout)


class Iteration(Iterator["Snapshot"]):
    """One iteration over the events of a task."""

    def __init__(self, task: Task) -> None:
        self._task, self._news = task, threading.Event()
        self._last: Snapshot | None = None
        self._backlog: Backlog[Snapshot] = Backlog(self._news.set)
        task._events.follow(self._backlog)
        task._listen()

    def __next__(self) -> Snapshot:
        if self._last and self._last.status in ENDS:
            raise self._last.error or StopIteration
        self._task._storage._connection.guard.check()
        while (snapshot := self._backlog.pop()) is None:
            self._news.wait()
            self._news.clear()
        self._last = snapshot
        return snapshot


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


Callback = Callable[[Snapshot], object]
"""Called with the snapshot of each event."""
