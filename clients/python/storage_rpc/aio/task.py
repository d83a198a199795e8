"""An upload or a download, from its start to its end."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Generator, Mapping
from typing import TYPE_CHECKING, Any, Callable, TypeVar, cast

from .._core import PATIENCE
from .._events import ENDS, STATUSES, Backlog, Events, Observer
from .._methods import AsyncTaskMethods
from .._tasks import TaskBase
from .._types import AsyncSnapshot, Metadata, Status

if TYPE_CHECKING:
    from .._methods import Method, TaskVerb
    from ..values import AsyncCallback
    from .storage import AsyncStorage

T = TypeVar("T")


class AsyncTask(AsyncTaskMethods, TaskBase[AsyncSnapshot]):
    """What uploads and downloads have in common.

    Awaiting one brings the metadata of the object, or raises why it failed. Whoever is cancelled meanwhile cancels
    the task with it, as with a task of asyncio; `wait` only waits.

    Iterating brings a snapshot for each event from then on, the last one included; then it ends, or raises why the
    task failed. While its consumer is busy, progress collapses to the newest. Leaving it early does not stop the task.
    """

    def __init__(self, storage: AsyncStorage, id: str | None = None) -> None:
        self.id = id
        """Unique across restarts of the service; None until the task has started."""
        self.observers: Mapping[Status, str] = {}
        """The handles of those that the task was started with."""
        loop = asyncio.get_running_loop()
        self._storage = storage
        self._end: asyncio.Future[AsyncSnapshot] = loop.create_future()
        self._end.add_done_callback(_ignore)
        self._callbacks_ran = asyncio.Event()
        self._events = Events(self._end, storage._dispatcher.post, self._callbacks_ran.set)
        self._listening: asyncio.Future[Any] | None = None
        self._started: asyncio.Future[str] = loop.create_future()
        if id is not None:
            self._started.set_result(id)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    async def started(self) -> str:
        """The id, once the service has taken the task."""
        return await asyncio.shield(self._started)

    async def snapshot(self) -> AsyncSnapshot:
        """The task as it is now."""
        if self._end.done():
            return self._end.result()
        return await self._ask("snapshot", {}, lambda result: self._storage._tasks.snapshot(type(self), result))

    async def wait(self) -> Metadata:
        """The metadata of the object, when the callbacks have run as well. Raises why the task failed."""
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
        """The handle of the observer, who hears at once if the status fits the task's state now.

        >>> await task.observe("pause", lambda snapshot: print("paused at", snapshot.progress))
        """
        return await self._observe(status, callback)

    async def remove_observer(self, handle: str) -> bool:
        """From here on its callback is not called. False where there is no such observer any more."""
        was_there = self._events.silence(handle, keep=STATUSES)
        if was_there:
            await self._storage._ask(self._method("removeObserver"), {"handle": handle}, bool)
            self._events.note()
        return was_there is not False

    async def remove_all_observers(self, status: Status | None = None) -> int:
        """How many were removed: all of this session, or those of one status."""
        return sum([await self.remove_observer(handle) for handle in self._events.handles(status)])

    # What the other parts of the package use

    def _begin(self, method: Method, params: Mapping[str, Any], callbacks: Mapping[Status, AsyncCallback]) -> None:
        """Asks the service for the task, which hears of itself from then on."""

        def begun(answer: Any) -> str:
            id: str = answer["task"]
            handles: dict[Status, str] = answer["observers"]
            self.id = id
            self.observers = {status: handle for status, handle in handles.items() if status in callbacks}
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
        """A task that was not begun here is listened to once somebody wants to know."""
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

    def _method(self, verb: TaskVerb) -> Method:
        return cast("Method", f"{self.kind}Task/{verb}")

    async def _ask(self, verb: TaskVerb, params: Mapping[str, Any], then: Callable[[Any], T]) -> T:
        return await self._storage._ask(self._method(verb), {"task": await self.started(), **params}, then)


class Iteration(AsyncIterator[AsyncSnapshot]):
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
    """An upload that the service knows.

    >>> async for snapshot in storage.reference("films/long.mp4").put_file("long.mp4"):
    ...     print(snapshot.progress)
    """

    kind = "upload"


class AsyncDownloadTask(AsyncTask):
    """A download to a file that the service knows; its snapshots have metadata when the file is there.

    >>> (await storage.reference("films/long.mp4").write_to_file("long.mp4")).size
    1073741824
    """

    kind = "download"


def _ignore(end: asyncio.Future[Any]) -> None:
    """A task that fails while nobody waits for it is nothing unheard of."""
    if not end.cancelled():
        end.exception()
