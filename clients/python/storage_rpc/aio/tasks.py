"""What all tasks have, for asyncio: their events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Generic

from .._events import ENDS, Backlog, S, called
from .._tasks import R
from .._types import Status
from ._face import CallbackOf, Waiting, happened


class AsyncTaskOf(Waiting[S, R]):
    """The common part of all tasks.

    Awaiting a task returns the metadata of the object, or the last snapshot of a folder, or raises the error of the task.
    Cancelling the await, as Ctrl-C and a timeout do, cancels the task, too, as with a task of asyncio; but it pauses a task
    that was begun with a `key`. `wait` only waits.

    Iterating yields a snapshot for each event from then on, up to the last one; then it ends, or raises the error of
    the task. A slow consumer gets only the newest progress. Leaving the iteration early does not stop the task.
    """

    def __aiter__(self) -> AsyncIterator[S]:
        return Iteration(self)

    async def snapshot(self) -> S:
        """The current state of the task."""
        if self._end.done():
            last: S = self._end.result()
            return last
        return await self._ask("snapshot", {}, self._storage._tasks.snapshot(type(self)))

    async def observe(self, status: Status, callback: CallbackOf[S]) -> str:
        """Adds an observer; returns its handle. Calls it immediately if the status matches the state of the task.

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


class Iteration(AsyncIterator[S], Generic[S]):
    """One iteration over the events of a task."""

    def __init__(self, task: AsyncTaskOf[S, Any]) -> None:
        self._task, self._news = task, asyncio.Event()
        self._last: S | None = None
        self._backlog: Backlog[S] = Backlog(self._news.set)
        task._follow(self._backlog)

    async def __anext__(self) -> S:
        if self._last and self._last.status in ENDS:
            raise self._last.error or StopAsyncIteration
        await self._task._listen()
        while (snapshot := self._backlog.pop()) is None:
            await happened(self._news, None)
            self._news.clear()
        self._last = snapshot
        return snapshot
