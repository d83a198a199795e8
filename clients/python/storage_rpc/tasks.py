# Rendered from aio/tasks.py by protocol/render.py: edit that, not this.
"""What all tasks have, for threads: their events."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, Generic

from ._events import ENDS, Backlog, S, called
from ._tasks import R
from ._types import Status
from ._face import CallbackOf, Waiting, happened


class TaskOf(Waiting[S, R]):
    """The common part of all tasks. All methods may be called from any thread, and from callbacks.

    Iterating yields a snapshot for each event from then on, up to the last one; then it ends, or raises the error of
    the task. A slow consumer gets only the newest progress. Leaving the iteration early does not stop the task.
    """

    def __iter__(self) -> Iterator[S]:
        return Iteration(self)

    def snapshot(self, *, timeout: float | None = None) -> S:
        """The current state of the task."""
        if self._end.done():
            last: S = self._end.result()
            return last
        return self._ask("snapshot", {}, self._storage._tasks.snapshot(type(self)), timeout)

    def observe(self, status: Status, callback: CallbackOf[S]) -> str:
        """Adds an observer; returns its handle. Calls it immediately if the status matches the state of the task.

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


class Iteration(Iterator[S], Generic[S]):
    """One iteration over the events of a task."""

    def __init__(self, task: TaskOf[S, Any]) -> None:
        self._task, self._news = task, threading.Event()
        self._last: S | None = None
        self._backlog: Backlog[S] = Backlog(self._news.set)
        task._follow(self._backlog)

    def __next__(self) -> S:
        if self._last and self._last.status in ENDS:
            raise self._last.error or StopIteration
        self._task._listen()
        while (snapshot := self._backlog.pop()) is None:
            happened(self._news, None)
            self._news.clear()
        self._last = snapshot
        return snapshot
