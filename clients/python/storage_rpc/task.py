"""An upload or a download, from its start to its end."""

from __future__ import annotations

import concurrent.futures
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from ._events import ENDS, STATUSES, Backlog, Events, Observer
from ._methods import TaskMethods
from ._tasks import TaskBase
from ._types import Metadata, Snapshot
from .wire import metadata_from_wire

if TYPE_CHECKING:
    from ._methods import Method, TaskVerb
    from ._types import Status
    from .storage import Storage
    from .values import Callback

T = TypeVar("T")


class Task(TaskMethods, TaskBase[Snapshot]):
    """What uploads and downloads have in common. All calls may come from any thread, and from callbacks.

    Iterating brings a snapshot for each event from then on, the last one included; then it ends, or raises why the
    task failed. While its consumer is busy, progress collapses to the newest. Leaving it early does not stop the task.
    """

    def __init__(self, storage: Storage, id: str) -> None:
        self.id = id
        """Unique across restarts of the service."""
        self.observers: Mapping[Status, str] = {}
        """The handles of those that the task was started with."""
        self._storage = storage
        self._end: concurrent.futures.Future[Snapshot] = concurrent.futures.Future()
        self._callbacks_ran = threading.Event()
        self._events = Events(self._end, storage._dispatcher.post, self._callbacks_ran.set)
        self._listening = threading.Lock()
        self._kept = ENDS

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    def __iter__(self) -> Iterator[Snapshot]:
        return Iteration(self)

    def snapshot(self, *, timeout: float | None = None) -> Snapshot:
        """The task as it is now."""
        if self._end.done():
            return self._end.result()
        return self._ask("snapshot", {}, lambda result: self._storage._tasks.snapshot(type(self), result), timeout)

    def wait(self, timeout: float | None = None) -> Metadata:
        """The metadata of the object, when the callbacks have run as well. Raises why the task failed.

        Raises `TimeoutError` after so many seconds; the task goes on.
        """
        self._storage._connection.guard.check()
        deadline = None if timeout is None else time.monotonic() + timeout
        if not self._events.own:
            # Without a timeout of its own it waits: the session's is for calls that answer at once.
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
        """The handle of the observer, who hears at once if the status fits the task's state now.

        >>> task.observe("pause", lambda snapshot: print("paused at", snapshot.progress))
        """
        return self._observe(status, callback)

    def remove_observer(self, handle: str) -> bool:
        """From here on its callback is not called. False where there is no such observer any more."""
        was_there = self._events.silence(handle, keep=self._kept)
        if was_there:
            self._storage._ask(self._method("removeObserver"), {"handle": handle}, bool)
            self._events.note()
        return was_there is not False

    def remove_all_observers(self, status: Status | None = None) -> int:
        """How many were removed: all of this session, or those of one status."""
        return sum(self.remove_observer(handle) for handle in self._events.handles(status))

    def _listen(self) -> None:
        """Observes what the task was not started with: first its end."""
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

    def _method(self, verb: TaskVerb) -> Method:
        return cast("Method", f"{self.kind}Task/{verb}")

    def _ask(
        self, verb: TaskVerb, params: Mapping[str, Any], then: Callable[[Any], T], timeout: float | None = None
    ) -> T:
        return self._storage._ask(self._method(verb), {"task": self.id, **params}, then, timeout)


class Iteration(Iterator[Snapshot]):
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
    """An upload that the service knows.

    >>> task = storage.reference("films/long.mp4").put_file("long.mp4", on_progress=print)
    >>> task.pause(), task.resume()
    (True, True)
    >>> task.wait().md5_hash
    'ux+S6ymcFXpl1o4DbXKkBw=='
    """

    kind = "upload"


class DownloadTask(Task):
    """A download to a file that the service knows; its snapshots have metadata when the file is there.

    >>> storage.reference("films/long.mp4").write_to_file("long.mp4", on_progress=print).wait().size
    1073741824
    """

    kind = "download"
